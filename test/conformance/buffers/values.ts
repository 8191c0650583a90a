/** Converts values of the replay buffer cases to ours, and vice versa. */

import type { Leaf, Spec } from "../../../src/index.ts";
import type { Column } from "../../../src/schema/column.ts";
import { DTYPES } from "../../../src/schema/dtype.ts";
import { isObject, numberOf } from "../case.ts";
import { nestedColumn } from "../nested.ts";
import { ourSpec } from "../step-spec.ts";

/** The fields of a Trajectory whose names differ here. */
const NAMES: { readonly [theirs: string]: string } = { step_type: "stepType", next_step_type: "nextStepType", policy_info: "policyInfo" };
const THEIRS = Object.fromEntries(Object.entries(NAMES).map(([theirs, ours]) => [ours, theirs]));

function renamed(value: unknown, names: { readonly [name: string]: string }, also: string): unknown {
  if (!isObject(value) || !(also in value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [names[key] ?? key, part]));
}

/** Converts the spec of a case. The spec of a Trajectory gets our names. */
export function bufferSpec(theirs: unknown): Spec {
  return ourSpec(renamed(theirs, NAMES, "next_step_type"));
}

/** Converts items of a case to columns, each with the dtype of the spec and the shape of the numbers. */
export function given(spec: unknown, items: unknown): unknown {
  return columns(bufferSpec(spec), renamed(items, NAMES, "next_step_type"));
}

function columns(spec: Spec | undefined, value: unknown): unknown {
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, columns((spec as { [key: string]: Spec } | undefined)?.[key], part)]));
  if (Array.isArray(spec) && Array.isArray(value)) return value.map((part, i) => columns(spec[i], part));
  const leaf = spec as Leaf | undefined;
  if (typeof leaf?.dtype !== "string") return value;
  const shape: number[] = [];
  for (let part = value; Array.isArray(part); part = part[0]) shape.push(part.length);
  const flat = [value].flat(Number.POSITIVE_INFINITY).map((one) => Number(numberOf(one)));
  const data = new DTYPES[leaf.dtype].array(flat.length);
  for (const [i, one] of flat.entries()) data[i] = (data instanceof BigInt64Array || data instanceof BigUint64Array ? BigInt(one) : one) as never;
  return { data, shape };
}

/** Converts a nest of columns to the format of a case: nested arrays of numbers. */
export function plain(nest: unknown): unknown {
  return renamed(fold(nest, nestedColumn), THEIRS, "nextStepType");
}

/** Returns the shapes of a nest of columns in the format of a case, which marks tuples. */
export function shapes(nest: unknown): unknown {
  if (Array.isArray(nest)) return { tuple: nest.map(shapes) };
  if (isColumn(nest)) return nest.shape;
  return renamed(Object.fromEntries(Object.entries(nest as object).map(([key, part]) => [key, shapes(part)])), THEIRS, "nextStepType");
}

/** Doubles every number and keeps booleans. */
export function double(spec: Spec, nest: unknown): unknown {
  if (!isColumn(nest)) {
    const parts = Object.entries(nest as object).map(([key, part]) => [key, double((spec as { [key: string]: Spec })[key] as Spec, part)] as const);
    return Array.isArray(nest) ? parts.map(([, part]) => part) : Object.fromEntries(parts);
  }
  if ((spec as Leaf).dtype === "bool") return nest;
  return { data: (nest.data as Float32Array).map((one) => one + one), shape: nest.shape };
}

export function isColumn(value: unknown): value is Column {
  return isObject(value) && ArrayBuffer.isView(value.data);
}

function fold(nest: unknown, leaf: (column: Column) => unknown): unknown {
  if (isColumn(nest)) return leaf(nest);
  if (Array.isArray(nest)) return nest.map((part) => fold(part, leaf));
  return Object.fromEntries(Object.entries(nest as object).map(([key, part]) => [key, fold(part, leaf)]));
}
