/** Determines the narrowest dtype that represents all numbers of a leaf in a text format. */
import type { StepLeaf } from "../model/dataset.ts";

/** A decimal with at most this many digits is always the shortest decimal of its f32, except below the normal range. */
const F32_DIGITS = 6;
const F32_NORMAL = 2 ** -126;
/** The number of digits that distinguishes any two f32 values. */
const MAX_F32_DIGITS = 9;

/** Returns whether f32 preserves a number, that is, whether the number is an f32 or the shortest decimal of an f32. */
export function isF32(value: number): boolean {
  const rounded = Math.fround(value);
  if (rounded === value || Number.isNaN(value)) return true;
  if (!Number.isFinite(rounded) || rounded === 0) return false;
  for (let digits = Math.abs(rounded) < F32_NORMAL ? 1 : F32_DIGITS; digits <= MAX_F32_DIGITS; digits++) {
    const decimal = Number(rounded.toPrecision(digits));
    if (Math.fround(decimal) === rounded) return decimal === value;
  }
  return false;
}

const I32 = [-(2 ** 31), 2 ** 31 - 1] as const;
const I64_MIN = -(2n ** 63n);
const I64_MAX = 2n ** 63n - 1n;
const U64_MAX = 2n ** 64n - 1n;

export class NumberRange {
  #isWhole = true;
  #isF32 = true;
  #min = 0;
  #max = 0;
  /** The range of the integers that numbers cannot represent exactly. */
  #minLarge = 0n;
  #maxLarge = 0n;

  add(value: number | bigint): void {
    if (typeof value === "bigint") {
      if (value < this.#minLarge) this.#minLarge = value;
      if (value > this.#maxLarge) this.#maxLarge = value;
      this.#isF32 = false;
      return;
    }
    if (this.#isF32 && !isF32(value)) this.#isF32 = false;
    // In a text format, -0 can only be a float.
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) this.#isWhole = false;
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
  }

  /** @param isReal whether the leaf is real-valued, so that 1 means 1.0. Its numbers are stored as integers only if no float preserves them */
  dtype(isReal: boolean): StepLeaf["dtype"] {
    const hasLarge = this.#minLarge < 0n || this.#maxLarge > 0n;
    if (!this.#isWhole || (isReal && !hasLarge)) return this.#isF32 ? "f32" : "f64";
    const [min, max] = hasLarge ? [minOf(this.#minLarge, this.#min), maxOf(this.#maxLarge, this.#max)] : [this.#min, this.#max];
    if (min >= I32[0] && max <= I32[1]) return "i32";
    if (min >= I64_MIN && max <= I64_MAX) return "i64";
    // If the range fits neither i64 nor u64, the digits are kept as text.
    return min >= 0n && max <= U64_MAX ? "u64" : "string";
  }
}

const minOf = (large: bigint, small: number) => (large < BigInt(small) ? large : BigInt(small));
const maxOf = (large: bigint, small: number) => (large > BigInt(small) ? large : BigInt(small));
