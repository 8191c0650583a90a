/** Determines the spec of a case's Replay from the steps in its ops, and converts the JSON values of steps to typed arrays. */

import { f64, type Leaf, type Spec } from "../../src/index.ts";
import { DTYPES, type Dtype } from "../../src/schema/dtype.ts";
import { isObject, Malformed, numberOf, type Op, type TableCase } from "./case.ts";

/** The name of a branch of the Replay's spec. One Replay serves `insert`, the trajectory writers and the legacy writers of a case, each with its own branch. */
export type Branch = "insert" | "step" | "legacy";

/** Our dtypes by the names of NumPy's dtypes. */
export const DTYPE_OF: { readonly [numpy: string]: Dtype } = {
  bool: "bool",
  int8: "i8",
  uint8: "u8",
  int16: "i16",
  uint16: "u16",
  int32: "i32",
  uint32: "u32",
  int64: "i64",
  uint64: "u64",
  float32: "f32",
  float64: "f64",
};

/**
 * Returns the spec of a Replay for the case, with all fields that its ops append. The first append of a field determines its spec, as in the recorded writers.
 */
export function specOf(test: TableCase): { readonly [branch: string]: Spec } {
  const branches: { [branch: string]: Spec } = {};
  // A `context` op contains other ops.
  const ops = test.ops.flatMap((op) => [op, ...((op[1].ops ?? []) as readonly Op[])]);
  for (const op of ops) {
    if (op[0] === "insert_data") branches[dataBranch(op[1].spec)] = ourSpec(op[1].spec);
    if (op[0] === "append") branches[branchOf(op)] = merged(branches[branchOf(op)], ourSpec(appendSpec(test, op)));
    if (op[0] === "append_sequence") branches.legacy = merged(branches.legacy, ofOneStep(ourSpec(appendSpec(test, op))));
  }
  if (ops.some(([kind]) => kind === "trajectory_writer" || kind === "replay_buffer")) branches.step ??= ourSpec(test.spec);
  if (Object.keys(branches).length === 0 || ops.some(([kind]) => kind === "insert")) branches.insert = f64();
  return branches;
}

/** Merges the fields of two specs. If both define a leaf or a list, the first spec takes precedence. */
function merged(first: Spec | undefined, second: Spec): Spec {
  if (first === undefined) return second;
  if (isLeafOfOurs(first) || isLeafOfOurs(second) || Array.isArray(first) || Array.isArray(second)) return first;
  const [a, b] = [first, second] as { readonly [name: string]: Spec }[] as [{ [name: string]: Spec }, { [name: string]: Spec }];
  return { ...b, ...Object.fromEntries(Object.entries(a).map(([name, node]) => [name, name in b ? merged(node, b[name] as Spec) : node])) };
}

/** Returns the spec of a sequence without its time dimension. */
function ofOneStep(spec: Spec): Spec {
  if (isLeafOfOurs(spec)) return { ...spec, shape: spec.shape.slice(1) };
  if (Array.isArray(spec)) return spec.map(ofOneStep);
  return Object.fromEntries(Object.entries(spec).map(([name, node]) => [name, ofOneStep(node as Spec)]));
}

function isLeafOfOurs(spec: Spec): spec is Leaf {
  return typeof (spec as Leaf).dtype === "string";
}

/** Returns the name of the branch for the data of an `insert_data` op. Each distinct spec has a branch. */
export function dataBranch(spec: unknown): string {
  return `data ${JSON.stringify(spec)}`;
}

export function branchOf([, args]: Op): Branch {
  return args.legacy === true ? "legacy" : "step";
}

/** Returns the spec of an append op's data, in the format of the case. */
export function appendSpec(test: TableCase, [, args]: Op): unknown {
  return args.spec ?? test.spec;
}

/** Converts a spec of a case to our spec. */
export function ourSpec(theirs: unknown): Spec {
  if (isLeaf(theirs)) {
    const dtype = DTYPE_OF[theirs.dtype];
    if (dtype === undefined) throw new Malformed(`unknown dtype ${JSON.stringify(theirs.dtype)}`);
    return { dtype, shape: theirs.shape };
  }
  if (Array.isArray(theirs)) return theirs.map(ourSpec);
  if (isObject(theirs)) return Object.fromEntries(Object.entries(theirs).map(([key, node]) => [key, ourSpec(node)]));
  throw new Malformed(`spec must be nested leaves {dtype, shape}, got ${JSON.stringify(theirs)}`);
}

/** Converts a value of a case according to its spec: each leaf becomes a typed array, and an omitted value becomes null. */
export function build(theirs: unknown, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (isLeaf(theirs)) {
    const { dtype } = ourSpec(theirs) as { dtype: Dtype };
    const flat = [value].flat(Number.POSITIVE_INFINITY).map(numberOf);
    const made = new DTYPES[dtype].array(flat.length);
    flat.forEach((element, i) => {
      const number = dtype === "bool" ? Number(Boolean(element)) : Number(element);
      made[i] = made instanceof BigInt64Array || made instanceof BigUint64Array ? BigInt(element as number) : number;
    });
    return made;
  }
  if (Array.isArray(theirs)) return theirs.map((node, i) => build(node, (value as unknown[])[i]));
  return Object.fromEntries(Object.entries(theirs as object).map(([key, node]) => [key, build(node, (value as { [key: string]: unknown })[key])]));
}

function isLeaf(node: unknown): node is { readonly dtype: string; readonly shape: readonly number[] } {
  return isObject(node) && typeof node.dtype === "string" && Array.isArray(node.shape);
}
