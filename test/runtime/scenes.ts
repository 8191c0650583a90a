/**
 * Defines the Replays of the digest's script, and their steps. Together they cover every selector except `recency` in both roles, every kind of leaf and every
 * limit.
 */
import {
  bool,
  type ColumnSet,
  f32,
  f64,
  fifo,
  type ItemRule,
  i8,
  i16,
  i32,
  i64,
  lifo,
  maxHeap,
  minHeap,
  minSize,
  type NStepOptions,
  prioritized,
  queueLimiter,
  type ReplayOptions,
  type Selector,
  type Spec,
  sampleToInsertRatio,
  shared,
  type TableOptions,
  u8,
  u16,
  u32,
  u64,
  uniform,
  type WriterOptions,
} from "../../src/index.ts";
import type { TestRandom } from "../support/random.ts";

export interface Scene {
  readonly name: string;
  /** The number of operations. */
  readonly ops: number;
  readonly options: ReplayOptions;
  readonly writers: readonly WriterOptions<string, ColumnSet<Spec>>[];
  /** Returns one step, nested like the spec. */
  step(random: TestRandom, time: number): unknown;
  /** Returns whole columns of `rows` steps. */
  columns(random: TestRandom, time: number, rows: number): unknown;
  /** Fills a staging record of one lane. */
  stage(staged: never, random: TestRandom, time: number): void;
  readonly nStep: NStepOptions;
  /** Column sets for reading or creating items. */
  readonly columnSets: readonly ColumnSet<Spec>[];
  /** The largest batch and window. */
  readonly max: { readonly batch: number; readonly length: number };
}

const GAMMA = 0.97;
const MAX_BYTES = 2 ** 28;

const half = (random: TestRandom) => random.next() - 0.5;

function floats(random: TestRandom, n: number): Float32Array<ArrayBuffer> {
  const made = new Float32Array(n);
  for (let i = 0; i < n; i++) made[i] = half(random);
  return made;
}

export function bytes(random: TestRandom, n: number): Uint8Array<ArrayBuffer> {
  const made = new Uint8Array(n);
  for (let i = 0; i < n; i++) made[i] = random.below(256);
  return made;
}

/** Concatenates arrays of the same length and kind. */
function joined<A extends Uint8Array | Int8Array | Float32Array | BigUint64Array>(parts: readonly A[]): A {
  const [{ length, constructor: Kind }] = parts as [A];
  const made = new (Kind as new (n: number) => A)(parts.length * length);
  parts.forEach((part, i) => {
    made.set(part as never, i * length);
  });
  return made;
}

/** Returns a scene with 36 small tables, one per pair of six samplers and six removers, all fed by the rules of one writer. */
function grid(): Scene {
  const selectors: Selector[] = [fifo(), lifo(), uniform(), prioritized(0.6, { withMin: true }), minHeap(), maxHeap()];
  const exponents = [1, 0, -0.5, 2, 0.5, 1.5];
  const tables: { [name: string]: TableOptions } = {};
  const items: ItemRule<string, ColumnSet<Spec>>[] = [];
  selectors.forEach((sampler, s) => {
    selectors.forEach((remover, r) => {
      const k = 6 * s + r;
      const table = `${sampler.kind}-${remover.kind}`;
      const other = remover.kind === "prioritized" && s !== r ? prioritized(exponents[s]) : remover;
      tables[table] = {
        maxSize: 5 + 3 * k,
        sampler,
        remover: other,
        ...(k % 7 === 3 ? { maxTimesSampled: 2 } : {}),
        ...(k % 5 === 4 ? { maxSteps: 40 + k } : {}),
      };
      items.push({ table, length: 1 + (k % 4), stride: 1 + (k % 3), priority: k / 8 });
    });
  });
  const step = (random: TestRandom, time: number) => ({
    observation: floats(random, 3),
    action: random.below(9) - 4,
    reward: half(random),
    discount: random.below(16) === 0 ? 0 : 1,
    id: BigInt(time) * 4294967299n - 7n,
  });
  return {
    name: "grid",
    ops: 5000,
    options: { spec: { observation: f32(3), action: i32(), reward: f32(), discount: f32(), id: i64() }, tables, seed: 7, maxBytes: MAX_BYTES },
    writers: [{ items, keep: 8 }],
    step,
    columns: (random, time, rows) => {
      const steps = Array.from({ length: rows }, (_, i) => step(random, time + i));
      return {
        observation: joined(steps.map((one) => one.observation)),
        action: Int32Array.from(steps, (one) => one.action),
        reward: Float32Array.from(steps, (one) => one.reward),
        discount: steps.map((one) => one.discount),
        id: BigInt64Array.from(steps, (one) => one.id),
      };
    },
    stage: (staged: { observation: Float32Array; action: number; reward: number; discount: number; id: bigint }, random, time) => {
      const { observation, ...numbers } = step(random, time);
      staged.observation.set(observation);
      Object.assign(staged, numbers);
    },
    nStep: { n: 3, gamma: GAMMA, reward: "reward", discount: "discount" },
    columnSets: [
      { o: { leaf: "observation", at: 0 }, next: { leaf: "observation", at: "bootstrap" }, a: { leaf: "action", at: 0 } },
      { rewards: { leaf: "reward", from: -2 }, ids: { leaf: "id", step: 2 } },
    ],
    max: { batch: 16, length: 6 },
  };
}

