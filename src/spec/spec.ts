/**
 * A spec: the nested description of one step. Objects, arrays and tuples nest; a leaf is `{dtype, shape}`.
 * Leaves have one order everywhere: objects by sorted key, arrays by index.
 */

import { integer, mustBe, oneOf } from "../error.ts";
import { type ArrayOf, DTYPES, type Dtype } from "./dtype.ts";

export interface Leaf<D extends Dtype = Dtype, S extends readonly number[] = readonly number[]> {
  readonly dtype: D;
  readonly shape: S;
  /** Leaves with the same name here keep equal values once (`shared`). */
  readonly shared?: string;
  /** A value is a stack of this many frames, each shared on its own; it has a leading dimension for it. */
  readonly stack?: number;
}

export type Spec = Leaf | readonly Spec[] | { readonly [name: string]: Spec };

/** Whether a type is the general Spec, of which nothing more is known: its recursion would have no end. */
export type IsAny<S> = [Spec] extends [S] ? true : false;

/** A leaf's own value: a number where the shape is [], else a typed array. */
type ScalarOf<D extends Dtype> = D extends "i64" | "u64" ? bigint : D extends "bool" ? boolean | number : number;
type Nested<T> = readonly (T | Nested<T>)[];

/** What may be given for a leaf: typed arrays of its dtype, plain (nested) arrays, a number where the shape is []. */
export type LeafInput<D extends Dtype, S extends readonly number[]> =
  | ArrayOf<D>
  | (S extends readonly [] ? ScalarOf<D> | (D extends "i64" | "u64" ? number : never) : Nested<ScalarOf<D> | number>);

/** A step as it may be given to `append`. */
export type StepOf<S> =
  IsAny<S> extends true ? unknown : S extends Leaf<infer D, infer Shape> ? LeafInput<D, Shape> : { readonly [K in keyof S]: StepOf<S[K]> };

/** Whole columns of steps: each leaf with a leading dimension of time. */
export type ColumnsOf<S> =
  IsAny<S> extends true ? unknown : S extends Leaf<infer D> ? ArrayOf<D> | Nested<ScalarOf<D> | number> : { readonly [K in keyof S]: ColumnsOf<S[K]> };

/** The dotted paths of a spec's leaves, "" where the spec is a leaf. */
export type PathOf<S> =
  IsAny<S> extends true ? string : S extends Leaf ? "" : { [K in keyof S & string]: S[K] extends Leaf ? K : `${K}.${PathOf<S[K]>}` }[keyof S & string];

/** The leaf at a path. */
export type LeafAt<S, P extends string> =
  IsAny<S> extends true
    ? Leaf
    : P extends ""
      ? S
      : P extends `${infer K}.${infer Rest}`
        ? K extends keyof S
          ? LeafAt<S[K], Rest>
          : never
        : P extends keyof S
          ? S[P]
          : never;

/** A leaf that was found in a spec. */
export interface FoundLeaf {
  readonly path: string;
  readonly keys: readonly string[];
  readonly leaf: Leaf;
  /** Elements of one value, all frames of a stack included. */
  readonly size: number;
  /** The value's shape: the stack first, where there is one. */
  readonly shape: readonly number[];
}

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

/** Whether a node of a spec is a leaf: its `dtype` is a word. */
function isLeaf(spec: Spec): spec is Leaf {
  return typeof (spec as Leaf).dtype === "string";
}

/** `observation.image`, or `step` where the spec is a leaf. */
export function named(keys: readonly string[]): string {
  return keys.join(".") || "step";
}

/** Elements of an array of a shape. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, n) => product * n, 1);
}

/** What `leaf` makes of each leaf, in order, put together by `node` on the way back to the root. `keys`: the way there. */
export function fold<T>(
  spec: Spec,
  leaf: (index: number, keys: readonly string[], leaf: Leaf) => T,
  node: (names: readonly string[], parts: readonly T[], keys: readonly string[], list: boolean) => T,
): T {
  let index = 0;
  const visit = (at: Spec, keys: readonly string[]): T => {
    if (typeof at !== "object" || at === null) throw mustBe(TypeError, `spec of ${named(keys)}`, "a leaf {dtype, shape}, an object or an array", at);
    if (isLeaf(at)) return leaf(index++, keys, at);
    const list = Array.isArray(at);
    const names = list ? Object.keys(at) : Object.keys(at).sort();
    const parts = names.map((name) => visit((at as { [name: string]: Spec })[name] as Spec, [...keys, name]));
    return node(names, parts, keys, list);
  };
  return visit(spec, []);
}

