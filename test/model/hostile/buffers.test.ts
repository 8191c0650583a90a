/** Passes hostile values to TF-Agents buffers that store their own steps. */
import { test } from "vitest";
import { bool, f32, i32, Replay, text } from "../../../src/index.ts";
import { EpisodicReplayBuffer, StatefulEpisodicReplayBuffer, TFUniformReplayBuffer } from "../../../src/tf-agents/index.ts";
import { type Attacked, attack } from "../../support/attack.ts";
import { broken } from "../../support/health.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled } from "../../support/size.ts";

/** Stands for any of the buffers: a missing method is undefined and not called. */
// biome-ignore lint/suspicious/noExplicitAny: calls with any values
type Any = any;

interface World {
  readonly buffer: Any;
  /** The Replay that stores the steps of the buffer. */
  readonly replay: Replay;
  time: number;
}

const SPEC = () => ({ x: f32(2), n: i32(), flag: bool(), said: text({ maxBytes: 6 }) });
const rows = (n: number, from = 0) => ({
  x: Array.from({ length: n }, (_, i) => [from + i, -i]),
  n: new Int32Array(n).fill(from),
  flag: Array.from({ length: n }, (_, i) => i % 2 === 0),
  said: Array.from({ length: n }, (_, i) => `s${i}`),
});
const FLAGS = { beginEpisodeFn: () => false, endEpisodeFn: () => false };

/** Returns state that does not depend on draws: all steps, and their links. */
function stateOf({ buffer }: World): Buffer {
  const ids = Array.from({ length: 12 }, (_, id) => id);
  const own = {
    all: buffer.gatherAll(),
    frames: buffer.numFrames(),
    ids: buffer.episodeIds,
    completed: buffer.completedEpisodes?.(),
    valid: buffer.getValidIdsMask?.(ids),
    episodes: buffer.extract?.([0, 1, 2, 3]),
  };
  return Buffer.from(JSON.stringify(own, (_, value) => (ArrayBuffer.isView(value) ? Array.from(value as Uint8Array, String) : value)));
}

const own = (name: string) => (world: World, args: readonly never[]) => world.buffer[name]?.(...args);
const isUniform = ({ buffer }: World) => buffer instanceof TFUniformReplayBuffer;
const hasOwnIds = ({ buffer }: World) => buffer instanceof StatefulEpisodicReplayBuffer;
const idsOf = (world: World) => (isUniform(world) || hasOwnIds(world) ? [] : [world.time < 3 ? [-1, -1] : [world.time % 3, -1]]);
/** In the stateful buffer, two episodes are open in parallel. */
const sequences = (world: World) => !isUniform(world) && !hasOwnIds(world);

/** Takes only some elements, because iteration without an ordered pass never ends. */
function few(elements: Iterable<unknown>): void {
  let left = 20;
  for (const _ of elements) if (--left === 0) return;
}

const GOOD: Attacked<World>["good"] = {
  addBatch: (world) => world.buffer.addBatch(rows(2, world.time++), ...idsOf(world)),
  addSequence: (world) => sequences(world) && world.buffer.addSequence(rows(3, world.time++), -1),
  getNext: ({ buffer }) => buffer.getNext({ sampleBatchSize: 2, numSteps: 1 }),
};

const DATASET = { sampleBatchSize: 2, numSteps: 1, numParallelCalls: 1, sequencePreprocessFn: (items: unknown) => items, prefetch: 0 };

