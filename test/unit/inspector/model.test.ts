/** Compares plotted data with naive twins. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bytesText, countText, numberText } from "../../../src/inspector/format.ts";
import { binsOf, meansOf } from "../../../src/inspector/histogram.ts";
import { agesOf, findPreviousTurn } from "../../../src/inspector/item-ages.ts";
import { imageLayout, linesOf, pixelsOf, rangeOf, rowsOf } from "../../../src/inspector/leaf-view.ts";
import { Model, mergeEpisodes } from "../../../src/inspector/model.ts";
import type { Episode, Sample, Survey } from "../../../src/inspector/protocol.ts";

const numbers = fc.array(fc.oneof(fc.double({ noDefaultInfinity: true, min: -1e9, max: 1e9 }), fc.integer({ min: -50, max: 5000 }), fc.constant(Number.NaN)), {
  maxLength: 200,
});

describe("a histogram", () => {
  test("counts each finite value once, in the bin whose edges hold it", () => {
    fc.assert(
      fc.property(numbers, fc.integer({ min: 1, max: 40 }), (values, most) => {
        const { edges, counts, isLog, n, min, max, mean } = binsOf(values, most);
        const finite = values.filter(Number.isFinite);
        expect(n).toBe(finite.length);
        expect(counts.reduce((a, b) => a + b, 0)).toBe(n);
        if (n === 0) return;
        expect([min, max]).toEqual([Math.min(...finite), Math.max(...finite)]);
        expect(mean).toBeCloseTo(finite.reduce((a, b) => a + b, 0) / n, 3);
        expect(counts.length).toBeLessThanOrEqual(most);
        expect(edges).toEqual([...edges].sort((a, b) => a - b));
        // Rounding may move a value across an edge only if it is within rounding distance of that edge.
        const near = 1e-9 * Math.max(1, ...edges.map(Math.abs));
        counts.forEach((count, i) => {
          const [from, to] = [edges[i] as number, edges[i + 1] as number];
          const inside = (isLog ? finite.map(Math.log10) : finite).filter((value) => value >= from - near && value <= to + near).length;
          expect(count).toBeLessThanOrEqual(inside);
        });
      }),
    );
  });

  test("counts each of several values that are next to each other", () => {
    expect(binsOf([0, Number.MIN_VALUE], 40)).toMatchObject({ n: 2 });
    expect(binsOf([0, Number.MIN_VALUE], 40).counts.reduce((a, b) => a + b, 0)).toBe(2);
  });

  test("has whole edges for whole numbers, and edges of equal ratio for wide ranges", () => {
    expect(binsOf([0, 1, 1, 3], 32)).toMatchObject({ edges: [0, 1, 2, 3, 4], counts: [1, 2, 0, 1], isLog: false });
    expect(binsOf([0.001, 0.1, 10.5], 4)).toMatchObject({ isLog: true, n: 3 });
    expect(binsOf([7.5, 7.5], 4)).toMatchObject({ counts: [2], min: 7.5, max: 7.5 });
  });
});

test("the means of bins equal those of a naive twin", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 9 })), { minLength: 1, maxLength: 100 }), (pairs) => {
      const { edges, means } = meansOf(
        pairs.map(([x]) => x),
        pairs.map(([, y]) => y),
      );
      means.forEach((mean, i) => {
        const ys = pairs.filter(([x]) => x >= (edges[i] as number) && x < (edges[i + 1] as number)).map(([, y]) => y);
        if (ys.length === 0) expect(mean).toBeNaN();
        else expect(mean).toBeCloseTo(ys.reduce((a, b) => a + b, 0) / ys.length, 9);
      });
    }),
  );
});

test("slots and keys yield the ages of a ring, and NaN for items out of turn", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 300 }), fc.constantFrom(64, 1024), (high, inserts, scale) => {
      const slots = Array.from({ length: Math.min(high, inserts) }, (_, i) => ((inserts - 1 - i) % high) + 1);
      const keys = slots.map((slot, i) => Math.ceil((inserts - i) / high) * scale + slot);
      const newest = { slot: slots[0] as number, key: keys[0] as number };
      const before = findPreviousTurn(slots, keys, newest);
      expect([...agesOf(slots, keys, newest, high, before)]).toEqual(slots.map((_, i) => i));
      expect(agesOf([newest.slot], [newest.key + scale], newest, high, before)[0]).toBeNaN();
    }),
  );
});

const episode = (number: number, sum = number): Episode => ({ number, return: sum, length: 1, end: "ended" });

test("mergeEpisodes keeps each episode once, in order, and thins out older ones above the limit", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 99 })), fc.array(fc.integer({ min: 0, max: 99 })), (old, found) => {
      const all = mergeEpisodes(
        mergeEpisodes(
          [],
          old.map((n) => episode(n)),
        ),
        found.map((n) => episode(n)),
      );
      expect(all.map(({ number }) => number)).toEqual([...new Set([...old, ...found])].sort((a, b) => a - b));
    }),
  );
  const many = mergeEpisodes(
    [],
    Array.from({ length: 5000 }, (_, i) => episode(i)),
    100,
  );
  expect(many.length).toBeLessThanOrEqual(100);
  expect(many.at(-1)?.number).toBe(4999);
  expect((many[0] as Episode).number).toBe(0);
});

test("the model pools the samples of the last surveys, and resets for another table", () => {
  const sample = (n: number, isWhole: boolean): Sample => ({
    isWhole,
    keys: new Float64Array(n),
    priorities: new Float64Array(n).fill(2),
    probabilities: new Float64Array(n).fill(0.5),
    timesSampled: new Uint32Array(n).fill(3),
    lengths: new Uint32Array(n),
    ages: new Float64Array(n).fill(Number.NaN),
    episodeAges: new Float64Array(n).fill(7),
  });
  const survey = (name: string, n: number, isWhole = false): Survey => ({
    steps: 0,
    bytes: 0,
    packed: [],
    writers: 0,
    tables: [],
    table: { name, sample: sample(n, isWhole), total: 8, episodes: [], hasEpisodes: true },
  });
  const model = new Model();
  for (let i = 0; i < 6; i++) model.take(survey("a", 10));
  const { n, weights, ages, agesIn, timesSampled } = model.samplePool();
  expect([n, weights[0], ages[39], agesIn, timesSampled.length]).toEqual([40, 4, 7, "episodes", 40]);
  model.take(survey("a", 5, true));
  expect(model.samplePool()).toMatchObject({ n: 5, isWhole: true });
  model.take(survey("b", 3));
  expect(model.samplePool().n).toBe(3);
});

describe("leaves", () => {
  test.each([
    ["u8", [84, 84], { height: 84, width: 84, channels: 1, isPlanar: false, frames: 1 }],
    ["u8", [96, 96, 3], { height: 96, width: 96, channels: 3, isPlanar: false, frames: 1 }],
    ["f32", [3, 64, 48], { height: 64, width: 48, channels: 3, isPlanar: true, frames: 1 }],
    ["u8", [4, 84, 84], { height: 84, width: 84, channels: 1, isPlanar: false, frames: 4 }],
    ["u8", [4, 20, 30, 3], { height: 20, width: 30, channels: 3, isPlanar: false, frames: 4 }],
    ["f32", [6], undefined],
    ["f32", [3, 4], undefined],
    ["f32", [100, 4], undefined],
    ["i64", [84, 84], undefined],
    ["string", [20, 20], undefined],
  ])("imageLayout of %s with shape %j", (dtype, shape, form) => {
    expect(imageLayout({ dtype, shape })).toEqual(form);
  });

  test("pixelsOf reads grey, interleaved colours and planar colours", () => {
    const form = { height: 1, width: 2, frames: 1 };
    expect([...pixelsOf([0, 128], 0, { ...form, channels: 1, isPlanar: false }, 0, 255)]).toEqual([0, 0, 0, 255, 128, 128, 128, 255]);
    expect([...pixelsOf([9, 1, 2, 3, 4, 5, 6], 1, { ...form, channels: 3, isPlanar: false }, 0, 255)]).toEqual([1, 2, 3, 255, 4, 5, 6, 255]);
    expect([...pixelsOf([1, 4, 2, 5, 3, 6], 0, { ...form, channels: 3, isPlanar: true }, 0, 255)]).toEqual([1, 2, 3, 255, 4, 5, 6, 255]);
    expect([...pixelsOf([0, 0.5], 0, { ...form, channels: 1, isPlanar: false }, 0, 1)]).toEqual([0, 0, 0, 255, 128, 128, 128, 255]);
    expect([rangeOf("u8", [3]), rangeOf("f32", [0.2, 0.9]), rangeOf("f32", [-2, 6])]).toEqual([
      [0, 255],
      [0, 1],
      [-2, 6],
    ]);
  });

  test("with many numbers are plotted as lines over steps or elements, and leaves with few numbers are listed as text", () => {
    const leaf = { path: "x", dtype: "f32" };
    const data = Float32Array.from({ length: 40 }, (_, i) => i);
    expect(linesOf({ ...leaf, shape: [2], steps: 20, data })).toMatchObject({ over: "steps", series: ["[0]", "[1]"], ys: [{ 1: 2 }, { 1: 3 }] });
    expect(linesOf({ ...leaf, shape: [20], steps: 2, data })).toMatchObject({ over: "elements", series: ["step 0", "step 1"], ys: [{ 1: 1 }, { 1: 21 }] });
    expect(linesOf({ ...leaf, shape: [4], steps: 2, data })).toBe(undefined);
    expect(rowsOf({ ...leaf, shape: [2], steps: 2, data })).toEqual([
      ["0", "0  1"],
      ["1", "2  3"],
    ]);
    expect(rowsOf({ ...leaf, dtype: "i64", shape: [], steps: 1, data: BigInt64Array.of(5n) })).toEqual([["0", "5"]]);
  });
});

test("formats numbers, bytes and counts for people", () => {
  expect([0, 12345, -3, 0.12345678, 1e9 + 0.5, 1e-7, Number.NaN, Number.POSITIVE_INFINITY].map(numberText)).toEqual([
    "0",
    "12,345",
    "−3",
    "0.1235",
    "1.00e9",
    "1.00e−7",
    "–",
    "∞",
  ]);
  expect([0, 1023, 1536, 4 * 2 ** 30].map(bytesText)).toEqual(["0 bytes", "1,023 bytes", "1.5 KiB", "4 GiB"]);
  expect([countText(1, "item"), countText(2, "item")]).toEqual(["1 item", "2 items"]);
});
