/** Compares blocks of steps with the same steps appended one by one. */
import { describe, expect, test } from "vitest";
import {
  f32,
  f64,
  fifo,
  i32,
  i64,
  lifo,
  maxHeap,
  minHeap,
  minSize,
  prioritized,
  queueLimiter,
  type Selector,
  type Spec,
  shared,
  type TableOptions,
  u8,
  uniform,
} from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import { each, scaled, stride } from "../support/size.ts";
import { TwinBlocks } from "./twin-blocks.ts";

const SPECS: { readonly [name: string]: Spec } = {
  "one number": { a: f32() },
  "widths of all kinds": { a: u8(), b: [i32(), f64(), u8(5)], c: { d: f32(4), e: i64(), f: f32(3) }, g: u8(24) },
  "wide leaves": { image: f32(256), more: u8(2000), n: i32() },
  "a leaf alone": f32(2, 2),
  "shared values": { state: shared("s", f32(6)), next: shared("s", f32(6)), n: i32() },
  "shared stacks": { frames: shared("f", u8(4, 2), 4), wide: u8(1024), n: i32() },
};
const SELECTORS: readonly (() => Selector)[] = [fifo, lifo, uniform, () => prioritized(1), () => prioritized(0.6), minHeap, maxHeap];

function tableOf(random: TestRandom, remover: Selector): TableOptions {
  const maxSize = random.pick([1, 2, 3, 7, 16, 40, 64, 100]);
  const limits = random.below(4) === 0;
  return {
    maxSize,
    remover,
    sampler: random.pick(SELECTORS)(),
    rateLimiter: limits && random.below(2) === 0 ? queueLimiter(1 + random.below(200)) : minSize(1),
    maxPending: 50,
    ...(limits && random.below(2) === 0 ? { maxTimesSampled: 1 + random.below(3) } : {}),
    ...(limits && random.below(2) === 0 ? { maxSteps: 1 + random.below(3 * maxSize) } : {}),
  };
}

function writerOf(random: TestRandom, tables: readonly string[], lanes: number) {
  const rules = random.below(4);
  const items = Array.from({ length: rules }, () => ({
    table: random.pick(tables),
    length: 1 + random.below(8),
    stride: random.pick([1, 1, 2, 3]),
    priority: random.pick([1, 0.5]),
  }));
  const longest = Math.max(1, ...items.map(({ length }) => length));
  return { lanes, keep: longest + random.below(4), across: random.below(2) === 0, items };
}

/** Makes random blocks, draws, updates and deletions. */
function play(twins: TwinBlocks, random: TestRandom, writers: number, blocks: number, length: () => number, endRate: number): void {
  const { block } = twins;
  let known: number[] = [];
  for (let i = 0; i < blocks; i++) {
    twins.append(random.below(writers), length(), endRate, random.below(2) === 0);
    twins.compare();
    const { name } = random.pick(Object.values(block.tables));
    const dice = random.below(12);
    if (dice < 4) {
      const { count, info } = twins.both((replay) => replay.table(name).sample(1 + (i % 9), { mask: true, beta: 0.5 }));
      known = [...info.keys.subarray(0, count)];
    } else if (dice === 4)
      twins.both((replay) =>
        replay.table(name).updatePriorities(
          known,
          known.map((_, k) => k % 3),
        ),
      );
    else if (dice === 5) twins.both((replay) => replay.table(name).delete(known));
    else if (dice === 6) twins.compareAll();
    else if (dice === 7 && i % 5 === 0) twins.both((replay) => replay.table(name).clear());
  }
  twins.compareAll();
  twins.compare();
}

describe("random blocks equal single steps", () => {
  for (const [n, [name, spec]] of Object.entries(SPECS).entries()) {
    for (const lanes of [1, 3]) {
      test(`${name}, ${lanes === 1 ? "one lane" : "three lanes"}`, () => {
        for (const [k, remover] of each(3, [...SELECTORS.entries()], n + lanes)) {
          const random = new TestRandom(1000 * n + 10 * k + lanes);
          const tables = { t: tableOf(random, remover()), u: tableOf(random, random.pick(SELECTORS)()) };
          const writers = [writerOf(random, ["t", "u"], lanes), writerOf(random, ["t", "u"], lanes)];
          const twins = new TwinBlocks({ spec, tables, maxBytes: 1 << 27, seed: k }, writers, random);
          play(twins, random, 2, scaled(name.startsWith("wide") ? 12 : 36), () => 1 + random.below(random.pick([4, 24, 70])), random.pick([0, 0.03, 0.3]));
        }
      });
    }
  }
});

describe("blocks of 1 to 70 steps equal single steps", () => {
  for (const sampler of [uniform(), prioritized(0.6), fifo()]) {
    test(`${sampler.kind}, into a full table`, () => {
      const random = new TestRandom(7);
      const items = [{ table: "t", length: 2, stride: 1, priority: 1 }];
      const twins = new TwinBlocks({ spec: { a: f32() }, tables: { t: { maxSize: 50, sampler } } }, [{ lanes: 1, keep: 4, across: false, items }], random);
      const step = stride(1, 3);
      for (let length = 1; length <= 70; length += step) {
        twins.append(0, length, 0, length % 2 === 0);
        twins.compare();
      }
      twins.compareAll();
    });
  }
});

describe("the fast path for blocks equals single steps", () => {
  /** A single writer in a full fifo table uses the fast path with nearly every block. */
  const cases: { readonly [name: string]: { readonly rules: readonly (readonly [string, number])[]; readonly ends: number; readonly writers: number } } = {
    "one rule": { rules: [["t", 1]], ends: 0, writers: 1 },
    "runs of several steps": { rules: [["t", 5]], ends: 0, writers: 1 },
    "two tables": {
      rules: [
        ["t", 3],
        ["u", 1],
      ],
      ends: 0,
      writers: 1,
    },
    "two rules on one table": {
      rules: [
        ["t", 2],
        ["t", 2],
      ],
      ends: 0,
      writers: 1,
    },
    "episodes that end": { rules: [["t", 3]], ends: 0.02, writers: 1 },
    "two writers in turns": { rules: [["t", 2]], ends: 0.01, writers: 2 },
    "no rule": { rules: [], ends: 0, writers: 1 },
  };
  for (const [name, { rules, ends, writers }] of Object.entries(cases)) {
    for (const sampler of [uniform(), prioritized(1), prioritized(0.6, { withMin: true })]) {
      test(`${name}, ${sampler.kind} ${sampler.exponent ?? ""}`, () => {
        const random = new TestRandom(11);
        const table = (maxSize: number): TableOptions => ({ maxSize, sampler });
        const items = rules.map(([to, length]) => ({ table: to, length, stride: 1, priority: 1 }));
        const writer = { lanes: 1, keep: 8, across: false, items };
        const twins = new TwinBlocks({ spec: { a: f32(), b: i32() }, tables: { t: table(300), u: table(33) } }, new Array(writers).fill(writer), random);
        play(twins, random, writers, scaled(40, 10), () => 1 + random.below(random.pick([8, 70, 400])), ends);
        if (rules.length > 0) expect(twins.block.table("t").size).toBeGreaterThan(0);
      });
    }
  }
});
