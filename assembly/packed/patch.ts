/**
 * Encodes a frame as a patch on its base, a frame of the same size: the XOR of both without zero bytes. A patch divides the frame into stretches of 64 bytes
 * with 8 groups each:
 *
 * │ u1 × stretches, in whole bytes │ groups u8 │ … │ mask u8 │ … │ the bytes that differ, XORed │
 *   u1: a bit for each stretch that differs · groups: for each of these stretches, a bit for each group that differs · mask: for each of these groups, a bit for each byte that differs
 *
 * Each of these four parts is contiguous, so that a reader has loops without branches. The builds with and without SIMD write the same bytes.
 */
import { Work } from "./work";

const STRETCH: u32 = 64;

/** Returns the number of bytes of the bits of all stretches of a frame of n bytes. */
function bitsBytes(n: u32): u32 {
  return (((n + STRETCH - 1) >> 6) + 7) >> 3;
}

/**
 * Writes the patch that turns `b` into `a`, n bytes each. Returns its size, or more than `most` if the patch does not fit. Writes at most 16 bytes past `most`.
 * O(n)
 */
export function encodePatch(work: usize, a: usize, b: usize, n: u32, to: usize, most: u32): u32 {
  const stop = to + most;
  const groups = to + bitsBytes(n);
  if (groups > stop) return most + 1;
  memory.fill(to, 0, bitsBytes(n));
  const stretches = Work.tried(work, n, 1);
  let masks = groups;
  let stretch = stretches;
  for (let s: u32 = 0; s < n; s += STRETCH) {
    const differ = groupsOf(differing(a + s, b + s, n - s));
    if (differ == 0) continue;
    if (masks > stop) return most + 1;
    const bits = to + (s >> 9);
    store<u8>(bits, <u8>(<u32>load<u8>(bits) | ((<u32>1) << ((s >> 6) & 7))));
    store<u8>(masks++, <u8>differ);
    store<u32>(stretch, s);
    stretch += 4;
  }
  let at = masks;
  for (let k = stretches; k < stretch && at <= stop; k += 4) {
    const s = load<u32>(k);
    for (let left = differing(a + s, b + s, n - s); left != 0; left >>= 8) {
      store<u8>(at, <u8>left);
      at += usize((left & 255) != 0);
    }
  }
  let mask = masks;
  for (let k = stretches; k < stretch; k += 4) {
    for (let left: u32 = load<u8>(groups + ((k - stretches) >> 2)); left != 0; left &= left - 1, mask++) {
      if (at > stop) return most + 1;
      const group = load<u32>(k) + ((<u32>ctz(left)) << 3);
      pickBytes(work, a + group, b + group, load<u8>(mask), min(n - group, 8), at);
      at += <usize>popcnt(<u32>load<u8>(mask));
    }
  }
  return at > stop ? most + 1 : <u32>(at - to);
}

/** Returns a bit for each of the eight groups of a stretch that differs. `masks`: a byte per group, which is 0 if the group does not differ. */
function groupsOf(masks: u64): u32 {
  if (masks == 0) return 0;
  let groups: u32 = 0;
  for (let g: u32 = 0; g < 8; g++) groups |= u32((<u32>(masks >> (g << 3)) & 255) != 0) << g;
  return groups;
}

/** Returns a bit for each byte of a stretch that differs. `n`: the number of bytes from the beginning of the stretch to the end of the frame. */
function differing(a: usize, b: usize, n: u32): u64 {
  return n >= STRETCH ? differingBytes(a, b) : differingTail(a, b, n);
}

/** Returns a bit for each of 64 bytes that differs. */
function differingBytes(a: usize, b: usize): u64 {
  if (ASC_FEATURE_SIMD) {
    const zero = i8x16.splat(0);
    const x0 = v128.xor(v128.load(a), v128.load(b));
    const x1 = v128.xor(v128.load(a, 16), v128.load(b, 16));
    const x2 = v128.xor(v128.load(a, 32), v128.load(b, 32));
    const x3 = v128.xor(v128.load(a, 48), v128.load(b, 48));
    if (!v128.any_true(v128.or(v128.or(x0, x1), v128.or(x2, x3)))) return 0;
    const low = <u32>i8x16.bitmask(i8x16.ne(x0, zero)) | ((<u32>i8x16.bitmask(i8x16.ne(x1, zero))) << 16);
    const high = <u32>i8x16.bitmask(i8x16.ne(x2, zero)) | ((<u32>i8x16.bitmask(i8x16.ne(x3, zero))) << 16);
    return ((<u64>high) << 32) | <u64>low;
  }
  return differingTail(a, b, STRETCH);
}

/** Like `differingBytes`, for up to 64 bytes. */
function differingTail(a: usize, b: usize, n: u32): u64 {
  let masks: u64 = 0;
  for (let k: u32 = 0; k < n; ) {
    if (k + 8 <= n && load<u64>(a + k) == load<u64>(b + k)) {
      k += 8;
      continue;
    }
    const end = min(k + 8, n);
    for (; k < end; k++) masks |= (<u64>(load<u8>(a + k) != load<u8>(b + k))) << k;
  }
  return masks;
}

