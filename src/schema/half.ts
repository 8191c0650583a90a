/**
 * Converts half floats, which take two bytes in rows and files, and are f32 elsewhere. Values are rounded to the nearest half, ties to even, as in
 * assembly/memory/half.ts.
 */

import type { Dtype } from "./dtype.ts";

/**
 * The dtypes of half floats. f16 is IEEE 754 binary16: a sign bit, an exponent of 5 bits, and a fraction of 10 bits. bf16 is bfloat16: the upper half of an
 * f32.
 */
export type HalfDtype = Extract<Dtype, "f16" | "bf16">;

export function isHalf(dtype: string): dtype is HalfDtype {
  return dtype === "f16" || dtype === "bf16";
}

const F32 = new Float32Array(1);
const U32 = new Uint32Array(F32.buffer);

const MAGNITUDE = 0x7fffffff;
const INFINITY = 0x7f800000;
/**
 * Bits of f32: the threshold that rounds to infinity as f16, the smallest normal f16, and the offset between the exponents of both. Then, as a number, the
 * smallest positive f16.
 */
const F16_OVERFLOW = 0x477ff000;
const F16_NORMAL = 0x38800000;
const F16_REBIAS = 0x38000000;
const F16_LEAST = 2 ** -24;

/** Returns the bits of a half float from the bits of an f32. */
function halfOf(bits: number, isBrain: boolean): number {
  const rest = bits & MAGNITUDE;
  if (isBrain) {
    const upper = bits >>> 16;
    if (rest > INFINITY) return (upper & 0x7f) === 0 ? upper | 1 : upper;
    return ((bits >>> 0) + 0x7fff + (upper & 1)) >>> 16;
  }
  const sign = (bits >>> 16) & 0x8000;
  if (rest > INFINITY) return sign | 0x7c00 | Math.max((rest >> 13) & 0x3ff, 1);
  if (rest >= F16_OVERFLOW) return sign | 0x7c00;
  if (rest >= F16_NORMAL) return sign | ((rest - F16_REBIAS + 0xfff + ((rest >> 13) & 1)) >> 13);
  U32[0] = rest;
  // The addition rounds to the last place of f16, which is the precision of f32 at 0.5.
  F32[0] = (F32[0] as number) + 0.5;
  return sign | ((U32[0] as number) - 0x3f000000);
}

/** Returns the bits of an f32 from the bits of a half float. */
function bitsOf(half: number, isBrain: boolean): number {
  if (isBrain) return half << 16;
  const sign = (half & 0x8000) << 16;
  const rest = half & 0x7fff;
  if (rest >= 0x400) return sign | ((rest << 13) + (rest < 0x7c00 ? F16_REBIAS : 2 * F16_REBIAS));
  F32[0] = rest * F16_LEAST;
  return sign | (U32[0] as number);
}

/** Returns the half float nearest to a number, as a number. The result is infinite above the largest half float. Rounds once, not through f32. */
export function roundHalf(dtype: HalfDtype, number: number): number {
  F32[0] = number;
  const nearest = F32[0] as number;
  let bits = U32[0] as number;
  // If f32 cannot represent the number, it is rounded to odd, so that a number next to a tie of halves does not become the tie.
  if (nearest !== number && !Number.isNaN(number)) bits = (Math.abs(nearest) > Math.abs(number) ? bits - 1 : bits) | 1;
  const isBrain = dtype === "bf16";
  const half = halfOf(bits, isBrain);
  U32[0] = bitsOf(half, isBrain);
  return F32[0] as number;
}

/** Rounds elements in place to the nearest half floats, using their bits. A NaN that a half float can represent is unchanged. O(n) */
export function roundHalves(dtype: HalfDtype, numbers: Float32Array, at: number, size: number): void {
  const isBrain = dtype === "bf16";
  const bits = new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);
  for (let i = at; i < at + size; i++) bits[i] = bitsOf(halfOf(bits[i] as number, isBrain), isBrain);
}

/** Writes the bits of the nearest half floats to an array of the same length (by default, a new one), and returns the array. O(n) */
export function narrowHalves(dtype: HalfDtype, from: Float32Array, to: Uint16Array<ArrayBuffer> = new Uint16Array(from.length)): Uint16Array<ArrayBuffer> {
  const isBrain = dtype === "bf16";
  const bits = new Uint32Array(from.buffer, from.byteOffset, from.length);
  for (let i = 0; i < bits.length; i++) to[i] = halfOf(bits[i] as number, isBrain);
  return to;
}

/** Returns the number that the bits of a half float represent. */
export function widenHalf(dtype: HalfDtype, half: number): number {
  U32[0] = bitsOf(half, dtype === "bf16");
  return F32[0] as number;
}

/** Converts half floats to f32. The conversion is exact. O(n) */
export function widenHalves(dtype: HalfDtype, from: ArrayLike<number>): Float32Array<ArrayBuffer> {
  const isBrain = dtype === "bf16";
  const bits = new Uint32Array(from.length);
  for (let i = 0; i < bits.length; i++) bits[i] = bitsOf(from[i] as number, isBrain);
  return new Float32Array(bits.buffer);
}
