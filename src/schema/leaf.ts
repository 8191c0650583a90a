/** Defines the leaves of a spec: numbers with a dtype and a shape, text and bytes, and objects of any form. */
import { type AnyArray, DTYPES, type Dtype, type InputArrayOf, zeros } from "./dtype.ts";
import { textBytes } from "./text.ts";

/** A leaf of numbers. */
export interface Leaf<D extends Dtype = Dtype, S extends readonly number[] = readonly number[]> {
  readonly dtype: D;
  readonly shape: S;
  /** The name under which values are shared. Leaves with the same name store equal values once (`shared`). */
  readonly shared?: string;
  /** The number of frames in a value, each of which is shared separately. The value has a leading dimension of this length. */
  readonly stack?: number;
  /** The expected ratio of the size of frames to their packed size. Present if frames are packed (`packed`). */
  readonly packed?: number;
}

/** A leaf of text (strings) or bytes (Uint8Array). Files may contain both; a Replay stores only text with `maxBytes`. */
export interface TextLeaf {
  readonly dtype: "string" | "bytes";
  readonly shape: readonly number[];
  /** The maximum number of UTF-8 bytes of a text. Required in a Replay, optional in a file. */
  readonly maxBytes?: number;
}

/** A leaf of text with a limit, which a Replay can store. */
export interface BoundedText<S extends readonly number[] = readonly number[]> extends TextLeaf {
  readonly dtype: "string";
  readonly shape: S;
  readonly maxBytes: number;
  readonly shared?: string;
  readonly stack?: number;
  readonly packed?: number;
}

/** A leaf that rows can store. */
export type RowLeaf = Leaf | BoundedText;

/** A leaf of values of any form, stored as JavaScript values. */
export interface ObjectLeaf {
  readonly dtype: "object";
  readonly shape: readonly [];
}

export type AnyLeaf = RowLeaf | TextLeaf | ObjectLeaf;

/** The shape of a leaf's value, beginning with the dimension of the stack. */
export type ShapeOf<L> = L extends { readonly stack: infer Stack extends number; readonly shape: infer S extends readonly number[] }
  ? [Stack, ...S]
  : L extends { readonly shape: infer S extends readonly number[] }
    ? [...S]
    : number[];

/** The type of a single number of a leaf. */
export type ScalarOf<D extends Dtype> = D extends "i64" | "u64" ? bigint : D extends "bool" ? boolean | number : number;
export type Nested<T> = readonly (T | Nested<T>)[];

/** The values that a leaf accepts: a typed array of its dtype, plain (nested) arrays, or a number if the shape is []. */
export type LeafInput<D extends Dtype, S extends readonly number[]> =
  | InputArrayOf<D>
  | (S extends readonly [] ? ScalarOf<D> | (D extends "i64" | "u64" ? number : never) : Nested<ScalarOf<D> | number>);

/** The texts that a leaf of text accepts. */
export type TextInput<S extends readonly number[]> = S extends readonly [] ? string : Nested<string>;

/**
 * Returns a leaf for values of any form: strings, objects, arrays of varying length. Each value is stored as one object. Batches contain the values in a plain
 * array.
 */
export function object(): ObjectLeaf {
  return { dtype: "object", shape: [] };
}

/** Returns whether a node of a spec is a leaf: its `dtype` is a string. */
export function isLeaf(node: unknown): node is AnyLeaf {
  return typeof (node as Leaf | null | undefined)?.dtype === "string";
}

export function isText(leaf: AnyLeaf): leaf is TextLeaf {
  return leaf.dtype === "string" || leaf.dtype === "bytes";
}

export function isObject(node: unknown): node is ObjectLeaf {
  return (node as ObjectLeaf).dtype === "object";
}

/** Returns the shape of a leaf's value, beginning with the dimension of the stack. */
export function shapeOf({ shape, stack }: { readonly shape: readonly number[]; readonly stack?: number }): readonly number[] {
  return stack === undefined ? shape : [stack, ...shape];
}

/** The number of the dtype of text in the core (assembly/rows/leaf.ts). */
export const TEXT_CODE = 13;

/** Returns the core's number for a leaf's dtype. */
export function dtypeCode({ dtype }: RowLeaf): number {
  return dtype === "string" ? TEXT_CODE : DTYPES[dtype].code;
}

/** Returns the number of bytes of one element in a row. */
export function elementBytes(leaf: RowLeaf): number {
  return leaf.dtype === "string" ? textBytes(leaf.maxBytes) : DTYPES[leaf.dtype].bytes;
}

/** Returns the number of elements in an array of this shape. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, n) => product * n, 1);
}

/** Returns a leaf as messages show it: `f32 of shape [4]`. */
export function leafText(dtype: string, shape: readonly (number | string)[]): string {
  return `${dtype} of shape [${shape.join(", ")}]`;
}

/** Returns `length` elements: zeros, empty texts, or empty bytes. */
export function blank(leaf: Leaf | TextLeaf, length: number): AnyArray | (string | Uint8Array)[] {
  if (!isText(leaf)) return zeros(leaf.dtype, length);
  return new Array<string | Uint8Array>(length).fill(leaf.dtype === "string" ? "" : new Uint8Array(0));
}

/** Returns a value of zeros: a number, `false` for bool, or a typed array. For text and bytes, returns an empty value or a list of empty values. */
export function zeroOf(leaf: Leaf | TextLeaf): unknown {
  const shape = shapeOf(leaf);
  const zero = blank(leaf, sizeOf(shape));
  return shape.length > 0 ? zero : leaf.dtype === "bool" ? false : zero[0];
}
