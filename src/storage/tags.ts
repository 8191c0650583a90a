/** Values as bytes: one byte that says what follows, then that. Numbers are little endian, lengths u32. */

export const TAG = {
  undefined: 0,
  null: 1,
  false: 2,
  true: 3,
  /** f64 */
  number: 4,
  /** Hexadecimal digits as a text, a minus sign before. */
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
  /** From here on typed arrays, in the order of ARRAYS: bytes, then those. */
  arrays: 32,
} as const;

/** Never in another order: their places are in files. */
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
