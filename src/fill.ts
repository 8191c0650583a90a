/** From a nested step to the staging record: one small writer a leaf, made once from the spec. No code is generated: pages forbid it. */
import type { Core } from "./core.ts";
import { DTYPES, type Dtype } from "./dtype.ts";
import { kindOf, mustBe, ReplayError } from "./error.ts";
import type { PlacedLeaf } from "./layout.ts";
import { isLeaf, keysOf, named, type Spec, strange } from "./spec.ts";

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
    if (isLeaf(node)) {
      const leaf = leaves[next++] as PlacedLeaf;
      return leafWriter(core, leaf, staged + leaf.staged);
    }
    const keys = keysOf(node);
    const children = keys.map((key) => build((node as { [key: string]: Spec })[key] as Spec, [...path, key]));
    return nodeWriter(path, keys, children);
  };
  return build(spec, []);
}

/** How a message names what a leaf takes. */
export function formOf(leaf: PlacedLeaf, time: readonly string[] = []): string {
  return `${leaf.leaf.dtype} of shape [${[...time, ...leaf.shape].join(", ")}]`;
}

/** The error for a value of the wrong form. */
export function mismatch(leaf: PlacedLeaf, value: unknown, time?: readonly string[], length = leaf.size): Error {
  return mustBe("SPEC_MISMATCH", named(leaf.keys), `${formOf(leaf, time)}${length > 1 ? `, ${length} elements` : ""}`, value);
}

/** The view of linear memory for a leaf at an address, and the name of the array that can be copied there. */
export function viewOf(core: Core, leaf: PlacedLeaf, address: number): { view: Float32Array; at: number; kind: string } {
  const { dtype } = leaf.leaf;
  const { bytes, kind } = DTYPES[dtype];
  return { view: core[dtype] as unknown as Float32Array, at: address / bytes, kind };
}

/** Writes a plain value's numbers, nested or flat, one by one, `most` of them; how many there were. */
export function flattenInto(to: { [i: number]: number | bigint }, at: number, most: number, value: unknown, dtype: Dtype, path: string): number {
  if (!Array.isArray(value) && kindOf(value) === undefined) {
    if (most > 0) to[at] = element(value, dtype, path);
    return 1;
  }
  let count = 0;
  for (const part of value as unknown[]) count += flattenInto(to, at + count, most - count, part, dtype, path);
  return count;
}

/** One number as its dtype holds it. */
function element(value: unknown, dtype: Dtype, path: string): number | bigint {
  const { least, most } = DTYPES[dtype];
  const wide = dtype === "i64" || dtype === "u64";
  const number = wide && Number.isSafeInteger(value) ? BigInt(value as number) : typeof value === "boolean" && dtype === "bool" ? Number(value) : value;
  const rule = wide ? `${dtype}, a bigint or a safe integer` : least === undefined ? `${dtype}, a number` : `${dtype}, an integer in ${least} … ${most}`;
  if (typeof number !== (wide ? "bigint" : "number")) throw mustBe("SPEC_MISMATCH", path, rule, value);
  const holds = wide
    ? BigInt[dtype === "i64" ? "asIntN" : "asUintN"](64, number as bigint) === number
    : least === undefined || (Number.isInteger(number) && (number as number) >= least && (number as number) <= (most as number));
  if (!holds) throw mustBe("INVALID_DATA", path, rule, value);
  return number as number | bigint;
}

function leafWriter(core: Core, leaf: PlacedLeaf, address: number): Write {
  const { size } = leaf;
  const { dtype } = leaf.leaf;
  const { array, least } = DTYPES[dtype];
  const { at, kind } = viewOf(core, leaf, address);
  const slow: Write = (value) => {
    const { view } = viewOf(core, leaf, address);
    const given = kindOf(value);
    if (given === kind && (value as Float32Array).length === size) view.set(value as Float32Array, at);
    else if (given !== undefined || (leaf.shape.length !== 0) !== Array.isArray(value) || flattenInto(view, at, size, value, dtype, named(leaf.keys)) !== size)
      throw mismatch(leaf, value);
  };
  // The commonest leaves have a way of their own; whatever they do not expect takes the slow one.
  if (leaf.shape.length === 0 && (dtype === "f32" || dtype === "f64")) {
    return (value) => {
      if (typeof value === "number") core[dtype][at] = value;
      else slow(value);
    };
  }
  if (leaf.shape.length === 0 && dtype === "i32") {
    return (value) => {
      if (typeof value === "number" && (value | 0) === value) core.i32[at] = value;
      else slow(value);
    };
  }
  if (leaf.shape.length === 0 && least !== undefined) {
    return (value) => {
      const { view } = viewOf(core, leaf, address);
      const number = typeof value === "boolean" && dtype === "bool" ? +value : (value as number);
      if (typeof number === "number") view[at] = number;
      // What the array holds is what was given, or it could not hold it.
      if (view[at] !== number || (dtype === "bool" && number > 1)) slow(value);
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
    if (value instanceof array && value.length === size) viewOf(core, leaf, address).view.set(value as Float32Array, at);
    else slow(value);
  };
}

type Nested = { [key: string]: unknown };

/** Writes the children of an object or array. The first eight stand in a row, so that each place in the code sees one key only, which is what engines are fast at. */
function nodeWriter(path: readonly string[], keys: readonly string[], children: readonly Write[]): Write {
  const n = keys.length;
  const [k0, k1, k2, k3, k4, k5, k6, k7] = keys as string[] & { length: 8 };
  const [w0, w1, w2, w3, w4, w5, w6, w7] = children as Write[] & { length: 8 };
  return (value) => {
    let seen = 0;
    if (typeof value === "object") for (const _ in value) seen++;
    if (seen !== n) throw strange(path, keys, value);
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
