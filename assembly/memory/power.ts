/**
 * Computes x^y for x > 0, with the same bits on every platform. The code takes half a kilobyte, whereas the pow of AssemblyScript would add 7 KB of tables and
 * code. The algorithm uses additions, multiplications and one division, which IEEE 754 defines to the bit. The relative error is below
 * (4 + |y log2 x|) × 2^-52.
 */

const LOG2_E: f64 = 1.4426950408889634;
const LN2: f64 = 0.6931471805599453;
/** The bits of sqrt(1/2). Mantissas are taken from [0.707, 1.414), so that an x just below 1 has the exponent 0 and its logarithm no cancellation. */
const ROOT_HALF: u64 = 0x3fe6a09e667f3bcd;

export function power(x: f64, y: f64): f64 {
  return exp2(y * log2(x));
}

/** Returns log2 x for a finite x above 0. */
function log2(x: f64): f64 {
  let exponent: i64 = 0;
  if (x < f64.MIN_NORMAL_VALUE) {
    // A subnormal x is scaled up first.
    x *= 18014398509481984.0;
    exponent = -54;
  }
  const bits = reinterpret<u64>(x);
  const shift = <i64>(bits - ROOT_HALF) >> 52;
  const m = reinterpret<f64>(bits - ((<u64>shift) << 52));
  // log m = 2 artanh s with s = (m - 1) / (m + 1), |s| < 0.172: s^23 is below the last bit.
  const s = (m - 1) / (m + 1);
  const z = s * s;
  const z2 = z * z;
  const z4 = z2 * z2;
  // The Taylor series is evaluated in pairs of terms (Estrin), so that the processor computes several pairs in parallel.
  const low = 1.0 / 3 + z * (1.0 / 5) + z2 * (1.0 / 7 + z * (1.0 / 9));
  const high = 1.0 / 11 + z * (1.0 / 13) + z2 * (1.0 / 15 + z * (1.0 / 17));
  const top = 1.0 / 19 + z * (1.0 / 21);
  const sum = low + z4 * (high + z4 * top);
  return <f64>(exponent + shift) + 2 * LOG2_E * (s + s * (z * sum));
}

/** Returns 2^t; 0 below the least f64, Infinity above the largest. */
function exp2(t: f64): f64 {
  if (t > 1024) return Infinity;
  if (t < -1080) return 0;
  const whole = nearest(t);
  // e^r, |r| < 0.347: r^14 / 14! is below the last bit.
  const r = (t - whole) * LN2;
  const r2 = r * r;
  const r4 = r2 * r2;
  const a = 1 + r + r2 * (1.0 / 2 + r * (1.0 / 6));
  const b = 1.0 / 24 + r * (1.0 / 120) + r2 * (1.0 / 720 + r * (1.0 / 5040));
  const c = 1.0 / 40320 + r * (1.0 / 362880) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800));
  const d = 1.0 / 479001600 + r * (1.0 / 6227020800);
  const e = a + r4 * (b + r4 * (c + r4 * d));
  // The scale is applied in two steps, so that subnormal results and those near 2^1024 result from normal factors.
  const half = <i64>whole >> 1;
  return e * reinterpret<f64>((half + 1023) << 52) * reinterpret<f64>((<i64>whole - half + 1023) << 52);
}

/** The number 1.5 × 2^52. A sum of this number and a whole number below 2^51 has the whole number in its low bits. */
const WHOLE: f64 = 6755399441055744.0;
const WHOLE_BITS: u64 = 0x4338000000000000;

/** Computes the powers of two numbers in one vector. */
export class Pair {
  /** Whether x is a positive normal number; `Pair.power` accepts no other numbers. */
  @inline
  static isNormal(x: f64): bool {
    return x >= f64.MIN_NORMAL_VALUE && x < Infinity;
  }

  /** Computes the powers of two normal numbers in parallel, with the same operations in the same order as for one number, and so with the same bits. */
  @inline
  static power(x: v128, y: f64): v128 {
    const t = f64x2.mul(f64x2.splat(y), Pair.log2(x));
    const isWithin = v128.and(f64x2.le(t, f64x2.splat(1024)), f64x2.ge(t, f64x2.splat(-1080)));
    if (!v128.all_true<i64>(isWithin)) return f64x2.replace_lane(f64x2.splat(exp2(f64x2.extract_lane(t, 0))), 1, exp2(f64x2.extract_lane(t, 1)));
    return Pair.exp2(t);
  }

