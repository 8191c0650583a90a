/** Element types: their numbers in the core (assembly/rows/leaf.ts), their widths, their typed arrays. */

export type Dtype = "bool" | "i8" | "u8" | "i16" | "u16" | "i32" | "u32" | "i64" | "u64" | "f32" | "f64";

/** The typed array of a dtype; `bool` is bytes of 0 and 1. */
export interface ArrayOfDtype {
  bool: Uint8Array;
  i8: Int8Array;
  u8: Uint8Array;
  i16: Int16Array;
  u16: Uint16Array;
  i32: Int32Array;
  u32: Uint32Array;
  i64: BigInt64Array;
  u64: BigUint64Array;
  f32: Float32Array;
  f64: Float64Array;
}
export type ArrayOf<D extends Dtype> = ArrayOfDtype[D];
export type AnyArray = ArrayOfDtype[Dtype];

export type ArrayClass = {
  readonly name: string;
  new (length: number): AnyArray;
  new (buffer: ArrayBufferLike, byteOffset?: number, length?: number): AnyArray;
};

export interface DtypeInfo {
  /** The number by which the core knows it. */
  readonly code: number;
  /** Bytes of an element. */
  readonly bytes: number;
  readonly array: ArrayClass;
  /** Bounds of an integer; undefined for floats and 64-bit integers. */
  readonly least?: number;
  readonly most?: number;
}

function info(code: number, array: ArrayClass & { BYTES_PER_ELEMENT: number }, least?: number, most?: number): DtypeInfo {
  return { code, bytes: array.BYTES_PER_ELEMENT, array, least, most };
}

export const DTYPES: { readonly [D in Dtype]: DtypeInfo } = {
  bool: info(0, Uint8Array, 0, 1),
  i8: info(1, Int8Array, -128, 127),
  u8: info(2, Uint8Array, 0, 255),
  i16: info(3, Int16Array, -32768, 32767),
  u16: info(4, Uint16Array, 0, 65535),
  i32: info(5, Int32Array, -2147483648, 2147483647),
  u32: info(6, Uint32Array, 0, 4294967295),
  i64: info(7, BigInt64Array),
  u64: info(8, BigUint64Array),
  f32: info(9, Float32Array),
  f64: info(10, Float64Array),
};
