/** Defines the spec: the nested description of one step. Objects, arrays and tuples nest, and a leaf is `{dtype, shape}`. */
import { finite, integer, mustBe, mustBeOneOf } from "../base/error.ts";
import { PlainText } from "../base/inspect.ts";
import { MAX_LEAF_BYTES, MAX_LEAVES, MAX_PACKED_BYTES, MIN_PACKED_BYTES } from "../base/limits.ts";
import { DTYPES, type InputArrayOf, isDtype } from "./dtype.ts";
import {
  type BoundedText,
  elementBytes,
  type Leaf,
  type LeafInput,
  type Nested,
  type RowLeaf,
  type ScalarOf,
  type ShapeOf,
  shapeOf,
  sizeOf,
  type TextInput,
} from "./leaf.ts";
import { fold, map, type Nest, pathText } from "./nest.ts";

export type Spec = Nest<RowLeaf>;

/** Whether a type is `any` or the general Spec. Recursion over these types would never end. */
export type IsAny<S> = [Spec] extends [S] ? true : false;

/** The steps that `append` accepts. */
export type StepOf<S> =
  IsAny<S> extends true
    ? unknown
    : S extends Leaf<infer D>
      ? LeafInput<D, ShapeOf<S>>
      : S extends BoundedText
        ? TextInput<ShapeOf<S>>
        : { readonly [K in keyof S]: StepOf<S[K]> };

/**
 * Steps without shared or packed leaves, and without nodes that consist only of shared or packed leaves. Migrations keep the frames of shared and packed
 * leaves.
 */
export type OwnStepOf<S> =
  IsAny<S> extends true
    ? unknown
    : S extends RowLeaf | readonly unknown[]
      ? StepOf<S>
      : { readonly [K in keyof S as HasOwn<S[K]> extends true ? K : never]: OwnStepOf<S[K]> };
type HasOwn<S> = S extends { readonly dtype: string }
  ? S extends { readonly shared: string }
    ? false
    : true
  : true extends { [K in keyof S]: HasOwn<S[K]> }[keyof S]
    ? true
    : false;

/** Steps with any subset of the leaves; the other leaves are zeros. */
export type PartialStepOf<S> = IsAny<S> extends true ? unknown : S extends RowLeaf ? StepOf<S> : { readonly [K in keyof S]?: PartialStepOf<S[K]> };

/** The columns of many steps. Each leaf has a leading dimension of time. */
export type ColumnsOf<S> =
  IsAny<S> extends true
    ? unknown
    : S extends Leaf<infer D>
      ? InputArrayOf<D> | Nested<ScalarOf<D> | number>
      : S extends BoundedText
        ? Nested<string>
        : { readonly [K in keyof S]: ColumnsOf<S[K]> };

/** The columns of any subset of the leaves. */
export type PartialColumnsOf<S> = IsAny<S> extends true ? unknown : S extends RowLeaf ? ColumnsOf<S> : { readonly [K in keyof S]?: PartialColumnsOf<S[K]> };

/** The columns of any subset of the leaves, with null for rows that are not read. */
export type GappedColumnsOf<S> =
  IsAny<S> extends true ? unknown : S extends RowLeaf ? ColumnsOf<S> | readonly (StepOf<S> | null)[] : { readonly [K in keyof S]?: GappedColumnsOf<S[K]> };

/** The dotted paths of a spec's leaves; "" if the spec is a leaf. */
export type PathOf<S> =
  IsAny<S> extends true ? string : S extends RowLeaf ? "" : { [K in keyof S & string]: S[K] extends RowLeaf ? K : `${K}.${PathOf<S[K]>}` }[keyof S & string];

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

/** A leaf of a spec, with its path and form. */
export interface FoundLeaf {
  readonly path: string;
  readonly keys: readonly string[];
  readonly leaf: RowLeaf;
  /** The number of elements of one value, including all frames of a stack. */
  readonly size: number;
  /** The value's shape, beginning with the dimension of the stack if the value is a stack. */
  readonly shape: readonly number[];
}

