/**
 * Generates a world from its seed: the spec, the tables, the writers, and the operations. Their numbers are valid after any other operations, so that each
 * operation can be omitted.
 */
import {
  bool,
  f32,
  f64,
  fifo,
  i32,
  lifo,
  maxHeap,
  minHeap,
  minSize,
  packed,
  prioritized,
  queueLimiter,
  type RateLimiter,
  recency,
  type Spec,
  sampleToInsertRatio,
  u8,
  uniform,
} from "../../../src/index.ts";
import { isRandom, type TwinOptions } from "../../model/twin-table.ts";
import { TestRandom } from "../../support/random.ts";

export interface PlannedRule {
  readonly writer: number;
  readonly priority: number;
  /** The number of steps of an item. For a rule of `nStep`, that of the longest item. */
  readonly length: number;
  readonly stride: number;
  /** 0 means a rule of `length`. */
  readonly nStep: number;
}

export interface PlannedTable extends TwinOptions {
  readonly name: string;
  readonly rule: PlannedRule | undefined;
  /** Whether items are created with their own columns. Loops run over the other tables. */
  readonly own: boolean;
}

export interface PlannedWriter {
  readonly lanes: number;
  readonly keep: number;
  readonly across: boolean;
  readonly autoreset: "nextStep" | "sameStep" | "disabled";
  readonly name: string | undefined;
}

/** The frequencies of operations. Each world prefers one of the groups. */
const GROUPS = [
  { append: 20, staged: 8, ends: 8, block: 6, create: 24, end: 6, close: 2 },
  { sample: 12, distinct: 6, into: 6, view: 8, update: 8, write: 5, delete: 5, clear: 1, restore: 2 },
  { loop: 14, lend: 5, release: 5, epoch: 8 },
] as const;
type KindIn<G> = G extends unknown ? keyof G : never;
export type Kind = KindIn<(typeof GROUPS)[number]>;

export interface Operation {
  readonly kind: Kind;
  /** The seed of its random choices. */
  readonly seed: number;
}

export interface Plan {
  readonly spec: { readonly [leaf: string]: Spec };
  readonly tables: readonly PlannedTable[];
  readonly writers: readonly PlannedWriter[];
  readonly operations: readonly Operation[];
  readonly seed: number;
  /** The memory beyond the result of plan(), or undefined for no limit. */
  readonly spareBytes: number | undefined;
  /** Whether the Replay is stored in a directory. */
  readonly isKept: boolean;
}

const LEAVES = {
  a: () => f32(3),
  b: () => u8(5),
  c: () => i32(),
  d: () => f64(2, 2),
  e: () => bool(),
  f: () => u8(300),
  g: () => packed("g", u8(17, 19), { ratio: 1 }),
};

export function planOf(seed: number): Plan {
  const random = new TestRandom(seed);
  const leaves = Object.entries(LEAVES).filter(() => random.below(2) === 0);
  const nested = Object.fromEntries(leaves.slice(0, 2).map(([name, leaf]) => [name, leaf()]));
  const flat = Object.fromEntries(leaves.slice(2).map(([name, leaf]) => [name, leaf()]));
  const writers = Array.from({ length: 1 + random.below(3) }, (_, w) => writerOf(random, `actor ${w}`));
  const spareBytes = random.below(4) === 0 ? random.below(2 ** 16) : undefined;
  return {
    spec: { id: f64(), goal: f64(), reward: f32(), ...flat, ...(leaves.length > 0 && { nested }) } as Plan["spec"],
    tables: Array.from({ length: 1 + random.below(3) }, (_, i) => tableOf(random, `t${i}`, writers)),
    writers,
    operations: operationsOf(random),
    seed,
    spareBytes,
    isKept: spareBytes === undefined && random.below(5) === 0,
  };
}

function writerOf(random: TestRandom, name: string): PlannedWriter {
  const lanes = random.pick([1, 1, 1, 2, 3]);
  return {
    lanes,
    keep: 4 + random.below(6),
    across: random.below(4) === 0,
    autoreset: random.pick(["nextStep", "nextStep", "sameStep", "disabled"] as const),
    name: random.below(2) === 0 ? name : undefined,
  };
}

function tableOf(random: TestRandom, name: string, writers: readonly PlannedWriter[]): PlannedTable {
  const selector = () => random.pick([fifo(), lifo(), uniform(), prioritized(1), prioritized(0.6), minHeap(), maxHeap()]);
  const [limiter, remover] = [limiterOf(random), selector()];
  const writer = random.below(writers.length);
  const many = takesMany({ limiter, remover });
  const nStep = many && random.below(2) === 0 ? 1 + random.below(3) : 0;
  const isRuled = random.below(3) > 0 && (many || writers[writer]?.lanes === 1);
  return {
    name,
    sampler: random.below(6) === 0 ? recency({ exponent: random.pick([0, 0.5, 1, 2]) }) : selector(),
    remover,
    maxSize: random.pick([1, 2, 3, 5, 8, 13, 40]),
    maxPending: random.pick([1, 2, 8]),
    maxTimesSampled: random.pick([0, 0, 1, 3]),
    maxSteps: random.below(3) === 0 ? 8 + random.below(20) : Number.POSITIVE_INFINITY,
    limiter,
    rule: isRuled
      ? { writer, priority: random.pick([1, 1, 0.5]), nStep, length: nStep > 0 ? nStep + 1 : 1 + random.below(4), stride: nStep > 0 ? 1 : 1 + random.below(3) }
      : undefined,
    own: random.below(3) === 0,
  };
}

/** Returns whether the twin can follow a call that creates several items: all of them are inserted, and evictions do not depend on chance. */
export function takesMany({ limiter, remover }: Pick<TwinOptions, "limiter" | "remover">): boolean {
  return limiter.maxDiff === Number.MAX_VALUE && !isRandom(remover);
}

function limiterOf(random: TestRandom): RateLimiter {
  const kind = random.below(6);
  if (kind < 3) return minSize(1 + random.below(4));
  if (kind < 5) return sampleToInsertRatio(random.pick([0.5, 1, 2]), 1 + random.below(3), 4 + random.below(4));
  return queueLimiter(1 + random.below(6));
}

function operationsOf(random: TestRandom): Operation[] {
  const preferred = random.below(GROUPS.length + 1);
  const kinds = GROUPS.flatMap((group, g) => Object.entries(group).flatMap(([kind, weight]) => new Array(g === preferred ? 3 * weight : weight).fill(kind)));
  return Array.from({ length: 20 + random.below(300) }, () => ({ kind: random.pick(kinds) as Kind, seed: random.below(2 ** 31) }));
}
