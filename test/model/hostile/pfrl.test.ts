/** Passes hostile values to PFRL buffers, and checks their results and the state saved afterwards. */
import { expect, test } from "vitest";
import {
  batchExperiences,
  batchRecurrentExperiences,
  EpisodicReplayBuffer,
  object,
  PersistentEpisodicReplayBuffer,
  PersistentReplayBuffer,
  PrioritizedEpisodicReplayBuffer,
  PrioritizedReplayBuffer,
  ReplayBuffer,
  randomSubseq,
} from "../../../src/pfrl/index.ts";
import { type Directory, memory } from "../../../src/storage/index.ts";
import { type Attacked, attack } from "../../support/attack.ts";
import { brokenBuffer, savedBytes } from "../../support/pfrl.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled, slow } from "../../support/size.ts";

/** Stands for any of the buffers: a missing method is undefined and not called. */
// biome-ignore lint/suspicious/noExplicitAny: calls with any values
type Any = any;

interface World {
  readonly buffer: Any;
  /** The directory of a persistent buffer. */
  readonly directory: Directory | undefined;
  time: number;
}

const CLASSES: readonly ((seed: number, directory: Directory) => unknown)[] = [
  (seed) => new ReplayBuffer(7, 2, { seed }),
  (seed) => new PrioritizedReplayBuffer({ capacity: 7, numSteps: 3, seed }),
  (seed) => new EpisodicReplayBuffer(9, { seed }),
  (seed) => new PrioritizedEpisodicReplayBuffer({ capacity: 9, waitPriorityAfterSampling: false, defaultPriorityFunc: (episode) => episode.length, seed }),
  (seed, directory) => new PersistentReplayBuffer(directory, 7, { seed, durability: "manual" }),
  (seed, directory) => new PersistentEpisodicReplayBuffer(directory, 9, { seed, durability: "manual" }),
];

const step = (x: number) => ({
  state: { a: [x, -x], b: Float32Array.of(x) },
  action: x % 3,
  reward: x / 2,
  nextState: { a: [x + 1, 0], b: Float32Array.of(x) },
});
const transition = (world: World) => ({ ...step(world.time++), envId: world.time % 2, isStateTerminal: world.time % 5 === 0, h: [1, 2], note: { text: "x" } });

const GOOD: Attacked<World>["good"] = {
  append: (world) => world.buffer.append(transition(world)),
  stop: ({ buffer }) => buffer.stopCurrentEpisode(1),
  sample: ({ buffer }) => {
    if (!buffer.waiting) buffer.sample(1);
  },
};

/** Whether a value could be used as a path, because a test must not write to the current directory. */
const isPath = (value: unknown) => typeof value === "string" || typeof (value as Any)?.dirname === "string" || typeof (value as Any)?.ancestor === "string";

const own = (name: string) => (world: World, args: readonly never[]) => !args.some(isPath) && world.buffer[name]?.(...args);
const list = { form: "list" } as const;

