/** zlib streams whose size is known beforehand, or bounded. */
import { Unzlib, unzlibSync } from "fflate";

/** Of 16 KiB no more than 16 MiB can come. */
const SLICE = 1 << 14;

/** Exactly `size` bytes. @throws Error where the stream is damaged, or holds more or fewer: no more than 16 MiB too many are ever made */
export function inflated(bytes: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  if (bytes.length <= SLICE) {
    // What is behind the end of the array is let go: one byte more shows it.
    const all = unzlibSync(bytes, { out: new Uint8Array(size + 1) });
    if (all.length !== size) throw wrong(size, all.length);
    return all as Uint8Array<ArrayBuffer>;
  }
  const whole = new Uint8Array(size);
  const found = inflate(bytes, size, (chunk, at) => whole.set(chunk, at));
  if (found !== size) throw wrong(size, found);
  return whole;
}

function wrong(size: number, found: number): Error {
  return new Error(`the compressed bytes come to ${found > size ? "more" : `${found} bytes`} ${found > size ? "than" : "instead of"} ${size}`);
}

/** Goes through a stream of at most `most` bytes, and tells how many they are. @throws Error as `inflated` */
export function inflate(bytes: Uint8Array, most: number, take: (chunk: Uint8Array, at: number) => void = () => undefined): number {
  let done = 0;
  const stream = new Unzlib((chunk) => {
    if (done + chunk.length > most) throw new Error(`the compressed bytes come to more than ${most}`);
    take(chunk, done);
    done += chunk.length;
  });
  for (let at = 0; at < bytes.length; at += SLICE) stream.push(bytes.subarray(at, at + SLICE), at + SLICE >= bytes.length);
  return done;
}
