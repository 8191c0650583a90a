/** Implements the common part of the adapters, which replaces each array of numbers in a batch. */

import { mustBe } from "../base/error.ts";
import { type ColumnLike, isColumn } from "../schema/column.ts";
import { type AnyArray, dtypeOf } from "../schema/dtype.ts";

/** A batch or a nest of columns in which a `T` replaces each array of numbers. Strings, keys, counts and methods are omitted. */
export type MappedBatch<V, T> = unknown extends V
  ? unknown
  : V extends ColumnLike<"string">
    ? never
    : V extends ColumnLike | ArrayBufferView
      ? T
      : V extends readonly unknown[]
        ? { [I in keyof V]: MappedBatch<V[I], T> }
        : V extends string | number | bigint | boolean | symbol | null | undefined | ((...args: never[]) => unknown)
          ? never
          : { [K in keyof V as IsOmitted<K, V[K], T> extends true ? never : K]: MappedBatch<V[K], T> };

type IsOmitted<K, V, T> = K extends symbol ? true : [K, V] extends ["keys", Float64Array] ? true : IsEmpty<MappedBatch<V, T>>;

type IsEmpty<H> = unknown extends H ? false : [H] extends [never] ? true : [keyof H] extends [never] ? true : false;

type Node = { readonly [name: string]: unknown };

/**
 * Returns a copy of the batch in which `convert(data, shape, path)` replaces each array of numbers. Rows from index `count` on are cut off, because their
 * values have no meaning.
 */
export function mapArrays<B extends object, T>(batch: B, convert: (data: AnyArray, shape: number[], path: string) => T): MappedBatch<B, T> {
  if (typeof batch !== "object" || batch === null || isColumn(batch)) throw mustBe(TypeError, "batch", "a batch, or a nest of columns", batch);
  // In a nest of columns, `count` and `lengths` may also be names of columns, so their types are unknown.
  const { count, lengths } = batch as { readonly count?: unknown; readonly lengths?: unknown };

  function array(data: AnyArray, [rows = 1, ...rest]: readonly number[], path: string): T {
    return typeof count !== "number" || rows <= count
      ? convert(data, [rows, ...rest], path)
      : convert(data.subarray(0, (data.length / rows) * count), [count, ...rest], path);
  }

  function part(value: unknown, keys: readonly string[]): unknown {
    const path = keys.join(".");
    if (isColumn(value)) return dtypeOf(value.data) && array(value.data, value.shape, path);
    if (dtypeOf(value) !== undefined) {
      const data = value as AnyArray;
      if (keys.at(-1) === "keys") return undefined;
      // Among the arrays that are not columns, only the mask and vector returns have several numbers per item.
      const isMatrix = ArrayBuffer.isView(lengths) && (path === "mask" || (path === "nStep.returns" && data.length !== items(lengths)));
      return array(data, isMatrix ? [items(lengths), data.length / items(lengths)] : [data.length], path);
    }
    if (typeof value !== "object" || value === null) return undefined;
    if (Array.isArray(value)) return value.map((element, i) => part(element, [...keys, `${i}`]));
    const parts = namesOf(value).map((key) => [key, part((value as Node)[key], [...keys, key])] as const);
    const present = parts.filter(([, result]) => result !== undefined);
    return present.length === 0 ? undefined : Object.fromEntries(present);
  }

  return (part(batch, []) ?? {}) as MappedBatch<B, T>;
}

/** Returns the names of an object's fields. In a batch, the fields are getters. */
function namesOf(value: object): string[] {
  const names: string[] = [];
  for (const name in value) names.push(name);
  return names;
}

const items = (lengths: unknown) => (lengths as Uint32Array).length;

/** Converts integers to 32-bit integers. @throws RangeError if an integer does not fit */
export function int32(data: AnyArray, path: string): Int32Array<ArrayBuffer> {
  const result = new Int32Array(data.length);
  for (let i = 0; i < data.length; i++) {
    const value = Number(data[i]);
    result[i] = value;
    if (result[i] !== value) throw mustBe(RangeError, `${path}[${i}]`, "an int32, from -2^31 to 2^31 - 1", data[i]);
  }
  return result;
}
