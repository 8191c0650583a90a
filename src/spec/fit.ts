/** Values on their way into typed arrays: checked, and copied. */
import { kindOf, type ReplayErrorCode } from "../error.ts";
import { DTYPES, type Dtype, isArrayOf, type Numbered } from "./dtype.ts";
import { type AnyLeaf, leafText, sizeOf } from "./leaf.ts";
import { named, refused, type Visit } from "./nest.ts";
import { isList } from "./numbers.ts";

/** What is given for a leaf at a time: one value, or as many as the first dimensions of `shape` say. */
export interface LeafTarget {
  readonly dtype: AnyLeaf["dtype"];
  readonly shape: readonly number[];
  /** Elements of them all. */
  readonly size: number;
}

/** Where it goes to, time after time. */
export interface Place extends LeafTarget {
  readonly dtype: Dtype;
  readonly keys: readonly string[];
  /** Its elements; another array once memory has moved. */
  view: Numbered;
}

/** What is taken beside typed arrays of the dtype, and numbers nested as the shape says, or flat. */
export interface Taking {
  /** Typed arrays of any dtype, booleans and bigints, as the numbers that they are. */
  readonly anyNumbers?: boolean;
  /** `{data, shape}`, and for a single value a typed array of one. */
  readonly columns?: boolean;
  /** Bytes for bool as they are, also those that are neither 0 nor 1. */
  readonly anyBytes?: boolean;
}

/** Why a value was not taken. */
export interface Misfit {
  readonly code: ReplayErrorCode;
  readonly rule: string;
  readonly value: unknown;
}

const STRICT: Taking = { anyBytes: true };

/** Values up to this many elements are copied by a loop; a call to `set` costs more than they do. */
const SHORT = 16;

export function targetOf(dtype: Dtype, shape: readonly number[]): LeafTarget & { readonly dtype: Dtype } {
  return { dtype, shape, size: sizeOf(shape) };
}

/** A value with its shape beside it. */
export function isShaped(value: unknown): value is { readonly data: ArrayLike<unknown>; readonly shape: readonly number[] } {
  const { data, shape } = (value ?? {}) as { data?: ArrayLike<unknown>; shape?: unknown };
  return Array.isArray(shape) && shape.every((n) => Number.isInteger(n) && n >= 0) && isList(data) && data.length === sizeOf(shape);
}

/**
 * Writes a value to an array, from an element on; without one it is only checked. O(1) in calls for typed arrays of the dtype, else O(elements).
 * @returns why it was not taken, after it was perhaps written in part: SPEC_MISMATCH, or INVALID_DATA for a number that the dtype cannot hold
 */
export function put(target: LeafTarget, to: Numbered | undefined, at: number, given: unknown, taking: Taking = STRICT): Misfit | undefined {
  const { dtype, shape, size } = target;
  let value = given;
  // One number may come in an array of the dtype, as elements of any shape do.
  if (shape.length === 0 && taking.anyBytes === true && isTyped(dtype, value) && value.length === 1) {
    to?.set(value, at);
    return undefined;
  }
  if (taking.columns === true) {
    if (isShaped(value) && value.shape.join() === shape.join()) value = value.data;
    if (shape.length === 0 && dtype !== "bytes" && isTyped(dtype, value) && value.length === 1) value = value[0];
  }
  const isOther = ArrayBuffer.isView(value) && !(dtype === "bytes" && shape.length === 0) && !isTyped(dtype, value);
  const end = isOther && taking.anyNumbers !== true ? -1 : spread(target, to, at, value, 0, size, taking);
  if (typeof end !== "number") return end;
  return end < 0 ? { code: "SPEC_MISMATCH", rule: ruleOf(target), value: given } : undefined;
}

/** @throws ReplayError SPEC_MISMATCH, INVALID_DATA; both name the leaf */
export function mustPut(target: LeafTarget, to: Numbered, at: number, value: unknown, keys: readonly string[], taking?: Taking): void {
  const misfit = put(target, to, at, value, taking);
  if (misfit !== undefined) throw refused(misfit.code, keys, misfit.rule, misfit.value);
}