const CALLS: Attacked<World>["calls"] = {
  addBatch: [(world) => [rows(2, world.time++), ...idsOf(world)], own("addBatch")],
  addSequence: [(world) => [rows(2, world.time++), -1], (world, args) => sequences(world) && own("addSequence")(world, args)],
  extendEpisodes: [
    (world) => [...(hasOwnIds(world) ? [] : [[-1, -1]]), [0, 1], { length: [1, 2], completed: [1, 0], items: [rows(1), rows(2)] }],
    own("extendEpisodes"),
  ],
  extract: [() => [[0, 1], true], own("extract")],
  getEpisode: [({ buffer }) => [buffer.completedEpisodes?.()[0] ?? 0], own("getEpisode")],
  getValidIdsMask: [() => [[0, 1, 2]], own("getValidIdsMask")],
  createEpisodeIds: [() => [2], own("createEpisodeIds")],
  getNext: [() => [{ sampleBatchSize: 2, numSteps: 2, timeStacked: false }], own("getNext")],
  dataset: [
    () => [DATASET],
    ({ buffer }, args) =>
      buffer
        .asDataset(...args)
        [Symbol.iterator]()
        .next(),
  ],
  "dataset in order": [() => [{ ...DATASET, singleDeterministicPass: true }], ({ buffer }, args) => few(buffer.asDataset(...args))],
  "dataset that waits": [
    () => [{ sampleBatchSize: 1, numSteps: 2, timeoutMs: 1, signal: new AbortController().signal }],
    ({ buffer }, args) =>
      buffer
        .asDataset(...args)
        [Symbol.asyncIterator]()
        .next(),
  ],
  clear: [() => [{ clearAllVariables: true }], own("clear")],
  "new TFUniformReplayBuffer": [
    () => [SPEC(), { batchSize: 2, maxLength: 9, statefulDataset: true, datasetDropRemainder: true, datasetWindowShift: 2, seed: 3, maxBytes: 2 ** 22 }],
    (_, args) => new TFUniformReplayBuffer(...(args as unknown as [ReturnType<typeof SPEC>, { batchSize: 2 }])),
  ],
  "new EpisodicReplayBuffer": [
    () => [SPEC(), { capacity: 5, completedOnly: true, bufferSize: 2, ...FLAGS, onWarning: () => {}, seed: 4n }],
    (_, args) => new EpisodicReplayBuffer(...(args as unknown as [ReturnType<typeof SPEC>])),
  ],
  "new StatefulEpisodicReplayBuffer": [
    () => [new EpisodicReplayBuffer(SPEC(), FLAGS), 3],
    (_, args) => new StatefulEpisodicReplayBuffer(...(args as unknown as [never])),
  ],
};

const CLASSES: readonly ((seed: number) => Any)[] = [
  (seed) => new TFUniformReplayBuffer(SPEC(), { batchSize: 2, maxLength: 4, seed }),
  (seed) => new EpisodicReplayBuffer(SPEC(), { capacity: 4, ...FLAGS, onWarning: () => {}, seed }),
  (seed) => new StatefulEpisodicReplayBuffer(new EpisodicReplayBuffer(SPEC(), { capacity: 4, ...FLAGS, onWarning: () => {}, seed }), 2),
];

/** Returns a buffer with a few steps, and its Replay. */
function worldOf(seed: number): World {
  const { writer } = Replay.prototype;
  const made: Replay[] = [];
  Replay.prototype.writer = function (this: Replay, ...args: never[]) {
    made.push(this);
    return (writer as Any).apply(this, args);
  } as never;
  try {
    const world = { buffer: CLASSES[seed % CLASSES.length]?.(seed), time: 0 } as Omit<World, "replay">;
    for (let i = 0; i < 3; i++) GOOD.addBatch?.(world as World);
    return { ...world, replay: made[0] as Replay };
  } finally {
    Replay.prototype.writer = writer;
  }
}

const seeds = Array.from({ length: scaled(60, 5) }, (_, i) => i + 1);

test.each(seeds)("TF-Agents buffers stay consistent when called with hostile values, seed %i", async (seed) => {
  const world = worldOf(seed);
  await attack(new TestRandom(seed), world, { calls: CALLS, good: GOOD, bytes: stateOf, broken: ({ replay }) => broken(replay) }, 50, `seed ${seed}`);
});
