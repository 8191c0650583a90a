/**
 * Compresses and decompresses Snappy blocks: the length as a varint, then literals and copies of earlier bytes. The lower two bits of a tag are 0 for a
 * literal, and 1 to 3 for a copy whose distance has 11, 16, or 32 bits. Source: format_description.txt of Snappy.
 */
import { corrupt } from "../../base/error.ts";

/** The start of every CORRUPT message in this file. */
const UNREADABLE = "a Snappy block cannot be read";

/** The number of bytes that are compressed together. Copies do not cross blocks of this size, so their distances fit into 16 bits. */
const BLOCK = 1 << 16;

const TABLE_BITS = 14;
const TABLE = new Uint16Array(1 << TABLE_BITS);

/** The buffer in which large results are built before they are copied. */
let scratch = new Uint8Array(1 << 12);
/** The buffer of the current result. */
let output = scratch;

/**
 * The size of the blocks that small results share, because separate memory for each would cost more than the compression. A block is freed when none of its
 * results is used any more.
 */
const FRAGMENT_BYTES = 1 << 14;
let fragment = new Uint8Array(FRAGMENT_BYTES);
let fragmentUsed = 0;

/** Compresses bytes. Incompressible input grows by a few bytes. O(bytes) */
export function compress(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { length } = bytes;
  // A literal of 64 KiB has a tag of three bytes, and a copy is never longer than the bytes it replaces.
  const maxBytes = 32 + length + Math.floor(length / 6);
  if (maxBytes > FRAGMENT_BYTES >> 3) {
    if (scratch.length < maxBytes) scratch = new Uint8Array(2 * maxBytes);
    output = scratch;
    return scratch.slice(0, compressInto(bytes, 0));
  }
  if (fragmentUsed + maxBytes > FRAGMENT_BYTES) {
    fragment = new Uint8Array(FRAGMENT_BYTES);
    fragmentUsed = 0;
  }
  output = fragment;
  const from = fragmentUsed;
  fragmentUsed = compressInto(bytes, from);
  return fragment.subarray(from, fragmentUsed);
}

/** @returns the end position */
function compressInto(bytes: Uint8Array, start: number): number {
  const { length } = bytes;
  let at = start;
  let rest = length;
  for (; rest > 127; rest >>>= 7) output[at++] = (rest & 127) | 128;
  output[at++] = rest;
  for (let from = 0; from < length; from += BLOCK) at = compressBlock(bytes, from, Math.min(from + BLOCK, length), at);
  return at;
}

function compressBlock(bytes: Uint8Array, from: number, to: number, start: number): number {
  let at = start;
  let literal = from;
  if (to - from >= 16) {
    let bits = 8;
    while (bits < TABLE_BITS && 1 << bits < to - from) bits++;
    TABLE.fill(0, 0, 1 << bits);
    const shift = 32 - bits;
    const last = to - 8;
    let position = from + 1;
    // The longer no match is found, the less often the loop searches.
    let misses = 32;
    while (position < last) {
      const four = fourAt(bytes, position);
      const hash = Math.imul(four, 0x1e35a7bd) >>> shift;
      const candidate = from + (TABLE[hash] as number);
      TABLE[hash] = position - from;
      if (candidate >= position || fourAt(bytes, candidate) !== four) {
        position += misses++ >> 5;
        continue;
      }
      misses = 32;
      let end = position + 4;
      for (let matchEnd = candidate + 4; end < to && bytes[end] === bytes[matchEnd]; end++) matchEnd++;
      if (position > literal) at = putLiteral(bytes, literal, position, at);
      at = putCopy(position - candidate, end - position, at);
      literal = position = end;
    }
  }
  return literal < to ? putLiteral(bytes, literal, to, at) : at;
}

function fourAt(bytes: Uint8Array, at: number): number {
  return (bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16) | ((bytes[at + 3] as number) << 24);
}