/** Returns the leaves of a spec, in order. @throws TypeError, RangeError if the spec is invalid; the error names the path */
export function leavesOf(spec: Spec): FoundLeaf[] {
  const found: FoundLeaf[] = [];
  fold<RowLeaf, void>(
    spec,
    (_, keys, leaf) => {
      found.push(checkLeaf(keys, leaf));
    },
    (names, _, keys) => {
      const wrong = names.find((name) => name.includes(".") || name === "__proto__");
      if (wrong !== undefined) throw mustBe(RangeError, `keys of ${pathText(keys)}`, "names without dots, other than __proto__", wrong);
    },
  );
  integer("the number of leaves in spec", found.length, 1, MAX_LEAVES);
  return found;
}

/** Returns a frozen copy of a spec. @throws TypeError, RangeError if the value is not a spec */
export function copySpec<S extends Spec>(spec: S): S {
  leavesOf(spec);
  return deepFreeze(map(spec, (leaf: RowLeaf) => ({ ...leaf, shape: [...leaf.shape] }))) as S;
}

function deepFreeze<T>(node: T): T {
  if (typeof node === "object" && node !== null) for (const part of Object.values(node)) deepFreeze(part);
  return Object.freeze(node);
}

/** Returns a checked leaf with its path, size and shape. @throws TypeError, RangeError if the leaf is not valid; the error names the path */
export function checkLeaf(keys: readonly string[], leaf: RowLeaf): FoundLeaf {
  const path = pathText(keys);
  const { dtype, shape: dimensions, stack, shared } = leaf;
  if (leaf.dtype === "string") integer(`maxBytes of the text leaf ${path}`, leaf.maxBytes, 1, MAX_LEAF_BYTES);
  else if (!isDtype(dtype)) throw mustBeOneOf(RangeError, `dtype of ${path}`, [...Object.keys(DTYPES), "string"], dtype);
  if (!Array.isArray(dimensions)) throw mustBe(TypeError, `shape of ${path}`, "an array of integers >= 1", dimensions);
  for (const n of dimensions) {
    if (Array.isArray(n)) throw mustBe(TypeError, `shape of ${path}`, "integers, one argument each: f32(2, 3) instead of f32([2, 3])", n);
    integer(`shape of ${path}`, n, 1, 0x7fffffff);
  }
  if (stack !== undefined) {
    integer(`stack of ${path}`, stack, 1, 1024);
    if (shared === undefined) throw new RangeError(`${path} has a stack, but is not shared. Declare the leaf with shared(name, leaf, stack)`);
  }
  const shape = shapeOf(leaf);
  const size = sizeOf(shape);
  if (leaf.packed !== undefined) checkPacked(path, leaf, size * elementBytes(leaf));
  integer(`bytes of ${path}`, size * elementBytes(leaf), 1, MAX_LEAF_BYTES);
  return { path: keys.join("."), keys, leaf, size, shape };
}

/**
 * Checks a packed leaf. @throws RangeError if a frame is too small to benefit from packing or too large, if the ratio is below 1, or if the leaf is not shared
 */
function checkPacked(path: string, { shared, stack = 1, packed }: RowLeaf, bytes: number): void {
  finite(`the ratio of the packed leaf ${path}`, packed, 1);
  if (shared === undefined) throw new RangeError(`${path} has a packing ratio, but is not shared. Declare the leaf with packed(name, leaf)`);
  const frame = bytes / stack;
  if (frame < MIN_PACKED_BYTES)
    throw mustBe(RangeError, `the frame size of ${path} in bytes`, [`at least ${MIN_PACKED_BYTES}`, "Use shared for smaller frames"], frame);
  integer(`the frame size of ${path} in bytes`, frame, MIN_PACKED_BYTES, MAX_PACKED_BYTES);
}

/** Returns a spec as consoles show it, with `f32 [4]` for each leaf. */
export function describeSpec(spec: Spec): Nest<PlainText> {
  return map(spec, ({ dtype, shape, stack }: RowLeaf) => new PlainText(`${dtype} [${shapeOf({ shape, ...(stack && { stack }) }).join(", ")}]`));
}
