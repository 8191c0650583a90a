/**
 * Compresses keys, which are frames stored without a base, in the block format of LZ4 (github.com/lz4/lz4, doc/lz4_Block_format.md): sequences of
 *   │ token u8: literals 4 bits, match 4 bits │ more bytes of both lengths, while these bytes are 255 │ literals │ distance u16 │
 *
 * Matches have at least 15 bytes, so that 16 equal bytes make a match; a shorter match is not worth the time that it costs a reader. The candidates for a match
 * are the bytes one element earlier, the bytes one image row earlier, and the last place of four bytes with the same hash. The builds with and without SIMD
 * write the same bytes.
 */
import { Bytes } from "../memory/bytes";
import { Work } from "./work";

const MIN_MATCH: u32 = 15;
/** A limit of the format: the last match begins at least this many bytes before the end of the block. */
const LAST_MATCH: u32 = 12;
/** A limit of the format: at least this many bytes at the end of the block are literals. */
const LAST_LITERALS: u32 = 5;
/** The maximum number of bytes that a copy in pieces of 32 bytes writes past its end. */
const BEHIND: usize = 32;
/** The maximum distance between a match and the bytes that it repeats, which has 16 bits in the format. */
const MAX_DISTANCE: u32 = 65535;

function hashOf(word: u32): usize {
  return (<usize>((word * 2654435761) >> 20)) << 1;
}

/** Returns how many consecutive bytes from `a` on, before `end`, equal the bytes from `b` on. */
function common(a: usize, b: usize, end: usize): u32 {
  const from = a;
  if (ASC_FEATURE_SIMD) {
    for (; a + 16 <= end; a += 16, b += 16) {
      const differ = i8x16.bitmask(i8x16.ne(v128.load(a), v128.load(b)));
      if (differ != 0) return <u32>(a - from) + <u32>ctz(differ);
    }
  } else {
    for (; a + 8 <= end; a += 8, b += 8) {
      const differ = load<u64>(a) ^ load<u64>(b);
      if (differ != 0) return <u32>(a - from) + (<u32>ctz(differ) >> 3);
    }
  }
  while (a < end && load<u8>(a) == load<u8>(b)) {
    a++;
    b++;
  }
  return <u32>(a - from);
}

/** Writes the rest of a length that does not fit into the 4 bits of the token. */
function writeMore(to: usize, n: u32): usize {
  for (; n >= 255; n -= 255) store<u8>(to++, 255);
  store<u8>(to, <u8>n);
  return to + 1;
}

/**
 * Compresses n bytes to a block. Returns the size of the block, or more than `most` if it does not fit. Nothing is written past `most` bytes. O(n)
 * @param row bytes from a row of the image to the next
 * @param element bytes of an element, or of all channels of a pixel
 */
export function encodeBlock(work: usize, from: usize, n: u32, row: u32, element: u32, to: usize, most: u32): u32 {
  if (n < LAST_MATCH + 1) return most + 1;
  Work.clearHash(work);
  const hashes = Work.hash(work);
  const start = to;
  const stop = to + most;
  const end = from + n;
  const last = end - LAST_MATCH;
  const matchEnd = end - LAST_LITERALS;
  let at = from;
  let literals = from;
  while (at < last) {
    const word = load<u32>(at);
    const done = <u32>(at - from);
    let best: u32 = 0;
    let distance: u32 = 0;
    if (done >= element && load<u32>(at - element) == word) {
      best = common(at, at - element, matchEnd);
      distance = element;
    }
    if (done >= row && load<u32>(at - row) == word) {
      const length = common(at, at - row, matchEnd);
      if (length > best) {
        best = length;
        distance = row;
      }
    }
    // An entry of the hash table has 16 bits, so in a longer frame, candidates are searched only in the current stretch of 64 KiB.
    const slot = hashes + hashOf(word);
    const candidate = from + <usize>(done & ~MAX_DISTANCE) + <usize>load<u16>(slot);
    store<u16>(slot, <u16>done);
    if (candidate < at && load<u32>(candidate) == word) {
      const length = common(at, candidate, matchEnd);
      if (length > best) {
        best = length;
        distance = <u32>(at - candidate);
      }
    }
    if (best < MIN_MATCH) {
      // After a long stretch without matches, fewer places are tried.
      at += 1 + ((at - literals) >> 7);
      continue;
    }
    const count = <u32>(at - literals);
    if (to + count + (count >> 7) + (best >> 7) + 16 > stop) return most + 1;
    const more = best - 4;
    store<u8>(to++, <u8>((min<u32>(count, 15) << 4) | min<u32>(more, 15)));
    if (count >= 15) to = writeMore(to, count - 15);
    memory.copy(to, literals, count);
    to += count;
    store<u16>(to, <u16>distance);
    to += 2;
    if (more >= 15) to = writeMore(to, more - 15);
    at += best;
    literals = at;
  }
  const count = <u32>(end - literals);
  if (to + count + (count >> 7) + 16 > stop) return most + 1;
  store<u8>(to++, <u8>(min<u32>(count, 15) << 4));
  if (count >= 15) to = writeMore(to, count - 15);
  memory.copy(to, literals, count);
  return <u32>(to + count - start);
}

