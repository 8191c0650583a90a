/** Compares each draw with a linear scan of all weights, up to the point that the random number selects. */
import { describe, expect, test } from "vitest";
import { NEWEST } from "../../../src/base/abi.ts";
import { fifo, lifo, prioritized, uniform } from "../../../src/index.ts";
import { type CoreExports, coreOf } from "../../support/core.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled, some } from "../../support/size.ts";
import { Xoshiro } from "../../support/xoshiro.ts";
import { plain, Rig } from "../rig.ts";

const DRAWS = 16;
const ROUNDS = scaled(300);

/** Sums weights lo … lo + span - 1 in groups of four, in the same order as the tree. */
function sumOf(weights: readonly number[], lo: number, span: number): number {
  if (lo >= weights.length) return 0;
  if (span === 1) return weights[lo] as number;
  const [a, b, c, d] = [0, 1, 2, 3].map((k) => sumOf(weights, lo + (k * span) / 4, span / 4)) as [number, number, number, number];
  return a + c + (b + d);
}

/** Returns the index at which the cumulative sum exceeds a point. `span` is a power of four. Zero weights are never found, unless all weights are zero. */
function scan(weights: readonly number[], point: number, lo: number, span: number): number {
  if (span === 1) return lo;
  const sums = [0, 1, 2, 3].map((k) => sumOf(weights, lo + (k * span) / 4, span / 4)) as [number, number, number, number];
  let before = 0;
  let last = 0;
  for (const [k, sum] of sums.entries()) {
    if (sum === 0) continue;
    last = k;
    if (point < before + sum) return scan(weights, point - before, lo + (k * span) / 4, span / 4);
    before += sum;
  }
  // Rounding moved the point past the end: use the start of the last group with weight.
  return scan(weights, 0, lo + (last * span) / 4, span / 4);
}

/** Draws a leaf in proportion to the weights. `stratum` is the index of a stratum and the number of strata, or undefined for the whole range. */
function find(weights: readonly number[], random: Xoshiro, stratum?: readonly [number, number]): number {
  const span = 4 ** Math.ceil(Math.log(weights.length) / Math.log(4) - 1e-9) || 1;
  const total = sumOf(weights, 0, Math.max(span, 4));
  const there = [...weights.keys()].filter((i) => i > 0);
  if (total === 0) {
    // If all weights are zero, the draw is uniform.
    if (stratum === undefined) return there[random.below(there.length)] as number;
    return there[Math.min(Math.floor(((stratum[0] + random.unit()) / stratum[1]) * there.length), there.length - 1)] as number;
  }
  const part = stratum === undefined ? random.unit() : (stratum[0] + random.unit()) / stratum[1];
  return scan(weights, part * total, 0, Math.max(span, 4));
}

/** Returns random weights: few ties, many zeros, and sometimes only zeros. */
function weightsOf(random: TestRandom, n: number, whole: boolean): number[] {
  const zeros = random.pick([0, 0.3, 0.9, 1]);
  return Array.from({ length: n }, () => (random.next() < zeros ? 0 : whole ? 1 + random.below(1000) : random.next() * 10 ** random.below(12)));
}

function drawFrom(x: CoreExports, capacity: number, weights: readonly number[], seed: number): number[] {
  const tree = x.arena_alloc(x.sum_tree_bytes(capacity));
  const scratch = x.arena_alloc(64 * (capacity + DRAWS));
  x.sum_tree_init(tree, capacity, 1);
  const slots = weights.map((_, i) => i + 1);
  new Uint32Array(x.memory.buffer).set(slots, scratch >> 2);
  const priorities = scratch + 8 * (capacity + DRAWS);
  new Float64Array(x.memory.buffer).set(weights, priorities >> 3);
  x.sum_tree_update(tree, scratch, priorities, weights.length, priorities + 8 * (capacity + DRAWS));
  const state = x.arena_alloc(32);
  x.random_init(state, seed, 0, 0);
  x.sum_tree_draw(tree, state, DRAWS, scratch, priorities);
  const drawn = [...new Uint32Array(x.memory.buffer, scratch, DRAWS)];
  x.arena_free(tree, x.sum_tree_bytes(capacity));
  x.arena_free(scratch, 64 * (capacity + DRAWS));
  x.arena_free(state, 32);
  return drawn;
}

