/** The leaves of a spec: numbers with a dtype and a shape; text and bytes; objects of any form. */
import { type ArrayOf, DTYPES, type Dtype } from "./dtype.ts";

/** Numbers. */
export interface Leaf<D extends Dtype = Dtype, S extends readonly number[] = readonly number[]> {
  readonly dtype: D;
  readonly shape: S;
  /** Leaves with the same name here store equal values once (`shared`). */
  readonly shared?: string;
  /** A value is a stack of this many frames, each shared separately. It has a leading dimension of this length. */
  readonly stack?: number;
}

/** Text (strings) or bytes (Uint8Array), from files. */
export interface TextLeaf {
  readonly dtype: "string" | "bytes";
  readonly shape: readonly number[];
}

/** A value of any form, kept in JavaScript. */
export interface ObjectLeaf {
  readonly dtype: "object";
  readonly shape: readonly [];
}

export type AnyLeaf = Leaf | TextLeaf | ObjectLeaf;

/** The type of a single number of a leaf. */
export type ScalarOf<D extends Dtype> = D extends "i64" | "u64" ? bigint : D extends "bool" ? boolean | number : number;
export type Nested<T> = readonly (T | Nested<T>)[];

/** The values that a leaf accepts: a typed array of its dtype, plain (nested) arrays, or a number if the shape is []. */
export type LeafInput<D extends Dtype, S extends readonly number[]> =
  | ArrayOf<D>
  | (S extends readonly [] ? ScalarOf<D> | (D extends "i64" | "u64" ? number : never) : Nested<ScalarOf<D> | number>);

function of<D extends Dtype>(dtype: D) {
  return <const S extends readonly number[]>(...shape: S): Leaf<D, S> => ({ dtype, shape });
}

/** Leaf constructors: `f32(84, 84)` is `{dtype: "f32", shape: [84, 84]}`, `i32()` a single number. */
export const bool = of("bool");
export const i8 = of("i8");
export const u8 = of("u8");
export const i16 = of("i16");
export const u16 = of("u16");
export const i32 = of("i32");
export const u32 = of("u32");
export const i64 = of("i64");
export const u64 = of("u64");
export const f32 = of("f32");
export const f64 = of("f64");

/**
 * Stores equal values of all leaves with this name once, such as `state` and `nextState` of a transition, or the frames of a stack.
 * A step shares values with the previous step of its stream, by comparing bytes. A value of zeros takes no space.
 * @param stack the number of frames in a value, which then has a leading dimension of that length; each frame is shared separately
 */
export function shared<D extends Dtype, const S extends readonly number[]>(name: string, leaf: Leaf<D, S>, stack?: undefined): Leaf<D, S>;
export function shared<D extends Dtype, const S extends readonly number[]>(name: string, leaf: Leaf<D, S>, stack: number): Leaf<D, readonly number[]>;
export function shared(name: string, leaf: Leaf, stack?: number): Leaf {
  return { ...leaf, shared: name, stack };
}

/** A leaf for values of any form: strings, objects, arrays of several lengths. They cost an object each, and batches have them as a plain array. */
export function object(): ObjectLeaf {
  return { dtype: "object", shape: [] };
}

/** Whether a node of a spec is a leaf: its `dtype` is a string. */
export function isLeaf(node: unknown): node is AnyLeaf {
  return typeof (node as Leaf | null | undefined)?.dtype === "string";
}

export function isText(leaf: Leaf | TextLeaf | ObjectLeaf): leaf is TextLeaf {
  return leaf.dtype === "string" || leaf.dtype === "bytes";
}

export function isObject(node: unknown): node is ObjectLeaf {
  return (node as ObjectLeaf).dtype === "object";
}

/** The shape of a leaf's value; a stack comes first. */
export function shapeOf({ shape, stack }: { readonly shape: readonly number[]; readonly stack?: number }): readonly number[] {
  return stack === undefined ? shape : [stack, ...shape];
}

/** The number of elements in an array of this shape. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, n) => product * n, 1);
}

/** A leaf in messages: `f32 of shape [4]`. */
export function leafText(dtype: string, shape: readonly (number | string)[]): string {
  return `${dtype} of shape [${shape.join(", ")}]`;
}

/** A value of zeros: a number, or a typed array; of text nothing, or a list of that. */
export function zeroOf(leaf: Leaf | TextLeaf): unknown {
  const shape = shapeOf(leaf);
  if (isText(leaf)) {
    const none = leaf.dtype === "string" ? "" : new Uint8Array(0);
    return shape.length === 0 ? none : new Array(sizeOf(shape)).fill(none);
  }
  const { array, big } = DTYPES[leaf.dtype];
  return shape.length > 0 ? new array(sizeOf(shape)) : leaf.dtype === "bool" ? false : big ? 0n : 0;
}
