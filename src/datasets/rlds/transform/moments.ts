/** Computes the minimum, maximum, mean and standard deviation of values in one pass. */

/**
 * Computes the moments of rows of equal length, for each element and for all elements together. Uses Welford's method, so the same order of values produces the
 * same result on every machine.
 */
export class Moments {
  /** The number of rows so far. */
  count = 0;
  /** The number of elements that were NaN or infinite. Such elements make the mean and the standard deviation NaN or infinite. */
  nonFinite = 0;
  readonly #mean: Float64Array;
  readonly #squares: Float64Array;
  readonly #min: Float64Array;
  readonly #max: Float64Array;

  constructor(size: number) {
    this.#mean = new Float64Array(size);
    this.#squares = new Float64Array(size);
    this.#min = new Float64Array(size).fill(Number.POSITIVE_INFINITY);
    this.#max = new Float64Array(size).fill(Number.NEGATIVE_INFINITY);
  }

  /** Adds the row that starts at index `at`. */
  add(row: ArrayLike<number>, at: number): void {
    const n = ++this.count;
    const mean = this.#mean;
    const squares = this.#squares;
    for (let i = 0; i < mean.length; i++) {
      const x = row[at + i] as number;
      const difference = x - (mean[i] as number);
      const newMean = (mean[i] as number) + difference / n;
      mean[i] = newMean;
      squares[i] = (squares[i] as number) + difference * (x - newMean);
      if (x < (this.#min[i] as number)) this.#min[i] = x;
      if (x > (this.#max[i] as number)) this.#max[i] = x;
      if (!Number.isFinite(x)) this.nonFinite++;
    }
  }

  /** The sum of the squared differences from the mean, per element. */
  get squares(): Float64Array {
    return this.#squares;
  }

  /** The moments per element. All are NaN if there are no rows. */
  get elements(): { readonly min: Float64Array; readonly max: Float64Array; readonly mean: Float64Array; readonly std: Float64Array } {
    const orNaN = (values: Float64Array) => values.map((value) => (this.count === 0 ? Number.NaN : value));
    return { min: orNaN(this.#min), max: orNaN(this.#max), mean: orNaN(this.#mean), std: this.#squares.map((sum) => deviation(sum, this.count)) };
  }

  /** The moments of all elements together. */
  get overall(): { readonly min: number; readonly max: number; readonly mean: number; readonly std: number } {
    const size = this.#mean.length;
    const isEmpty = this.count === 0 || size === 0;
    const mean = isEmpty ? Number.NaN : this.#mean.reduce((sum, value) => sum + value, 0) / size;
    return {
      min: isEmpty ? Number.NaN : this.#min.reduce((a, b) => Math.min(a, b)),
      max: isEmpty ? Number.NaN : this.#max.reduce((a, b) => Math.max(a, b)),
      mean,
      std: computePooledDeviation(this.#squares, this.#mean, mean, this.count),
    };
  }
}

/** Returns the sample standard deviation, as in `rlds`. Returns NaN for fewer than two values. */
function deviation(squares: number, count: number): number {
  return count < 2 ? Number.NaN : Math.sqrt(squares / (count - 1));
}

/** Computes the standard deviation over all elements from their sums of squares and their means. */
function computePooledDeviation(squares: Float64Array, means: Float64Array, mean: number, count: number): number {
  const sum = squares.reduce((sum, value, i) => sum + value + count * ((means[i] as number) - mean) ** 2, 0);
  return deviation(sum, count * means.length);
}

/**
 * Computes the moments of bigints. The minimum, maximum and mean are exact up to the final rounding. The standard deviation of an element is computed from
 * differences from its first value.
 */
export class BigMoments {
  readonly #shifted: Moments;
  readonly #row: Float64Array;
  readonly #first: bigint[] = [];
  readonly #min: bigint[] = [];
  readonly #max: bigint[] = [];
  readonly #sums: bigint[];

  constructor(size: number) {
    this.#shifted = new Moments(size);
    this.#row = new Float64Array(size);
    this.#sums = new Array<bigint>(size).fill(0n);
  }

  get count(): number {
    return this.#shifted.count;
  }

  get nonFinite(): number {
    return 0;
  }

  add(row: ArrayLike<bigint>, at: number): void {
    for (let i = 0; i < this.#row.length; i++) {
      const x = row[at + i] as bigint;
      const first = this.#first[i] ?? x;
      this.#first[i] = first;
      this.#row[i] = Number(x - first);
      this.#sums[i] = (this.#sums[i] as bigint) + x;
      if (!(x >= (this.#min[i] as bigint))) this.#min[i] = x;
      if (!(x <= (this.#max[i] as bigint))) this.#max[i] = x;
    }
    this.#shifted.add(this.#row, 0);
  }

  get elements(): { readonly min: readonly bigint[]; readonly max: readonly bigint[]; readonly mean: Float64Array; readonly std: Float64Array } {
    return { min: this.#min, max: this.#max, mean: this.#means, std: this.#shifted.elements.std };
  }

  get #means(): Float64Array {
    return Float64Array.from(this.#sums, (sum) => quotient(sum, this.count));
  }

  get overall(): { readonly min: bigint | number; readonly max: bigint | number; readonly mean: number; readonly std: number } {
    const sum = this.#sums.reduce((a, b) => a + b, 0n);
    const extreme = (values: readonly bigint[], better: (a: bigint, b: bigint) => boolean) =>
      values.length === 0 ? Number.NaN : values.reduce((a, b) => (better(a, b) ? a : b));
    const mean = quotient(sum, this.count * this.#sums.length);
    return {
      min: extreme(this.#min, (a, b) => a < b),
      max: extreme(this.#max, (a, b) => a > b),
      mean,
      std: computePooledDeviation(this.#shifted.squares, this.#means, mean, this.count),
    };
  }
}

function quotient(sum: bigint, count: number): number {
  if (count === 0) return Number.NaN;
  const n = BigInt(count);
  return Number(sum / n) + Number(sum % n) / count;
}
