/** Inflates zlib streams with a known or bounded size. */
import { Unzlib, unzlibSync } from "fflate";
import { dataView } from "../../../base/bytes.ts";

/** The number of compressed bytes that are inflated at a time, to at most about 16 MiB. */
const SLICE = 1 << 14;

/**
 * Returns exactly `size` bytes, and verifies their checksum. Inflates at most about 16 MiB more than `size`. @throws Error if the stream is damaged or its size
 * differs
 */
export function inflateExactly(bytes: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const output = bytes.length <= SLICE ? inflateWhole(bytes, size) : inSlices(bytes, size);
  if (output.length !== size) throw sizeError(size, output.length);
  if (adler32(output) !== dataView(bytes).getUint32(bytes.length - 4)) throw new Error("the checksum does not match the decompressed bytes");
  return output;
}

function inflateWhole(bytes: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  // Output beyond the end of the array would be dropped, so the array has one additional byte that reveals excess output.
  return unzlibSync(bytes, { out: new Uint8Array(size + 1) }) as Uint8Array<ArrayBuffer>;
}

function inSlices(bytes: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const output = new Uint8Array(size);
  const actualSize = inflate(bytes, size, (chunk, at) => output.set(chunk, at));
  return output.subarray(0, actualSize);
}

/** The number of bytes after which the sums are reduced, so that they stay below 2^31. */
const BLOCK_BYTES = 3800;
const MODULUS = 65521;

/** Computes the Adler-32 checksum, with which a zlib stream ends. */
function adler32(bytes: Uint8Array): number {
  let low = 1;
  let high = 0;
  for (let at = 0; at < bytes.length; ) {
    for (const end = Math.min(at + BLOCK_BYTES, bytes.length); at < end; at++) {
      low += bytes[at] as number;
      high += low;
    }
    low %= MODULUS;
    high %= MODULUS;
  }
  return high * 65536 + low;
}

function sizeError(size: number, actualSize: number): Error {
  return new Error(
    `the data decompresses to ${actualSize > size ? "more" : `${actualSize} bytes`} ${actualSize > size ? "than" : "instead of"} ${size}${actualSize > size ? " bytes" : ""}`,
  );
}

/**
 * Inflates a stream, and returns the number of inflated bytes. @param onChunk receives each inflated chunk and its offset @throws Error if the stream is
 * damaged or inflates to more than `max` bytes
 */
export function inflate(bytes: Uint8Array, max: number, onChunk: (chunk: Uint8Array, at: number) => void = () => undefined): number {
  let done = 0;
  const stream = new Unzlib((chunk) => {
    if (done + chunk.length > max) throw new Error(`the data decompresses to more than ${max} bytes`);
    onChunk(chunk, done);
    done += chunk.length;
  });
  for (let at = 0; at < bytes.length; at += SLICE) stream.push(bytes.subarray(at, at + SLICE), at + SLICE >= bytes.length);
  return done;
}