function putLiteral(bytes: Uint8Array, from: number, to: number, start: number): number {
  let at = start;
  const n = to - from - 1;
  if (n < 60) output[at++] = n << 2;
  else if (n < 256) {
    output[at++] = 60 << 2;
    output[at++] = n;
  } else {
    output[at++] = 61 << 2;
    output[at++] = n;
    output[at++] = n >> 8;
  }
  if (n < 32) for (let i = from; i < to; i++) output[at++] = bytes[i] as number;
  else {
    output.set(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to), at);
    at += n + 1;
  }
  return at;
}

function putCopy(distance: number, length: number, start: number): number {
  let at = start;
  let rest = length;
  while (rest > 0) {
    // At least four bytes remain for the last copy, so that it can be a short copy.
    const copyLength = rest <= 64 ? rest : rest < 68 ? 60 : 64;
    if (copyLength >= 4 && copyLength < 12 && distance < 2048) {
      output[at++] = 1 | ((copyLength - 4) << 2) | ((distance >> 8) << 5);
      output[at++] = distance;
    } else {
      output[at++] = 2 | ((copyLength - 1) << 2);
      output[at++] = distance;
      output[at++] = distance >> 8;
    }
    rest -= copyLength;
  }
  return at;
}

/**
 * Decompresses a block. O(size)
 * @param size the expected number of bytes, which is compared before memory is allocated
 * @param taking is called before memory is allocated, and may throw
 * @throws ReplayError CORRUPT if the block is malformed, or if its size differs from `size`
 */
export function uncompress(block: Uint8Array, size: number, taking?: () => void): Uint8Array<ArrayBuffer> {
  let at = 0;
  let statedLength = 0;
  for (let factor = 1; ; factor *= 128) {
    const byte = block[at++];
    if (byte === undefined || factor > 2 ** 28) throw corrupt(UNREADABLE, "it has no length");
    statedLength += (byte & 127) * factor;
    if (byte < 128) break;
  }
  if (statedLength !== size) throw corrupt(UNREADABLE, `it should have ${size} bytes, but declares ${statedLength}`);
  // The longest copy produces 64 bytes and is encoded in three.
  if (size > 22 * block.length) throw corrupt(UNREADABLE, `${block.length} bytes cannot unpack to ${size} bytes`);
  taking?.();
  const bytes = new Uint8Array(size);
  let to = 0;
  while (at < block.length) {
    const tag = block[at++] as number;
    let length = (tag >> 2) + 1;
    if ((tag & 3) === 0) {
      if (length > 60) {
        const more = length - 60;
        length = 1;
        for (let i = 0; i < more; i++) length += (block[at + i] ?? 0) * 2 ** (8 * i);
        at += more;
      }
      if (length > block.length - at || length > size - to) throw corrupt(UNREADABLE, "a literal is longer than the remaining bytes");
      if (length < 24) for (let i = 0; i < length; i++) bytes[to + i] = block[at + i] as number;
      else bytes.set(length === block.length ? block : block.subarray(at, at + length), to);
      at += length;
      to += length;
      continue;
    }
    let distance = block[at++] ?? 0;
    if ((tag & 3) === 1) {
      length = ((tag >> 2) & 7) + 4;
      distance += (tag >> 5) << 8;
    } else {
      distance += (block[at++] ?? 0) << 8;
      if ((tag & 3) === 3) {
        distance += (block[at] ?? 0) * 2 ** 16 + (block[at + 1] ?? 0) * 2 ** 24;
        at += 2;
      }
    }
    if (distance === 0 || distance > to || length > size - to) throw corrupt(UNREADABLE, "a copy reaches outside the block");
    if (distance >= length && length >= 24) bytes.copyWithin(to, to - distance, to - distance + length);
    // A copy may overlap its own output.
    else for (let i = 0; i < length; i++) bytes[to + i] = bytes[to + i - distance] as number;
    to += length;
  }
  if (to !== size || at !== block.length) throw corrupt(UNREADABLE, `it should have ${size} bytes, but has ${to}`);
  return bytes;
}
