/**
 * Passes hostile values to every public call. A call must succeed, or throw one of our errors or an error of the caller. A rejected call must change nothing,
 * and no call may trap or break an invariant. The test prints the seed of a failure.
 */
import { expect, test } from "vitest";
import { bool, f32, fifo, i32, i64, minHeap, packed, prioritized, Replay, sampleToInsertRatio, shared, text, u8, uniform } from "../../../src/index.ts";
import { engineOf } from "../../../src/replay/replay.ts";
import { type Attacked, attack } from "../../support/attack.ts";
import { broken } from "../../support/health.ts";
import { TestRandom } from "../../support/random.ts";
import { bytesOf } from "../../support/refused.ts";
import { scaled } from "../../support/size.ts";

const SPEC = () => ({
  ...{
    observation: { a: f32(2), image: shared("f", u8(12), 2), wide: f32(300), screen: packed("s", u8(16, 16)) },
    action: i32(),
    reward: f32(),
    flag: bool(),
    mask: bool(3),
  },
  ...{ big: i64(), said: text({ maxBytes: 8 }), words: text({ maxBytes: 5 }, 2) },
});
const TABLES = () => ({
  t: { maxSize: 12, sampler: prioritized(0.6), remover: fifo() },
  u: { maxSize: 9, sampler: uniform(), remover: minHeap(), maxTimesSampled: 3 },
  n: { maxSize: 14, sampler: prioritized(1, { withMin: true }) },
  r: { maxSize: 9, sampler: fifo(), rateLimiter: sampleToInsertRatio(2, 2, 6), maxPending: 4 },
});
const RULES = () => [
  { table: "t", length: 2, columns: { last: { leaf: "reward", at: -1 }, all: { leaf: "observation.a", from: 0 } } },
  { table: "n", nStep: 2, finite: false },
];

const screenOf = (x: number) => new Uint8Array(256).fill(x % 5, x % 40);
const step = (x: number) => ({
  ...{
    observation: { a: [x, -x], image: new Uint8Array(24).fill(x % 3), wide: new Float32Array(300).fill(x), screen: screenOf(x) },
    action: x % 4,
    reward: x / 2,
  },
  ...{ flag: x % 2 === 0, mask: [1, 0, 1], big: BigInt(x), said: `s${x % 10}`, words: ["a", "b"] },
});
const columns = (n: number) => {
  const steps = Array.from({ length: n }, (_, x) => step(x));
  return {
    observation: {
      a: steps.map(({ observation }) => observation.a),
      image: steps.map(({ observation }) => observation.image),
      wide: new Float32Array(300 * n),
      screen: steps.map(({ observation }) => observation.screen),
    },
    ...{ action: steps.map(({ action }) => action), reward: new Float32Array(n), flag: new Uint8Array(n), mask: new Uint8Array(3 * n) },
    ...{ big: new BigInt64Array(n), said: steps.map(({ said }) => said), words: steps.map(({ words }) => words) },
  };
};

interface World {
  readonly replay: Replay;
  readonly writer: ReturnType<Replay["writer"]>;
  readonly lanes: ReturnType<Replay["writer"]>;
  readonly random: TestRandom;
  time: number;
}

function worldOf(random: TestRandom): World {
  const replay = new Replay({ spec: SPEC(), tables: TABLES(), seed: random.below(1000), logger: null }) as unknown as Replay;
  const writer = replay.writer({ items: RULES() as never, keep: 8 });
  const lanes = replay.writer({ lanes: 2, items: [{ table: "u", length: 1 }] });
  const world = { replay, writer, lanes, random, time: 0 };
  for (let i = 0; i < 12; i++) GOOD.append?.(world);
  return world;
}

/** The valid calls between attacks. */
const GOOD: Attacked<World>["good"] = {
  append: (world) => world.writer.append(step(world.time++)),
  lanes: ({ lanes }) => lanes.append(columns(2)),
  sample: ({ replay }) => replay.table("u").sample(2),
  update: ({ replay }) => replay.table("n").updatePriorities([replay.writers[0]?.lastKey("n") ?? 0], [2]),
  item: ({ writer }) => writer.length > 1 && writer.createItem("u", { length: 2, priority: 2 }),
  end: ({ writer }) => writer.episodeSteps > 0 && writer.endEpisode({ final: { observation: { a: [1, 2] } }, terminated: false }),
};

