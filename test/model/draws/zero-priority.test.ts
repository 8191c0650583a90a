/** Tests that an item with priority 0 is never drawn if other items have weight, and that all items are equally likely if all priorities are 0. */
import { describe, expect, test } from "vitest";
import { chiSquare } from "../../support/chi-square.ts";
import { type CoreExports, coreOf } from "../../support/core.ts";
import { TestRandom } from "../../support/random.ts";

const BATCH = 4096;
const LEAVES = 500;

/** Counts how often each leaf, from leaf 1 on, is drawn. */
function tally(x: CoreExports, exponent: number, priorities: readonly number[], draws: number): Uint32Array {
  const tree = x.arena_alloc(x.sum_tree_bytes(priorities.length));
  const scratch = x.arena_alloc(32 * (BATCH + priorities.length));
  const other = scratch + 16 * (BATCH + priorities.length);
  const state = x.arena_alloc(32);
  x.sum_tree_init(tree, priorities.length, exponent);
  x.random_init(state, 99, 0, 0);
  const slots = priorities.map((_, i) => i + 1);
  const u32 = new Uint32Array(x.memory.buffer);
  u32.set(slots, scratch >> 2);
  new Float64Array(x.memory.buffer).set(priorities, other >> 3);
  x.sum_tree_update(tree, scratch, other, slots.length, other + 8 * slots.length);
  const counts = new Uint32Array(priorities.length + 1);
  for (let done = 0; done < draws; done += BATCH) {
    x.sum_tree_draw(tree, state, BATCH, scratch, other);
    for (let i = scratch >> 2; i < (scratch >> 2) + BATCH; i++) (counts[u32[i] as number] as number)++;
  }
  return counts.subarray(1);
}

const EXPONENTS = [0, 0.5, 1, 2];
/** Generators for the weights between the zeros. */
const NEIGHBOURS: { readonly [name: string]: (random: TestRandom, exponent: number) => number } = {
  "like weights": () => 1,
  "tiny weights": (_, exponent) => 1e-300 ** (1 / Math.max(exponent, 1)),
  "huge weights": (_, exponent) => 1e298 ** (1 / Math.max(exponent, 1)),
  "weights of all magnitudes": (random, exponent) => 10 ** ((596 * random.next() - 298) / Math.max(exponent, 1)),
};

describe("10^7 draws never return an item with priority 0", () => {
  const draws = 10_000_000 / (EXPONENTS.length * Object.keys(NEIGHBOURS).length);
  for (const exponent of EXPONENTS) {
    for (const [name, neighbour] of Object.entries(NEIGHBOURS)) {
      test(`next to ${name}, exponent ${exponent}`, () => {
        const random = new TestRandom(13);
        const priorities = Array.from({ length: LEAVES }, () => (random.below(3) > 0 ? 0 : neighbour(random, exponent)));
        const counts = tally(coreOf("release"), exponent, priorities, draws);
        expect(counts.filter((count, i) => count > 0 && priorities[i] === 0)).toEqual(new Uint32Array(0));
        expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(draws);
        const positive = priorities.filter((priority) => priority > 0).length;
        const seen = [...counts].filter((_, i) => priorities[i] !== 0);
        // Equal weights are drawn uniformly, however small or large.
        if (exponent === 0 || name !== "weights of all magnitudes") expect(chiSquare(seen, new Array(positive).fill(1 / positive))).toBeGreaterThan(1e-4);
      });
    }
  }
});

describe("if all priorities are 0", () => {
  for (const exponent of [...EXPONENTS, -1]) {
    test(`every item is equally likely, exponent ${exponent}`, () => {
      const counts = tally(coreOf("release"), exponent, new Array(LEAVES).fill(0), 200_000);
      expect(chiSquare([...counts], new Array(LEAVES).fill(1 / LEAVES))).toBeGreaterThan(1e-4);
    });
  }
});
