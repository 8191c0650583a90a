/** How many rows of each batch the sources of a mixture give: their shares, what rounding has kept from each, and a random state of the mixture's own. */

import { finite, integer, mustBe, onlyKeys, ReplayError } from "../../base/error.ts";
import type { Core } from "../../memory/core.ts";

/** A number, of which only its proportion to the others counts, or a function of the number of the draw, from 0 on. */
export type Share = number | ((draw: number) => number);

/** Where a mixture stands: plain numbers, as JSON has them. */
export interface MixtureState {
  /** Batches drawn so far. */
  readonly draw: number;
  /** Rows that rounding has kept from each source so far; negative where it has given more. */
  readonly carry: readonly number[];
  /** The random state: 8 words of 32 bits. */
  readonly random: readonly number[];
}

/** Bytes of RANDOM, which comes first (assembly/draw/mixture.ts). */
const RANDOM_BYTES = 32;
const WORD_END = 2 ** 32 - 1;

export class Shares {
  /** The number of the next draw. */
  draw = 0;
  /** Rows of each source, as `split` has them. */
  readonly rows: Uint32Array;
  readonly #core: Core;
  /** Those of functions are 0. In an array of their own: a value that may be either would be allocated. */
  readonly #numbers: Float64Array;
  readonly #functions: readonly (((draw: number) => number) | undefined)[];
  readonly #isExact: boolean;
  /** Values of the shares for this draw, 0 of sources that give nothing. */
  readonly #values: Float64Array;
  readonly #carry: Float64Array;
  readonly #random: Uint8Array;
  /** The same behind the draw that was split last. */
  readonly #nextCarry: Float64Array;
  readonly #nextRandom: Uint8Array;

  /** @param core computes */
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

  /** Asks for the shares of the next draw: functions of the caller's. @throws RangeError, TypeError */
  read(): void {
    let sum = 0;
    for (let i = 0; i < this.#functions.length; i++) {
      const share = this.#functions[i];
      if (share === undefined) this.#values[i] = this.#numbers[i] as number;
      else this.#values[i] = finite(`the share of source ${i} in draw ${this.draw}`, share(this.draw), 0);
      sum += this.#values[i] as number;
    }
    if (!(sum > 0 && sum < Number.POSITIVE_INFINITY)) throw mustBe(RangeError, `the sum of the shares in draw ${this.draw}`, "more than 0, and finite", sum);
  }

  /** Whether a source is to give something. */
  has(i: number): boolean {
    return (this.#values[i] as number) > 0;
  }

  /** Leaves a source out of this draw: the others give its rows. */
  leaveOut(i: number): void {
    this.#values[i] = 0;
  }

  /** Divides n rows among the sources. Nothing has changed until `count`. @param n rows */
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

  /** Counts the draw that was split last. */
  count(): void {
    this.draw++;
    this.#carry.set(this.#nextCarry);
    this.#random.set(this.#nextRandom);
  }

  get state(): MixtureState {
    const words = new Uint32Array(this.#random.slice().buffer);
    return { draw: this.draw, carry: [...this.#carry], random: [...words] };
  }

  /** Continues from a state. @throws TypeError, RangeError, ReplayError SPEC_MISMATCH */
  restore(state: MixtureState): void {
    const { draw, carry, random } = onlyKeys("state", state, "draw, carry, random");
    const k = this.rows.length;
    if (!Array.isArray(carry) || carry.length !== k)
      throw new ReplayError(
        "SPEC_MISMATCH",
        `state is of a mixture of ${Array.isArray(carry) ? carry.length : "no"} sources, and this one has ${k}: pass that of the same sources`,
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

/** More is never kept from a source. */
const MAX_CARRY = 2 ** 32;
