/** A world by its seed: what a step is, the tables, the writers, and operations whose numbers mean something whatever was before them, so that any of them can be left out. */
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
  prioritized,
  queueLimiter,
  type RateLimiter,
  type Spec,
  sampleToInsertRatio,
  u8,
  uniform,
} from "../../../src/index.ts";
import type { TwinOptions } from "../../model/twin-table.ts";
import { TestRandom } from "../../support/random.ts";

export interface PlannedTable extends TwinOptions {
  readonly name: string;
  readonly rule: { readonly length: number; readonly stride: number; readonly writer: number } | undefined;
}

export interface PlannedWriter {
  readonly lanes: number;
  readonly keep: number;
  readonly across: boolean;
}

export const KINDS = ["append", "staged", "block", "create", "end", "sample", "distinct", "into", "update", "delete", "clear", "restore", "view"] as const;
const WEIGHTS: readonly number[] = [20, 8, 6, 24, 4, 12, 6, 6, 8, 5, 1, 2, 8];

export interface Operation {
  readonly kind: (typeof KINDS)[number];
  /** What it makes its choices by. */
  readonly seed: number;
}

export interface Plan {
  readonly spec: { readonly [leaf: string]: Spec };
  readonly tables: readonly PlannedTable[];
  readonly writers: readonly PlannedWriter[];
  readonly operations: readonly Operation[];
  readonly seed: number;
  /** How much more memory there may be than what plan() says; undefined for no limit. */
  readonly spareBytes: number | undefined;
}

const LEAVES = { a: () => f32(3), b: () => u8(5), c: () => i32(), d: () => f64(2, 2), e: () => bool(), f: () => u8(300) };

export function planOf(seed: number): Plan {
  const random = new TestRandom(seed);
  const selector = () => random.pick([fifo(), lifo(), uniform(), prioritized(1), prioritized(0.6), minHeap(), maxHeap()]);
  const limiter = (): RateLimiter => {
    const kind = random.below(6);
    if (kind < 3) return minSize(1 + random.below(4));
    if (kind < 5) return sampleToInsertRatio(random.pick([0.5, 1, 2]), 1 + random.below(3), 4 + random.below(4));
    return queueLimiter(1 + random.below(6));
  };
  const leaves = Object.entries(LEAVES).filter(() => random.below(2) === 0);
  const nested = Object.fromEntries(leaves.slice(0, 2).map(([name, leaf]) => [name, leaf()]));
  const flat = Object.fromEntries(leaves.slice(2).map(([name, leaf]) => [name, leaf()]));
  const writers = Array.from({ length: 1 + random.below(3) }, () => ({
    lanes: random.pick([1, 1, 1, 2, 3]),
    keep: 3 + random.below(6),
    across: random.below(4) === 0,
  }));
  const tables = Array.from({ length: 1 + random.below(3) }, (_, i): PlannedTable => {
    const writer = random.below(writers.length);
    const length = 1 + random.below(3);
    const [limited, remover] = [limiter(), selector()];
    // Of several items that one call makes the twin can follow those that all come in, and whose victims are no matter of chance.
    const oneByOne = limited.maxDiff === Number.MAX_VALUE && remover.kind !== "uniform" && remover.kind !== "prioritized";
    return {
      name: `t${i}`,
      sampler: selector(),
      remover,
      maxSize: random.pick([1, 2, 3, 5, 8, 13, 40]),
      maxPending: random.pick([1, 2, 8]),
      maxTimesSampled: random.pick([0, 0, 1, 3]),
      maxSteps: random.below(3) === 0 ? 8 + random.below(20) : Number.POSITIVE_INFINITY,
      limiter: limited,
      rule: random.below(2) === 0 && (writers[writer]?.lanes === 1 || oneByOne) ? { length, stride: 1 + random.below(3), writer } : undefined,
    };
  });
  const total = WEIGHTS.reduce((sum, weight) => sum + weight, 0);
  const kind = () => {
    let dice = random.below(total);
    const at = WEIGHTS.findIndex((weight) => {
      dice -= weight;
      return dice < 0;
    });
    return KINDS[at] as Operation["kind"];
  };
  const operations = Array.from({ length: 20 + random.below(300) }, () => ({ kind: kind(), seed: random.below(2 ** 31) }));
  return {
    spec: { id: f64(), reward: f32(), ...flat, ...(leaves.length > 0 && { nested }) } as Plan["spec"],
    tables,
    writers,
    operations,
    seed,
    spareBytes: random.below(4) === 0 ? random.below(2 ** 16) : undefined,
  };
}
