/** Defines the encoding of values as bytes: one byte for the type, followed by the value. Numbers are little endian, and lengths are u32. */

export const TAG = {
  undefined: 0,
  null: 1,
  false: 2,
  true: 3,
  /** A number: f64. */
  number: 4,
  /** A bigint: hexadecimal digits as a text, after a minus sign if negative. */
  bigint: 5,
  /** A text: bytes of UTF-8. */
  text: 6,
  /** A text with lone surrogates, in UTF-16. */
  units: 7,
  /** A date: milliseconds as f64. */
  date: 8,
  /** An array: the number of values, then the values. */
  array: 9,
  /** An object: the number of properties, then the text and the value of each property. */
  object: 10,
  /** A map: the number of entries, then the key and the value of each entry. */
  map: 11,
  set: 12,
  buffer: 13,
  /** The first type of the typed arrays, which follow in the order of ARRAYS. Each has its length in bytes, then the bytes. */
  arrays: 32,
} as const;

/** The classes of typed arrays. Their order must never change, since files store the indices. */
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
