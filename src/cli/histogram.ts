/** Computes a histogram with at most ten bins of equal width. */
import { number } from "./text.ts";

export interface Bin {
  /** A bin contains the values from `from` up to, but not including, `to`. The last bin also contains the value `to`. */
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

export interface Histogram {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly bins: readonly Bin[];
}

const MAX_BINS = 10;
const BAR = 32;

/** Returns the histogram of the finite numbers, or undefined if there are none. */
export function histogramOf(numbers: readonly number[]): Histogram | undefined {
  const values = numbers.filter(Number.isFinite);
  if (values.length === 0) return undefined;
  let [min, max, sum, isWhole] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, true];
  for (const value of values) {
    min = Math.min(min, value);
    max = Math.max(max, value);
    sum += value;
    isWhole &&= Number.isInteger(value);
  }
  const mean = sum / values.length;
  if (min === max) return { min, max, mean, bins: [{ from: min, to: max, count: values.length }] };
  // If all values are whole numbers, the bins start at whole numbers.
  const width = isWhole ? Math.ceil((max - min + 1) / MAX_BINS) : (max - min) / MAX_BINS;
  const count = isWhole ? Math.ceil((max - min + 1) / width) : MAX_BINS;
  const counts = new Array<number>(count).fill(0);
  for (const value of values) {
    const bin = Math.min(count - 1, Math.floor((value - min) / width));
    counts[bin] = (counts[bin] as number) + 1;
  }
  return { min, max, mean, bins: counts.map((n, i) => ({ from: min + i * width, to: i === count - 1 ? max : min + (i + 1) * width, count: n })) };
}

/** Returns a title line with the minimum, maximum and mean, and one line per bin, with a bar. Returns an empty text if there is no histogram. */
export function histogramText(title: string, histogram: Histogram | undefined): string {
  if (histogram === undefined) return "";
  const { min, max, mean, bins } = histogram;
  const fullest = Math.max(...bins.map((bin) => bin.count));
  const names = bins.map(({ from }) => number(from));
  const widths = [names, bins.map(({ count }) => number(count))].map((cells) => Math.max(...cells.map((cell) => cell.length)));
  const lines = bins.map(({ count }, i) => {
    const bar = "█".repeat(Math.ceil((BAR * count) / fullest));
    return `  ${(names[i] as string).padStart(widths[0] as number)}  ${number(count).padStart(widths[1] as number)} ${bar}`.trimEnd();
  });
  return `${title}: ${number(min)} … ${number(max)}, mean ${number(mean)}\n${lines.join("\n")}\n`;
}
