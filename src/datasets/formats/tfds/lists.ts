/** Reads the lists of an Example as columns. Floats are copied in one piece, integers are decoded without a bigint per value, and bytes are views. */
import { type AnyArray, type ArrayOf, DTYPES, type Dtype, zeros } from "../../../schema/dtype.ts";
import { BYTES, type Example, FLOATS, INTS, payload } from "./example.ts";

/** Returns the floats of a list. @throws RldsError CORRUPT if the list is damaged */
export function floatsOf(example: Example, key: string): Float32Array<ArrayBuffer> {
  const parts = payload(example, key, FLOATS);
  let bytes = 0;
  for (let i = 0; i < parts.length; i += 2) {
    const length = (parts[i + 1] as number) - (parts[i] as number);
    if (length % 4 !== 0) throw example.corruptError(`feature ${key} must contain floats of 4 bytes, but ends within a float`, parts[i]);
    bytes += length;
  }
  example.reserve(bytes);
  const floats = new Float32Array(bytes / 4);
  const into = new Uint8Array(floats.buffer);
  for (let i = 0, at = 0; i < parts.length; i += 2) {
    const part = example.bytes.subarray(parts[i], parts[i + 1]);
    into.set(part, at);
    at += part.length;
  }
  return floats;
}

/** Returns the integers of a list. @throws RldsError CORRUPT if the list is damaged, or if the dtype cannot represent a value */
export function integersOf<D extends Dtype>(example: Example, key: string, dtype: D): ArrayOf<D> {
  const parts = payload(example, key, INTS);
  let count = 0;
  // Only the last byte of each base-128 number is below 128.
  for (let i = 0; i < parts.length; i += 2)
    for (let at = parts[i] as number; at < (parts[i + 1] as number); at++) count += ((example.bytes[at] as number) >> 7) ^ 1;
  example.reserve(count * DTYPES[dtype].bytes);
  const output = zeros(dtype, count);
  for (let i = 0, at = 0; i < parts.length; i += 2) at = fill(output, at, example, key, dtype, parts[i] as number, parts[i + 1] as number);
  return output;
}

/** Writes the values at `from` … `to` and returns the index after the last value. */
function fill(output: AnyArray, start: number, example: Example, key: string, dtype: Dtype, from: number, to: number): number {
  const { bytes } = example;
  const { big, min, max } = DTYPES[dtype];
  const words = big ? new Int32Array(output.buffer) : undefined;
  let index = start;
  for (let at = from; at < to; index++) {
    const begin = at;
    let byte = bytes[at++] as number;
    let low = byte & 127;
    let high = 0;
    for (let shift = 7; byte > 127; shift += 7) {
      if (at === to || shift > 63)
        throw example.corruptError(`feature ${key} must contain integers of at most 10 bytes, but an integer is longer or truncated`, begin);
      byte = bytes[at++] as number;
      const bits = byte & 127;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >> 4;
      } else high |= bits << (shift - 32);
    }
    if (words !== undefined) {
      words[2 * index] = low;
      words[2 * index + 1] = high;
      continue;
    }
    // If the upper half is only the sign, or zero, the value fits in a number.
    const value = high === low >> 31 ? low : high === 0 ? low >>> 0 : Number.NaN;
    if (!(value >= min && value <= max))
      throw example.corruptError(`feature ${key} must contain integers in ${min} … ${max}, but an integer is outside that range`, begin);
    (output as Int32Array)[index] = value;
  }
  return index;
}

/** The approximate memory that a view takes, in bytes. */
const VIEW = 96;

/** Returns the values of a list of bytes as views of the record. @throws RldsError CORRUPT if the list is damaged */
export function bytesOf(example: Example, key: string): Uint8Array[] {
  const parts = payload(example, key, BYTES);
  example.reserve((parts.length / 2) * VIEW);
  const payloads: Uint8Array[] = [];
  for (let i = 0; i < parts.length; i += 2) payloads.push(example.bytes.subarray(parts[i], parts[i + 1]));
  return payloads;
}
