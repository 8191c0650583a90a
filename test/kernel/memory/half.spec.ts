import { halfNumber, halves_narrow, halvesWiden } from "../../../assembly/memory/half";

const COUNT: u32 = 65536;
const F16_LEAST: f64 = 5.960464477539063e-8;

/** Returns the number that a half with these exponent and fraction bits represents by definition. */
function numberOf(half: u32, exponentBits: u32, fractionBits: u32): f64 {
  const sign: f64 = half >> 15 == 0 ? 1 : -1;
  const exponent = (half & 0x7fff) >> fractionBits;
  const fraction = <f64>(half & ((1 << fractionBits) - 1)) / <f64>(1 << fractionBits);
  const bias = (1 << (exponentBits - 1)) - 1;
  if (exponent == (1 << exponentBits) - 1) return fraction == 0 ? sign * Infinity : NaN;
  // Powers of two from doubling are exact.
  let scale: f64 = 1;
  for (let i = <i32>max(exponent, 1) - <i32>bias; i > 0; i--) scale *= 2;
  for (let i = <i32>max(exponent, 1) - <i32>bias; i < 0; i++) scale /= 2;
  return sign * scale * (fraction + (exponent == 0 ? 0 : 1));
}

function check(brain: bool): void {
  const exponentBits: u32 = brain ? 8 : 5;
  const fractionBits: u32 = brain ? 7 : 10;
  const halves = heap.alloc(2 * COUNT + 16);
  const numbers = heap.alloc(4 * COUNT + 16);
  const back = heap.alloc(2 * COUNT + 16);
  for (let i: u32 = 0; i < COUNT; i++) store<u16>(halves + 2 * i, <u16>i);
  halvesWiden(numbers, halves, COUNT, brain);
  const last: u32 = brain ? 0x7f7f : 0x7bff;
  for (let i: u32 = 0; i < COUNT; i++) {
    const want = numberOf(i, exponentBits, fractionBits);
    const number = load<f32>(numbers + 4 * i);
    assert(Number.isNaN(want) ? Number.isNaN(number) : reinterpret<u64>(<f64>number) == reinterpret<u64>(want), "a half is the number that it says");
    assert(Number.isNaN(want) || halfNumber(halves + 2 * i, brain) == want, "alone, too");
    // Values between neighbors are rounded to the nearest one, ties to even.
    const rest = i & 0x7fff;
    if (rest >= last) continue;
    const next = numberOf(i + 1, exponentBits, fractionBits);
    const middle = <f32>((want + next) / 2);
    const bits = reinterpret<u32>(middle);
    store<u32>(back + 16, bits);
    store<u32>(back + 20, bits - 1);
    store<u32>(back + 24, bits + 1);
    assert(halves_narrow(back, back + 16, 3, brain) == 3, "none overflows");
    assert(<u32>load<u16>(back) == i + (i & 1), "ties to even");
    assert(<u32>load<u16>(back, 2) == i, "down below the middle");
    assert(<u32>load<u16>(back, 4) == i + 1, "up above it");
  }
  // Converts all numbers together, to another array and in place, from any position within a vector.
  for (let skip: u32 = 0; skip < 9; skip++) {
    const n = COUNT - skip;
    memory.fill(back, 0, 2 * COUNT);
    assert(halves_narrow(back, numbers + 4 * skip, n, brain) == n, "none overflows");
    assert(memory.compare(back, halves + 2 * skip, 2 * n) == 0, "all come back");
  }
  assert(halves_narrow(numbers, numbers, COUNT, brain) == COUNT && memory.compare(numbers, halves, 2 * COUNT) == 0, "in place");
  memory.copy(numbers + 2 * COUNT, halves, 2 * COUNT);
  halvesWiden(numbers, numbers + 2 * COUNT, COUNT, brain);
  assert(halves_narrow(back, numbers, COUNT, brain) == COUNT && memory.compare(back, halves, 2 * COUNT) == 0, "from its upper half");
  heap.free(halves);
  heap.free(numbers);
  heap.free(back);
}

/** Returns the conversion of one number among others, or -1 if it overflows. */
function narrowed(bits: u32, brain: bool): i32 {
  const at = heap.alloc(128);
  let half: i32 = -1;
  for (let place: u32 = 0; place < 11; place++) {
    memory.fill(at, 0, 64);
    store<u32>(at + 64 + 4 * place, bits);
    memory.fill(at + 64, 0, 4 * place);
    memory.fill(at + 68 + 4 * place, 0, 4 * (10 - place));
    const n = halves_narrow(at, at + 64, 11, brain);
    assert(n == 11 || n == place, "where it overflows");
    const found = n == 11 ? <i32>load<u16>(at + 2 * place) : -1;
    assert(place == 0 || found == half, "the same at each place");
    half = found;
  }
  heap.free(at);
  return half;
}

describe("halves", () => {
  it("convert all 65,536 values of f16, and round numbers between them", () => check(false));
  it("convert all 65,536 values of bf16, and round numbers between them", () => check(true));

  it("reject finite numbers that would become infinite", () => {
    expect<i32>(narrowed(reinterpret<u32>(<f32>65504), false)).toBe(0x7bff);
    expect<i32>(narrowed(reinterpret<u32>(<f32>65519.99), false)).toBe(0x7bff);
    expect<i32>(narrowed(reinterpret<u32>(<f32>65520), false)).toBe(-1);
    expect<i32>(narrowed(reinterpret<u32>(<f32>-65520), false)).toBe(-1);
    expect<i32>(narrowed(0x7f7fffff, false)).toBe(-1);
    expect<i32>(narrowed(0x7f7f7fff, true)).toBe(0x7f7f);
    expect<i32>(narrowed(0x7f7f8000, true)).toBe(-1);
    expect<i32>(narrowed(0xff7fffff, true)).toBe(-1);
    expect<i32>(narrowed(0x7f800000, false)).toBe(0x7c00);
    expect<i32>(narrowed(0xff800000, true)).toBe(0xff80);
  });

  it("keep the sign of zero and NaN, and round numbers below the smallest half", () => {
    expect<i32>(narrowed(0x80000000, false)).toBe(0x8000);
    expect<i32>(narrowed(reinterpret<u32>(<f32>(F16_LEAST / 2)), false)).toBe(0);
    expect<i32>(narrowed(reinterpret<u32>(<f32>(F16_LEAST / 2)) + 1, false)).toBe(1);
    expect<i32>(narrowed(1, false)).toBe(0);
    expect<i32>(narrowed(0x80000001, true)).toBe(0x8000);
    expect<i32>(narrowed(0x7f800001, false)).toBe(0x7c01);
    expect<i32>(narrowed(0x7f800001, true)).toBe(0x7f81);
    expect<i32>(narrowed(0xffc00000, false)).toBe(0xfe00);
    expect<i32>(narrowed(0xffffffff, true)).toBe(0xffff);
  });
});
