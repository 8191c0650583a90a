/**
 * A patch: how a frame differs from another one of the same size, its base, as the XOR of both without the bytes that are zero.
 *
 * │ u1 × stretches of 64 bytes, in whole bytes: does it differ? │ for each that does: │
 *   │ u8: which of its 8 groups of 8 bytes differ │ u8 for each of these: which of its bytes do │ these bytes, XORed, group by group │
 *
 * Both builds write the same bytes.
 */
import { Work } from "./work";

/** Stretches of this many bytes have one bit of their own. */
const STRETCH: u32 = 64;

/** Bytes of the bits of all stretches. */
function bitsBytes(n: u32): u32 {
  return (((n + STRETCH - 1) >> 6) + 7) >> 3;
}

/** Writes the patch that makes `a` of `b`, n bytes each; how many bytes, or more than `most` where it takes more. Writes at most 140 bytes behind `most`. O(n) */
export function encodePatch(work: usize, a: usize, b: usize, n: u32, to: usize, most: u32): u32 {
  const from = to;
  const stop = to + most;
  memory.fill(to, 0, bitsBytes(n));
  to += bitsBytes(n);
  for (let s: u32 = 0; s < n; s += STRETCH, a += STRETCH, b += STRETCH) {
    if (s + STRETCH > n) {
      const tail = Work.tail(work);
      memory.fill(tail, 0, 2 * STRETCH);
      memory.copy(tail, a, n - s);
      memory.copy(tail + STRETCH, b, n - s);
      a = tail;
      b = tail + STRETCH;
    }
    const next = encodeStretch(work, a, b, to);
    if (next == to) continue;
    to = next;
    const bits = from + (s >> 9);
    store<u8>(bits, <u8>(<u32>load<u8>(bits) | ((<u32>1) << ((s >> 6) & 7))));
    if (to > stop) return most + 1;
  }
  return <u32>(to - from);
}

/** Writes what differs in 64 bytes; where it ends, `to` where nothing does. */
function encodeStretch(work: usize, a: usize, b: usize, to: usize): usize {
  return ASC_FEATURE_SIMD ? encodeWide(work, a, b, to) : encodeNarrow(a, b, to);
}

function encodeNarrow(a: usize, b: usize, to: usize): usize {
  let groups: u32 = 0;
  let at = to + 1;
  for (let g: u32 = 0; g < 8; g++) {
    const mask = nonZero(load<u64>(a + (g << 3)) ^ load<u64>(b + (g << 3)));
    if (mask == 0) continue;
    groups |= 1 << g;
    store<u8>(at++, <u8>mask);
  }
  if (groups == 0) return to;
  store<u8>(to, <u8>groups);
  for (let g: u32 = 0; g < 8; g++) {
    let x = load<u64>(a + (g << 3)) ^ load<u64>(b + (g << 3));
    for (; x != 0; x >>= 8) if ((x & 255) != 0) store<u8>(at++, <u8>x);
  }
  return at;
}

/** A bit for each of the eight bytes that is not 0. */
function nonZero(x: u64): u32 {
  let mask: u32 = 0;
  for (let k: u32 = 0; x != 0; k++, x >>= 8) mask |= u32((x & 255) != 0) << k;
  return mask;
}

function encodeWide(work: usize, a: usize, b: usize, to: usize): usize {
  const x0 = v128.xor(v128.load(a), v128.load(b));
  const x1 = v128.xor(v128.load(a, 16), v128.load(b, 16));
  const x2 = v128.xor(v128.load(a, 32), v128.load(b, 32));
  const x3 = v128.xor(v128.load(a, 48), v128.load(b, 48));
  if (!v128.any_true(v128.or(v128.or(x0, x1), v128.or(x2, x3)))) return to;
  const zero = i8x16.splat(0);
  const low = <u32>i8x16.bitmask(i8x16.ne(x0, zero)) | ((<u32>i8x16.bitmask(i8x16.ne(x1, zero))) << 16);
  const high = <u32>i8x16.bitmask(i8x16.ne(x2, zero)) | ((<u32>i8x16.bitmask(i8x16.ne(x3, zero))) << 16);
  const start = to++;
  let groups: u32 = 0;
  for (let g: u32 = 0, left = ((<u64>high) << 32) | <u64>low; left != 0; g++, left >>= 8) {
    if ((left & 255) == 0) continue;
    groups |= 1 << g;
    store<u8>(to++, <u8>left);
  }
  store<u8>(start, <u8>groups);
  to = pickBytes(work, to, x0, low & 0xffff);
  to = pickBytes(work, to, x1, low >> 16);
  to = pickBytes(work, to, x2, high & 0xffff);
  return pickBytes(work, to, x3, high >> 16);
}

