/** Compares growing histograms with counting all values at the end. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BINS, Bins, type Spread } from "../../../page/look/model/bins.ts";

function counted(values: readonly number[], whole: boolean): Spread {
  const bins = new Bins(whole);
  for (const value of values) bins.add(value);
  return bins.spread;
}

/** Counts the values in each bin, using only the bounds of the bins. */
function twin(values: readonly number[], { low, width, counts }: Spread): number[] {
  const found = new Array<number>(counts.length).fill(0);
  for (const value of values) {
    const bin = Math.floor((value - low) / width);
    found[bin] = (found[bin] ?? 0) + 1;
  }
  return found;
}

describe("bins", () => {
  // Sums of multiples of 1/64 are exact.
  const exact = fc.integer({ min: -(2 ** 20), max: 2 ** 20 }).map((n) => n / 64);
  const clustered = fc.tuple(fc.integer({ min: -1000, max: 1000 }), fc.array(exact, { maxLength: 300 })).map(([at, all]) => all.map((x) => x / 64 + at));

  it.each([false, true])("count every value once, in the bin of its bounds (whole: %s)", (whole) => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.array(exact, { maxLength: 300 }), clustered), { minLength: 1, maxLength: 4 }), (groups) => {
        // Adding 0 converts -0 to 0, because Math.round returns -0 for small negative numbers.
        const values = groups.flat().map((value) => (whole ? Math.round(value) + 0 : value));
        const spread = counted(values, whole);
        expect(Array.from(spread.counts)).toEqual(twin(values, spread));
        expect(spread.counts.length).toBeLessThanOrEqual(BINS);
        expect(spread.count).toBe(values.length);
        if (values.length > 0) expect([spread.min, spread.max]).toEqual([Math.min(...values), Math.max(...values)]);
      }),
    );
  });

  it("have the mean and deviation of a second pass over the values", () => {
    const values = Array.from({ length: 5000 }, (_, i) => Math.sin(i) * 10 + 3);
    const { mean, std } = counted(values, false);
    const wanted = values.reduce((sum, x) => sum + x, 0) / values.length;
    expect(mean).toBeCloseTo(wanted, 10);
    expect(std).toBeCloseTo(Math.sqrt(values.reduce((sum, x) => sum + (x - wanted) ** 2, 0) / (values.length - 1)), 10);
  });

  it("have a bin for each of a few whole numbers", () => {
    const { low, width, counts } = counted([3, 5, 5, 9], true);
    expect({ low, width, counts: Array.from(counts) }).toEqual({ low: 3, width: 1, counts: [1, 0, 2, 0, 0, 0, 1] });
  });

  it("count non-finite values separately", () => {
    const { count, nonFinite, min, max } = counted([1, Number.NaN, Number.POSITIVE_INFINITY, 2], false);
    expect({ count, nonFinite, min, max }).toEqual({ count: 2, nonFinite: 2, min: 1, max: 2 });
  });

  it("accept all numbers", () => {
    fc.assert(
      fc.property(fc.array(fc.double(), { maxLength: 600 }), (values) => {
        const finite = values.filter((value) => Number.isFinite(value));
        const near = finite.filter((value) => Math.abs(value) <= 2 ** 1000);
        const { counts, count, low } = counted(values, false);
        expect(counts.reduce((sum, one) => sum + one, 0)).toBe(near.length);
        expect([count, Number.isFinite(low)]).toEqual([finite.length, true]);
      }),
    );
  });

  it("report NaN statistics and no bins without values", () => {
    const { count, min, mean, std, counts } = counted([], false);
    expect({ count, min, mean, std, bins: counts.length }).toEqual({ count: 0, min: Number.NaN, mean: Number.NaN, std: Number.NaN, bins: 0 });
  });
});