/** Returns a scene with wide leaves, shared leaves, stacks of frames, and arrays in objects. */
function images(): Scene {
  const frame = new Map<number, Uint8Array>();
  const frameAt = (random: TestRandom, time: number) => {
    const known = frame.get(time);
    const made = known ?? bytes(random, 48);
    frame.set(time, made);
    frame.delete(time - 8);
    return made;
  };
  let state = new Float32Array(6);
  const step = (random: TestRandom, time: number) => {
    const before = state;
    state = floats(random, 6);
    const stack = [3, 2, 1, 0].flatMap((back) => [...(back > time ? new Uint8Array(48) : frameAt(random, time - back))]);
    return {
      image: bytes(random, 1600),
      large: floats(random, 1100),
      frames: Uint8Array.from(stack),
      state: before,
      nextState: state,
      numbers: [Int8Array.of(random.below(256) - 128, 5), random.below(65536), half(random), BigUint64Array.of(BigInt(time), 3n)],
      reward: half(random),
      terminal: random.below(20) === 0,
    };
  };
  return {
    name: "images",
    ops: 2500,
    options: {
      spec: {
        image: u8(40, 40),
        large: f32(1100),
        frames: shared("frame", u8(6, 8), 4),
        state: shared("state", f32(6)),
        nextState: shared("state", f32(6)),
        numbers: [i8(2), u16(), f64(), u64(2)],
        reward: f32(),
        terminal: bool(),
      },
      tables: {
        uniform: { maxSize: 60 },
        prioritized: { maxSize: 50, sampler: prioritized(0.7, { withMin: true }), remover: lifo() },
        episodes: { maxSize: 12, sampler: maxHeap(), remover: minHeap(), rateLimiter: minSize(2) },
      },
      seed: 0x1234_5678_9abc_def0n,
      maxBytes: MAX_BYTES,
    },
    writers: [
      {
        items: [
          { table: "uniform", length: 3 },
          { table: "prioritized", length: 2, stride: 2, priority: 0.5 },
        ],
        keep: 12,
      },
      { keep: 12, across: true },
    ],
    step,
    columns: (random, time, rows) => {
      const steps = Array.from({ length: rows }, (_, i) => step(random, time + i));
      return {
        image: joined(steps.map((one) => one.image)),
        large: joined(steps.map((one) => one.large)),
        frames: joined(steps.map((one) => one.frames)),
        state: joined(steps.map((one) => one.state)),
        nextState: joined(steps.map((one) => one.nextState)),
        numbers: [
          joined(steps.map((one) => one.numbers[0] as Int8Array)),
          steps.map((one) => one.numbers[1]),
          Float64Array.from(steps, (one) => one.numbers[2] as number),
          joined(steps.map((one) => one.numbers[3] as BigUint64Array)),
        ],
        reward: steps.map((one) => one.reward),
        terminal: steps.map((one) => one.terminal),
      };
    },
    stage: (
      staged: { [leaf: string]: Uint8Array | Float32Array } & { numbers: [Int8Array, number, number, BigUint64Array]; reward: number; terminal: number },
      random,
      time,
    ) => {
      const { image, large, frames, state: from, nextState, numbers, reward, terminal } = step(random, time);
      for (const [leaf, value] of Object.entries({ image, large, frames, state: from, nextState })) staged[leaf]?.set(value);
      staged.numbers[0].set(numbers[0] as Int8Array);
      staged.numbers[1] = numbers[1] as number;
      staged.numbers[2] = numbers[2] as number;
      staged.numbers[3].set(numbers[3] as BigUint64Array);
      staged.reward = reward;
      staged.terminal = terminal ? 1 : 0;
    },
    nStep: { n: 2, gamma: GAMMA, reward: "reward", terminal: "terminal", nextState: "own" },
    columnSets: [
      { frames: { leaf: "frames", at: -1 }, next: { leaf: "nextState", at: "bootstrap" }, large: { leaf: "large", at: 0 } },
      { image: { leaf: "image", from: 0, to: 2 }, n: { leaf: "numbers.2" }, state: { leaf: "state", from: -2, step: 2 } },
    ],
    max: { batch: 4, length: 4 },
  };
}