/** Writes those of 16 bytes that `bits` names; whole groups are stored, of which the next one overwrites what is too much. */
function pickBytes(work: usize, to: usize, x: v128, bits: u32): usize {
  if (bits == 0) return to;
  const low = bits & 255;
  const high = bits >> 8;
  v128.store64_lane(to, i8x16.swizzle(x, v128.load64_zero(Work.pick(work, low))), 0);
  to += <usize>popcnt(low);
  const upper = i64x2.shuffle(x, x, 1, 1);
  v128.store64_lane(to, i8x16.swizzle(upper, v128.load64_zero(Work.pick(work, high))), 0);
  return to + <usize>popcnt(high);
}

/** Applies a patch to n bytes in place. It is believed: `isPatch` checks what comes from elsewhere. Reads up to 7 bytes behind it. O(n / 512 + bytes) */
export function applyPatch(work: usize, patch: usize, n: u32, to: usize): void {
  let bits = patch;
  patch += bitsBytes(n);
  const end = to + n;
  for (; to < end; to += 512, bits++) {
    for (let some: u32 = load<u8>(bits); some != 0; some &= some - 1) {
      const stretch = to + ((<usize>ctz(some)) << 6);
      // The last groups may reach behind the frame: these go byte by byte.
      patch = ASC_FEATURE_SIMD && stretch + STRETCH <= end ? applyWide(work, patch, stretch) : applyNarrow(patch, stretch);
    }
  }
}

/** Applies the part of a patch that changes 64 bytes; where the next one begins. */
function applyWide(work: usize, patch: usize, to: usize): usize {
  let groups: u32 = load<u8>(patch);
  let masks = patch + 1;
  patch = masks + <usize>popcnt(groups);
  for (; groups != 0; groups &= groups - 1) {
    const at = to + ((<usize>ctz(groups)) << 3);
    const mask: u32 = load<u8>(masks++);
    const x = i8x16.swizzle(v128.load64_zero(patch), v128.load64_zero(Work.spread(work, mask)));
    v128.store64_lane(at, v128.xor(v128.load64_zero(at), x), 0);
    patch += <usize>popcnt(mask);
  }
  return patch;
}

function applyNarrow(patch: usize, to: usize): usize {
  let groups: u32 = load<u8>(patch);
  let masks = patch + 1;
  patch = masks + <usize>popcnt(groups);
  for (; groups != 0; groups &= groups - 1) {
    const at = to + ((<usize>ctz(groups)) << 3);
    for (let mask: u32 = load<u8>(masks++); mask != 0; mask &= mask - 1, patch++) {
      const byte = at + <usize>ctz(mask);
      store<u8>(byte, load<u8>(byte) ^ load<u8>(patch));
    }
  }
  return patch;
}

/** Whether `size` bytes are a patch of n bytes: it ends where it should, and changes nothing behind them. Reads nothing else. O(size) */
export function isPatch(patch: usize, size: u32, n: u32): bool {
  const end = patch + size;
  const stretches = (n + STRETCH - 1) >> 6;
  let bits = patch;
  if (size < bitsBytes(n)) return false;
  patch += bitsBytes(n);
  for (let s: u32 = 0; s < stretches; s += 8, bits++) {
    for (let some: u32 = load<u8>(bits); some != 0; some &= some - 1) {
      const stretch = s + <u32>ctz(some);
      if (stretch >= stretches || patch >= end) return false;
      let groups: u32 = load<u8>(patch++);
      let masks = patch;
      patch += <usize>popcnt(groups);
      if (groups == 0 || patch > end) return false;
      for (; groups != 0; groups &= groups - 1) {
        const mask: u32 = load<u8>(masks++);
        const last = (stretch << 6) + ((<u32>ctz(groups)) << 3) + 31 - <u32>clz(mask);
        if (mask == 0 || last >= n) return false;
        patch += <usize>popcnt(mask);
      }
      if (patch > end) return false;
    }
  }
  return patch == end;
}