const SAMPLE = { replacement: false, among: 3, length: 2, offset: "end", cross: true, mask: true, beta: 0.5, normalize: "batch" };
const N_STEP = { n: 2, gamma: 0.9, reward: "reward", terminal: "flag", nextState: "own" };

/** Waiting calls use a separate Replay, which is closed at the end. */
async function waiting(call: (replay: Replay, random: TestRandom) => unknown, random: TestRandom): Promise<void> {
  const rateLimiter = sampleToInsertRatio(2, 2, 6);
  const replay = new Replay({ spec: f32(), tables: { t: { maxSize: 9, rateLimiter, maxPending: 4 } }, logger: null }) as unknown as Replay;
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  for (let n = random.below(12); n > 0; n--) {
    try {
      writer.append(n);
    } catch {
      break;
    }
  }
  try {
    const ended = (call(replay, random) as Promise<unknown> | undefined)?.then(
      () => undefined,
      (error) => error,
    );
    replay.dispose();
    const error = await ended;
    if (error !== undefined) throw error;
  } finally {
    if (!engineOf(replay).closed) replay.dispose();
  }
}

/** Every public call with valid arguments. */
const CALLS: Attacked<World>["calls"] = {
  "new Replay": [
    () => [{ spec: SPEC(), tables: TABLES(), maxBytes: 2 ** 26, seed: 3, transition: { reward: "reward" }, logger: null }],
    (_, args) => new Replay(...(args as readonly [never])),
  ],
  "Replay.plan": [() => [{ spec: SPEC(), tables: TABLES() }], (_, args) => Replay.plan(...(args as readonly [never]))],
  "Replay.restore": [({ replay }) => [bytesOf(replay), { logger: null }], (_, args) => Replay.restore(...(args as readonly [never]))],
  table: [() => ["t"], ({ replay }, args) => replay.table(...(args as readonly [never]))],
  writer: [
    () => [{ keep: 9, lanes: 1, items: RULES(), across: true, autoreset: "disabled" }],
    ({ replay }, args) => replay.writer(...(args as readonly [never])).close(),
  ],
  append: [({ time }) => [step(time)], ({ writer }, args) => writer.append(...(args as readonly [never]))],
  "append lanes": [
    () => [columns(2), { terminated: [1, 0], truncated: [0, 1], final: columns(2) }],
    ({ lanes }, args) => lanes.append(...(args as readonly [never])),
  ],
  appendColumns: [
    () => [columns(3), { terminated: [0, 1, 0], truncated: [0, 0, 0], final: { observation: { a: [[1, 2]] } }, priorities: { n: [1, 2, 3] } }],
    ({ writer }, args) => writer.appendColumns(...(args as readonly [never])),
  ],
  staged: [
    ({ time }) => [step(time)],
    ({ writer }, [given = {}]) => {
      const { staged } = writer as { staged: { [name: string]: unknown } };
      for (const name of ["flag", "mask", "said", "words"]) staged[name] = (given as { [name: string]: unknown } | null)?.[name];
      writer.append();
    },
  ],
  createItem: [
    () => ["u", { length: 2, priority: 3, lane: 0, columns: { a: { leaf: "reward", at: 0 }, b: { leaf: "action", steps: [0, -1] } } }],
    ({ writer }, args) => writer.createItem(...(args as readonly [never, never])),
  ],
  endEpisode: [() => [{ final: step(3), terminated: true, lane: 0 }], ({ writer }, args) => writer.endEpisode(...(args as readonly [never]))],
  lastKey: [() => ["t"], ({ writer }, args) => writer.lastKey(...(args as readonly [never]))],
  sample: [
    ({ random }) => [
      3,
      { ...SAMPLE, ...(random.below(2) === 0 && { nStep: N_STEP }), columns: { a: { leaf: "reward", at: 0 }, w: { leaf: "observation.wide" } } },
    ],
    ({ replay }, args) => replay.table("n").sample(...(args as readonly [never])),
  ],
  "sample into": [
    ({ replay }) => [
      2,
      {
        into: replay.table("u").batch(2, { length: 1, columns: { a: { leaf: "observation.a" }, said: { leaf: "said", at: 0 } } }),
        columns: { a: { leaf: "observation.a" }, said: { leaf: "said", at: 0 } },
        length: 1,
      },
    ],
    ({ replay }, args) => replay.table("u").sample(...(args as readonly [never])),
  ],
  "sample of columns": [() => [2, { offset: "start" }], ({ replay }, args) => replay.table("t").sample(...(args as readonly [never]))],
  batch: [() => [2, { length: 3, mask: true }], ({ replay }, args) => replay.table("n").batch(...(args as readonly [never, never]))],
  updatePriorities: [
    ({ replay }) => [[...replay.table("n").sample(3).info.keys], [1, 2, 3]],
    ({ replay }, args) => replay.table("n").updatePriorities(...(args as readonly [never, never])),
  ],
  delete: [
    ({ replay }) => [new Float64Array([replay.writers[0]?.lastKey("n") ?? 0])],
    ({ replay }, args) => replay.table("n").delete(...(args as readonly [never])),
  ],
  explain: [({ writer }) => [writer.lastKey("n")], ({ replay }, args) => replay.table("n").explain(...(args as readonly [never]))],
  ready: [() => [2, { replacement: false, among: 2 }], ({ replay }, args) => replay.table("n").ready(...(args as readonly [never]))],
  can: [() => [2], ({ replay }, [n]) => [replay.table("r").canSample(n), replay.table("r").canInsert(n)]],
  dataset: [
    () => [{ batchSize: 2, replacement: false, prefetch: 0, length: 2 }],
    ({ replay }, args) =>
      replay
        .table("u")
        .dataset(...(args as readonly [never]))
        [Symbol.iterator]()
        .next(),
  ],
  flush: [() => [{ timeoutMs: 1 }], ({ random }, args) => waiting((replay) => replay.writers[0]?.flush(...(args as readonly [never])), random)],
  sampleWhenReady: [
    () => [2, { timeoutMs: 1, replacement: true, signal: new AbortController().signal }],
    ({ random }, args) => waiting((replay) => replay.table("t").sampleWhenReady(...(args as readonly [never])), random),
  ],
  transitions: [
    () => [{ gamma: 0.9, n: 2, next: ["action"], dtype: "f64" }],
    ({ replay }, args) => replay.table("n").transitions(...(args as readonly [never])),
  ],
  "transitions.sample": [
    () => [2, { beta: 0.4, replacement: true, among: 4, stratified: false, normalize: "table" }],
    ({ replay }, args) =>
      replay
        .table("n")
        .transitions({ gamma: 0.9 })
        .sample(...(args as readonly [never])),
  ],
  "transitions into": [
    ({ replay }) => [2, { into: replay.table("n").transitions({ gamma: 0.9 }).batch(2) }],
    ({ replay }, args) =>
      replay
        .table("n")
        .transitions({ gamma: 0.9 })
        .sample(...(args as readonly [never])),
  ],
};

const seeds = Array.from({ length: scaled(250, 4) }, (_, i) => i + 1);

test.each(seeds)("a Replay stays consistent when called with hostile values, seed %i", async (seed) => {
  const random = new TestRandom(seed);
  const world = worldOf(random);
  const { replay } = world;
  await attack(random, world, { calls: CALLS, good: GOOD, bytes: () => bytesOf(replay), broken: () => broken(replay) }, 60, `seed ${seed}`);
  const copy = Replay.restore(bytesOf(replay), { logger: null }) as unknown as Replay;
  expect(bytesOf(copy).equals(bytesOf(replay))).toBe(true);
  const steps = copy.table("n").sample(14, { replacement: false, cross: true }).steps as unknown as {
    flag: { data: Uint8Array };
    mask: { data: Uint8Array };
    said: { data: string[] };
  };
  for (const { data } of [steps.flag, steps.mask]) expect(data.every((byte) => byte <= 1)).toBe(true);
  expect(steps.said.data.every((said) => !/\p{Surrogate}/u.test(said))).toBe(true);
});
