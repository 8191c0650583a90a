/** Passes hostile values to everything that uses tables: observers, Reverb writers and clients, the buffer on a table, and the loop of a driver. */
import { test } from "vitest";
import { f32, fifo, i32, Replay, uniform } from "../../../src/index.ts";
import {
  boundary,
  drive,
  fromTransition,
  isBoundary,
  isFirst,
  isLast,
  isMid,
  LocalClient,
  mid,
  ReverbAddEpisodeObserver,
  ReverbAddTrajectoryObserver,
  ReverbReplayBuffer,
  restart,
  termination,
  trajectorySpec,
  transition,
  truncation,
} from "../../../src/tf-agents/index.ts";
import { type Attacked, attack } from "../../support/attack.ts";
import { broken } from "../../support/health.ts";
import { TestRandom } from "../../support/random.ts";
import { bytesOf } from "../../support/refused.ts";
import { scaled } from "../../support/size.ts";

// biome-ignore lint/suspicious/noExplicitAny: calls with any values
type Any = any;

const SPEC = () => trajectorySpec({ observation: { a: f32(2), b: i32() }, action: i32() });

function worldOf(seed: number) {
  const tables = { t: { maxSize: 12, sampler: fifo() }, u: { maxSize: 9, sampler: uniform(), remover: fifo() } };
  const replay = new Replay({ spec: SPEC(), tables, seed, logger: null });
  const client = new LocalClient(replay as Any) as Any;
  const options = { tableName: ["t", "u"], sequenceLength: 2, strideLength: 1 };
  return {
    replay: replay as unknown as Replay,
    client,
    windows: new ReverbAddTrajectoryObserver(replay as Any, { ...options, padEndOfEpisodes: seed % 2 === 0 }) as Any,
    episodes: new ReverbAddEpisodeObserver(replay as Any, { tableName: "u", maxSequenceLength: 6, bypassPartialEpisodes: true, onWarning: () => {} }) as Any,
    writer: client.trajectoryWriter({ numKeepAliveRefs: 4 }),
    older: client.legacyWriter({ maxSequenceLength: 4 }),
    buffer: new ReverbReplayBuffer(SPEC(), { client, tableName: "t", sequenceLength: 2 }) as Any,
    time: 0,
  };
}
type World = ReturnType<typeof worldOf>;

const step = (n: number) => ({
  ...{ stepType: n % 5 === 0 ? 0 : n % 5 === 4 ? 2 : 1, observation: { a: [n, -n], b: n }, action: n % 3, policyInfo: [] },
  ...{ nextStepType: n % 5 === 3 ? 2 : n % 5 === 4 ? 0 : 1, reward: n, discount: 1 },
});
const columns = (n: number) => ({
  ...{ stepType: new Int32Array(n), observation: { a: Array.from({ length: n }, (_, i) => [i, i]), b: new Int32Array(n) }, action: new Int32Array(n) },
  ...{ policyInfo: [], nextStepType: new Int32Array(n), reward: new Float32Array(n), discount: new Float32Array(n) },
});

/** Takes only some elements, because iteration without `singleDeterministicPass` never ends. */
function few(elements: Iterable<unknown>): void {
  let left = 20;
  for (const _ of elements) if (--left === 0) return;
}

const GOOD: Attacked<World>["good"] = {
  windows: (world) => world.windows(step(world.time++)),
  episodes: (world) => world.episodes(step(world.time++)),
  writer: (world) => world.writer.append(step(world.time++)),
  item: ({ writer }) => writer.createItem("u", 1, { r: writer.history.reward.slice(-1) }),
  older: (world) => world.older.append(step(world.time++)),
  sample: ({ replay }) => (replay as Any).table("u").sample(1),
};

/** Ends a driver's run that would never reach its limit. */
function enough<T>(value: T): () => T {
  let left = 50;
  return () => {
    if (--left === 0) throw new RangeError("the environment has had enough steps");
    return value;
  };
}
const signal = () => new AbortController().signal;
const timeStep = (n: number) => restart([n, n]);

