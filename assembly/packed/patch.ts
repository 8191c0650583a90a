/**
 * A patch: how a frame differs from another one of the same size, its base, as the XOR of both without the bytes that are zero. By groups of 8 bytes:
 *
 * │ pairs u32 │ skip u8, mask u8 │ … │ the bytes that differ, XORed, group by group │
 *   skip: groups that are alike before this one · mask: which bytes of the group differ; 0 only after a skip of 255: so more than 255 groups are passed
 *
 * All pairs stand before all bytes, and all are read alike: a reader has one loop without branches. Both builds write the same bytes.
 */
import { Work } from "./work";

const HEAD: u32 = 4;
/** Bytes that are compared at once. */
const STRETCH: u32 = 64;
/** The pair that only passes groups, and how many, its own among them. */
const PASS: u16 = 255;
const PASSED: u32 = 256;

/** Writes the patch that makes `a` of `b`, n bytes each; how many bytes, or more than `most` where it takes more. Writes at most 16 bytes behind `most`. O(n) */
export function encodePatch(work: usize, a: usize, b: usize, n: u32, to: usize, most: u32): u32 {
  const stop = to + most;
  const end = encodePairs(a, b, n, to + HEAD, stop);
  let bytes = end;
  let group: usize = 0;
  for (let pair = to + HEAD; pair < end && bytes <= stop; pair += 2) {
    group += (<usize>load<u8>(pair)) << 3;
    const mask: u32 = load<u8>(pair, 1);
    if (mask != 0) pickBytes(work, a + group, b + group, mask, <u32>min<usize>(n - group, 8), bytes);
    bytes += <usize>popcnt(mask);
    group += 8;
  }
  if (bytes > stop) return most + 1;
  store<u32>(to, <u32>(end - to - HEAD) >> 1);
  return <u32>(bytes - to);
}

/** Where the pairs end; behind `stop` where they do not fit. */
function encodePairs(a: usize, b: usize, n: u32, to: usize, stop: usize): usize {
  // The group that a pair without a skip would be of.
  let next: u32 = 0;
  for (let s: u32 = 0; s < n; s += STRETCH, a += STRETCH, b += STRETCH) {
    let masks = s + STRETCH <= n ? differingBytes(a, b) : differingTail(a, b, n - s);
    for (let group = s >> 3; masks != 0; group++, masks >>= 8) {
      if ((masks & 255) == 0) continue;
      for (; group - next >= PASSED; next += PASSED, to += 2) {
        if (to > stop) return to;
        store<u16>(to, PASS);
      }
      if (to > stop) return to;
      store<u8>(to, <u8>(group - next));
      store<u8>(to, <u8>masks, 1);
      to += 2;
      next = group + 1;
    }
  }
  return to;
}

/** A bit for each of 64 bytes that differs. */
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

/** The same of up to 64 bytes. */
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

/** Writes those bytes of a group that `mask` names, XORed, one after the other; up to 8. `n`: bytes that there are. */
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

/** Applies a patch to n bytes in place. It must be one (`isPatch`). Reads up to 7 bytes behind it. O(pairs) */
export function applyPatch(work: usize, patch: usize, n: u32, to: usize): void {
  let pair = patch + HEAD;
  const end = pair + ((<usize>load<u32>(patch)) << 1);
  let bytes = end;
  if (ASC_FEATURE_SIMD) {
    // The last group may reach behind the frame: it goes byte by byte.
    for (; pair + 2 < end; pair += 2) {
      const mask: u32 = load<u8>(pair, 1);
      to += (<usize>load<u8>(pair)) << 3;
      const x = i8x16.swizzle(v128.load64_zero(bytes), v128.load64_zero(Work.spread(work, mask)));
      v128.store64_lane(to, v128.xor(v128.load64_zero(to), x), 0);
      bytes += <usize>popcnt(mask);
      to += 8;
    }
  }
  for (; pair < end; pair += 2) {
    to += (<usize>load<u8>(pair)) << 3;
    for (let mask: u32 = load<u8>(pair, 1); mask != 0; mask &= mask - 1, bytes++) {
      const byte = to + <usize>ctz(mask);
      store<u8>(byte, load<u8>(byte) ^ load<u8>(bytes));
    }
    to += 8;
  }
}

/** Whether `size` bytes are a patch of n bytes: it ends where it should, and changes nothing behind them. Reads nothing else. O(size) */
export function isPatch(patch: usize, size: u32, n: u32): bool {
  if (size < HEAD) return false;
  const count = load<u32>(patch);
  if (count > (size - HEAD) >> 1) return false;
  const end = patch + HEAD + ((<usize>count) << 1);
  let bytes: u32 = HEAD + (count << 1);
  // The first byte of the group: never far behind the frame, so that no sum overflows.
  let at: u32 = 0;
  for (let pair = patch + HEAD; pair < end; pair += 2) {
    const mask: u32 = load<u8>(pair, 1);
    at += (<u32>load<u8>(pair)) << 3;
    if (mask == 0 ? load<u8>(pair) != 255 || pair + 2 == end : at + 31 - <u32>clz(mask) >= n) return false;
    if (at >= n) return false;
    bytes += <u32>popcnt(mask);
    at += 8;
  }
  return bytes == size;
}
