/** Values as bytes: one byte for the type, followed by the value. Numbers are little endian, lengths u32. */

export const TAG = {
  undefined: 0,
  null: 1,
  false: 2,
  true: 3,
  /** f64 */
  number: 4,
  /** Hexadecimal digits as a text, after a minus sign if negative. */
  bigint: 5,
  /** Bytes of UTF-8. */
  text: 6,
  /** UTF-16, for text with lone surrogates. */
  units: 7,
  /** Milliseconds f64. */
  date: 8,
  /** Count, then the values. */
  array: 9,
  /** Count, then text and value of each. */
  object: 10,
  /** Count, then key and value of each. */
  map: 11,
  set: 12,
  buffer: 13,
  /** From here on typed arrays, in the order of ARRAYS: length in bytes, then the bytes. */
  arrays: 32,
} as const;

/** The order must never change, since files store the indices. */
export const ARRAYS = [
  Uint8Array,
  Int8Array,
  Uint8ClampedArray,
  Uint16Array,
  Int16Array,
  Uint32Array,
  Int32Array,
  Float32Array,
  Float64Array,
  BigUint64Array,
  BigInt64Array,
] as const;
