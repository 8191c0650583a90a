/** Values of one form, stacked into one array: as numpy and PyTorch do with those of a batch. */
import type { Column } from "../../batch.ts";
import { mustBe } from "../../error.ts";
import type { Dtype } from "../../spec/dtype.ts";
import { ARRAYS, dimsOf, dtypeOf, isLeaf, isObject, type Numbers, type PartLeaf, type PartSpec, sizeOf } from "./leaf.ts";
import { alike, infer, isPlain, partOf } from "./step-spec.ts";

/** Which dtype plain numbers become, which have none of their own. */
export interface PlainDtype {
  /** Decided by the caller. */
  readonly dtype: Dtype | undefined;
  /** Else that of fractions, and of arrays of numbers; a single number is i64 where it is whole in all items. */
  readonly fractions: "f32" | "f64";
}

/**
 * One column, or columns nested as the values are.
 * @param beside values of the same part elsewhere: they have the same dtype
 * @throws TypeError for null, and where values differ in form · RangeError for what the dtype cannot hold
 */
export function stackOf(name: string, values: readonly unknown[], plain: PlainDtype, beside: readonly unknown[] = []): unknown {
  for (const value of values) if (value === null || value === undefined) throw mustBe(TypeError, name, "there (or phi makes something of null)", value);
  const spec = infer(values[0], name);
  if (isObject(spec)) return [...values];
  if (!isLeaf(spec)) return nodeOf(name, spec, values, plain, beside);
  values.forEach((value, i) => {
    if (!alike(spec, infer(value, name)))
      throw mustBe(TypeError, `${name} of item ${i}`, `of the form of the first, ${spec.dtype} [${spec.shape.join(", ")}]`, value);
  });
  const column = leafOf(spec as PartLeaf, values);
  if ((spec as PartLeaf).plain !== true) return column;
  const whole = spec.shape.length === 0 && [...values, ...beside].every((value) => typeof value !== "number" || Number.isSafeInteger(value));
  return castTo(name, plain.dtype ?? (whole ? "i64" : plain.fractions), column);
}

function nodeOf(name: string, spec: PartSpec, values: readonly unknown[], plain: PlainDtype, beside: readonly unknown[]): unknown {
  const names = Object.keys(spec);
  values.forEach((value, i) => {
    const same = (Array.isArray(value) || isPlain(value)) && Object.keys(value).length === names.length && names.every((key) => Object.hasOwn(value, key));
    if (!same) throw mustBe(TypeError, `${name} of item ${i}`, `nested with keys ${names.join(", ")}`, value);
  });
  const parts = names.map((key) =>
    stackOf(
      `${name}.${key}`,
      values.map((value) => (value as { readonly [key: string]: unknown })[key]),
      plain,
      beside.map((value) => (value as { readonly [key: string]: unknown } | null)?.[key]),
    ),
  );
  return Array.isArray(spec) ? parts : Object.fromEntries(names.map((key, i) => [key, parts[i]]));
}

function leafOf(leaf: PartLeaf, values: readonly unknown[]): Column {
  const dims = dimsOf(leaf);
  const shape = [values.length, ...dims];
  const each = sizeOf(dims);
  const data = new ARRAYS[leaf.dtype](values.length * each);
  values.forEach((value, i) => {
    write(data, i * each, value);
  });
  return { data: data as unknown as Column["data"], shape };
}

/** A column of plain numbers in another dtype. @throws RangeError for a number that it cannot hold */
function castTo(name: string, dtype: Dtype, { data, shape }: Column): Column {
  if (dtype === "f64") return { data, shape };
  const made = new ARRAYS[dtype](data.length);
  const wide = dtype === "i64" || dtype === "u64";
  for (let i = 0; i < data.length; i++) {
    const number = data[i] as number;
    if (!wide || Number.isSafeInteger(number)) made[i] = (wide ? BigInt(number) : number) as number;
    if (dtype !== "f32" && Number(made[i]) !== number) throw mustBe(RangeError, name, `of numbers that ${dtype} holds`, number);
  }
  return { data: made as unknown as Column["data"], shape };
}

/** Writes a value's elements from a place on; how many. */
function write(data: Numbers, at: number, value: unknown): number {
  if (dtypeOf(value) !== undefined) {
    data.set(value as Numbers, at);
    return (value as Numbers).length;
  }
  if (!Array.isArray(value)) {
    data[at] = value as number;
    return 1;
  }
  let written = 0;
  for (const part of value) written += write(data, at + written, part);
  return written;
}

/** Columns of a batch as they are; those of plain numbers in the dtype that the caller decided. */
export function columnsOf(name: string, spec: PartSpec, columns: unknown, dtype: Dtype | undefined): unknown {
  if (dtype === undefined || isObject(spec)) return columns;
  if (isLeaf(spec)) return (spec as PartLeaf).plain === true ? castTo(name, dtype, columns as Column) : columns;
  const names = Object.keys(spec);
  const parts = names.map((key) => columnsOf(`${name}.${key}`, partOf(spec, key), (columns as { readonly [key: string]: unknown })[key], dtype));
  return Array.isArray(spec) ? parts : Object.fromEntries(names.map((key, i) => [key, parts[i]]));
}

/** The i-th value of columns: a number, or a view of its elements. */
export function elementOf(spec: PartSpec, columns: unknown, i: number): unknown {
  if (isObject(spec)) return (columns as unknown[])[i];
  if (isLeaf(spec)) {
    const { data, shape } = columns as Column;
    const each = data.length / (shape[0] as number);
    return shape.length === 1 ? data[i] : data.subarray(i * each, (i + 1) * each);
  }
  const names = Object.keys(spec);
  const parts = names.map((name) => elementOf(partOf(spec, name), (columns as { readonly [name: string]: unknown })[name], i));
  return Array.isArray(spec) ? parts : Object.fromEntries(names.map((name, k) => [name, parts[k]]));
}
