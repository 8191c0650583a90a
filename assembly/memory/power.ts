/**
 * x^y for x > 0, the same bits everywhere, in half a kilobyte: AssemblyScript's own pow brings 7 KB of tables and code.
 * Additions, multiplications and one division, which IEEE 754 fixes to the bit. Relative error below (4 + |y log2 x|) × 2^-52.
 */

const LOG2_E: f64 = 1.4426950408889634;
const LN2: f64 = 0.6931471805599453;
/** The bits of sqrt(1/2): mantissas are taken from [0.707, 1.414), so that log2 x has no jump at 1. */
const ROOT_HALF: u64 = 0x3fe6a09e667f3bcd;

export function power(x: f64, y: f64): f64 {
  return exp2(y * log2(x));
}

/** x finite, > 0. */
function log2(x: f64): f64 {
  let exponent: i64 = 0;
  if (x < f64.MIN_NORMAL_VALUE) {
    // Subnormal: scaled up first.
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
  // Taylor's series by pairs (Estrin): the processor works at several of them at a time.
  const low = 1.0 / 3 + z * (1.0 / 5) + z2 * (1.0 / 7 + z * (1.0 / 9));
  const high = 1.0 / 11 + z * (1.0 / 13) + z2 * (1.0 / 15 + z * (1.0 / 17));
  const top = 1.0 / 19 + z * (1.0 / 21);
  const sum = low + z4 * (high + z4 * top);
  return <f64>(exponent + shift) + 2 * LOG2_E * (s + s * (z * sum));
}

/** 2^t; 0 below the least f64, Infinity above the largest. */
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
  // In two steps, so that subnormal results and those near 2^1024 come from normal factors.
  const half = <i64>whole >> 1;
  return e * reinterpret<f64>((half + 1023) << 52) * reinterpret<f64>((<i64>whole - half + 1023) << 52);
}
