/** Computes histograms of values. */
import { integer } from "../../../base/error.ts";

export interface Histogram {
  /** The bounds of the bins. There is one more bound than there are bins. A bin includes its lower bound. The last bin also includes its upper bound. */
  readonly edges: readonly number[];
  readonly counts: readonly number[];
}

/**
 * Returns a histogram with bins of equal width from the smallest to the largest value, like `numpy.histogram`. If all values are equal, the range extends by
 * 0.5 to each side. If there are no values, the range is 0 … 1. Values that are not finite are ignored. Costs O(values).
 * @param bins the number of bins, from 1 to 2^20. Default: 10
 * @throws TypeError, RangeError if an argument is invalid
 */
export function histogram(values: ArrayLike<number>, bins = 10): Histogram {
  integer("bins", bins, 1, 1 << 20);
  const finite = Array.from(values).filter(Number.isFinite);
  let min = finite.reduce((a, b) => Math.min(a, b), finite.length === 0 ? 0 : Number.POSITIVE_INFINITY);
  let max = finite.reduce((a, b) => Math.max(a, b), finite.length === 0 ? 1 : Number.NEGATIVE_INFINITY);
  if (min === max) [min, max] = [min - 0.5, max + 0.5];
  const width = (max - min) / bins;
  const edges = Array.from({ length: bins + 1 }, (_, i) => (i === bins ? max : min + i * width));
  const counts = new Array<number>(bins).fill(0);
  for (const value of finite) {
    let bin = Math.min(bins - 1, Math.floor(((value - min) / (max - min)) * bins));
    // The quotient has a rounding error, so the bin is corrected using the edges.
    if (value < (edges[bin] as number)) bin--;
    else if (bin < bins - 1 && value >= (edges[bin + 1] as number)) bin++;
    counts[bin] = (counts[bin] as number) + 1;
  }
  return { edges, counts };
}
