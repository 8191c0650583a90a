/** Computes histograms and binned means of samples for plots. */

export interface Bins {
  /** The edges of the bins, one more than there are bins. They are logarithms to base 10 if `isLog`. */
  readonly edges: readonly number[];
  readonly counts: readonly number[];
  readonly isLog: boolean;
  /** The number of finite values. */
  readonly n: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
}

const BINS = 32;
/** If the ratio of the largest to the smallest value is above this limit, the edges of bins have equal ratios. */
const LOG_RATIO = 1000;

/** Returns at most `maxBins` bins; bins of whole numbers start at whole numbers. Values that are not finite are ignored. */
export function binsOf(values: ArrayLike<number>, maxBins = BINS): Bins {
  let [n, sum, min, max, isWhole] = [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, true];
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (!Number.isFinite(value)) continue;
    n++;
    sum += value;
    if (value < min) min = value;
    if (value > max) max = value;
    isWhole &&= Number.isInteger(value);
  }
  if (n === 0) return { edges: [], counts: [], isLog: false, n, min: Number.NaN, max: Number.NaN, mean: Number.NaN };
  const isLog = !isWhole && min > 0 && max / min > LOG_RATIO;
  const edges = isWhole ? wholeEdges(min, max, maxBins) : isLog ? evenEdges(Math.log10(min), Math.log10(max), maxBins) : evenEdges(min, max, maxBins);
  const counts = new Array<number>(edges.length - 1).fill(0);
  const from = edges[0] as number;
  const width = ((edges[edges.length - 1] as number) - from) / counts.length;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (!Number.isFinite(value)) continue;
    const bin = binOf(isLog ? Math.log10(value) : value, from, width, counts.length);
    counts[bin] = (counts[bin] as number) + 1;
  }
  return { edges, counts, isLog, n, min, max, mean: sum / n };
}

/** Returns the mean of `ys` in bins of `xs`; NaN for an empty bin. Pairs that are not finite are ignored. */
export function meansOf(
  xs: ArrayLike<number>,
  ys: ArrayLike<number>,
  maxBins = BINS,
): { readonly edges: readonly number[]; readonly means: readonly number[] } {
  const { edges, min, max } = binsOf(xs, maxBins);
  if (edges.length === 0 || !Number.isFinite(max - min)) return { edges: [], means: [] };
  const linear = Number.isInteger(min) && Number.isInteger(max) ? wholeEdges(min, max, maxBins) : evenEdges(min, max, maxBins);
  const sums = new Float64Array(linear.length - 1);
  const counts = new Float64Array(sums.length);
  const from = linear[0] as number;
  const width = ((linear[linear.length - 1] as number) - from) / sums.length;
  for (let i = 0; i < xs.length; i++) {
    const [x, y] = [xs[i] as number, ys[i] as number];
    if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
    const bin = binOf(x, from, width, sums.length);
    sums[bin] = (sums[bin] as number) + y;
    counts[bin] = (counts[bin] as number) + 1;
  }
  return { edges: linear, means: Array.from(sums, (sum, i) => sum / (counts[i] as number)) };
}

function binOf(value: number, from: number, width: number, bins: number): number {
  const bin = Math.floor((value - from) / width);
  // If the values differ by less than a double resolves, the width is 0. The NaN from 0 / 0 belongs to the first bin.
  return bin > 0 ? Math.min(bins - 1, bin) : 0;
}

function wholeEdges(min: number, max: number, maxBins: number): number[] {
  const width = Math.ceil((max - min + 1) / maxBins);
  return Array.from({ length: Math.ceil((max - min + 1) / width) + 1 }, (_, i) => min + i * width);
}

function evenEdges(min: number, max: number, maxBins: number): number[] {
  // Equal values have one bin.
  if (min === max) return [min - 0.5, min + 0.5];
  return Array.from({ length: maxBins + 1 }, (_, i) => min + ((max - min) * i) / maxBins);
}
