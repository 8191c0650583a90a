/** Decompresses LZ4 frames in chunks of MCAP. Every size is checked before use. */
import { dataView } from "../../../base/bytes.ts";

const MAGIC = 0x184d2204;
const VERSION = 0b01_000000;
const HAS_BLOCK_CHECKSUM = 0b1_0000;
const HAS_CONTENT_SIZE = 0b1000;
const HAS_CONTENT_CHECKSUM = 0b100;
const HAS_DICTIONARY = 0b1;
/** The bit of a block's size that marks uncompressed bytes. */
const IS_STORED = 0x80000000;
const MIN_MATCH = 4;
/** The maximum number of bytes to which one byte of a block expands. */
const MAX_RATIO = 255;

/** Decompresses LZ4 frames. @param size the required size of the result @throws Error if the data is not LZ4 or has a different size */
export function unlz4(bytes: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  if (size > MAX_RATIO * bytes.length) throw new Error(`${bytes.length} bytes of LZ4 data cannot decompress to ${size} bytes`);
  const output = new Uint8Array(size);
  const view = dataView(bytes);
  const need = (at: number, length: number) => {
    if (at + length > bytes.length) throw new Error("the LZ4 frame is truncated");
  };
  let done = 0;
  for (let at = 0; at < bytes.length; ) {
    need(at, 7);
    if (view.getUint32(at, true) !== MAGIC) throw new Error("the data is not an LZ4 frame");
    const flags = bytes[at + 4] as number;
    if ((flags & 0b11_000000) !== VERSION || (flags & HAS_DICTIONARY) !== 0)
      throw new Error("the LZ4 frame has an unsupported version, or requires a dictionary");
    at += (flags & HAS_CONTENT_SIZE) !== 0 ? 15 : 7;
    for (;;) {
      need(at, 4);
      const head = view.getUint32(at, true);
      at += 4;
      if (head === 0) break;
      const length = head & ~IS_STORED;
      need(at, length);
      const block = bytes.subarray(at, at + length);
      if (head >= IS_STORED) {
        if (done + length > size) throw new Error(`the LZ4 data decompresses to more than the declared ${size} bytes`);
        output.set(block, done);
        done += length;
      } else done = unlz4Block(block, output, done);
      at += length + ((flags & HAS_BLOCK_CHECKSUM) !== 0 ? 4 : 0);
    }
    at += (flags & HAS_CONTENT_CHECKSUM) !== 0 ? 4 : 0;
  }
  if (done !== size) throw new Error(`the LZ4 data decompresses to ${done} bytes instead of ${size}`);
  return output;
}

/**
 * Decompresses a block. Matches may refer to earlier blocks. @param from the offset at which the output continues @returns the offset of the end of the output
 */
function unlz4Block(block: Uint8Array, output: Uint8Array, from: number): number {
  let done = from;
  let at = 0;
  const next = (): number => {
    if (at >= block.length) throw new Error("an LZ4 block is truncated");
    return block[at++] as number;
  };
  const lengthOf = (nibble: number): number => {
    let length = nibble;
    if (nibble === 15)
      for (let more = 255; more === 255; ) {
        more = next();
        length += more;
      }
    return length;
  };
  const room = (length: number) => {
    if (done + length > output.length) throw new Error(`the LZ4 data decompresses to more than the declared ${output.length} bytes`);
  };
  while (at < block.length) {
    const token = next();
    const literals = lengthOf(token >> 4);
    if (at + literals > block.length) throw new Error("an LZ4 block is truncated");
    room(literals);
    output.set(block.subarray(at, at + literals), done);
    at += literals;
    done += literals;
    // The last sequence has no match.
    if (at === block.length) return done;
    const distance = next() | (next() << 8);
    const length = lengthOf(token & 15) + MIN_MATCH;
    if (distance === 0 || distance > done) throw new Error("an LZ4 match begins before the start of the output");
    room(length);
    // A match may overlap its own output.
    if (distance >= length) output.copyWithin(done, done - distance, done - distance + length);
    else for (let i = 0; i < length; i++) output[done + i] = output[done + i - distance] as number;
    done += length;
  }
  return done;
}
