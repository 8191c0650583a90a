/** The leaves of a transition: which value is kept as what, and how it is given back. */

import type { Dtype } from "../../spec/dtype.ts";
import type { Leaf } from "../../spec/leaf.ts";

/** A leaf whose values no typed array can hold: they are kept in JavaScript, beside the row. */
export interface ObjectLeaf {
  readonly dtype: "object";
  readonly shape: readonly [];
}

/** A leaf as it is kept. */
export interface PartLeaf<D extends Dtype = Dtype> extends Leaf<D> {
  /** So many leading dimensions are given, and given back, as arrays in arrays; what is in them are typed arrays, or plain numbers where no dimension is left. */
  readonly nest?: number;
  /** The values are plain numbers, without a dtype of their own. */
  readonly plain?: boolean;
}

/** What states, actions and extras may be: leaves, nested in objects and arrays. */
export type PartSpec = Leaf | ObjectLeaf | readonly PartSpec[] | { readonly [name: string]: PartSpec };

/** A leaf for values of any form: strings, objects, arrays of several lengths. They cost an object each, and batches have them as a plain array. */
export function object(): ObjectLeaf {
  return { dtype: "object", shape: [] };
}

/** Typed arrays of any dtype, as if they were one. */
export type Numbers = Float64Array;
type NumbersClass = { readonly BYTES_PER_ELEMENT: number; new (length: number): Numbers; new (values: ArrayLike<number>): Numbers };

export const ARRAYS: { readonly [D in Dtype]: NumbersClass } = {
  bool: Uint8Array,
  i8: Int8Array,
  u8: Uint8Array,
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  f32: Float32Array,
  f64: Float64Array,
} as object as { readonly [D in Dtype]: NumbersClass };

const DTYPE_OF = new Map<string | undefined, Dtype>([
  ["Int8Array", "i8"],
  ["Uint8Array", "u8"],
  // Pixels of a canvas.
  ["Uint8ClampedArray", "u8"],
  ["Int16Array", "i16"],
  ["Uint16Array", "u16"],
  ["Int32Array", "i32"],
  ["Uint32Array", "u32"],
  ["BigInt64Array", "i64"],
  ["BigUint64Array", "u64"],
  ["Float32Array", "f32"],
  ["Float64Array", "f64"],
]);

/** The dtype of a typed array, also of one of another realm. */
export function dtypeOf(value: unknown): Dtype | undefined {
  return typeof value === "object" ? DTYPE_OF.get((value as { [Symbol.toStringTag]?: string } | null)?.[Symbol.toStringTag]) : undefined;
}

export function isLeaf(spec: PartSpec): spec is Leaf | ObjectLeaf {
  return typeof (spec as Leaf).dtype === "string";
}

export function isObject(spec: PartSpec): spec is ObjectLeaf {
  return (spec as ObjectLeaf).dtype === "object";
}

/** All dimensions of a leaf's values, the stack first. */
export function dimsOf({ shape, stack }: Leaf): readonly number[] {
  return stack === undefined ? shape : [stack, ...shape];
}

export function sizeOf(dims: readonly number[]): number {
  return dims.reduce((product, n) => product * n, 1);
}

/** Gives back values of a leaf as they were given: from an element of a column on. */
export function valueReader(leaf: PartLeaf): (data: Numbers, at: number) => unknown {
  const dims = dimsOf(leaf);
  const { dtype, nest = leaf.stack === undefined ? 0 : 1 } = leaf;
  const single = (data: Numbers, at: number): unknown => (dtype === "bool" ? (data[at] as number) !== 0 : data[at]);
  const depth = Math.min(nest, dims.length);
  const inner = dims.slice(depth);
  const size = sizeOf(inner);
  let read = inner.length === 0 ? single : (data: Numbers, at: number): unknown => data.slice(at, at + size);
  let each = size;
  for (let d = depth - 1; d >= 0; d--) {
    const [below, step, n] = [read, each, dims[d] as number];
    read = (data, at) => Array.from({ length: n }, (_, i) => below(data, at + i * step));
    each *= n;
  }
  return read;
}

/** A value of zeros. */
export function zeroOf(leaf: Leaf): unknown {
  const dims = dimsOf(leaf);
  return dims.length === 0 ? 0 : new ARRAYS[leaf.dtype](sizeOf(dims));
}
