/** How values are spread, in at most ten bins of one width. */
import { number } from "./text.ts";

export interface Bin {
  /** The bin's values are >= from, and < to; in the last bin, and where they are the same, <= to. */
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

export interface Histogram {
  readonly least: number;
  readonly most: number;
  readonly mean: number;
  readonly bins: readonly Bin[];
}

const MOST_BINS = 10;
const BAR = 32;

/** Of numbers that are not finite nothing is counted. @returns undefined where none is left */
export function histogramOf(given: readonly number[]): Histogram | undefined {
  const values = given.filter(Number.isFinite);
  if (values.length === 0) return undefined;
  let [least, most, sum, whole] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, true];
  for (const value of values) {
    least = Math.min(least, value);
    most = Math.max(most, value);
    sum += value;
    whole &&= Number.isInteger(value);
  }
  const mean = sum / values.length;
  if (least === most) return { least, most, mean, bins: [{ from: least, to: most, count: values.length }] };
  // Bins of whole numbers begin at whole numbers.
  const width = whole ? Math.ceil((most - least + 1) / MOST_BINS) : (most - least) / MOST_BINS;
  const count = whole ? Math.ceil((most - least + 1) / width) : MOST_BINS;
  const counts = new Array<number>(count).fill(0);
  for (const value of values) {
    const bin = Math.min(count - 1, Math.floor((value - least) / width));
    counts[bin] = (counts[bin] as number) + 1;
  }
  return { least, most, mean, bins: counts.map((one, i) => ({ from: least + i * width, to: i === count - 1 ? most : least + (i + 1) * width, count: one })) };
}

/** A line a bin, as long as it is full. */
export function histogramText(title: string, histogram: Histogram | undefined): string {
  if (histogram === undefined) return "";
  const { least, most, mean, bins } = histogram;
  const fullest = Math.max(...bins.map((bin) => bin.count));
  const names = bins.map(({ from }) => number(from));
  const widths = [names, bins.map(({ count }) => number(count))].map((words) => Math.max(...words.map((word) => word.length)));
  const lines = bins.map(({ count }, i) => {
    const bar = "█".repeat(Math.ceil((BAR * count) / fullest));
    return `  ${(names[i] as string).padStart(widths[0] as number)}  ${number(count).padStart(widths[1] as number)} ${bar}`.trimEnd();
  });
  return `${title}: ${number(least)} … ${number(most)}, mean ${number(mean)}\n${lines.join("\n")}\n`;
}
