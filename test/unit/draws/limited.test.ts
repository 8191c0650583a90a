/** Tests draws from tables with maxTimesSampled: draws that are made together must have the same result as draws made one by one. */
import { describe, expect, test } from "vitest";
import { DRAWN } from "../../../src/base/kinds.ts";
import { i32, lifo, minHeap, minSize, prioritized, Replay, type TableOptions, uniform } from "../../../src/index.ts";
import { broken } from "../../support/health.ts";
import { TestRandom } from "../../support/random.ts";
import { bytesOf } from "../../support/refused.ts";
import { scaled } from "../../support/size.ts";

const TABLES: readonly (readonly [string, Partial<TableOptions>])[] = [
  ["uniform", { sampler: uniform() }],
  ["prioritized", { sampler: prioritized(0.7), remover: lifo() }],
  ["lifo", { sampler: lifo() }],
  ["minHeap", { sampler: minHeap(), remover: uniform() }],
  ["uniform that ends at a size", { sampler: uniform(), rateLimiter: minSize(30) }],
];

const make = (table: Partial<TableOptions>) => {
  const replay = new Replay({ spec: { x: i32() }, tables: { t: { maxSize: 700, ...table } }, seed: 5, logger: null });
  return { replay, table: replay.table("t"), writer: replay.writer() };
};

type Made = ReturnType<typeof make>;

function fill({ writer, table }: Made, random: TestRandom, n: number): void {
  for (let i = 0; i < n; i++) {
    writer.append({ x: i });
    writer.createItem(table, { length: 1, priority: 0.1 + random.next() });
  }
}

const info = ({ table }: Made, n: number, among?: number) => {
  const { keys, probabilities, priorities, timesSampled, tableSizes } = table.sample(n, { among }).info;
  return Array.from(keys, (key, i) => [key, probabilities[i], priorities[i], timesSampled[i], tableSizes[i]]);
};

/** Draws one item per call until `n` items were drawn or no more can be drawn. */
function singly(made: Made, n: number, among?: number): unknown[] {
  const all: unknown[] = [];
  while (all.length < n) {
    const one = made.table.canSample(1) ? info(made, 1, among) : [];
    if (one.length === 0) break;
    all.push(...one);
  }
  return all;
}

/** Compares drawing together with drawing one by one from the same state; the final random states must also be equal. */
function compare(a: Made, b: Made, n: number, among?: number): void {
  expect(info(a, n, among)).toEqual(singly(b, n, among));
  expect(drawnOf(a).equals(drawnOf(b))).toBe(true);
  expect(a.table.stats()).toEqual(b.table.stats());
  expect(broken(a.replay)).toEqual([]);
}

/** Returns the part of a snapshot that draws change. */
function drawnOf({ replay }: Made): Buffer {
  const bytes = bytesOf(replay);
  let at = 8;
  while (bytes.readUInt32LE(at) !== DRAWN) at += 16 + bytes.readUInt32LE(at + 8);
  return bytes.subarray(at, at + 16 + bytes.readUInt32LE(at + 8));
}

describe.each(TABLES)("%s", (_, options) => {
  test.each([1, 2, 3, 7, 40, 1000, 2 ** 32 - 1])("n draws equal n calls, with maxTimesSampled %i", (maxTimesSampled) => {
    for (let seed = 0; seed < scaled(40, 2); seed++) {
      const random = new TestRandom(seed);
      const size = 1 + random.below(500);
      const before = random.below(size);
      // The largest numbers exceed the number of draws that are processed together.
      const n = random.pick([1, 2, 30, 300, 700]);
      const both = [0, 1].map(() => {
        const made = make({ ...options, maxTimesSampled });
        fill(made, new TestRandom(seed), size);
        singly(made, before);
        return made;
      });
      if (both[0]?.table.canSample(1)) compare(both[0], both[1] as Made, n);
    }
  });
});

test.each(["prioritized", "uniform"] as const)("draws among the oldest items equal single draws: %s", (kind) => {
  const options = { sampler: kind === "uniform" ? uniform() : prioritized(0.7), maxTimesSampled: 3 };
  const [a, b] = [make(options), make(options)] as const;
  for (const made of [a, b]) fill(made, new TestRandom(1), 200);
  // Uniform items that are removed from the middle change the order of other items, so draws among them include all items.
  const among = kind === "uniform" ? 200 : 20;
  compare(a, b, 45, among);
});

test("a batch ends before an item with other columns, and the next batch starts with it", () => {
  const options = { sampler: uniform(), maxTimesSampled: 5 };
  const [a, b] = [make(options), make(options)] as const;
  for (const { writer, table } of [a, b])
    for (let i = 0; i < 120; i++) {
      writer.append({ x: i });
      writer.createItem(table, { length: 1, ...(i % 12 === 0 && { columns: { y: { leaf: "x", at: 0 } } }) });
    }
  const drawn: unknown[] = [];
  let ended = 0;
  while (drawn.length < 400) {
    const { count, info } = a.table.sample(64);
    ended += Number(count < 64);
    drawn.push(...Array.from(info.keys.subarray(0, count), (key, i) => [key, info.timesSampled[i]]));
  }
  const expected = Array.from({ length: drawn.length }, () => {
    const { info } = b.table.sample(1);
    return [info.keys[0], info.timesSampled[0]];
  });
  expect(ended).toBeGreaterThan(3);
  expect(drawn).toEqual(expected);
});