describe("the generator", () => {
  test("matches a twin written from the papers for random seeds, streams and ranges", () => {
    const x = coreOf("release");
    const state = x.arena_alloc(x.random_bytes());
    const random = new TestRandom(2);
    // Some of the ranges cause many rejections, and others only a few.
    for (const range of [1, 2, 3, 1000, 2 ** 31 + 1, 3 * 2 ** 30, 2 ** 32 - 1]) {
      const [low, high, stream] = [random.below(2 ** 32), random.below(2 ** 32), random.below(100)] as const;
      x.random_init(state, low, high, stream);
      const twin = new Xoshiro(low, high, stream);
      for (let i = 0; i < 200; i++) {
        expect(x.random_below(state, range) >>> 0).toBe(twin.below(range));
        expect(x.random_f64(state)).toBe(twin.unit());
      }
    }
  });
});

describe("a sum tree", () => {
  for (const target of ["release", "scalar"] as const) {
    test(`draws the same leaves as a linear scan for any capacity and fill, ${target}`, () => {
      const x = coreOf(target);
      const random = new TestRandom(3);
      for (const capacity of LENGTHS) {
        for (let fill = 1; fill <= capacity; fill++) {
          const weights = weightsOf(random, fill, false);
          const seed = random.below(2 ** 32);
          const twin = new Xoshiro(seed);
          // Slot 0 does not exist.
          const padded = [0, ...weights];
          const wanted = Array.from({ length: DRAWS }, () => find(padded, twin));
          expect(drawFrom(x, capacity, weights, seed)).toEqual(wanted);
        }
      }
    });
  }

  test("draws the same leaves as one loop over whole-number weights", () => {
    const x = coreOf("release");
    const random = new TestRandom(4);
    for (let fill = 1; fill <= 70; fill++) {
      const weights = weightsOf(random, fill, true);
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      if (total === 0) continue;
      const seed = random.below(2 ** 32);
      const twin = new Xoshiro(seed);
      const wanted = Array.from({ length: DRAWS }, () => {
        let rest = twin.unit() * total;
        return (
          1 +
          weights.findIndex((weight) => {
            rest -= weight;
            return rest < 0;
          })
        );
      });
      expect(drawFrom(x, 70, weights, seed)).toEqual(wanted);
    }
  });
});

/** Fills a table with the last `maxSize` of `inserts` items in order of insertion. Returns their priorities by slot and by age. */
function filled(rig: Rig, maxSize: number, weights: readonly number[]): { bySlot: number[]; slots: number[] } {
  rig.append(1);
  const slots: number[] = [];
  const bits = 2 ** (32 - Math.clz32(maxSize + 1));
  for (const weight of weights) {
    rig.create(1, weight);
    slots.push(rig.newest() % bits);
  }
  const bySlot: number[] = new Array(maxSize + 2).fill(0);
  for (const [i, slot] of slots.entries()) bySlot[slot] = weights[i] as number;
  return { bySlot: bySlot.slice(0, Math.max(...slots) + 1), slots };
}

function drawn(rig: Rig, maxSize: number, count: number): number[] {
  const bits = 2 ** (32 - Math.clz32(maxSize + 1));
  const keys = [...rig.f64.subarray(rig.keys, rig.keys + count)];
  rig.settle();
  return keys.map((key) => key % bits);
}

const STRATIFIED = 2;
const LENGTHS = some(
  Array.from({ length: 70 }, (_, i) => i + 1),
  14,
);