/** Returns a scene with four lanes in lock-step, and tables whose limiters make items wait. */
function limits(): Scene {
  const lanes = 4;
  const value = (random: TestRandom, n: number) => ({
    x: Float64Array.from({ length: 2 * n }, () => half(random)),
    word: Int16Array.from({ length: n }, () => random.below(65536) - 32768),
    reward: floats(random, n),
    discount: Float32Array.from({ length: n }, () => (random.below(10) === 0 ? 0 : 1)),
    tick: Uint32Array.from({ length: n }, () => random.below(2 ** 32)),
  });
  return {
    name: "limits",
    ops: 2500,
    options: {
      spec: { x: f64(2), word: i16(), reward: f32(), discount: f32(), tick: u32() },
      tables: {
        queue: { maxSize: 20, sampler: fifo(), maxTimesSampled: 1, rateLimiter: queueLimiter(20), maxPending: 200 },
        ratio: { maxSize: 64, sampler: prioritized(0.9, { withMin: true }), rateLimiter: sampleToInsertRatio(0.5, 6, 12), maxPending: 90 },
        short: { maxSize: 500, maxSteps: 90, sampler: prioritized(1), remover: prioritized(-1) },
        once: { maxSize: 40, sampler: uniform(), remover: lifo(), maxTimesSampled: 3, rateLimiter: minSize(4) },
      },
      seed: 99,
      maxBytes: MAX_BYTES,
    },
    writers: [
      {
        lanes,
        keep: 10,
        items: [
          { table: "queue", length: 2, stride: 12 },
          { table: "ratio", length: 3, stride: 2, priority: 0.25 },
          { table: "short", length: 5, stride: 2, priority: 2 },
          { table: "once", length: 1, priority: 1 },
        ],
      },
    ],
    step: (random) => value(random, lanes),
    columns: (random, _, rows) => value(random, lanes * rows),
    stage: (staged: { [leaf: string]: Float64Array }, random) => {
      for (const [leaf, array] of Object.entries(value(random, lanes))) staged[leaf]?.set(array as Float64Array);
    },
    nStep: { n: 3, gamma: GAMMA, reward: "reward", discount: "discount" },
    columnSets: [{ x: { leaf: "x", at: -1 }, ticks: { leaf: "tick" } }],
    max: { batch: 8, length: 7 },
  };
}

export const scenes = (): readonly Scene[] => [grid(), images(), limits()];
