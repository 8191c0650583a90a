/**
 * A spec: the nested description of one step. Objects, arrays and tuples nest; a leaf is `{dtype, shape}`.
 * Leaves have one order everywhere: objects by sorted key, arrays by index.
 */
import { type ArrayOf, DTYPES, type Dtype } from "./dtype.ts";
import { integer, mustBe, oneOf, ReplayError, show } from "./error.ts";

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
  return stack === undefined ? { ...leaf, shared: name } : { ...leaf, shared: name, stack };
}

/** Whether a node of a spec is a leaf: its `dtype` is a word. */
export function isLeaf(spec: Spec): spec is Leaf {
  return typeof (spec as Leaf).dtype === "string";
}

/** The keys of a node, in the order of its leaves. */
export function keysOf(spec: Spec): string[] {
  return Array.isArray(spec) ? [...spec.keys()].map(String) : Object.keys(spec).sort();
}

/** The leaves of a spec, in order; every mistake names its path. */
export function leavesOf(spec: Spec): FoundLeaf[] {
  const found: FoundLeaf[] = [];
  walk(spec, [], found);
  if (found.length === 0) throw mustBe(RangeError, "spec", "a leaf, or contain one", spec);
  if (found.length > 4096) throw new RangeError(`spec must have at most 4096 leaves, got ${found.length}`);
  return found;
}

/** `observation.image`, or `the step` where the spec is a leaf. */
export function named(keys: readonly string[]): string {
  return keys.length === 0 ? "step" : keys.join(".");
}

/**
 * The leaves' values of a nested value, in the order of the spec's leaves.
 * @throws ReplayError SPEC_MISMATCH where the structure is another one
 */
export function flatten(spec: Spec, value: unknown): unknown[] {
  const values: unknown[] = [];
  const visit = (node: Spec, part: unknown, path: readonly string[]) => {
    if (isLeaf(node)) {
      values.push(part);
      return;
    }
    const keys = keysOf(node);
    if (typeof part !== "object" || part === null || Object.keys(part).length !== keys.length || !keys.every((key) => key in part))
      throw strange(path, keys, part);
    for (const key of keys) visit((node as { [key: string]: Spec })[key] as Spec, (part as { [key: string]: unknown })[key], [...path, key]);
  };
  visit(spec, value, []);
  return values;
}

/** The error for a value of another structure. */
export function strange(path: readonly string[], keys: readonly string[], value: unknown): Error {
  return mustBe("SPEC_MISMATCH", named(path), `nested with keys ${keys.join(", ")}`, value);
}

/** The reverse of `flatten`: nests one value a leaf as the spec does. */
export function pack<T>(spec: Spec, values: readonly T[]): unknown {
  let next = 0;
  const build = (node: Spec): unknown => {
    if (isLeaf(node)) return values[next++];
    const made: { [key: string]: unknown } | unknown[] = Array.isArray(node) ? [] : {};
    for (const key of keysOf(node)) (made as { [key: string]: unknown })[key] = build((node as { [key: string]: Spec })[key] as Spec);
    return made;
  };
  return build(spec);
}

function walk(node: Spec, keys: readonly string[], found: FoundLeaf[]): void {
  const path = named(keys);
  if (typeof node !== "object" || node === null) throw mustBe(TypeError, `spec of ${path}`, "a leaf {dtype, shape}, an object or an array", node);
  if (!isLeaf(node)) {
    for (const key of keysOf(node)) {
      if (key.includes(".")) throw new RangeError(`spec must have no key with a dot, got ${show(key)} in ${path}`);
      walk((node as { [key: string]: Spec })[key] as Spec, [...keys, key], found);
    }
    return;
  }
  oneOf(`dtype of ${path}`, DTYPES, node.dtype);
  if (!Array.isArray(node.shape)) throw mustBe(TypeError, `shape of ${path}`, "an array of integers >= 1", node.shape);
  for (const n of node.shape) integer(`shape of ${path}`, n, 1, 0x7fffffff);
  if (node.stack !== undefined) {
    integer(`stack of ${path}`, node.stack, 1, 1024);
    if (node.shared === undefined) throw new RangeError(`${path} has a stack and must be shared: say shared(name, leaf, stack)`);
  }
  const shape = node.stack === undefined ? node.shape : [node.stack, ...node.shape];
  const size = shape.reduce((product, n) => product * n, 1);
  if (size * DTYPES[node.dtype].bytes > 0x3fffffff) throw new RangeError(`${path} must be smaller than 1 GiB a step, got shape [${shape}]`);
  found.push({ path: keys.join("."), keys, leaf: node, size, shape });
}
