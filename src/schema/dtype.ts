/** Element types, with their numbers in the core (assembly/rows/leaf.ts), their typed arrays, their bounds. */
import { kindOf } from "../base/typed-arrays.ts";

export type Dtype = "bool" | "i8" | "u8" | "i16" | "u16" | "i32" | "u32" | "i64" | "u64" | "f32" | "f64";

/** The typed array of a dtype; `bool` is bytes of 0 and 1. Its memory is not shared, so that `Blob`, `fetch` and `crypto.subtle` take it. */
export interface ArrayOfDtype<Memory extends ArrayBufferLike = ArrayBuffer> {
  bool: Uint8Array<Memory>;
  i8: Int8Array<Memory>;
  u8: Uint8Array<Memory>;
  i16: Int16Array<Memory>;
  u16: Uint16Array<Memory>;
  i32: Int32Array<Memory>;
  u32: Uint32Array<Memory>;
  i64: BigInt64Array<Memory>;
  u64: BigUint64Array<Memory>;
  f32: Float32Array<Memory>;
  f64: Float64Array<Memory>;
}
export type ArrayOf<D extends Dtype> = ArrayOfDtype[D];
/** The same from a caller, who may share its memory. */
export type InputArrayOf<D extends Dtype> = ArrayOfDtype<ArrayBufferLike>[D];
export type AnyArray = InputArrayOf<Dtype>;

/** Stands for typed arrays of any dtype: values are checked before they are written. */
export type NumberArray = Float64Array;

export type ArrayClass = {
  readonly name: string;
  readonly BYTES_PER_ELEMENT: number;
  new (length: number): AnyArray;
  new (buffer: ArrayBufferLike, byteOffset?: number, length?: number): AnyArray;
};

export interface DtypeInfo {
  /** The number of the dtype in the core. */
  readonly code: number;
  /** Bytes of an element. */
  readonly bytes: number;
  readonly array: ArrayClass;
  /** Bounds: of integers of 64 bits bigints, of floats infinities. */
  readonly min: number | bigint;
  readonly max: number | bigint;
  /** Whether its array holds bigints. */
  readonly big: boolean;
  readonly float: boolean;
}

function info(code: number, array: ArrayClass, min: number | bigint, max: number | bigint): DtypeInfo {
  return { code, bytes: array.BYTES_PER_ELEMENT, array, min, max, big: typeof min === "bigint", float: min === -Infinity };
}

export const DTYPES: { readonly [D in Dtype]: DtypeInfo } = {
  bool: info(0, Uint8Array, 0, 1),
  i8: info(1, Int8Array, -128, 127),
  u8: info(2, Uint8Array, 0, 255),
  i16: info(3, Int16Array, -32768, 32767),
  u16: info(4, Uint16Array, 0, 65535),
  i32: info(5, Int32Array, -2147483648, 2147483647),
  u32: info(6, Uint32Array, 0, 4294967295),
  i64: info(7, BigInt64Array, -(2n ** 63n), 2n ** 63n - 1n),
  u64: info(8, BigUint64Array, 0n, 2n ** 64n - 1n),
  f32: info(9, Float32Array, -Infinity, Infinity),
  f64: info(10, Float64Array, -Infinity, Infinity),
};

/** Bytes are u8, not bool; and so are the pixels of a canvas. */
const BY_ARRAY = new Map<string | undefined, Dtype>([
  ...Object.entries(DTYPES).map(([dtype, { array }]) => [array.name, dtype as Dtype] as const),
  ["Uint8Array", "u8"],
  ["Uint8ClampedArray", "u8"],
]);

export function isDtype(word: unknown): word is Dtype {
  return typeof word === "string" && Object.hasOwn(DTYPES, word);
}

/** The dtype of a typed array, also of one from another realm. */
export function dtypeOf(value: unknown): Dtype | undefined {
  return BY_ARRAY.get(kindOf(value));
}

/** Whether a value is the typed array of a dtype: a subclass of it or one from another realm, too, and for u8 a clamped one. */
export function isArrayOf<D extends Dtype>(dtype: D, value: unknown): value is ArrayOf<D> {
  const found = dtypeOf(value);
  return found !== undefined && found === (dtype === "bool" ? "u8" : dtype);
}

/** An array of zeros. */
export function zeros<D extends Dtype>(dtype: D, length: number): ArrayOf<D> {
  return new DTYPES[dtype].array(length) as ArrayOf<D>;
}
