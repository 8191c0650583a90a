/** Computes the statistics of features per episode and over all episodes, as compute_stats.py of LeRobot does. */
import { totalLength } from "../../../base/bytes.ts";
import type { ColumnData } from "../../model/step-columns.ts";

const QUANTILES = [0.01, 0.1, 0.5, 0.9, 0.99];

/** The names of the statistics, in order. */
export const STATISTICS = ["min", "max", "mean", "std", "q01", "q10", "q50", "q90", "q99"] as const;

/** The values of STATISTICS, each with one value per element of the last dimension, or per channel. */
export interface FeatureStatistics {
  /** The number of frames. */
  readonly count: number;
  readonly values: readonly Float64Array[];
}

/**
 * Computes the statistics of all rows of an episode, for each element of the last dimension over all other dimensions. They are NaN if a value is NaN. @param
 * pieces consecutive pieces with whole rows @param width the size of the last dimension
 */
export function ofNumbers(pieces: readonly ColumnData[], rows: number, width: number): FeatureStatistics {
  const values = STATISTICS.map(() => new Float64Array(width));
  const column = new Float64Array(totalLength(pieces) / width);
  for (let k = 0; k < width; k++) {
    let n = 0;
    for (const piece of pieces) for (let i = k; i < piece.length; i += width) column[n++] = Number(piece[i]);
    put(values, k, ofSorted(column.sort()));
  }
  return { count: rows, values };
}

/** Returns the statistics of a leaf with one value per row. */
export function ofValues(valueAt: (row: number) => unknown, rows: number): FeatureStatistics {
  return ofNumbers([Float64Array.from({ length: rows }, (_, row) => Number(valueAt(row)))], rows, 1);
}

/** Returns the statistics of sorted values. All of them are NaN if any value is NaN, which typed arrays sort to the end. */
function ofSorted(sorted: Float64Array): readonly number[] {
  const n = sorted.length;
  if (Number.isNaN(sorted[n - 1])) return STATISTICS.map(() => Number.NaN);
  const mean = sorted.reduce((sum, value) => sum + value, 0) / n;
  const squares = sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const quantile = (q: number) => sorted[Math.max(Math.ceil(q * n) - 1, 0)] as number;
  return [sorted[0] as number, sorted[n - 1] as number, mean, Math.sqrt(squares / n), ...QUANTILES.map((q) => (n < 2 ? mean : quantile(q)))];
}

function put(values: readonly Float64Array[], k: number, statistics: readonly number[]): void {
  statistics.forEach((value, s) => {
    (values[s] as Float64Array)[k] = value;
  });
}

/** Counts the pixels of an episode per channel and level. These counts determine all statistics, in which the levels 0 … 255 are scaled to 0 … 1. */
export class PixelCounts {
  readonly #counts: Float64Array;
  readonly #channels: number;
  #frames = 0;

  constructor(channels: number) {
    this.#channels = channels;
    this.#counts = new Float64Array(256 * channels);
  }

  /** Adds one frame of u8 pixels, with the channels as the last dimension. */
  add(pixels: Uint8Array): void {
    const counts = this.#counts;
    const channels = this.#channels;
    for (let i = 0; i < pixels.length; i += channels)
      for (let c = 0; c < channels; c++) {
        const at = 256 * c + (pixels[i + c] as number);
        counts[at] = (counts[at] as number) + 1;
      }
    this.#frames++;
  }

  /** Returns the statistics of the frames so far, and resets the counts. */
  take(): FeatureStatistics {
    const values = STATISTICS.map(() => new Float64Array(this.#channels));
    for (let c = 0; c < this.#channels; c++) put(values, c, ofCounts(this.#counts.subarray(256 * c, 256 * (c + 1))));
    const count = this.#frames;
    this.#counts.fill(0);
    this.#frames = 0;
    return { count, values };
  }
}

function ofCounts(counts: Float64Array): readonly number[] {
  const n = counts.reduce((sum, count) => sum + count, 0);
  const mean = counts.reduce((sum, count, level) => sum + count * level, 0) / n;
  const squares = counts.reduce((sum, count, level) => sum + count * (level - mean) ** 2, 0);
  const quantile = (q: number) => {
    let cumulative = 0;
    return counts.findIndex((count) => {
      cumulative += count;
      return cumulative >= Math.max(q * n, 1);
    });
  };
  const maxLevel = counts.reduce((last, count, level) => (count > 0 ? level : last), 0);
  const levels = [counts.findIndex((count) => count > 0), maxLevel, mean, Math.sqrt(squares / n), ...QUANTILES.map(quantile)];
  return levels.map((value) => value / 255);
}

/** Combines the statistics of all episodes. As in LeRobot, a quantile is the mean of the episodes' quantiles, weighted by the number of frames. */
export class TotalStatistics {
  #count = 0;
  #total: Float64Array[] | undefined;

  add({ count, values }: FeatureStatistics): void {
    const previousCount = this.#count;
    const all = previousCount + count;
    this.#count = all;
    if (this.#total === undefined) {
      this.#total = values.map((statistic) => statistic.slice());
      return;
    }
    const [min, max, mean, std, ...quantiles] = this.#total as [Float64Array, Float64Array, Float64Array, Float64Array, ...Float64Array[]];
    const statisticAt = (s: number, k: number) => (values[s] as Float64Array)[k] as number;
    for (let k = 0; k < mean.length; k++) {
      min[k] = Math.min(min[k] as number, statisticAt(0, k));
      max[k] = Math.max(max[k] as number, statisticAt(1, k));
      const difference = statisticAt(2, k) - (mean[k] as number);
      const variance = (previousCount * (std[k] as number) ** 2 + count * statisticAt(3, k) ** 2) / all + (previousCount * count * difference ** 2) / all ** 2;
      mean[k] = (mean[k] as number) + (difference * count) / all;
      std[k] = Math.sqrt(variance);
      quantiles.forEach((quantile, q) => {
        quantile[k] = ((quantile[k] as number) * previousCount + statisticAt(4 + q, k) * count) / all;
      });
    }
  }

  /** The combined statistics. Undefined if there is no episode. */
  get result(): FeatureStatistics | undefined {
    return this.#total && { count: this.#count, values: this.#total };
  }
}
