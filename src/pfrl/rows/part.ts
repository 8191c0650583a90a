/** One part of a transition (its state, its action, an extra): taken apart for the row and the objects beside it, and put together again. */
import { mustBe } from "../../error.ts";
import type { Leaf } from "../../spec/leaf.ts";
import type { Spec } from "../../spec/spec.ts";
import { ARRAYS, dimsOf, isLeaf, isObject, type Numbers, type PartLeaf, type PartSpec, sizeOf, valueReader, zeroOf } from "./leaf.ts";
import { copyObject } from "./object-value.ts";
import { partOf } from "./step-spec.ts";

/** Objects of one step, by the number of their column. */
export type Record = unknown[];

/** The columns that a leaf was read into, by its path in the row. */
export type Columns = ReadonlyMap<string, Numbers>;

export interface Part {
  /** What of it the row has; undefined where that is nothing. */
  readonly row: Spec | undefined;
  /** How many object columns it has. */
  readonly objects: number;
  /** Whether the row's part of a value is the value. */
  readonly direct: boolean;
  /** The row's part of a value; objects go to the record, from `slot` on. */
  split(value: unknown, record: Record, slot: number): unknown;
  /** In the row's place of a value that is not there. */
  readonly zero: unknown;
  /** What a column-wise reader of it gives: `leaf` and `list` make a column of a leaf, and of an object column. */
  columns<T>(path: string, slot: number, leaf: (path: string) => T, list: (slot: number) => T): unknown;
  /** A value, put together by the n-th elements of the columns at `path`. */
  join(path: string): (columns: Columns, n: number, record: Record | undefined, slot: number) => unknown;
}

/** @param name how messages call it */
export function partOfSpec(name: string, spec: PartSpec): Part {
  if (isObject(spec)) return objectPart(name);
  return isLeaf(spec) ? leafPart(spec) : nodePart(name, spec);
}

function objectPart(name: string): Part {
  return {
    row: undefined,
    objects: 1,
    direct: false,
    zero: undefined,
    split(value, record, slot) {
      record[slot] = copyObject(value, name);
      return undefined;
    },
    columns: (_, slot, __, list) => list(slot),
    join: () => (_, __, record, slot) => record?.[slot],
  };
}

function leafPart(leaf: PartLeaf): Part {
  const pack = packer(leaf);
  return {
    row: leaf,
    objects: 0,
    direct: pack === same,
    zero: zeroOf(leaf),
    split: (value) => pack(value),
    columns: (path, _, column) => column(path),
    join(path) {
      const read = valueReader(leaf);
      const each = sizeOf(dimsOf(leaf));
      return (columns, n) => read(columns.get(path) as Numbers, n * each);
    },
  };
}

/** Longer arrays of numbers go to the engine as typed ones. */
const SHORT = 16;

/** Typed arrays in arrays go to the engine as one: number by number would be slow. */
function packer(leaf: Leaf): (value: unknown) => unknown {
  const [outer = 0, ...inner] = dimsOf(leaf);
  if (inner.length === 0) return leaf.dtype === "f64" && outer > SHORT ? numbersOf(outer) : leaf.dtype === "u8" && outer > 0 ? unclamped : same;
  const each = sizeOf(inner);
  const array = ARRAYS[leaf.dtype];
  const all = new array(outer * each);
  const below = packer({ dtype: leaf.dtype, shape: inner });
  return (given) => {
    const value = leaf.dtype === "u8" ? unclamped(given) : given;
    if (!Array.isArray(value) || value.length !== outer) return value;
    for (let i = 0; i < outer; i++) {
      const part = below(value[i]);
      if (!(part instanceof array) || part.length !== each) return value;
      all.set(part, i * each);
    }
    return all;
  };
}

/** An array of so many numbers. */
function numbersOf(length: number): (value: unknown) => unknown {
  const all = new Float64Array(length);
  return (value) => {
    if (!Array.isArray(value) || value.length !== length) return value;
    for (let i = 0; i < length; i++) {
      const number: unknown = value[i];
      if (typeof number !== "number") return value;
      all[i] = number;
    }
    return all;
  };
}

/** The same bytes, where they are a canvas's. */
function unclamped(value: unknown): unknown {
  if (!(value instanceof Uint8ClampedArray)) return value;
  return new Uint8Array(value.buffer, value.byteOffset, value.length);
}

function same(value: unknown): unknown {
  return value;
}

function nodePart(name: string, spec: PartSpec): Part {
  const names = Object.keys(spec);
  const parts = names.map((key) => partOfSpec(`${name}.${key}`, partOf(spec, key)));
  const list = Array.isArray(spec);
  const objects = parts.reduce((sum, part) => sum + part.objects, 0);
  const direct = parts.every((part) => part.direct);
  const slots = parts.map((_, i) => parts.slice(0, i).reduce((sum, part) => sum + part.objects, 0));
  const gather = (values: readonly unknown[]): unknown => {
    if (list && values.every((value) => value !== undefined)) return values;
    const there = names.map((key, i) => [key, values[i]] as const).filter(([, value]) => value !== undefined);
    return there.length === 0 ? undefined : Object.fromEntries(there);
  };
  return {
    row: gather(parts.map((part) => part.row)) as Spec | undefined,
    objects,
    direct,
    zero: gather(parts.map((part) => part.zero)),
    split(value, record, slot) {
      if (direct) return value;
      if (typeof value !== "object" || value === null || Object.keys(value).length !== names.length || !names.every((key) => Object.hasOwn(value, key)))
        throw mustBe("SPEC_MISMATCH", name, `nested with keys ${names.join(", ")} (a spec with object() takes any form)`, value);
      return gather(parts.map((part, i) => part.split((value as { [key: string]: unknown })[names[i] as string], record, slot + (slots[i] as number))));
    },
    columns(path, slot, leaf, listed) {
      const made = parts.map((part, i) => part.columns(`${path}.${names[i]}`, slot + (slots[i] as number), leaf, listed));
      return list ? made : Object.fromEntries(names.map((key, i) => [key, made[i]]));
    },
    join(path) {
      const joins = parts.map((part, i) => part.join(`${path}.${names[i]}`));
      return (columns, n, record, slot) => {
        const made = joins.map((join, i) => join(columns, n, record, slot + (slots[i] as number)));
        return list ? made : Object.fromEntries(names.map((key, i) => [key, made[i]]));
      };
    },
  };
}
