/** The leaves of a step spec: nested objects by sorted key, arrays by index, as everywhere in Reprise. */

import type { ArrayOf, Dtype } from "../../spec/dtype.ts";
import type { Leaf } from "../../spec/leaf.ts";
import type { StepSpec, TextLeaf } from "./dataset.ts";

export type AnyLeaf = Leaf | TextLeaf;

/** The typed array of each dtype; `bool` is bytes of 0 and 1. */
export const ARRAYS = {
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
} as const satisfies { readonly [D in Dtype]: unknown };

/** An array of zeros. */
export function zeros<D extends Dtype>(dtype: D, length: number): ArrayOf<D> {
  return new ARRAYS[dtype](length) as ArrayOf<D>;
}

export function isLeaf(spec: StepSpec): spec is AnyLeaf {
  return typeof (spec as Leaf).dtype === "string";
}

export function isText(leaf: AnyLeaf): leaf is TextLeaf {
  return leaf.dtype === "string" || leaf.dtype === "bytes";
}

/** Elements of a value. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, n) => product * n, 1);
}

export interface FoundLeaf {
  /** `observation/state`, as RLDS tools write it. */
  readonly path: string;
  readonly keys: readonly string[];
  readonly leaf: AnyLeaf;
  /** Elements of a value. */
  readonly size: number;
}

/** Every leaf, in order. */
export function leavesOf(spec: StepSpec, keys: readonly string[] = []): FoundLeaf[] {
  if (isLeaf(spec)) return [{ path: keys.join("/"), keys, leaf: spec, size: sizeOf(spec.shape) }];
  const names = Array.isArray(spec) ? Object.keys(spec) : Object.keys(spec).sort();
  return names.flatMap((name) => leavesOf((spec as { readonly [name: string]: StepSpec })[name] as StepSpec, [...keys, name]));
}

/** Whether two specs have the same leaves in the same places. */
export function sameSpec(a: StepSpec, b: StepSpec): boolean {
  if (a === b) return true;
  const [left, right] = [a, b].map((spec) => leavesOf(spec).map(({ keys, leaf }) => JSON.stringify([keys, leaf.dtype, leaf.shape]))) as [string[], string[]];
  return left.join() === right.join();
}

/** Nests one value a leaf as the spec does. */
export function packed<T>(spec: StepSpec, values: readonly T[]): unknown {
  let at = 0;
  const visit = (node: StepSpec): unknown => {
    if (isLeaf(node)) return values[at++];
    if (Array.isArray(node)) return node.map(visit);
    const names = Object.keys(node).sort();
    return Object.fromEntries(names.map((name) => [name, visit((node as { readonly [name: string]: StepSpec })[name] as StepSpec)]));
  };
  return visit(spec);
}

/** What is at the end of a path; undefined where it breaks off. */
export function valueAt(value: unknown, keys: readonly string[]): unknown {
  let at = value;
  for (const key of keys) at = (at as { readonly [key: string]: unknown } | null | undefined)?.[key];
  return at;
}
