/** Values of one form, stacked into one array: as numpy and PyTorch do with those of a batch. */
import type { Column } from "../batch.ts";
import { internals } from "../index.ts";
import { ARRAYS, dimsOf, dtypeOf, isLeaf, isObject, type Numbers, type PartLeaf, type PartSpec, sizeOf } from "./leaf.ts";
import { alike, infer, isPlain, partOf } from "./step-spec.ts";

const { mustBe } = internals;

/**
 * One column, or columns nested as the values are. Plain numbers are i64 where all are whole, else of a dtype for fractions.
 * @throws TypeError for null, and where values differ in form
 */
export function stackOf(name: string, values: readonly unknown[], fractions: "f32" | "f64"): unknown {
  for (const value of values) if (value === null || value === undefined) throw mustBe(TypeError, name, "there (or phi makes something of null)", value);
  const spec = infer(values[0]);
  if (isObject(spec)) return [...values];
  if (!isLeaf(spec)) return nodeOf(name, spec, values, fractions);
  values.forEach((value, i) => {
    if (!alike(spec, infer(value)))
      throw mustBe(TypeError, `${name} of item ${i}`, `of the form of the first, ${spec.dtype} [${spec.shape.join(", ")}]`, value);
  });
  return leafOf(spec as PartLeaf, values, fractions);
}

function nodeOf(name: string, spec: PartSpec, values: readonly unknown[], fractions: "f32" | "f64"): unknown {
  const names = Object.keys(spec);
  values.forEach((value, i) => {
    const same = (Array.isArray(value) || isPlain(value)) && Object.keys(value).length === names.length && names.every((key) => key in value);
    if (!same) throw mustBe(TypeError, `${name} of item ${i}`, `nested with keys ${names.join(", ")}`, value);
  });
  const parts = names.map((key) =>
    stackOf(
      `${name}.${key}`,
      values.map((value) => (value as { readonly [key: string]: unknown })[key]),
      fractions,
    ),
  );
  return Array.isArray(spec) ? parts : Object.fromEntries(names.map((key, i) => [key, parts[i]]));
}

function leafOf(leaf: PartLeaf, values: readonly unknown[], fractions: "f32" | "f64"): Column {
  const dims = dimsOf(leaf);
  const shape = [values.length, ...dims];
  const each = sizeOf(dims);
  const data = new ARRAYS[leaf.dtype](values.length * each);
  values.forEach((value, i) => {
    write(data, i * each, value);
  });
  return { data: (leaf.plain === true ? plainOf(data, fractions) : data) as unknown as Column["data"], shape };
}

/** Numbers of no dtype of their own. */
export function plainOf(data: Numbers, fractions: "f32" | "f64"): unknown {
  if (data.every(Number.isSafeInteger)) return BigInt64Array.from(data as ArrayLike<number> as number[], BigInt);
  return fractions === "f64" ? data : Float32Array.from(data);
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

/** Columns of a batch as `stackOf` gives them: numbers that were given without a dtype are whole, or fractions. */
export function columnsOf(spec: PartSpec, columns: unknown, fractions: "f32" | "f64"): unknown {
  if (isObject(spec)) return columns;
  if (isLeaf(spec)) {
    const { data, shape } = columns as Column;
    return (spec as PartLeaf).plain === true ? { data: plainOf(data as unknown as Numbers, fractions), shape } : columns;
  }
  const names = Object.keys(spec);
  const parts = names.map((name) => columnsOf(partOf(spec, name), (columns as { readonly [name: string]: unknown })[name], fractions));
  return Array.isArray(spec) ? parts : Object.fromEntries(names.map((name, i) => [name, parts[i]]));
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
