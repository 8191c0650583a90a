/**
 * Converts half floats, which take two bytes in rows, and are f32 in all data that a host reads or writes.
 *
 *   F16   sign │ exponent, 5 bits │ fraction, 10 bits │  IEEE 754 binary16
 *   BF16  sign │ exponent, 8 bits │ fraction,  7 bits │  the upper half of an f32
 *
 * `brain` selects BF16. Numbers are rounded to nearest, ties to even. The low bits of a NaN are cut off; a NaN that would lose all bits of its fraction keeps
 * one bit, so that the NaN does not become infinite. Each of the 65,536 halves keeps its bits when it is widened and narrowed again. The builds with and
 * without SIMD compute the same bits.
 */

const SIGN: u32 = 0x8000;
const MAGNITUDE: u32 = 0x7fffffff;
/** The f32 bits of infinity. */
const INFINITY: u32 = 0x7f800000;
/** The f32 bits of the least number that rounds to infinity as F16: 65520. */
const F16_OVERFLOW: u32 = 0x477ff000;
/** The f32 bits of the least number that rounds to infinity as BF16. */
const BF16_OVERFLOW: u32 = 0x7f7f8000;
/** The f32 bits of the least normal number of F16: 2^-14. */
const F16_NORMAL: u32 = 0x38800000;
/** The difference between the exponent biases of f32 and F16, 127 - 15, at the position of the exponent in f32. */
const F16_REBIAS: u32 = 0x38000000;
/** Adding 0.5 rounds a subnormal number of F16 to its last place, because the spacing of f32 numbers near 0.5 equals that place. */
const HALF: f32 = 0.5;
const HALF_BITS: u32 = 0x3f000000;
/** The factor 2^112, which corrects a number whose exponent has the bias of F16 instead of f32. */
const F16_SCALE: f32 = 5.192296858534828e33;
/** The least positive F16: 2^-24. */
const F16_LEAST: f32 = 5.9604644775390625e-8;

@unmanaged
class Half {
  @inline
  static ofF16(half: u32): u32 {
    const sign = (half & SIGN) << 16;
    const rest = half & 0x7fff;
    if (rest < 0x400) return sign | reinterpret<u32>(<f32>rest * F16_LEAST);
    return sign | ((rest << 13) + F16_REBIAS + (rest < 0x7c00 ? 0 : F16_REBIAS));
  }

  @inline
  static toF16(bits: u32): u32 {
    const sign = (bits >> 16) & SIGN;
    const rest = bits & MAGNITUDE;
    if (rest > INFINITY) return sign | 0x7c00 | max((rest >> 13) & 0x3ff, 1);
    if (rest >= F16_OVERFLOW) return sign | 0x7c00;
    if (rest < F16_NORMAL) return sign | (reinterpret<u32>(reinterpret<f32>(rest) + HALF) - HALF_BITS);
    return sign | ((rest - F16_REBIAS + 0xfff + ((rest >> 13) & 1)) >> 13);
  }

  @inline
  static toBf16(bits: u32): u32 {
    if ((bits & MAGNITUDE) > INFINITY) return (bits >> 16) | u32(((bits >> 16) & 0x7f) == 0);
    return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  }

  /** Converts four f32 without signs, none of which becomes infinite, to halves in the lower bits of their lanes. */
  @inline
  static toF16x4(rest: v128, one: v128, round: v128, half: v128, halfBits: v128, normal: v128): v128 {
    const rounded = v128.shr<u32>(v128.add<i32>(v128.add<i32>(rest, round), v128.and(v128.shr<u32>(rest, 13), one)), 13);
    const small = v128.sub<i32>(v128.add<f32>(rest, half), halfBits);
    return v128.bitselect(small, rounded, v128.lt<i32>(rest, normal));
  }

  @inline
  static toBf16x4(bits: v128, one: v128, round: v128): v128 {
    return v128.shr<u32>(v128.add<i32>(v128.add<i32>(bits, round), v128.and(v128.shr<u32>(bits, 16), one)), 16);
  }

  /** Sets the sign bit of each of eight lanes whose half is subnormal, infinite or NaN. The other bits have no meaning. */
  @inline
  static others(halves: v128, magnitude: v128, normal: v128, one: v128): v128 {
    const rest = v128.and(halves, magnitude);
    return v128.or(v128.add<i16>(rest, normal), v128.andnot(v128.sub<i16>(rest, normal), v128.sub<i16>(rest, one)));
  }

  /** Widens eight halves that are normal or zero. A multiplication corrects their exponents. */
  @inline
  static storeNormal(to: usize, halves: v128, bits: v128, scale: v128): void {
    v128.store(to, v128.mul<f32>(v128.and(v128.shl<i32>(i32x4.extend_low_i16x8_s(halves), 13), bits), scale));
    v128.store(to, v128.mul<f32>(v128.and(v128.shl<i32>(i32x4.extend_high_i16x8_s(halves), 13), bits), scale), 16);
  }
}