/** Writes what is nested: the element behind it; -1 where it is not nested as the shape says, or what is wrong with a number. */
function spread(target: LeafTarget, to: Numbered | undefined, at: number, part: unknown, depth: number, size: number, taking: Taking): number | Misfit {
  const { dtype, shape } = target;
  if (depth === shape.length) return putElement(dtype, to, at, part, taking) ?? at + 1;
  if (isTyped(dtype, part) && part.length === size && (dtype !== "bool" || taking.anyBytes === true)) {
    to?.set(part, at);
    return at + size;
  }
  if (!isList(part)) return -1;
  const { length } = part;
  const isFlat = length === size && !(dtype === "bytes" ? Array.isArray(part[0]) : isList(part[0]));
  if (!isFlat && length !== shape[depth]) return -1;
  let next = at;
  if (isFlat || depth + 1 === shape.length) {
    const isFloat = dtype === "f32" || dtype === "f64";
    for (let i = 0; i < length; i++, next++) {
      const element = part[i];
      if (isFloat && typeof element === "number") {
        if (to !== undefined) to[next] = element;
        continue;
      }
      const misfit = putElement(dtype, to, next, element, taking);
      if (misfit !== undefined) return misfit;
    }
    return next;
  }
  for (let i = 0; i < length; i++) {
    const end = spread(target, to, next, part[i], depth + 1, size / length, taking);
    if (typeof end !== "number" || end < 0) return end;
    next = end;
  }
  return next;
}

/** A typed array of the dtype; of text and bytes there is none. */
function isTyped(dtype: AnyLeaf["dtype"], value: unknown): value is Numbered {
  return Object.hasOwn(DTYPES, dtype) && isArrayOf(dtype as Dtype, value);
}

/** Writes one element, if its dtype can hold it. */
function putElement(dtype: AnyLeaf["dtype"], to: Numbered | undefined, at: number, value: unknown, { anyNumbers }: Taking): Misfit | undefined {
  if (dtype === "string" || dtype === "bytes" || dtype === "object") return putText(dtype, to, at, value);
  const { big, float, min, max } = DTYPES[dtype];
  let number = typeof value === "boolean" && (dtype === "bool" || anyNumbers) ? Number(value) : value;
  if (big && Number.isSafeInteger(number)) number = BigInt(number as number);
  else if (!big && anyNumbers && typeof number === "bigint") number = Number(number);
  if (typeof number !== (big ? "bigint" : "number")) {
    const rule = big ? "a bigint or a safe integer" : float ? "a number" : `an integer in ${min} … ${max}`;
    return { code: "SPEC_MISMATCH", rule: `${dtype}, ${rule}`, value };
  }
  if (!float && !((number as number) >= (min as number) && (number as number) <= (max as number) && (big || Number.isInteger(number))))
    return { code: "INVALID_DATA", rule: `${dtype}, an integer in ${min} … ${max}`, value };
  if (to !== undefined) to[at] = number as number;
  return undefined;
}

function putText(dtype: "string" | "bytes" | "object", to: unknown, at: number, value: unknown): Misfit | undefined {
  const isTaken = dtype === "string" ? typeof value === "string" && !/\p{Surrogate}/u.test(value) : kindOf(value) === "Uint8Array";
  if (!isTaken) return { code: "SPEC_MISMATCH", rule: dtype === "string" ? "well-formed text" : "a Uint8Array", value };
  // Of bytes a copy: the caller may fill his array anew.
  if (to !== undefined) (to as unknown[])[at] = dtype === "string" ? value : new Uint8Array(value as Uint8Array);
  return undefined;
}

function ruleOf({ dtype, shape }: LeafTarget): string {
  const kind = dtype === "string" ? "well-formed text" : dtype === "bytes" ? "Uint8Arrays" : dtype;
  return leafText(kind, shape);
}

/** `mustPut` for a place: the commonest values have a way of their own. */
export function putter(place: Place): Visit {
  const { dtype, shape, size, keys } = place;
  const { array, big, float, max } = DTYPES[dtype];
  const slow: Visit = (value) => mustPut(place, place.view, 0, value, keys);
  if (shape.length === 0 && float) {
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
  if (shape.length === 0 && !big) {
    const most = max as number;
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