const CALLS: Attacked<World>["calls"] = {
  append: [(world) => [transition(world)], own("append")],
  stopCurrentEpisode: [() => [1], own("stopCurrentEpisode")],
  sample: [({ buffer, time }) => [2, time % 2 === 0 || buffer.waiting ? list : { form: "batch" }], own("sample")],
  "sample into": [({ buffer }) => [2, buffer.waiting === undefined && buffer.length > 1 ? { into: buffer.sample(2) } : {}], own("sample")],
  sampleEpisodes: [() => [1, 3, list], own("sampleEpisodes")],
  updateErrors: [
    ({ buffer }) =>
      buffer.waiting
        ? [[...buffer.waitingKeys].map(() => 0.3)]
        : [
            [1, 2],
            [1, 2],
          ],
    own("updateErrors"),
  ],
  "updateErrors by key": [({ buffer }) => [[0.5, 2], [...(buffer.priorities?.().keys ?? [])].slice(0, 2)], own("updateErrors")],
  priorityFromErrors: [() => [[1, 2, 3]], own("priorityFromErrors")],
  weightsFromProbabilities: [() => [[0.5, 0.25], 0.1], own("weightsFromProbabilities")],
  save: [() => [{ directory: memory(), file: "x" }], own("save")],
  saveAsync: [
    () => [
      { directory: memory(), file: "x" },
      { signal: new AbortController().signal, onProgress: () => {} },
    ],
    own("saveAsync"),
  ],
  load: [({ buffer }) => [savedFile(buffer)], own("load")],
  loadAsync: [({ buffer }) => [savedFile(buffer), { signal: new AbortController().signal, onProgress: () => {} }], own("loadAsync")],
  flush: [() => [], own("flush")],
  batchExperiences: [
    () => [[[step(1), step(2)], [step(3)]], { gamma: 0.9, phi: (state: Any) => state?.a ?? [0, 0], dtypes: { state: "f32", action: "i32" } }],
    (_, args) => batchExperiences(...(args as unknown as Parameters<typeof batchExperiences>)),
  ],
  "batchExperiences of a batch": [
    ({ buffer }) => [buffer.numSteps === 2 && buffer.length > 0 ? buffer.sample(1) : [[step(1)]], { gamma: 0.9 }],
    (_, args) => batchExperiences(...(args as unknown as Parameters<typeof batchExperiences>)),
  ],
  batchRecurrentExperiences: [
    () => [
      [
        [
          { ...step(1), recurrentState: { h: [[1, 2]] }, nextRecurrentState: null },
          { ...step(2), recurrentState: null, nextRecurrentState: null },
        ],
        [{ ...step(3), recurrentState: null, nextRecurrentState: [[1]] }],
      ],
      { gamma: 0.9 },
    ],
    (_, args) => batchRecurrentExperiences(...(args as unknown as Parameters<typeof batchRecurrentExperiences>)),
  ],
  randomSubseq: [() => [[1, 2, 3, 4], 2, () => 0.5], (_, args) => randomSubseq(...(args as unknown as Parameters<typeof randomSubseq>))],
  "new ReplayBuffer": [() => [9, 2, { spec: spec(), maxBytes: 2 ** 24, seed: 3 }], (_, args) => new ReplayBuffer(...(args as unknown as [number]))],
  "new PrioritizedReplayBuffer": [
    () => [{ capacity: 9, alpha: 0.5, beta0: 0.1, betaSteps: 10, eps: 0.1, normalizeByMax: "memory", errorMin: 0, errorMax: null, numSteps: 2, spec: spec() }],
    (_, args) => new PrioritizedReplayBuffer(...(args as unknown as [number])),
  ],
  "new EpisodicReplayBuffer": [() => [9, { spec: spec() }], (_, args) => new EpisodicReplayBuffer(...(args as unknown as [number]))],
  "new PrioritizedEpisodicReplayBuffer": [
    () => [{ capacity: 9, defaultPriorityFunc: () => 1, uniformRatio: 0.5, waitPriorityAfterSampling: true, returnSampleWeights: false }],
    (_, args) => new PrioritizedEpisodicReplayBuffer(...(args as unknown as [number])),
  ],
  "new PersistentReplayBuffer": [
    () => [{ dirname: memory(), capacity: 5, ancestor: null, logger: null, durability: { everyMs: 50 }, retain: 2, segmentBytes: 2 ** 20, salvage: false }],
    (_, args) => !args.some(isPath) && new PersistentReplayBuffer(...(args as unknown as [never])).close(),
  ],
  "PersistentReplayBuffer.open": [
    () => [memory(), 5, { durability: "manual", signal: new AbortController().signal, onProgress: () => {} }],
    async (_, args) => !args.some(isPath) && (await PersistentReplayBuffer.open(...(args as unknown as [never]))).close(),
  ],
  "new PersistentEpisodicReplayBuffer": [
    () => [memory(), 5, { durability: "manual", salvage: false, takeOver: false }],
    (_, args) => !args.some(isPath) && new PersistentEpisodicReplayBuffer(...(args as unknown as [never])).close(),
  ],
};

function spec() {
  return { state: { dtype: "f32", shape: [2] }, action: { dtype: "i64", shape: [] }, extras: { note: object() } };
}

function savedFile(buffer: Any) {
  const directory = memory();
  buffer.save({ directory, file: "x" });
  return { directory, file: "x" };
}

const seeds = Array.from({ length: scaled(slow ? 150 : 75, 1) }, (_, i) => i + 1);

test.each(seeds)("PFRL buffers stay consistent when called with hostile values, seed %i", async (seed) => {
  const random = new TestRandom(seed);
  const directory = seed % CLASSES.length < 4 ? undefined : memory();
  const buffer = (CLASSES[seed % CLASSES.length] as (typeof CLASSES)[0])(seed, directory as Directory) as Any;
  const world: World = { buffer, directory, time: 0 };
  for (let i = 0; i < 11; i++) GOOD.append?.(world);
  await attack(
    random,
    world,
    { calls: CALLS, good: GOOD, bytes: () => savedBytes(world.buffer), broken: () => brokenBuffer(world.buffer) },
    50,
    `seed ${seed}`,
  );
  if (directory === undefined) return;
  world.buffer.close();
  const Buffer = buffer.constructor as typeof PersistentReplayBuffer;
  const items = [...world.buffer.items()];
  expect([...new Buffer(directory, { capacity: buffer.capacity, durability: "manual" }).items()]).toEqual(items);
});