/** Returns the value of the half at an address. */
export function halfNumber(at: usize, brain: bool): f64 {
  const half = <u32>load<u16>(at);
  return <f64>reinterpret<f32>(brain ? half << 16 : Half.ofF16(half));
}

/**
 * Converts n numbers of f32 to halves, possibly in place: `to` is at most `from`. Returns how many numbers are before the first finite number that would become
 * infinite; nothing is written from there on. O(n)
 */
export function halves_narrow(to: usize, from: usize, n: u32, brain: bool): u32 {
  if (!ASC_FEATURE_SIMD) return narrowSome(to, from, n, brain);
  let i: u32 = 0;
  const one = v128.splat<i32>(1);
  const magnitude = v128.splat<i32>(MAGNITUDE);
  const top = v128.splat<i32>((brain ? BF16_OVERFLOW : F16_OVERFLOW) - 1);
  const round = v128.splat<i32>(brain ? 0x7fff : 0xfff - F16_REBIAS);
  const half = v128.splat<f32>(HALF);
  const halfBits = v128.splat<i32>(HALF_BITS);
  const normal = v128.splat<i32>(F16_NORMAL);
  const sign = v128.splat<i32>(SIGN);
  for (; n - i >= 8; i += 8, to += 16, from += 32) {
    const a = v128.load(from);
    const b = v128.load(from, 16);
    const restA = v128.and(a, magnitude);
    const restB = v128.and(b, magnitude);
    // At least one number is infinite, NaN, or too large.
    if (v128.any_true(v128.gt<i32>(v128.max<i32>(restA, restB), top))) {
      const done = narrowSome(to, from, 8, brain);
      if (done < 8) return i + done;
    } else if (brain) v128.store(to, i16x8.narrow_i32x4_u(Half.toBf16x4(a, one, round), Half.toBf16x4(b, one, round)));
    else {
      const low = v128.or(Half.toF16x4(restA, one, round, half, halfBits, normal), v128.and(v128.shr<u32>(a, 16), sign));
      const high = v128.or(Half.toF16x4(restB, one, round, half, halfBits, normal), v128.and(v128.shr<u32>(b, 16), sign));
      v128.store(to, i16x8.narrow_i32x4_u(low, high));
    }
  }
  return i + narrowSome(to, from, n - i, brain);
}

/** Like `halves_narrow`, one number at a time. */
function narrowSome(to: usize, from: usize, n: u32, brain: bool): u32 {
  const limit = brain ? BF16_OVERFLOW : F16_OVERFLOW;
  for (let i: u32 = 0; i < n; i++, to += 2, from += 4) {
    const bits = load<u32>(from);
    if ((bits & MAGNITUDE) - limit < INFINITY - limit) return i;
    store<u16>(to, <u16>(brain ? Half.toBf16(bits) : Half.toF16(bits)));
  }
  return n;
}

/** Returns how many of n f32 numbers are before the first finite number that would become infinite as a half. O(n) */
export function halvesFitting(from: usize, n: u32, brain: bool): u32 {
  const limit = brain ? BF16_OVERFLOW : F16_OVERFLOW;
  for (let i: u32 = 0; i < n; i++, from += 4) if ((load<u32>(from) & MAGNITUDE) - limit < INFINITY - limit) return i;
  return n;
}

/** Widens n halves to f32. The halves may overlap the result if `from` is at least 2 × n bytes after `to`. O(n) */
export function halvesWiden(to: usize, from: usize, n: u32, brain: bool): void {
  if (!ASC_FEATURE_SIMD) widenSome(to, from, n, brain);
  else if (brain) {
    for (; n >= 8; n -= 8, to += 32, from += 16) {
      const halves = v128.load(from);
      v128.store(to, v128.shl<i32>(i32x4.extend_low_i16x8_u(halves), 16));
      v128.store(to, v128.shl<i32>(i32x4.extend_high_i16x8_u(halves), 16), 16);
    }
    widenSome(to, from, n, brain);
  } else {
    const magnitude = v128.splat<i16>(0x7fff);
    const normal = v128.splat<i16>(0x400);
    const one = v128.splat<i16>(1);
    const bits = v128.splat<i32>(<i32>0x8fffe000);
    const scale = v128.splat<f32>(F16_SCALE);
    for (; n >= 16; n -= 16, to += 64, from += 32) {
      const a = v128.load(from);
      const b = v128.load(from, 16);
      // The multiplication is slow for subnormal halves, which it first reads as subnormal f32, and wrong for infinities and NaN.
      if (i16x8.bitmask(v128.or(Half.others(a, magnitude, normal, one), Half.others(b, magnitude, normal, one))) != 0) widenSome(to, from, 16, brain);
      else {
        Half.storeNormal(to, a, bits, scale);
        Half.storeNormal(to + 32, b, bits, scale);
      }
    }
    widenSome(to, from, n, brain);
  }
}

/** Like `halvesWiden`, one number at a time. */
function widenSome(to: usize, from: usize, n: u32, brain: bool): void {
  for (; n != 0; n--, to += 4, from += 2) {
    const half = <u32>load<u16>(from);
    store<u32>(to, brain ? half << 16 : Half.ofF16(half));
  }
}
