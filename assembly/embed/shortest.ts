/**
 * Formats a double with the fewest decimal digits that parse to the same double, like JavaScript. The calculation uses multi-word integers, so that nothing is
 * rounded (Steele and White's algorithm in the form of Burger and Dybvig).
 *
 * SHORTEST, 32 bytes: │ count u32 │ point i32 │ digits u8 × 24 │   point: the number of digits before the decimal point
 */
const SHORTEST_AT: usize = memory.data(32, 8);
/** The number of bytes of a multi-word integer: 1280 bits suffice for the largest and the smallest double. */
const WORD_BYTES: usize = 160;
/** The number is VALUE / SCALE. Every decimal between (VALUE - BELOW) / SCALE and (VALUE + ABOVE) / SCALE parses to it. */
const VALUE: usize = memory.data(800, 8);
const SCALE: usize = VALUE + WORD_BYTES;
const BELOW: usize = SCALE + WORD_BYTES;
const ABOVE: usize = BELOW + WORD_BYTES;
const SUM: usize = ABOVE + WORD_BYTES;
if (SUM + WORD_BYTES != VALUE + 800) ERROR("five whole numbers");

@unmanaged
export class Shortest {
  count: u32;
  point: i32;

  /** Formats a finite number above 0. */
  static of(x: f64): Shortest {
    const shortest = changetype<Shortest>(SHORTEST_AT);
    const bits = reinterpret<u64>(x);
    const fraction = bits & 0xfffffffffffff;
    const biased = <i32>(bits >> 52);
    const mantissa = biased == 0 ? fraction : fraction | (1 << 52);
    const exponent = max(biased, 1) - 1075;
    // The neighbour below a power of two is half as far away as the one above.
    const uneven = u32(fraction == 0 && biased > 1);
    setWhole(VALUE, mantissa, 1 + uneven + max(exponent, 0));
    setWhole(SCALE, 1, 1 + uneven + max(-exponent, 0));
    setWhole(BELOW, 1, max(exponent, 0));
    setWhole(ABOVE, 1, uneven + max(exponent, 0));
    shortest.write((mantissa & 1) == 0);
    return shortest;
  }

  @inline
  digit(i: u32): u32 {
    return <u32>load<u8>(changetype<usize>(this) + 8 + <usize>i);
  }

  /** Writes the digits. @param even whether a decimal exactly halfway between two doubles also parses to the number */
  private write(even: bool): void {
    this.count = 0;
    this.point = 0;
    for (; reaches(even); this.point++) timesTen(SCALE);
    while (true) {
      timesTen(VALUE);
      timesTen(BELOW);
      timesTen(ABOVE);
      if (this.count == 0 && !reaches(even)) {
        this.point -= 1;
        continue;
      }
      let digit: u32 = 0;
      for (; compareWhole(VALUE, SCALE) >= 0; digit++) subtract(VALUE, SCALE);
      const low = compareWhole(VALUE, BELOW) < i32(even);
      const high = reaches(even);
      if (high && (!low || nearerAbove(digit))) digit += 1;
      store<u8>(changetype<usize>(this) + 8 + <usize>this.count, <u8>digit);
      this.count += 1;
      if (low || high) return;
    }
  }
}
if (offsetof<Shortest>() != 8) ERROR("SHORTEST: the digits follow at byte 8");

/** Whether (VALUE + ABOVE) / SCALE is above 1, or equal to 1 if `even`. */
function reaches(even: bool): bool {
  add(SUM, VALUE, ABOVE);
  return compareWhole(SUM, SCALE) >= i32(!even);
}

/** Whether the remainder is nearer to the next digit. In a tie, the even digit is taken. */
function nearerAbove(digit: u32): bool {
  add(SUM, VALUE, VALUE);
  return compareWhole(SUM, SCALE) >= i32((digit & 1) == 0);
}

/** Sets a multi-word integer to whole × 2^bits. */
function setWhole(at: usize, whole: u64, bits: u32): void {
  memory.fill(at, 0, WORD_BYTES);
  store<u64>(at, whole);
  for (; bits > 16; bits -= 16) times(at, 1 << 16);
  times(at, 1 << bits);
}

function timesTen(at: usize): void {
  times(at, 10);
}

function times(at: usize, factor: u64): void {
  let carry: u64 = 0;
  for (const end = at + WORD_BYTES; at < end; at += 4) {
    carry += <u64>load<u32>(at) * factor;
    store<u32>(at, <u32>carry);
    carry >>= 32;
  }
}

function add(to: usize, a: usize, b: usize): void {
  let carry: u64 = 0;
  for (let i: usize = 0; i < WORD_BYTES; i += 4) {
    carry += <u64>load<u32>(a + i) + <u64>load<u32>(b + i);
    store<u32>(to + i, <u32>carry);
    carry >>= 32;
  }
}

/** Subtracts `other` from a multi-word integer in place. `other` must not be larger. */
function subtract(from: usize, other: usize): void {
  let borrow: i64 = 0;
  for (let i: usize = 0; i < WORD_BYTES; i += 4) {
    borrow += <i64>load<u32>(from + i) - <i64>load<u32>(other + i);
    store<u32>(from + i, <u32>borrow);
    borrow >>= 32;
  }
}

/** Compares two multi-word integers. Returns -1, 0 or 1. */
function compareWhole(a: usize, b: usize): i32 {
  for (let i = WORD_BYTES; i > 0; ) {
    i -= 4;
    const x = load<u32>(a + i);
    const y = load<u32>(b + i);
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}
