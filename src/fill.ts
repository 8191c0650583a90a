/** From a nested step to the staging record: one small writer a leaf, made once from the spec. No code is generated: pages forbid it. */
import type { Core } from "./core.ts";
import { DTYPES, type Dtype } from "./dtype.ts";
import { kindOf, ReplayError, show } from "./error.ts";
import type { PlacedLeaf } from "./layout.ts";
import { isLeaf, keysOf, named, type Spec } from "./spec.ts";

type Write = (value: unknown) => void;

/** Values up to this many elements are copied by a loop; a call to `set` costs more than they do. */
const SHORT = 16;

/**
 * A function that writes a step to the staging record at `staged`.
 * @throws ReplayError SPEC_MISMATCH, INVALID_DATA for a number that its dtype cannot hold; both name the leaf
 */
export function fillOf(core: Core, spec: Spec, leaves: readonly PlacedLeaf[], staged: number): Write {
  let next = 0;
  const build = (node: Spec, path: readonly string[]): Write => {
    if (isLeaf(node)) return leafWriter(core, leaves[next++] as PlacedLeaf, staged);
    const keys = keysOf(node);
    const children = keys.map((key) => build((node as { [key: string]: Spec })[key] as Spec, [...path, key]));
    return nodeWriter(named(path), keys, children, Array.isArray(node));
  };
  return build(spec, []);
}

/** The error for a value of the wrong form. */
export function mismatch(path: string, rule: string, value: unknown): ReplayError {
  return new ReplayError("SPEC_MISMATCH", `${path} must be ${rule}, got ${show(value)}`);
}

/** How a message names what a leaf takes. */
export function formOf(leaf: PlacedLeaf, time: readonly string[] = []): string {
  const shape = [...time, ...leaf.shape].join(", ");
  return `${leaf.leaf.dtype} of shape [${shape}]`;
}

/** Writes a plain value's numbers, nested or flat, one by one; how many there were. */
export function flattenInto(to: { [i: number]: number | bigint }, at: number, most: number, value: unknown, dtype: Dtype, path: string): number {
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) {
    let count = 0;
    for (const part of value as ArrayLike<unknown> & Iterable<unknown>) {
      if (count >= most) return most + 1;
      count += flattenInto(to, at + count, most - count, part, dtype, path);
    }
    return count;
  }
  if (most > 0) to[at] = element(value, dtype, path);
  return 1;
}

/** One number as its dtype holds it. */
function element(value: unknown, dtype: Dtype, path: string): number | bigint {
  if (dtype === "i64" || dtype === "u64") {
    const exact = typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
    if (typeof exact !== "bigint") throw mismatch(path, `${dtype}: a bigint or a safe integer`, value);
    if (exact !== (dtype === "i64" ? BigInt.asIntN(64, exact) : BigInt.asUintN(64, exact))) throw invalid(path, dtype, value);
    return exact;
  }
  if (dtype === "bool" && typeof value === "boolean") return value ? 1 : 0;
  if (typeof value !== "number") throw mismatch(path, dtype, value);
  const { least, most } = DTYPES[dtype];
  if (least !== undefined && !(Number.isInteger(value) && value >= least && value <= (most as number))) throw invalid(path, dtype, value);
  return value;
}

function invalid(path: string, dtype: Dtype, value: unknown): ReplayError {
  const { least, most } = DTYPES[dtype];
  return new ReplayError("INVALID_DATA", `${path} must be ${dtype}${least === undefined ? "" : `, an integer in ${least} … ${most}`}, got ${show(value)}`);
}

function leafWriter(core: Core, leaf: PlacedLeaf, staged: number): Write {
  const { dtype, shape } = leaf.leaf;
  const { array, bytes, kind, least, most } = DTYPES[dtype];
  const at = (staged + leaf.staged) / bytes;
  const { size } = leaf;
  const path = named(leaf.keys);
  const view = () => core[dtype === "bool" ? "u8" : dtype] as unknown as Float32Array;
  const slow: Write = (value) => {
    if (kindOf(value) === kind && (value as Float32Array).length === size) view().set(value as Float32Array, at);
    else if (kindOf(value) !== undefined && kindOf(value) !== kind) throw mismatch(path, formOf(leaf), value);
    else if (flattenInto(view(), at, size, value, dtype, path) !== size || (size === 1 && shape.length !== 0 && typeof value !== "object")) {
      throw mismatch(path, formOf(leaf), value);
    }
  };
  if (shape.length === 0 && leaf.leaf.stack === undefined) {
    if (dtype === "f32") {
      return (value) => {
        if (typeof value === "number") core.f32[at] = value;
        else slow(value);
      };
    }
    if (dtype === "i32") {
      return (value) => {
        // The cheapest way to ask for an i32.
        if (((value as number) | 0) === value) core.i32[at] = value;
        else slow(value);
      };
    }
    if (dtype === "i64" || dtype === "u64") return slow;
    return (value) => {
      const inside = least === undefined || ((value as number) >= least && (value as number) <= (most as number) && Number.isInteger(value));
      if (typeof value === "number" && inside) view()[at] = value;
      else slow(value);
    };
  }
  if (dtype === "f32" && size <= SHORT) {
    return (value) => {
      const from = value as Float32Array;
      if (value instanceof Float32Array && from.length === size) {
        const to = core.f32;
        for (let i = 0; i < size; i++) to[at + i] = from[i] as number;
      } else slow(value);
    };
  }
  return (value) => {
    if (value instanceof array && (value as Float32Array).length === size) view().set(value as Float32Array, at);
    else slow(value);
  };
}

type Nested = { [key: string]: unknown };

/** Writes the children of an object or array. Up to eight stand in a row, so that each place in the code sees one key only, which is what engines are fast at. */
function nodeWriter(path: string, keys: readonly string[], children: readonly Write[], isArray: boolean): Write {
  const n = keys.length;
  const [k0, k1, k2, k3, k4, k5, k6, k7] = keys as string[] & { length: 8 };
  const [w0, w1, w2, w3, w4, w5, w6, w7] = children as Write[] & { length: 8 };
  const strange = (value: unknown) => {
    throw mismatch(path, isArray ? `an array of ${n}` : `an object with keys ${keys.join(", ")}`, value);
  };
  const count = (value: Nested) => {
    let seen = 0;
    for (const _ in value) seen++;
    return seen;
  };
  return (value) => {
    if (typeof value !== "object" || value === null || count(value as Nested) !== n) strange(value);
    const node = value as Nested;
    if (n > 0) (w0 as Write)(node[k0 as string]);
    if (n > 1) (w1 as Write)(node[k1 as string]);
    if (n > 2) (w2 as Write)(node[k2 as string]);
    if (n > 3) (w3 as Write)(node[k3 as string]);
    if (n > 4) (w4 as Write)(node[k4 as string]);
    if (n > 5) (w5 as Write)(node[k5 as string]);
    if (n > 6) (w6 as Write)(node[k6 as string]);
    if (n > 7) (w7 as Write)(node[k7 as string]);
    for (let i = 8; i < n; i++) (children[i] as Write)(node[keys[i] as string]);
  };
}
