/** Computes histograms of values as they arrive, with a fixed number of bins whose range doubles if a value is outside the range. */

export const BINS = 64;

/** The contents of the bins, for a plot. */
export interface Spread {
  /** The number of counted values. */
  readonly count: number;
  /** The number of NaN and infinite values, which are in no bin. */
  readonly nonFinite: number;
  /** The smallest value. NaN if nothing was counted. */
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly std: number;
  /** The lower bound of the first bin, and the width of each bin. Empty bins at both ends are left out. */
  readonly low: number;
  readonly width: number;
  readonly counts: Float64Array;
}

/** The number of values that are collected before they determine the width of a bin. */
const FIRST = 256;

/** Values farther from 0 are in no bin, because the bounds of the bins would be infinite. */
const FARTHEST = 2 ** 1000;

/**
 * Counts values in bins whose widths are powers of two and whose bounds are multiples of the widths, so that later values only merge bins. O(1) per value
 */
export class Bins {
  count = 0;
  nonFinite = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;
  #mean = 0;
  #squares = 0;
  readonly #counts = new Float64Array(BINS);
  readonly #first: number[] = [];
  readonly #whole: boolean;
  #low = 0;
  /** The width of a bin, which is 0 while values are collected. */
  #width = 0;

  /** @param whole whether all values are whole numbers, in which case no bin is narrower than 1 */
  constructor(whole: boolean) {
    this.#whole = whole;
  }

  add(value: number): void {
    if (!Number.isFinite(value)) {
      this.nonFinite++;
      return;
    }
    this.count++;
    const before = value - this.#mean;
    this.#mean += before / this.count;
    this.#squares += before * (value - this.#mean);
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
    if (Math.abs(value) > FARTHEST) return;
    if (this.#width > 0) this.#put(value);
    else if (this.#first.push(value) === FIRST) this.#begin();
  }

  /** Returns the statistics so far, with a copy of the counts. */
  get spread(): Spread {
    if (this.#width === 0 && this.#first.length > 0) this.#begin();
    const known = (value: number) => (this.count === 0 ? Number.NaN : value);
    const [from, to] = this.#filled();
    return {
      count: this.count,
      nonFinite: this.nonFinite,
      min: known(this.#min),
      max: known(this.#max),
      mean: known(this.#mean),
      std: this.count < 2 ? Number.NaN : Math.sqrt(this.#squares / (this.count - 1)),
      low: this.#low + from * this.#width,
      width: this.#width,
      counts: this.#counts.slice(from, to),
    };
  }

  /** Sets the width from the collected values, and counts them. */
  #begin(): void {
    const min = Math.min(...this.#first);
    const max = Math.max(...this.#first);
    this.#width = this.#whole ? 1 : widthFor(min, max);
    while (max - this.#lowFor(min) >= BINS * this.#width) this.#width *= 2;
    this.#low = this.#lowFor(min);
    for (const value of this.#first.splice(0)) this.#put(value);
  }

  #lowFor(value: number): number {
    return Math.floor(value / this.#width) * this.#width;
  }

  #put(value: number): void {
    while (value < this.#low || value >= this.#low + BINS * this.#width) this.#widen(value);
    const bin = Math.min(BINS - 1, Math.floor((value - this.#low) / this.#width));
    this.#counts[bin] = (this.#counts[bin] as number) + 1;
  }

  /** Doubles the width of the bins, and extends the range on the side of the value. Bounds stay multiples of the width. */
  #widen(value: number): void {
    const counts = this.#counts.slice();
    const odd = Math.abs(Math.round(this.#low / this.#width)) % 2;
    // If the value is below the range, the new range extends downwards.
    const shift = value < this.#low ? BINS - (odd === 0 ? 0 : 1) : odd;
    this.#counts.fill(0);
    for (let i = 0; i < BINS; i++) {
      const bin = (i + shift) >> 1;
      this.#counts[bin] = (this.#counts[bin] as number) + (counts[i] as number);
    }
    this.#low -= shift * this.#width;
    this.#width *= 2;
  }

  #filled(): readonly [number, number] {
    const from = this.#counts.findIndex((count) => count > 0);
    let to = BINS;
    while (to > 0 && this.#counts[to - 1] === 0) to--;
    return from < 0 ? [0, 0] : [from, to];
  }
}

/** Returns a power of two that has at most BINS - 1 multiples between `min` and `max`. */
function widthFor(min: number, max: number): number {
  const wanted = max > min ? (max - min) / (BINS - 1) : Math.max(Math.abs(min), 1) / BINS;
  // With a smaller width, adjacent bounds could not be distinguished.
  const least = Math.max(Math.abs(min), Math.abs(max)) * 2 ** -46;
  return Math.max(2 ** Math.ceil(Math.log2(Math.max(wanted, least))), 2 ** -1000);
}
