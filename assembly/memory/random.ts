/**
 * Generates random numbers with xoshiro256** (Blackman and Vigna, 2018), seeded with splitmix64. Each table has its own state, so tables do not affect each
 * other.
 *
 * RANDOM, 32 bytes: │ s0 u64 │ s1 u64 │ s2 u64 │ s3 u64 │
 */

/** Returns the number of bytes of a state. */
export function random_bytes(): u32 {
  return 32;
}

/** Seeds a state from a 64-bit seed and the number of its stream. */
export function random_init(state: usize, seedLow: u32, seedHigh: u32, stream: u32): void {
  // Both numbers are mixed before they are combined, so that neighbouring streams share no words.
  let s = mix(((<u64>seedHigh) << 32) | <u64>seedLow) ^ mix(~(<u64>stream));
  for (let i: usize = 0; i < 32; i += 8) {
    s += 0x9e3779b97f4a7c15;
    store<u64>(state + i, mix(s));
  }
}

/** Returns a number in [0, 1): the top 53 bits × 2^-53. */
export function random_f64(state: usize): f64 {
  return <f64>(State.next(state) >> 11) * (1.0 / 9007199254740992.0);
}

/** Returns an unbiased integer in [0, n), n >= 1 (Lemire, 2019, with rejection). */
export function random_below(state: usize, n: u32): u32 {
  let m: u64;
  do m = (State.next(state) >> 32) * <u64>n;
  while (<u32>m < n && <u32>m < (0 - n) % n);
  return <u32>(m >> 32);
}

/** Writes the results of `count` calls to `random_below` to `out` (u32 × count), with the state in locals and a single division for the rejection bound. */
export function fillBelow(state: usize, n: u32, count: u32, out: usize): void {
  if (count == 0) return;
  const least: u32 = (0 - n) % n;
  let s0 = load<u64>(state);
  let s1 = load<u64>(state, 8);
  let s2 = load<u64>(state, 16);
  let s3 = load<u64>(state, 24);
  for (const end = out + ((<usize>count) << 2); out < end; ) {
    const m = ((rotl(s1 * 5, 7) * 9) >> 32) * <u64>n;
    const t = s1 << 17;
    s2 ^= s0;
    s3 ^= s1;
    s1 ^= s2;
    s0 ^= s3;
    s2 ^= t;
    s3 = rotl(s3, 45);
    if (<u32>m < least) continue;
    store<u32>(out, <u32>(m >> 32));
    out += 4;
  }
  store<u64>(state, s0);
  store<u64>(state, s1, 8);
  store<u64>(state, s2, 16);
  store<u64>(state, s3, 24);
}

@unmanaged
class State {
  @inline
  static next(state: usize): u64 {
    const s0 = load<u64>(state);
    const s1 = load<u64>(state, 8);
    let s2 = load<u64>(state, 16);
    let s3 = load<u64>(state, 24);
    const result = rotl(s1 * 5, 7) * 9;
    s2 ^= s0;
    s3 ^= s1;
    store<u64>(state, s0 ^ s3);
    store<u64>(state, s1 ^ s2, 8);
    store<u64>(state, s2 ^ (s1 << 17), 16);
    store<u64>(state, rotl(s3, 45), 24);
    return result;
  }
}

/** Applies the finalizer of splitmix64. */
function mix(z: u64): u64 {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
