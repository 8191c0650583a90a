/** Defines the element types: their numbers in the core (assembly/rows/leaf.ts), their typed arrays and their bounds. */
import { kindOf } from "../base/typed-arrays.ts";

export type Dtype = "bool" | "i8" | "u8" | "i16" | "u16" | "i32" | "u32" | "i64" | "u64" | "f32" | "f64" | "f16" | "bf16";

/**
 * The typed array of each dtype. `bool` uses bytes of 0 and 1, and half floats use f32. By default, the memory is not shared, so that `Blob`, `fetch` and
 * `crypto.subtle` accept it.
 */
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
  f16: Float32Array<Memory>;
  bf16: Float32Array<Memory>;
}
export type ArrayOf<D extends Dtype> = ArrayOfDtype[D];

/** `Float16Array` if the runtime and TypeScript's `lib` have it; otherwise never. */
export type HalfArray = typeof globalThis extends { readonly Float16Array: { readonly prototype: infer T } } ? T : never;

/** The typed arrays that a caller may pass, including shared memory. */
export type InputArrayOf<D extends Dtype> = ArrayOfDtype<ArrayBufferLike>[D] | (D extends "f16" ? HalfArray : never);
export type AnyArray = ArrayOfDtype<ArrayBufferLike>[Dtype];

/** The type used for typed arrays of any dtype. It is safe because values are checked before they are written. */
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
  /** The number of bytes per element in a row. */
  readonly bytes: number;
  /** The class of arrays in batches. Its elements may be larger than the elements in rows. */
  readonly array: ArrayClass;
  /** The bounds of the values: bigints for 64-bit integers, infinities for floats. */
  readonly min: number | bigint;
  readonly max: number | bigint;
  /** Whether arrays of the dtype contain bigints. */
  readonly big: boolean;
  readonly float: boolean;
  /** The largest finite number, and the smallest number that would be rounded to infinity. For integers, these are `max` and Infinity. */
  readonly largest: number;
  readonly infinite: number;
}

function info(code: number, array: ArrayClass, min: number | bigint, max: number | bigint): DtypeInfo {
  const [largest, infinite] = [Number(max), Number.POSITIVE_INFINITY];
  return { code, bytes: array.BYTES_PER_ELEMENT, array, min, max, big: typeof min === "bigint", float: false, largest, infinite };
}

function float(code: number, array: ArrayClass, largest: number, infinite: number, bytes = array.BYTES_PER_ELEMENT): DtypeInfo {
  return { ...info(code, array, -Infinity, Infinity), bytes, float: true, largest, infinite };
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
  f32: float(9, Float32Array, 3.4028234663852886e38, 3.4028235677973366e38),
  f64: float(10, Float64Array, Number.MAX_VALUE, Infinity),
  f16: float(11, Float32Array, 65504, 65520, 2),
  bf16: float(12, Float32Array, 3.3895313892515355e38, 3.39617752923046e38, 2),
};

/** The dtype of each array class. Uint8Array and the clamped pixels of a canvas mean u8, not bool. Float32Array means f32, although half floats also use it. */
const BY_ARRAY = new Map<string | undefined, Dtype>([
  ...Object.entries(DTYPES).map(([dtype, { array }]) => [array.name, dtype as Dtype] as const),
  ["Uint8Array", "u8"],
  ["Uint8ClampedArray", "u8"],
  ["Float32Array", "f32"],
  ["Float16Array", "f16"],
]);

export function isDtype(word: unknown): word is Dtype {
  return typeof word === "string" && Object.hasOwn(DTYPES, word);
}

/** Returns whether a word is a float dtype. */
export function isFloat(word: unknown): word is "f32" | "f64" | "f16" | "bf16" {
  return isDtype(word) && DTYPES[word].float;
}

/** Returns the dtype of a typed array, including arrays from other realms. */
export function dtypeOf(value: unknown): Dtype | undefined {
  return BY_ARRAY.get(kindOf(value));
}

/** Returns the dtype that a dtype's typed array has by default, such as u8 for bool. */
export function arrayDtype(dtype: string): string {
  return ARRAY_DTYPE[dtype] ?? dtype;
}

/** Returns whether a value is the typed array of a dtype, including subclasses, arrays from other realms, clamped arrays for u8, and Float16Array for f16. */
export function isArrayOf<D extends Dtype>(dtype: D, value: unknown): value is ArrayOf<D> {
  const found = dtypeOf(value);
  return found !== undefined && (found === dtype || found === ARRAY_DTYPE[dtype]);
}

/** For a dtype without an array class of its own, the dtype whose array class it uses. */
const ARRAY_DTYPE: { readonly [dtype: string]: Dtype | undefined } = { bool: "u8", f16: "f32", bf16: "f32" };

/** Returns an array of zeros. */
export function zeros<D extends Dtype>(dtype: D, length: number): ArrayOf<D> {
  return new DTYPES[dtype].array(length) as ArrayOf<D>;
}