const CALLS: Attacked<World>["calls"] = {
  "windows()": [(world) => [step(world.time++)], ({ windows }, args) => windows(...args)],
  "episodes()": [(world) => [step(world.time++)], ({ episodes }, args) => episodes(...args)],
  "windows(flat)": [(world) => [[1, [world.time, 0], world.time, 2, 1, 0.5, 1]], ({ windows }, args) => windows(...args)],
  "windows.reset": [() => [false], ({ windows }, args) => windows.reset(...args)],
  "episodes.reset": [() => [true], ({ episodes }, args) => episodes.reset(...args)],
  "episodes.updatePriority": [() => [2], ({ episodes }, args) => episodes.updatePriority(...args)],
  "windows.flush": [() => [{ timeoutMs: 1, signal: signal() }], ({ windows }, args) => windows.flush(...args)],
  "windows.resume": [({ replay }) => [replay.writers[0]], ({ windows }, args) => windows.resume(...args)],
  "writer.append": [(world) => [step(world.time++), { partialStep: false }], ({ writer }, args) => writer.append(...args)],
  "writer.append a part": [
    (world) => [{ reward: world.time }, { partialStep: true }],
    ({ writer }, args) => {
      writer.append(...args);
      // The next call then has no open step.
      writer.endEpisode();
    },
  ],
  "writer.configure": [() => [["observation", "a"], { numKeepAliveRefs: 3, maxChunkLength: 1 }], ({ writer }, args) => writer.configure(...args)],
  "writer.createItem": [
    ({ writer }) => {
      writer.append(step(1));
      const { history } = writer;
      return ["u", 2, { all: history.reward.slice(-1), one: [history.observation.a.at(-1), history.action.list([-1])] }];
    },
    ({ writer }, args) => writer.createItem(...args),
  ],
  "history.at": [() => [-1], ({ writer }, args) => writer.history.reward.at(...args).values()],
  "history.slice": [() => [-1, null, 1], ({ writer }, args) => writer.history.reward.slice(...args).values()],
  "history.list": [() => [[-1, -1]], ({ writer }, args) => writer.history.reward.list(...args).values()],
  "writer.endEpisode": [() => [{ clearBuffers: false }], ({ writer }, args) => writer.endEpisode(...args)],
  "writer.flush": [() => [{ blockUntilNumItems: 2, timeoutMs: 1, signal: signal() }], ({ writer }, args) => writer.flush(...args)],
  "older.append": [(world) => [step(world.time++)], ({ older }, args) => older.append(...args)],
  "older.appendSequence": [() => [columns(3)], ({ older }, args) => older.appendSequence(...args)],
  "older.createItem": [() => ["u", 1, 3], ({ older }, args) => older.createItem(...args)],
  "older.flush": [() => [{ timeoutMs: 1 }], ({ older }, args) => older.flush(...args)],
  "client.insert": [(world) => [step(world.time++), { u: 2 }, { timeoutMs: 1, signal: signal() }], ({ client }, args) => client.insert(...args)],
  "client.signature": [() => ["t"], ({ client }, args) => client.signature(...args)],
  "client.writer": [() => [{ keep: 3, items: [{ table: "t", length: 1 }] }], ({ client }, args) => client.writer(...args).close()],
  "client.trajectoryWriter": [() => [{ numKeepAliveRefs: 3, validateItems: true }], ({ client }, args) => client.trajectoryWriter(...args).close()],
  "client.legacyWriter": [
    () => [{ maxSequenceLength: 3, chunkLength: 2, deltaEncoded: true, maxInFlightItems: 2 }],
    ({ client }, args) => client.legacyWriter(...args).close(),
  ],
  "new LocalClient": [
    ({ replay }) => [replay, { signatures: { t: { r: { dtype: "f32", shape: [null] } } } }],
    (_, args) => new LocalClient(...(args as unknown as [never])),
  ],
  "LocalClient.of": [
    () => [{ spec: SPEC(), tables: [{ name: "t", maxSize: 3, signature: { r: { dtype: "f32", shape: [null] } } }], seed: 1 }],
    (_, args) => LocalClient.of(...(args as unknown as [never])),
  ],
  "new ReverbAddTrajectoryObserver": [
    ({ client }) => [client, { tableName: "t", sequenceLength: 3, strideLength: 2, priority: 2, padEndOfEpisodes: true, tileEndOfEpisodes: true }],
    (_, args) => new ReverbAddTrajectoryObserver(...(args as unknown as [never, never])).close(),
  ],
  "new ReverbAddEpisodeObserver": [
    ({ replay }) => [replay, { tableName: "t", maxSequenceLength: 3, priority: 2, bypassPartialEpisodes: true, onWarning: () => {} }],
    (_, args) => new ReverbAddEpisodeObserver(...(args as unknown as [never, never])).close(),
  ],
  "new ReverbReplayBuffer": [
    ({ client }) => [SPEC(), { client, tableName: "u", sequenceLength: null, rateLimiterTimeoutMs: 3, datasetBufferSize: 2 }],
    (_, args) => new ReverbReplayBuffer(...(args as unknown as [never, never])),
  ],
  "buffer.asDataset": [
    () => [{ sampleBatchSize: 2, numSteps: 1, numParallelCalls: 2, sequencePreprocessFn: (items: unknown) => items, prefetch: 0 }],
    ({ buffer }, args) =>
      buffer
        .asDataset(...args)
        [Symbol.iterator]()
        .next(),
  ],
  "buffer.asDataset in order": [() => [{ singleDeterministicPass: true, signal: signal() }], ({ buffer }, args) => few(buffer.asDataset(...args))],
  "buffer.updatePriorities": [
    () => [
      [1, 2],
      [3, 4],
    ],
    ({ buffer }, args) => buffer.updatePriorities(...args),
  ],
  "buffer.clear": [() => [{ clearAllVariables: false }], ({ buffer }, args) => buffer.clear(...args)],
  drive: [
    () => [
      { reset: () => timeStep(0), step: enough(transition([1, 0], 1)) },
      { action: () => ({ action: 1, info: [] }), initialState: () => 0 },
      [() => undefined],
      { steps: 3, episodes: 2, signal: signal() },
      { timeStep: timeStep(1), policyState: 0, steps: 0, episodes: 0 },
    ],
    (_, args) => drive(...(args as unknown as Parameters<typeof drive>)),
  ],
  "drive of outcomes": [
    () => [{ reset: () => [0], step: enough({ observation: [1], reward: 1, terminated: false, truncated: false }) }, () => 1, [], { steps: 3 }],
    (_, args) => drive(...(args as unknown as Parameters<typeof drive>)),
  ],
  restart: [() => [[1], { batchSize: 2 }], (_, args) => restart(...(args as unknown as [never]))],
  transition: [() => [[1], [1, 2], [1, 1]], (_, args) => transition(...(args as unknown as [never, never]))],
  termination: [() => [[1], Float32Array.of(1)], (_, args) => termination(...(args as unknown as [never, never]))],
  truncation: [() => [[1], 1, 1], (_, args) => truncation(...(args as unknown as [never, never]))],
  mid: [() => [[1], 0, [], [1], [1]], (_, args) => mid(...(args as unknown as Parameters<typeof mid>))],
  boundary: [() => [[1], 0, [], 1, 1], (_, args) => boundary(...(args as unknown as Parameters<typeof boundary>))],
  fromTransition: [() => [timeStep(1), { action: 1 }, timeStep(2)], (_, args) => fromTransition(...(args as unknown as Parameters<typeof fromTransition>))],
  isFirst: [() => [{ stepType: [0, 1], nextStepType: [1, 1] }], (_, args) => isFirst(...(args as unknown as [never]))],
  isMid: [() => [{ stepType: { data: [0, 1], shape: [2] }, nextStepType: [1, 1] }], (_, args) => isMid(...(args as unknown as [never]))],
  isLast: [() => [{ stepType: 2 }], (_, args) => isLast(...(args as unknown as [never]))],
  isBoundary: [() => [{ stepType: 2, nextStepType: 0 }], (_, args) => isBoundary(...(args as unknown as [never]))],
  trajectorySpec: [() => [{ observation: f32(2), action: i32(), policyInfo: [] }], (_, args) => trajectorySpec(...(args as unknown as [never]))],
};

const seeds = Array.from({ length: scaled(60, 3) }, (_, i) => i + 1);

test.each(seeds)("observers, writers and clients stay consistent when called with hostile values, seed %i", async (seed) => {
  const world = worldOf(seed);
  for (const name of ["writer", "older"]) GOOD[name]?.(world);
  // An item created with the first part of a step exists.
  world.writer.append({ reward: 1 }, { partialStep: true });
  world.writer.endEpisode();
  const { replay } = world;
  await attack(new TestRandom(seed), world, { calls: CALLS, good: GOOD, bytes: () => bytesOf(replay), broken: () => broken(replay) }, 60, `seed ${seed}`);
});