  @inline
  private static log2(x: v128): v128 {
    const shift = i64x2.shr_s(i64x2.sub(x, i64x2.splat(ROOT_HALF)), 52);
    const m = i64x2.sub(x, i64x2.shl(shift, 52));
    const one = f64x2.splat(1);
    const s = f64x2.div(f64x2.sub(m, one), f64x2.add(m, one));
    const z = f64x2.mul(s, s);
    const z2 = f64x2.mul(z, z);
    const z4 = f64x2.mul(z2, z2);
    const low = f64x2.add(Pair.linear(1.0 / 3, z, 1.0 / 5), f64x2.mul(z2, Pair.linear(1.0 / 7, z, 1.0 / 9)));
    const high = f64x2.add(Pair.linear(1.0 / 11, z, 1.0 / 13), f64x2.mul(z2, Pair.linear(1.0 / 15, z, 1.0 / 17)));
    const top = Pair.linear(1.0 / 19, z, 1.0 / 21);
    const sum = f64x2.add(low, f64x2.mul(z4, f64x2.add(high, f64x2.mul(z4, top))));
    const exponent = f64x2.sub(i64x2.add(shift, i64x2.splat(WHOLE_BITS)), f64x2.splat(WHOLE));
    return f64x2.add(exponent, f64x2.mul(f64x2.splat(2 * LOG2_E), f64x2.add(s, f64x2.mul(s, f64x2.mul(z, sum)))));
  }

  @inline
  private static exp2(t: v128): v128 {
    const whole = f64x2.nearest(t);
    const r = f64x2.mul(f64x2.sub(t, whole), f64x2.splat(LN2));
    const r2 = f64x2.mul(r, r);
    const r4 = f64x2.mul(r2, r2);
    const a = f64x2.add(f64x2.add(f64x2.splat(1), r), f64x2.mul(r2, Pair.linear(1.0 / 2, r, 1.0 / 6)));
    const b = f64x2.add(Pair.linear(1.0 / 24, r, 1.0 / 120), f64x2.mul(r2, Pair.linear(1.0 / 720, r, 1.0 / 5040)));
    const c = f64x2.add(Pair.linear(1.0 / 40320, r, 1.0 / 362880), f64x2.mul(r2, Pair.linear(1.0 / 3628800, r, 1.0 / 39916800)));
    const d = Pair.linear(1.0 / 479001600, r, 1.0 / 6227020800);
    const e = f64x2.add(a, f64x2.mul(r4, f64x2.add(b, f64x2.mul(r4, f64x2.add(c, f64x2.mul(r4, d))))));
    const exponent = i64x2.sub(f64x2.add(whole, f64x2.splat(WHOLE)), i64x2.splat(WHOLE_BITS));
    const half = i64x2.shr_s(exponent, 1);
    return f64x2.mul(f64x2.mul(e, Pair.twoTo(half)), Pair.twoTo(i64x2.sub(exponent, half)));
  }

  /** Returns a + x b. */
  @inline
  private static linear(a: f64, x: v128, b: f64): v128 {
    return f64x2.add(f64x2.splat(a), f64x2.mul(x, f64x2.splat(b)));
  }

  /** Returns 2^exponent, for whole numbers. */
  @inline
  private static twoTo(exponent: v128): v128 {
    return i64x2.shl(i64x2.add(exponent, i64x2.splat(1023)), 52);
  }
}

/** Raises n positive and finite numbers (f64 each) to the power y in place. */
export function powerMany(at: usize, n: u32, y: f64): void {
  const end = at + ((<usize>n) << 3);
  if (ASC_FEATURE_SIMD) {
    for (; at + 8 < end; at += 16) {
      if (Pair.isNormal(load<f64>(at)) && Pair.isNormal(load<f64>(at, 8))) v128.store(at, Pair.power(v128.load(at), y));
      else {
        store<f64>(at, power(load<f64>(at), y));
        store<f64>(at, power(load<f64>(at, 8), y), 8);
      }
    }
  }
  for (; at < end; at += 8) store<f64>(at, power(load<f64>(at), y));
}