/** The leaves of a spec, in order; every mistake names its path. */
export function leavesOf(spec: Spec): FoundLeaf[] {
  const found: FoundLeaf[] = [];
  fold<void>(
    spec,
    (_, keys, leaf) => {
      found.push(checked(keys, leaf));
    },
    (names, _, keys) => {
      for (const name of names) if (name.includes(".")) throw mustBe(RangeError, `keys of ${named(keys)}`, "free of dots", name);
    },
  );
  integer("leaves in spec", found.length, 1, 4096);
  return found;
}

function checked(keys: readonly string[], leaf: Leaf): FoundLeaf {
  const path = named(keys);
  const { dtype, shape: own, stack, shared } = leaf;
  oneOf(`dtype of ${path}`, DTYPES, dtype);
  if (!Array.isArray(own)) throw mustBe(TypeError, `shape of ${path}`, "an array of integers >= 1", own);
  for (const n of own) integer(`shape of ${path}`, n, 1, 0x7fffffff);
  if (stack !== undefined) {
    integer(`stack of ${path}`, stack, 1, 1024);
    if (shared === undefined) throw new RangeError(`${path} has a stack and must be shared(name, leaf, stack)`);
  }
  const shape = stack === undefined ? own : [stack, ...own];
  const size = sizeOf(shape);
  integer(`bytes of ${path}`, size * DTYPES[dtype].bytes, 1, 0x3fffffff);
  return { path: keys.join("."), keys, leaf, size, shape };
}

export type Visit = (value: unknown) => void;

/** Takes nested values apart, one function a leaf, made once from the spec. No code is generated: pages forbid it. */
export function visitor(spec: Spec, leaf: (index: number, keys: readonly string[]) => Visit): Visit {
  return fold(spec, leaf, visitNode);
}

/** Visits an object or array. The first six stand in a row, so that each place in the code sees one key only, which is what engines are fast at. */
function visitNode(names: readonly string[], parts: readonly Visit[], keys: readonly string[]): Visit {
  const n = names.length;
  const [k0, k1, k2, k3, k4, k5] = names as string[] & { length: 6 };
  const [v0, v1, v2, v3, v4, v5] = parts as Visit[] & { length: 6 };
  return (value) => {
    let seen = 0;
    if (typeof value === "object") for (const _ in value) seen++;
    if (seen !== n) throw mustBe("SPEC_MISMATCH", named(keys), `nested with keys ${names.join(", ")}`, value);
    const node = value as { [name: string]: unknown };
    if (n > 0) (v0 as Visit)(node[k0 as string]);
    if (n > 1) (v1 as Visit)(node[k1 as string]);
    if (n > 2) (v2 as Visit)(node[k2 as string]);
    if (n > 3) (v3 as Visit)(node[k3 as string]);
    if (n > 4) (v4 as Visit)(node[k4 as string]);
    if (n > 5) (v5 as Visit)(node[k5 as string]);
    for (let i = 6; i < n; i++) (parts[i] as Visit)(node[names[i] as string]);
  };
}

/** `flatten` for many values of one spec. */
export function flattener(spec: Spec): (value: unknown) => unknown[] {
  let values: unknown[] = [];
  const visit = visitor(spec, (index, keys) => (value) => {
    if (value === undefined) throw mustBe("SPEC_MISMATCH", named(keys), "given", value);
    values[index] = value;
  });
  return (value) => {
    values = [];
    visit(value);
    return values;
  };
}

/**
 * The leaves' values of a nested value, in the order of the spec's leaves.
 * @throws ReplayError SPEC_MISMATCH where the structure is another one
 */
export function flatten(spec: Spec, value: unknown): unknown[] {
  return flattener(spec)(value);
}

/** The reverse of `flatten`: nests one value a leaf as the spec does. */
export function pack<T>(spec: Spec, values: readonly T[]): unknown {
  return fold<unknown>(
    spec,
    (index) => values[index],
    (names, parts, _, list) => (list ? parts : Object.fromEntries(names.map((name, i) => [name, parts[i]]))),
  );
}
