/** Batches of items as they are given: checked against the spec, and as typed arrays, which is what a writer is fastest with. */

import type { Column } from "../../batch.ts";
import { mustBe } from "../../error.ts";
import type { AnyArray, Dtype } from "../../spec/dtype.ts";
import type { Leaf } from "../../spec/leaf.ts";
import type { IsAny, Spec } from "../../spec/spec.ts";
import { isColumn } from "../nest.ts";

const ARRAYS: { readonly [D in Dtype]: new (length: number) => AnyArray } = {
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
};

type Nested = number | bigint | boolean | AnyArray | readonly Nested[];

/** Items as they may be given: each leaf with a leading dimension of batch or time, as a flat typed array, a nested array, or a column. */
export type ItemsOf<S> = IsAny<S> extends true ? unknown : S extends Leaf ? AnyArray | Column | readonly Nested[] : { readonly [K in keyof S]: ItemsOf<S[K]> };

/** A batch that fits the spec. */
export interface Batch {
  readonly rows: number;
  /** Nested as the spec, a flat typed array a leaf: what a writer takes. */
  readonly values: unknown;
}

/** A batch as columns, which carry their shape. */
export function columnsOf(spec: Spec, { rows, values }: Batch): unknown {
  if (isLeaf(spec)) return { data: values, shape: [rows, ...shapeOf(spec)] };
  const parts = Object.entries(spec).map(
    ([key, part]) => [key, columnsOf(part, { rows, values: (values as { readonly [key: string]: unknown })[key] })] as const,
  );
  return Array.isArray(spec) ? parts.map(([, part]) => part) : Object.fromEntries(parts);
}

/** One leaf of a spec. */
interface LeafForm {
  readonly dtype: Dtype;
  /** Without the dimension of the batch. */
  readonly shape: readonly number[];
  readonly size: number;
  readonly path: string;
}

/** Takes a value apart: leaves as typed arrays, each with `rows` rows, or however many the first leaf has. */
type Visit = (value: unknown, count: { rows: number | undefined }) => unknown;

/**
 * What checks batches of a spec. A leaf is a typed array, flat; an array, nested as its shape says; or a column `{data, shape}`; each with a leading dimension. A
 * typed array of another dtype is converted as plain numbers are.
 */
export function batchForm(spec: Spec): (items: unknown, rows?: number) => Batch {
  const visit = visitor(spec, []);
  return (items, rows) => {
    const count = { rows };
    const values = visit(items, count);
    return { rows: count.rows as number, values };
  };
}

function visitor(spec: Spec, keys: readonly string[]): Visit {
  if (isLeaf(spec)) return leafVisitor(spec, keys.join(".") || "items");
  const list = Array.isArray(spec);
  const names = list ? Object.keys(spec) : Object.keys(spec).sort();
  const parts = names.map((name) => visitor((spec as { readonly [name: string]: Spec })[name] as Spec, [...keys, name]));
  const refused = (value: unknown) => mustBe("SPEC_MISMATCH", keys.join(".") || "items", `nested with keys ${names.join(", ")}`, value);
  return (value, count) => {
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) throw refused(value);
    let seen = 0;
    for (const _ in value) seen++;
    if (seen !== names.length) throw refused(value);
    const node = value as { readonly [name: string]: unknown };
    const made: { [name: string]: unknown } = list ? ([] as never) : {};
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as string;
      if (!(name in node)) throw refused(value);
      made[name] = (parts[i] as Visit)(node[name], count);
    }
    return made;
  };
}

function isLeaf(spec: Spec): spec is Leaf {
  return typeof (spec as Leaf).dtype === "string";
}

/** The shape of a value: a stack first, where there is one. */
function shapeOf({ shape, stack }: Leaf): readonly number[] {
  return stack === undefined ? shape : [stack, ...shape];
}

function leafVisitor(own: Leaf, path: string): Visit {
  const { dtype } = own;
  const shape = shapeOf(own);
  const leaf = { dtype, shape, size: shape.reduce((product, n) => product * n, 1), path };
  const array = ARRAYS[dtype];
  return (value, count) => {
    const rows = rowsOf(leaf, value);
    if (rows === undefined || rows < 1 || (count.rows !== undefined && rows !== count.rows)) {
      const wanted = [count.rows ?? "rows", ...shape].join(", ");
      const got = isColumn(value) ? `[${value.shape.join(", ")}]` : value;
      throw mustBe("SPEC_MISMATCH", path, `${dtype} of shape [${wanted}]`, got);
    }
    count.rows = rows;
    const data = isColumn(value) ? value.data : value;
    if (data instanceof array && data.length === rows * leaf.size) {
      // Every byte is some u8, but not some bool: what is refused is refused before anything is written.
      if (dtype === "bool") for (const one of data) if (one > 1) throw mustBe("INVALID_DATA", path, "a number that bool can hold", one);
      return data;
    }
    const made = new array(rows * leaf.size);
    const end = spread(leaf, data, made, 0, [rows, ...shape], 0);
    if (end !== made.length) throw mustBe("SPEC_MISMATCH", path, `${dtype} of shape [${[rows, ...shape].join(", ")}]`, value);
    return made;
  };
}

/** The leading dimension of a value; undefined where it has none. */
function rowsOf({ shape, size }: LeafForm, value: unknown): number | undefined {
  if (isColumn(value)) {
    const [rows, ...rest] = value.shape;
    return rest.join() === shape.join() && value.data.length === (rows ?? 0) * size ? rows : undefined;
  }
  if (ArrayBuffer.isView(value)) return Number.isInteger((value as Uint8Array).length / size) ? (value as Uint8Array).length / size : undefined;
  return Array.isArray(value) ? value.length : undefined;
}

/** Writes nested numbers to an array; where the next one goes. -1 where they are not nested as the shape says. */
function spread(leaf: LeafForm, value: unknown, to: AnyArray, at: number, shape: readonly number[], depth: number): number {
  if (depth === shape.length) {
    putNumber(leaf, to, at, value);
    return at + 1;
  }
  const list = ArrayBuffer.isView(value) ? (value as Uint8Array) : Array.isArray(value) ? (value as unknown[]) : undefined;
  const flat = ArrayBuffer.isView(value);
  const size = shape.slice(depth).reduce((product, n) => product * n, 1);
  if (list === undefined || list.length !== (flat ? size : shape[depth])) return -1;
  let next = at;
  for (let i = 0; i < list.length && next >= 0; i++) next = spread(leaf, list[i], to, next, shape, flat ? shape.length : depth + 1);
  return next;
}

/** Writes one number, if its dtype can hold it. */
function putNumber({ dtype, path }: LeafForm, to: AnyArray, at: number, value: unknown): void {
  const wide = to instanceof BigInt64Array || to instanceof BigUint64Array;
  const float = dtype.startsWith("f");
  const number = typeof value === "boolean" ? Number(value) : value;
  if (typeof number !== "number" && typeof number !== "bigint") throw mustBe("SPEC_MISMATCH", path, `${dtype}, a number`, value);
  const fits = float || typeof number === "bigint" || Number.isSafeInteger(number);
  if (fits) to[at] = (wide ? BigInt(number) : Number(number)) as never;
  // What an array of integers holds is what was given, or it could not hold it.
  if (!fits || (!float && (BigInt(to[at] as number) !== BigInt(number) || (dtype === "bool" && Number(number) > 1))))
    throw mustBe("INVALID_DATA", path, `a number that ${dtype} can hold`, value);
}
