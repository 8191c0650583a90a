/** zlib streams whose size is known beforehand, or bounded. */
import { Unzlib, unzlibSync } from "fflate";
import { dataView } from "../../../base/bytes.ts";

/** Of 16 KiB no more than 16 MiB can come. */
const SLICE = 1 << 14;

/** Exactly `size` bytes, whose checksum fits. @throws Error where the stream is damaged, or holds more or fewer: no more than 16 MiB too many are ever made */
export function inflated(bytes: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const whole = bytes.length <= SLICE ? atOnce(bytes, size) : inSlices(bytes, size);
  if (whole.length !== size) throw wrong(size, whole.length);
  if (adler32(whole) !== dataView(bytes).getUint32(bytes.length - 4)) throw new Error("the checksum of the compressed bytes does not fit");
  return whole;
}

function atOnce(bytes: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  // What is behind the end of the array is let go: one byte more shows it.
  return unzlibSync(bytes, { out: new Uint8Array(size + 1) }) as Uint8Array<ArrayBuffer>;
}

function inSlices(bytes: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size);
  const found = inflate(bytes, size, (chunk, at) => whole.set(chunk, at));
  return whole.subarray(0, found);
}

/** So many sums cannot overflow. */
const TURN = 3800;
const MODULUS = 65521;

/** zlib's checksum. */
function adler32(bytes: Uint8Array): number {
  let low = 1;
  let high = 0;
  for (let at = 0; at < bytes.length; ) {
    for (const end = Math.min(at + TURN, bytes.length); at < end; at++) {
      low += bytes[at] as number;
      high += low;
    }
    low %= MODULUS;
    high %= MODULUS;
  }
  return high * 65536 + low;
}

function wrong(size: number, found: number): Error {
  return new Error(`the compressed bytes come to ${found > size ? "more" : `${found} bytes`} ${found > size ? "than" : "instead of"} ${size}`);
}

/** Goes through a stream of at most `max` bytes, and tells how many they are. @throws Error as `inflated` */
export function inflate(bytes: Uint8Array, max: number, take: (chunk: Uint8Array, at: number) => void = () => undefined): number {
  let done = 0;
  const stream = new Unzlib((chunk) => {
    if (done + chunk.length > max) throw new Error(`the compressed bytes come to more than ${max}`);
    take(chunk, done);
    done += chunk.length;
  });
  for (let at = 0; at < bytes.length; at += SLICE) stream.push(bytes.subarray(at, at + SLICE), at + SLICE >= bytes.length);
  return done;
}