/** Writes the XORs of the bytes of a group that `mask` selects, one after the other. `n`: the number of bytes of the frame in the group, at most 8. */
function pickBytes(work: usize, a: usize, b: usize, mask: u32, n: u32, to: usize): void {
  if (ASC_FEATURE_SIMD && n == 8) {
    const x = v128.xor(v128.load64_zero(a), v128.load64_zero(b));
    v128.store64_lane(to, i8x16.swizzle(x, v128.load64_zero(Work.pick(work, mask))), 0);
    return;
  }
  for (; mask != 0; mask &= mask - 1, to++) {
    const k = <usize>ctz(mask);
    store<u8>(to, load<u8>(a + k) ^ load<u8>(b + k));
  }
}

/** Applies a patch to n bytes in place. The patch must be valid (`isPatch`). Reads up to 7 bytes past the patch. O(n / 512 + groups) */
export function applyPatch(work: usize, patch: usize, n: u32, to: usize): void {
  const groups = patch + bitsBytes(n);
  const stretches = Work.tried(work, n, 1);
  const offsets = Work.tried(work, n, 0);
  let end = stretches;
  for (let bits = patch, offset: u32 = 0; bits < groups; bits++, offset += 512) end = writeOffsets(work, load<u8>(bits), 6, offset, end);
  const masks = groups + ((end - stretches) >> 2);
  let last = offsets;
  for (let k = stretches, group = groups; k < end; k += 4, group++) last = writeOffsets(work, load<u8>(group), 3, load<u32>(k), last);
  let mask = masks;
  let bytes = masks + ((last - offsets) >> 2);
  let at = offsets;
  if (ASC_FEATURE_SIMD) {
    // The last group may extend past the frame, so it is applied byte by byte.
    for (; at + 4 < last; at += 4, mask++) {
      const group = to + <usize>load<u32>(at);
      const bits: u32 = load<u8>(mask);
      const x = i8x16.swizzle(v128.load64_zero(bytes), v128.load64_zero(Work.spread(work, bits)));
      v128.store64_lane(group, v128.xor(v128.load64_zero(group), x), 0);
      bytes += <usize>popcnt(bits);
    }
  }
  for (; at < last; at += 4, mask++) {
    const group = to + <usize>load<u32>(at);
    for (let bits: u32 = load<u8>(mask); bits != 0; bits &= bits - 1, bytes++) {
      const byte = group + <usize>ctz(bits);
      store<u8>(byte, load<u8>(byte) ^ load<u8>(bytes));
    }
  }
}

/** Writes `from` + 2^shift × k (u32) for each bit k of `bits` that is set. Returns the end of this list. Up to 32 bytes after the list are overwritten. */
function writeOffsets(work: usize, bits: u32, shift: i32, from: u32, to: usize): usize {
  if (ASC_FEATURE_SIMD) {
    const wide = i16x8.extend_low_i8x16_u(v128.load64_zero(Work.pick(work, bits)));
    const first = i32x4.splat(from);
    v128.store(to, i32x4.add(i32x4.shl(i32x4.extend_low_i16x8_u(wide), shift), first));
    v128.store(to, i32x4.add(i32x4.shl(i32x4.extend_high_i16x8_u(wide), shift), first), 16);
    return to + ((<usize>popcnt(bits)) << 2);
  }
  for (; bits != 0; bits &= bits - 1, to += 4) store<u32>(to, from + ((<u32>ctz(bits)) << shift));
  return to;
}

/**
 * Whether `size` bytes are a valid patch of a frame of n bytes: the patch has exactly this size, and changes nothing past the frame. Reads only the patch.
 * O(size)
 */
export function isPatch(patch: usize, size: u32, n: u32): bool {
  const stretches = (n + STRETCH - 1) >> 6;
  const start = bitsBytes(n);
  if (size < start) return false;
  let count: u32 = 0;
  let stretch: u32 = 0;
  for (let k: u32 = 0; k < start; k++) {
    const bits: u32 = load<u8>(patch + k);
    count += <u32>popcnt(bits);
    if (bits != 0) stretch = (k << 3) + 31 - <u32>clz(bits);
  }
  if (count == 0) return size == start;
  if (stretch >= stretches || count > size - start) return false;
  const groups = patch + start;
  let masks: u32 = 0;
  for (let k: u32 = 0; k < count; k++) {
    if (load<u8>(groups + k) == 0) return false;
    masks += <u32>popcnt(<u32>load<u8>(groups + k));
  }
  const used = start + count + masks;
  if (used > size) return false;
  const first = groups + count;
  let bytes: u32 = 0;
  for (let k: u32 = 0; k < masks; k++) {
    if (load<u8>(first + k) == 0) return false;
    bytes += <u32>popcnt(<u32>load<u8>(first + k));
  }
  // The last group and its last byte must not extend past the frame.
  const group = 31 - <u32>clz(<u32>load<u8>(first - 1));
  const byte = 31 - <u32>clz(<u32>load<u8>(first + masks - 1));
  return (stretch << 6) + (group << 3) + byte < n && used + bytes == size;
}
