/** Computes the shares of a mixture: the rows of each batch per source, the remainders of rounding, and the mixture's own random state. */

import { finite, integer, mustBe, onlyKeys, ReplayError } from "../../base/error.ts";
import type { Core } from "../../memory/core.ts";

/** The share of a source: a number relative to the other shares, or a function that takes the number of the draw (from 0 on) and returns the share. */
export type Share = number | ((draw: number) => number);

/** The state of a mixture as plain numbers, which JSON can store. */
export interface MixtureState {
  /** The number of batches drawn so far. */
  readonly draw: number;
  /** The number of rows that rounding has withheld from each source so far. Negative if a source has provided more than its share. */
  readonly carry: readonly number[];
  /** The random state: 8 words of 32 bits. */
  readonly random: readonly number[];
}

/** The number of bytes of RANDOM, the first field of a mixture (assembly/draw/mixture.ts). */
const RANDOM_BYTES = 32;
const WORD_END = 2 ** 32 - 1;

export class Shares {
  /** The number of the next draw. */
  draw = 0;
  /** The rows per source, as `split` computes them. */
  readonly rows: Uint32Array;
  readonly #core: Core;
  /**
   * The constant shares; 0 for functions. They are separate from the functions, because V8 would allocate memory for numbers in an array that also has
   * functions.
   */
  readonly #numbers: Float64Array;
  readonly #functions: readonly (((draw: number) => number) | undefined)[];
  readonly #isExact: boolean;
  /** The shares for this draw; 0 for sources that provide no rows. */
  readonly #values: Float64Array;
  readonly #carry: Float64Array;
  readonly #random: Uint8Array;
  /** The values of `#carry` and `#random` after the last split draw. */
  readonly #nextCarry: Float64Array;
  readonly #nextRandom: Uint8Array;

  /** @param core the core that computes the split */
  constructor(core: Core, shares: readonly Share[], isExact: boolean, seed: number | bigint) {
    const k = shares.length;
    this.#core = core;
    this.#numbers = Float64Array.from(shares, (share) => (typeof share === "number" ? share : 0));
    this.#functions = shares.map((share) => (typeof share === "number" ? undefined : share));
    this.#isExact = isExact;
    this.rows = new Uint32Array(k);
    this.#values = new Float64Array(k);
    this.#carry = new Float64Array(k);
    this.#nextCarry = new Float64Array(k);
    const bits = BigInt.asUintN(64, BigInt(seed));
    const at = core.scratch(RANDOM_BYTES);
    core.x.mixture_seed(at, Number(bits & 0xffffffffn), Number(bits >> 32n));
    this.#random = core.u8.slice(at, at + RANDOM_BYTES);
    this.#nextRandom = this.#random.slice();
  }

  /**
   * Reads the shares of the next draw, and calls the caller's functions. @throws TypeError, RangeError if a share is not a finite number of at least 0, or if
   * all shares are 0
   */
  read(): void {
    let sum = 0;
    for (let i = 0; i < this.#functions.length; i++) {
      const share = this.#functions[i];
      if (share === undefined) this.#values[i] = this.#numbers[i] as number;
      else this.#values[i] = finite(`the share of source ${i} in draw ${this.draw}`, share(this.draw), 0);
      sum += this.#values[i] as number;
    }
    if (!(sum > 0 && sum < Number.POSITIVE_INFINITY)) throw mustBe(RangeError, `the sum of the shares in draw ${this.draw}`, "a finite number above 0", sum);
  }

  /** Returns whether a source has a share in this draw. */
  has(i: number): boolean {
    return (this.#values[i] as number) > 0;
  }

  /** Excludes a source from this draw: the other sources provide its rows. */
  leaveOut(i: number): void {
    this.#values[i] = 0;
  }

  /** Divides n rows among the sources. Changes nothing until `count`. */
  split(n: number): void {
    const core = this.#core;
    const k = this.rows.length;
    const at = core.scratch(RANDOM_BYTES + 20 * k);
    const numbers = (at + RANDOM_BYTES) / 8;
    const { f64, u8, u32 } = core;
    for (let i = 0; i < k; i++) {
      f64[numbers + i] = this.#values[i] as number;
      f64[numbers + k + i] = this.#carry[i] as number;
    }
    if (!this.#isExact) u8.set(this.#random, at);
    core.x.mixture_split(at, k, n, Number(this.#isExact));
    const rows = at / 4 + RANDOM_BYTES / 4 + 4 * k;
    for (let i = 0; i < k; i++) {
      this.rows[i] = u32[rows + i] as number;
      this.#nextCarry[i] = f64[numbers + k + i] as number;
    }
    if (!this.#isExact) for (let i = 0; i < RANDOM_BYTES; i++) this.#nextRandom[i] = u8[at + i] as number;
  }

  /** Counts the draw that was last split, and keeps its remainders and random state. */
  count(): void {
    this.draw++;
    this.#carry.set(this.#nextCarry);
    this.#random.set(this.#nextRandom);
  }

  get state(): MixtureState {
    const words = new Uint32Array(this.#random.slice().buffer);
    return { draw: this.draw, carry: [...this.#carry], random: [...words] };
  }

  /**
   * Continues from a state. @throws TypeError, RangeError if a number of the state is invalid · ReplayError SPEC_MISMATCH if the state has a different number
   * of sources
   */
  restore(state: MixtureState): void {
    const { draw, carry, random } = onlyKeys("state", state, "draw, carry, random");
    const k = this.rows.length;
    if (!Array.isArray(carry) || carry.length !== k)
      throw new ReplayError(
        "SPEC_MISMATCH",
        `state belongs to a mixture of ${Array.isArray(carry) ? carry.length : "no"} sources, but this mixture has ${k}. Pass the state of a mixture with the same sources`,
      );
    if (!Array.isArray(random) || random.length !== RANDOM_BYTES / 4) throw mustBe(TypeError, "state.random", "an array of 8 numbers", random);
    integer("state.draw", draw, 0);
    carry.forEach((rows, i) => void finite(`state.carry[${i}]`, rows, -MAX_CARRY, MAX_CARRY));
    random.forEach((word, i) => void integer(`state.random[${i}]`, word, 0, WORD_END));
    this.draw = draw;
    this.#carry.set(carry);
    this.#random.set(new Uint8Array(Uint32Array.from(random).buffer));
    this.#nextRandom.set(this.#random);
  }
}

/** The limit on the number of rows that rounding withholds from a source. */
const MAX_CARRY = 2 ** 32;
