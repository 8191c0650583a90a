/** The leaves of a spec: numbers of a dtype, in a shape; text and bytes; objects of any form. */
import { type ArrayOf, DTYPES, type Dtype } from "./dtype.ts";

/** Numbers. */
export interface Leaf<D extends Dtype = Dtype, S extends readonly number[] = readonly number[]> {
  readonly dtype: D;
  readonly shape: S;
  /** Leaves with the same name here keep equal values once (`shared`). */
  readonly shared?: string;
  /** A value is a stack of this many frames, each shared on its own; it has a leading dimension for it. */
  readonly stack?: number;
}

/** Text (strings) or bytes (Uint8Array): what a file may hold. */
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

/** A leaf's own value: a number where the shape is [], else a typed array. */
export type ScalarOf<D extends Dtype> = D extends "i64" | "u64" ? bigint : D extends "bool" ? boolean | number : number;
export type Nested<T> = readonly (T | Nested<T>)[];

/** What may be given for a leaf: typed arrays of its dtype, plain (nested) arrays, a number where the shape is []. */
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
 * Keeps equal values of the leaves with this name once: `state` and `nextState` of a transition, or the frames of a stack.
 * A step shares with the step before it in its stream, by comparing bytes; a value of zeros takes no place.
 * @param stack frames a value; the value then has a leading dimension of that length, and each frame is shared on its own
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

/** Whether a node of a spec is a leaf: its `dtype` is a word. */
export function isLeaf(node: unknown): node is AnyLeaf {
  return typeof (node as Leaf | null | undefined)?.dtype === "string";
}

export function isText(leaf: Leaf | TextLeaf | ObjectLeaf): leaf is TextLeaf {
  return leaf.dtype === "string" || leaf.dtype === "bytes";
}

export function isObject(node: unknown): node is ObjectLeaf {
  return (node as ObjectLeaf).dtype === "object";
}

/** The shape of a leaf's value: the stack first, where there is one. */
export function shapeOf({ shape, stack }: { readonly shape: readonly number[]; readonly stack?: number }): readonly number[] {
  return stack === undefined ? shape : [stack, ...shape];
}

/** Elements of an array of a shape. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, n) => product * n, 1);
}

/** As messages tell it: `f32 of shape [4]`. */
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
