/** Values on their way into memory: checked, and copied. */

import { kindOf, mustBe } from "../error.ts";
import { type AnyArray, DTYPES } from "./dtype.ts";
import type { PlacedLeaf } from "./layout.ts";
import { isList } from "./numbers.ts";
import { named, sizeOf, type Visit } from "./spec.ts";

/** What is given for a leaf at a time: one value, or as many as the first dimensions of `shape` say. */
export interface Form {
  readonly leaf: PlacedLeaf;
  readonly shape: readonly number[];
  /** Elements of them all. */
  readonly size: number;
}

/** Where it goes to, time after time. */
export interface Place extends Form {
  readonly address: number;
  /** Its elements; another array once memory has moved. */
  view: Numbered;
}

/** Typed arrays of any dtype, as if they were one: what may be written to them is checked before. */
type Numbered = Float32Array;

/** Values up to this many elements are copied by a loop; a call to `set` costs more than they do. */
const SHORT = 16;

/** @param lead dimensions before the leaf's own: time, lanes */
export function formOf(leaf: PlacedLeaf, lead: readonly number[]): Form {
  const shape = [...lead, ...leaf.shape];
  return { leaf, shape, size: sizeOf(shape) };
}

/**
 * Writes a value to memory: a typed array of the dtype, or numbers, nested as the shape says or flat.
 * @throws ReplayError SPEC_MISMATCH, INVALID_DATA for a number that its dtype cannot hold; both name the leaf
 */
export function put({ leaf, shape, size }: Form, to: AnyArray, at: number, value: unknown): void {
  const { dtype } = leaf.leaf;
  let next = at;
  const spread = (part: unknown, depth: number, size: number): boolean => {
    if (depth === shape.length) putNumber(leaf, to as Numbered, next++, part);
    else {
      if (!isList(part)) return false;
      const { length } = part;
      const flat = length === size && !isList(part[0]);
      if (!flat && length !== shape[depth]) return false;
      for (let i = 0; i < length; i++) if (!spread(part[i], flat ? shape.length : depth + 1, size / length)) return false;
    }
    return true;
  };
  const kind = kindOf(value);
  if (kind === DTYPES[dtype].array.name && (value as Numbered).length === size) (to as Numbered).set(value as Numbered, at);
  else if (kind !== undefined || !spread(value, 0, size)) throw mustBe("SPEC_MISMATCH", named(leaf.keys), `${dtype} of shape [${shape.join(", ")}]`, value);
}

/** Writes one number, if its dtype can hold it. */
function putNumber({ leaf: { dtype }, keys }: PlacedLeaf, to: Numbered, at: number, value: unknown): void {
  const { array, least, most } = DTYPES[dtype];
  const wide = array.name.startsWith("Big");
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

/** `put` for a place: the commonest values have a way of their own. */
export function putter(place: Place): Visit {
  const { leaf, shape, size } = place;
  const { dtype } = leaf.leaf;
  const { array, most } = DTYPES[dtype];
  const slow: Visit = (value) => put(place, place.view, 0, value);
  if (shape.length === 0 && dtype.startsWith("f")) {
    return (value) => {
      if (typeof value === "number") place.view[0] = value;
      else slow(value);
    };
  }
  if (shape.length === 0 && dtype === "i32") {
    return (value) => {
      if (typeof value === "number" && (value | 0) === value) place.view[0] = value;
      else slow(value);
    };
  }
  if (shape.length === 0 && most !== undefined) {
    return (value) => {
      const { view } = place;
      const number = typeof value === "boolean" && dtype === "bool" ? +value : (value as number);
      if (typeof number === "number") view[0] = number;
      if (view[0] !== number || number > most) slow(value);
    };
  }
  return (value) => {
    const from = value as Numbered;
    const { view } = place;
    if (!(value instanceof array) || from.length !== size) slow(value);
    else if (size > SHORT) view.set(from);
    else for (let i = 0; i < size; i++) view[i] = from[i] as number;
  };
}