describe("a table", () => {
  test("draws the same items as a scan with a prioritized sampler: single, stratified, oldest and newest", () => {
    const random = new TestRandom(5);
    for (const maxSize of LENGTHS) {
      const weights = weightsOf(random, 1 + random.below(maxSize), false);
      const rig = new Rig({ ...plain(prioritized(1), random.pick([fifo(), lifo()]), maxSize), seed: maxSize });
      const { bySlot, slots } = filled(rig, maxSize, weights);
      const twin = new Xoshiro(maxSize);
      rig.sample(DRAWS);
      expect(drawn(rig, maxSize, DRAWS)).toEqual(Array.from({ length: DRAWS }, () => find(bySlot, twin)));
      rig.sample(DRAWS, STRATIFIED);
      expect(drawn(rig, maxSize, DRAWS)).toEqual(Array.from({ length: DRAWS }, (_, i) => find(bySlot, twin, [i, DRAWS])));
      const among = 1 + random.below(weights.length);
      // The oldest items have slots 1, 2, …; younger items follow.
      expect(slots.slice(0, among)).toEqual(slots.slice(0, among).sort((a, b) => a - b));
      rig.sample(DRAWS, 0, among);
      expect(drawn(rig, maxSize, DRAWS)).toEqual(Array.from({ length: DRAWS }, () => find(bySlot.slice(0, among + 1), twin)));
      // For draws among the newest items, scans all weights, with zeros for the other items.
      const live = slots.filter((slot, i) => slots.lastIndexOf(slot) === i);
      const newest = new Set(live.slice(-among));
      rig.sample(DRAWS, NEWEST, among);
      const alone = bySlot.map((weight, slot) => (newest.has(slot) ? weight : 0));
      if (alone.some((weight) => weight > 0)) expect(drawn(rig, maxSize, DRAWS)).toEqual(Array.from({ length: DRAWS }, () => find(alone, twin)));
      else expect(drawn(rig, maxSize, DRAWS).every((slot) => newest.has(slot))).toBe(true);
      expect(rig.broken()).toBe("0 0 0 0");
    }
  });

  test("uses Lemire's method for a uniform sampler, after any number of wraparounds", () => {
    const random = new TestRandom(6);
    for (const maxSize of LENGTHS) {
      const inserts = 1 + random.below(3 * maxSize);
      const rig = new Rig({ ...plain(uniform(), fifo(), maxSize), seed: maxSize });
      const { slots } = filled(
        rig,
        maxSize,
        Array.from({ length: inserts }, () => 1),
      );
      const live = slots.slice(-maxSize);
      const twin = new Xoshiro(maxSize);
      const at = (i: number) => live[i] as number;
      rig.sample(DRAWS);
      expect(drawn(rig, maxSize, DRAWS)).toEqual(Array.from({ length: DRAWS }, () => at(twin.below(live.length))));
      rig.sample(DRAWS, STRATIFIED);
      expect(drawn(rig, maxSize, DRAWS)).toEqual(Array.from({ length: DRAWS }, (_, i) => at(Math.floor(((i + twin.unit()) / DRAWS) * live.length))));
      const among = 1 + random.below(live.length);
      rig.sample(DRAWS, 0, among);
      expect(drawn(rig, maxSize, DRAWS)).toEqual(Array.from({ length: DRAWS }, () => at(twin.below(among))));
      rig.sample(DRAWS, STRATIFIED, among);
      expect(drawn(rig, maxSize, DRAWS)).toEqual(Array.from({ length: DRAWS }, (_, i) => at(Math.floor(((i + twin.unit()) / DRAWS) * among))));
      rig.sample(DRAWS, NEWEST, among);
      const first = live.length - among;
      expect(drawn(rig, maxSize, DRAWS)).toEqual(Array.from({ length: DRAWS }, () => at(first + twin.below(among))));
    }
  });

  test("draws only the oldest items with `among`, or rejects the draw, after any deletions", () => {
    const random = new TestRandom(8);
    let allowed = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const maxSize = 4 + random.below(40);
      const rig = new Rig({ ...plain(random.pick([uniform(), prioritized(1), fifo()]), fifo(), maxSize), seed: round });
      rig.append(1);
      let live: number[] = [];
      for (let i = 0; i < 100; i++) {
        if (random.below(4) > 0 || live.length === 0) {
          rig.create(1, 1 + random.below(3));
          live.push(rig.newest());
          live = live.slice(-maxSize);
        } else {
          const [key] = live.splice(random.below(live.length), 1);
          rig.delete([key as number]);
        }
        const among = 1 + random.below(live.length + 2);
        const count = rig.sample(DRAWS, 0, among);
        if (count < 0) continue;
        const keys = [...rig.f64.subarray(rig.keys, rig.keys + count)];
        rig.settle();
        const oldest = new Set(live.slice(0, among));
        expect(keys.every((key) => oldest.has(key))).toBe(true);
        expect(count).toBe(live.length === 0 ? 0 : DRAWS);
        allowed++;
      }
      expect(rig.broken()).toBe("0 0 0 0");
    }
    expect(allowed).toBeGreaterThan(40 * ROUNDS);
  });
});
