/** Parses numbers into the same double on every platform. The number of digits is limited, so that the result is correctly rounded without a table. */

const MAX_DIGITS: u32 = 15;
/** Whole numbers up to this value are exact doubles. */
export const MAX_WHOLE: f64 = 9007199254740991;
/** Powers of ten up to this exponent are exact doubles. */
const MAX_POWER: i32 = 22;

/** Parses a decimal number of at most 15 digits, or the bits of a double as 0x and 16 hexadecimal digits; NaN if the word is neither. */
export function numberOf(word: u32, bytes: u32): f64 {
  const end = word + bytes;
  if (bytes == 18 && load<u16>(word) == 0x7830) return ofBits(word + 2, end);
  let at = word;
  const negative = at < end && load<u8>(at) == 45;
  if (negative) at += 1;
  let mantissa: u64 = 0;
  let digits: u32 = 0;
  let exponent = 0;
  let seen = false;
  let point = false;
  for (; at < end; at++) {
    const byte = <u32>load<u8>(at);
    if (byte == 46 && !point) {
      point = true;
      continue;
    }
    if (byte - 48 > 9) break;
    seen = true;
    mantissa = mantissa * 10 + <u64>(byte - 48);
    digits += u32(mantissa != 0);
    exponent -= i32(point);
    if (digits > MAX_DIGITS) return NaN;
  }
  if (!seen) return NaN;
  if (at < end) {
    const more = exponentOf(at, end);
    if (Number.isNaN(more)) return NaN;
    exponent += <i32>more;
  }
  if (mantissa == 0) return negative ? -0.0 : 0.0;
  if (exponent < -MAX_POWER || exponent > MAX_POWER) return NaN;
  let power: f64 = 1;
  for (let i = exponent < 0 ? -exponent : exponent; i > 0; i--) power *= 10;
  // The mantissa and the power are exact, so only this operation rounds.
  const size = exponent < 0 ? <f64>mantissa / power : <f64>mantissa * power;
  return negative ? -size : size;
}

/** Parses a whole number below 2^64 into `out`. Returns whether the word is such a number. */
export function wholeOf(word: u32, bytes: u32, out: usize): bool {
  let whole: u64 = 0;
  for (let at = word; at < word + bytes; at++) {
    const digit = <u64>load<u8>(at) - 48;
    if (digit > 9 || whole > (u64.MAX_VALUE - digit) / 10) return false;
    whole = whole * 10 + digit;
  }
  store<u64>(out, whole);
  return bytes != 0;
}

/** Returns the place value of the first digit of a whole number: 100 for 345; 1 for 0. */
export function placeOf(whole: u64): u64 {
  let place: u64 = 1;
  while (whole / place >= 10) place *= 10;
  return place;
}

/** Parses an exponent such as `e-3`; NaN if the text is invalid. */
function exponentOf(at: u32, end: u32): f64 {
  if ((load<u8>(at) | 32) != 101) return NaN;
  at += 1;
  const negative = at < end && load<u8>(at) == 45;
  if (negative || (at < end && load<u8>(at) == 43)) at += 1;
  if (at == end || end - at > 3) return NaN;
  let exponent = 0;
  for (; at < end; at++) {
    const digit = <i32>load<u8>(at) - 48;
    if (digit < 0 || digit > 9) return NaN;
    exponent = exponent * 10 + digit;
  }
  return <f64>(negative ? -exponent : exponent);
}

function ofBits(at: u32, end: u32): f64 {
  let bits: u64 = 0;
  for (; at < end; at++) {
    const byte = <u32>load<u8>(at);
    const letter = (byte | 32) - 97;
    if (byte - 48 > 9 && letter > 5) return NaN;
    bits = (bits << 4) | <u64>(byte - 48 <= 9 ? byte - 48 : letter + 10);
  }
  return reinterpret<f64>(bits);
}