/**
 * Decompresses a block of `size` bytes. Returns whether the block is valid and contains exactly n bytes. Any input is safe: the function reads up to 32 bytes
 * past the block, and writes only the n bytes. O(n)
 */
export function decodeBlock(work: usize, from: usize, size: u32, to: usize, n: u32): bool {
  const end = from + size;
  const start = to;
  const stop = to + n;
  while (from < end) {
    const token: u32 = load<u8>(from++);
    let count = token >> 4;
    let length = token & 15;
    if (count == 15) {
      for (let more: u32 = 255; more == 255 && from < end; count += more) more = load<u8>(from++);
    }
    if (<usize>count > stop - to || <usize>count > end - from) return false;
    copyLiterals(to, from, count, stop);
    to += count;
    from += count;
    if (from >= end) return to == stop;
    if (end - from < 2) return false;
    const distance: u32 = load<u16>(from);
    from += 2;
    if (length == 15) {
      for (let more: u32 = 255; more == 255 && from < end; length += more) more = load<u8>(from++);
    }
    length += 4;
    if (<usize>length > stop - to || distance == 0 || <usize>distance > to - start) return false;
    copyMatch(work, to, distance, length, stop);
    to += length;
  }
  return false;
}

/** Copies `count` bytes, and may write past the copied bytes, but not past `stop`. */
function copyLiterals(to: usize, from: usize, count: u32, stop: usize): void {
  if (to + 16 > stop) memory.copy(to, from, count);
  else {
    Bytes.copy16(to, from);
    if (count > 16) copyRest(to, from, count, stop);
  }
}

/** Copies `length` bytes to `to` from `distance` bytes before it. Source and destination may overlap. May write past the destination, but not past `stop`. */
function copyMatch(work: usize, to: usize, distance: u32, length: u32, stop: usize): void {
  if (to + 16 > stop) {
    const next = to + length;
    for (; to < next; to++) store<u8>(to, load<u8>(to - distance));
    return;
  }
  let far: usize = distance;
  if (ASC_FEATURE_SIMD) {
    // All distances take one path, because the processor cannot predict a branch on the distance. A pattern of fewer than 16 bytes repeats at each multiple of
    // its length.
    const near = min<u32>(distance, 16);
    v128.store(to, i8x16.swizzle(v128.load(to - distance), v128.load(Work.pattern(work, near))));
    far = max<usize>(distance, Work.repeat(work, near));
    if (to + 64 <= stop) {
      Bytes.copy16(to + 16, to + 16 - far);
      Bytes.copy16(to + 32, to + 32 - far);
      Bytes.copy16(to + 48, to + 48 - far);
      if (length > 64) copyRest(to + 48, to + 48 - far, length - 48, stop);
      return;
    }
  } else if (distance < 16) {
    for (let k: usize = 0; k < 16; k++) store<u8>(to + k, load<u8>(to + k - distance));
    far = Work.repeat(work, distance);
  } else Bytes.copy16(to, to - distance);
  if (length > 16) copyRest(to, to - far, length, stop);
}

/**
 * Copies `count` bytes, of which the first 16 are already copied. The source is at least 16 bytes before the destination, or in other memory. May write past
 * the destination, but not past `stop`.
 */
function copyRest(to: usize, from: usize, count: u32, stop: usize): void {
  const next = to + count;
  to += 16;
  from += 16;
  if (next + BEHIND <= stop) {
    do {
      Bytes.copy32(to, from);
      to += 32;
      from += 32;
    } while (to < next);
  } else {
    for (; to + 16 <= next; to += 16, from += 16) Bytes.copy16(to, from);
    for (; to < next; to++, from++) store<u8>(to, load<u8>(from));
  }
}
