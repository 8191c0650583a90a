/** Values on their way to their places in memory: checked, and copied. */
import type { Core } from "./core.ts";
import { DTYPES } from "./dtype.ts";
import { kindOf, mustBe } from "./error.ts";
import type { PlacedLeaf } from "./layout.ts";
import { isList } from "./numbers.ts";
import { named, sizeOf, type Visit } from "./spec.ts";

/** Where values of a leaf go, one after the other: one, or as many as the first dimensions of `shape` say. */
export interface Place {
  readonly leaf: PlacedLeaf;
  readonly address: number;
  readonly shape: readonly number[];
  /** Elements of them all. */
  readonly size: number;
}

/** Values up to this many elements are copied by a loop; a call to `set` costs more than they do. */
const SHORT = 16;

/** @param lead dimensions before the leaf's own: time, lanes */
export function placeOf(leaf: PlacedLeaf, address: number, lead: readonly number[]): Place {
  const shape = [...lead, ...leaf.shape];
  return { leaf, address, shape, size: sizeOf(shape) };
}

/**
 * Writes a value to its place: a typed array of the dtype, or numbers, nested as the shape says or flat.
 * @throws ReplayError SPEC_MISMATCH, INVALID_DATA for a number that its dtype cannot hold; both name the leaf
 */
export function put(core: Core, place: Place, value: unknown): void {
  const { leaf, address, shape, size } = place;
  const { dtype } = leaf.leaf;
  const { bytes, kind } = DTYPES[dtype];
  const to = core[dtype] as unknown as Float32Array;
  let at = address / bytes;
  const spread = (part: unknown, depth: number, size: number): boolean => {
    if (depth === shape.length) putNumber(to, at++, leaf, part);
    else {
      if (!isList(part)) return false;
      const { length } = part;
      const flat = length === size && !isList(part[0]);
      if (!flat && length !== shape[depth]) return false;
      for (let i = 0; i < length; i++) if (!spread(part[i], flat ? shape.length : depth + 1, size / length)) return false;
    }
    return true;
  };
  const given = kindOf(value);
  if (given === kind && (value as Float32Array).length === size) to.set(value as Float32Array, at);
  else if (given !== undefined || !spread(value, 0, size)) throw mustBe("SPEC_MISMATCH", named(leaf.keys), `${dtype} of shape [${shape.join(", ")}]`, value);
}

/** Writes one number, if its dtype can hold it. */
function putNumber(to: Float32Array, at: number, { leaf: { dtype }, keys }: PlacedLeaf, value: unknown): void {
  const { kind, least, most } = DTYPES[dtype];
  const wide = kind.startsWith("Big");
  const number = wide && Number.isSafeInteger(value) ? BigInt(value as number) : dtype === "bool" && typeof value === "boolean" ? Number(value) : value;
  const known = typeof number === (wide ? "bigint" : "number");
  if (known) {
    to[at] = number as number;
    // What the array holds is what was given, or it could not hold it.
    if (dtype.startsWith("f") || (to[at] === number && !(number > (most as number)))) return;
  }
  const rule = wide ? "a bigint or a safe integer" : least === undefined ? "a number" : `an integer in ${least} … ${most}`;
  throw mustBe(known ? "INVALID_DATA" : "SPEC_MISMATCH", named(keys), `${dtype}, ${rule}`, value);
}

/** `put` for a place that is filled again and again: the commonest values have a way of their own. */
export function putter(core: Core, place: Place): Visit {
  const { leaf, address, shape, size } = place;
  const { dtype } = leaf.leaf;
  const { array, bytes, least, most } = DTYPES[dtype];
  const at = address / bytes;
  if (shape.length === 0 && (dtype === "f32" || dtype === "f64")) {
    return (value) => {
      if (typeof value === "number") core[dtype][at] = value;
      else put(core, place, value);
    };
  }
  if (shape.length === 0 && dtype === "i32") {
    return (value) => {
      if (typeof value === "number" && (value | 0) === value) core.i32[at] = value;
      else put(core, place, value);
    };
  }
  if (shape.length === 0 && least !== undefined) {
    return (value) => {
      const to = core[dtype] as Int32Array;
      const number = typeof value === "boolean" && dtype === "bool" ? +value : (value as number);
      if (typeof number === "number") to[at] = number;
      if (to[at] !== number || number > (most as number)) put(core, place, value);
    };
  }
  return (value) => {
    const from = value as Float32Array;
    const to = core[dtype] as Float32Array;
    if (!(value instanceof array) || from.length !== size) put(core, place, value);
    else if (size > SHORT) to.set(from, at);
    else for (let i = 0; i < size; i++) to[at + i] = from[i] as number;
  };
}
