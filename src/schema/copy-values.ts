/** Checks values, and copies them into typed arrays. */
import { ReplayError, type ReplayErrorCode } from "../base/error.ts";
import { kindOf, typedLength } from "../base/typed-arrays.ts";
import { isList, listLength } from "./copy-numbers.ts";
import { DTYPES, type Dtype, isArrayOf, isDtype, isFloat, type NumberArray } from "./dtype.ts";
import { type HalfDtype, isHalf, roundHalf, roundHalves } from "./half.ts";
import { type AnyLeaf, leafText, type RowLeaf, sizeOf } from "./leaf.ts";
import { mismatchError, pathText, type Visit } from "./nest.ts";
import { isWellFormed, textBytes, utf8Bytes, writeText } from "./text.ts";

/** The form of a leaf's values: one value, or as many values as the leading dimensions of `shape` define. */
export interface LeafTarget {
  readonly dtype: AnyLeaf["dtype"];
  readonly shape: readonly number[];
  /** The total number of elements. */
  readonly size: number;
}

/** The form of a leaf's values, with their place in memory. */
export interface ViewTarget extends LeafTarget {
  readonly leaf: RowLeaf;
  readonly keys: readonly string[];
  /** The elements of the leaf, or the bytes of its text. Replaced after memory has moved. */
  view: NumberArray;
  /** Runs if a float value contains NaN, on paths that read each number anyway. */
  readonly onNaN?: (() => void) | undefined;
  /**
   * Converts the elements of the view to half floats in the memory from which rows are read. Returns the number of elements converted before the first that
   * would become infinite. Only for half floats.
   */
  readonly narrow?: (() => number) | undefined;
}

/** The options of `put`: values accepted in addition to typed arrays of the dtype, and to numbers that are flat or nested like the shape. */
export interface PutOptions {
  /** Accepts typed arrays of any dtype, booleans and bigints as numbers. */
  readonly anyNumbers?: boolean;
  /** Accepts columns, which are objects `{data, shape}`. */
  readonly columns?: boolean;
}

/** The reason why a value was rejected. */
export interface Misfit {
  readonly code: ReplayErrorCode;
  readonly rule: string;
  readonly value: unknown;
}

const STRICT: PutOptions = {};

/** The maximum number of elements for which a loop copies faster than a call to `set`. */
const SHORT = 16;

/**
 * Returns whether a dtype would make a finite number infinite. A number that exceeds the largest value by less than half a step is rounded to the largest
 * value.
 */
export function isOverflow(dtype: string, number: number): boolean {
  return isDtype(dtype) && Math.abs(number) >= DTYPES[dtype].infinite && Number.isFinite(number);
}

function overflowMisfit(dtype: Dtype, value: unknown): Misfit {
  const { largest } = DTYPES[dtype];
  return { code: "INVALID_DATA", rule: `finite as ${dtype}, from -${largest} to ${largest}, or Infinity`, value };
}

/** Returns the error for an element that the dtype of its leaf would make infinite. */
export function overflowError(dtype: Dtype, keys: readonly string[], value: unknown): Error {
  const { code, rule } = overflowMisfit(dtype, value);
  return mismatchError(code, keys, rule, value);
}

/** Returns how many of n elements, from `first` on, precede the first element that a dtype would make infinite. */
export function countFitting(dtype: Dtype, numbers: NumberArray, first: number, n: number): number {
  const { infinite } = DTYPES[dtype];
  for (let i = 0; i < n; i++) {
    const magnitude = Math.abs(numbers[first + i] as number);
    if (magnitude >= infinite && magnitude < Number.POSITIVE_INFINITY) return i;
  }
  return n;
}

export function targetOf(dtype: AnyLeaf["dtype"], shape: readonly number[]): LeafTarget {
  return { dtype, shape, size: sizeOf(shape) };
}

/** Returns whether a value is `{data, shape}` with as many elements as its shape. */
export function isShaped(value: unknown): value is { readonly data: ArrayLike<unknown>; readonly shape: readonly number[] } {
  const { data, shape } = (value ?? {}) as { data?: ArrayLike<unknown>; shape?: unknown };
  return Array.isArray(shape) && shape.every((n) => Number.isInteger(n) && n >= 0) && isList(data) && listLength(data) === sizeOf(shape);
}

/**
 * Writes a value to an array, from element `at` on. Without an array, only checks the value. Costs one copy for typed arrays of the dtype, otherwise
 * O(elements).
 * @returns the reason for a rejection, possibly after a partial write: SPEC_MISMATCH, or INVALID_DATA for a number that the dtype cannot represent
 */
export function put(target: LeafTarget, to: NumberArray | undefined, at: number, input: unknown, options: PutOptions = STRICT): Misfit | undefined {
  const { dtype, shape, size } = target;
  const value = typeof input === "object" && input !== null ? unwrap(target, input, options) : input;
  const isOther = ArrayBuffer.isView(value) && !(dtype === "bytes" && shape.length === 0) && !isTyped(dtype, value);
  const end = isOther && options.anyNumbers !== true ? -1 : putNested(target, to, at, value, 0, size, options);
  if (typeof end !== "number") return end;
  return end < 0 ? { code: "SPEC_MISMATCH", rule: leafText(dtype, shape), value: input } : undefined;
}

/** Returns the data of a column with the target's shape. For a single value, returns the element of a typed array of length 1. */
function unwrap({ dtype, shape }: LeafTarget, input: object, { columns }: PutOptions): unknown {
  const isColumn = columns === true && !ArrayBuffer.isView(input) && isShaped(input) && input.shape.join() === shape.join();
  const value = isColumn ? input.data : input;
  return shape.length === 0 && dtype !== "bytes" && isTyped(dtype, value) && typedLength(value) === 1 ? value[0] : value;
}

/** Works like `put`, but throws the reason for a rejection. @throws ReplayError SPEC_MISMATCH, INVALID_DATA; both name the leaf */
export function mustPut(target: LeafTarget, to: NumberArray, at: number, value: unknown, keys: readonly string[], options?: PutOptions): void {
  const misfit = put(target, to, at, value, options);
  if (misfit !== undefined) throw mismatchError(misfit.code, keys, misfit.rule, misfit.value);
}

/** Returns which of two forms of equal size a value has; the first form if it has neither. */
export function matchingTarget(value: unknown, target: LeafTarget, other?: LeafTarget): LeafTarget {
  return other !== undefined && put(target, undefined, 0, value) !== undefined && put(other, undefined, 0, value) === undefined ? other : target;
}

/** Writes a nested part. @returns the index after the part, -1 if the part is not nested like the shape, or the fault of a number */
function putNested(
  target: LeafTarget,
  to: NumberArray | undefined,
  at: number,
  part: unknown,
  depth: number,
  size: number,
  options: PutOptions,
): number | Misfit {
  const { dtype, shape } = target;
  if (depth === shape.length) return putElement(dtype, to, at, part, options) ?? at + 1;
  if (!isList(part)) return -1;
  const length = listLength(part);
  if (length === size && isTyped(dtype, part)) {
    const wrong = dtype === "bool" ? indexOfNonFlag(part, size) : -1;
    if (wrong >= 0) return { code: "INVALID_DATA", rule: "bool, an integer in 0 … 1", value: part[wrong] };
    if (isHalf(dtype)) {
      const fitting = countFitting(dtype, part, 0, size);
      if (fitting < size) return overflowMisfit(dtype, part[fitting]);
    }
    to?.set(part, at);
    if (isHalf(dtype) && to !== undefined) roundHalves(dtype, to as unknown as Float32Array, at, size);
    return at + size;
  }
  const isFlat = length === size && !(dtype === "bytes" ? Array.isArray(part[0]) : isList(part[0]));
  if (!isFlat && length !== shape[depth]) return -1;
  let next = at;
  if (isFlat || depth + 1 === shape.length) {
    const isFraction = isFloat(dtype);
    const isRounded = isHalf(dtype);
    const max = isFraction ? DTYPES[dtype].largest : 0;
    for (let i = 0; i < length; i++, next++) {
      const element = part[i];
      if (isFraction && typeof element === "number" && element <= max && element >= -max) {
        if (to !== undefined) to[next] = isRounded ? roundHalf(dtype, element) : element;
        continue;
      }
      const misfit = putElement(dtype, to, next, element, options);
      if (misfit !== undefined) return misfit;
    }
    return next;
  }
  for (let i = 0; i < length; i++) {
    const end = putNested(target, to, next, part[i], depth + 1, size / length, options);
    if (typeof end !== "number" || end < 0) return end;
    next = end;
  }
  return next;
}

/** Returns the index of the first byte other than 0 and 1; -1 if there is no such byte. */
function indexOfNonFlag(bytes: NumberArray, n: number): number {
  for (let i = 0; i < n; i++) if ((bytes[i] as number) > 1) return i;
  return -1;
}

/** Returns whether a value is a typed array of the dtype. Text and bytes have no typed array. */
function isTyped(dtype: AnyLeaf["dtype"], value: unknown): value is NumberArray {
  return Object.hasOwn(DTYPES, dtype) && isArrayOf(dtype as Dtype, value);
}

/** Writes one element if the dtype can represent it. */
function putElement(dtype: AnyLeaf["dtype"], to: NumberArray | undefined, at: number, value: unknown, { anyNumbers }: PutOptions): Misfit | undefined {
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
  if (float && isOverflow(dtype, number as number)) return overflowMisfit(dtype, value);
  if (to !== undefined) to[at] = isHalf(dtype) ? roundHalf(dtype, number as number) : (number as number);
  return undefined;
}

function putText(dtype: "string" | "bytes" | "object", to: unknown, at: number, value: unknown): Misfit | undefined {
  const isValid = dtype === "string" ? isWellFormed(value) : kindOf(value) === "Uint8Array";
  if (!isValid) return { code: "SPEC_MISMATCH", rule: dtype === "string" ? "string, well-formed text" : "bytes, a Uint8Array", value };
  // The bytes are copied, because the caller may reuse the array.
  if (to !== undefined) (to as unknown[])[at] = dtype === "string" ? value : new Uint8Array(value as Uint8Array);
  return undefined;
}

/** Copies plain numbers with absolute values of at most `max`. Returns whether all values were such numbers, which excludes NaN. */
function copyNumbers(to: NumberArray, values: readonly unknown[], max: number): boolean {
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (typeof value !== "number" || !(value <= max && value >= -max)) return false;
    to[i] = value;
  }
  return true;
}

/** Returns whether NaN is among the checked elements: every `stride`-th of the n elements from `first` on. */
export function hasNaN(numbers: NumberArray, first: number, n: number, stride = 1): boolean {
  for (let i = first; i < first + n; i += stride) {
    const number = numbers[i] as number;
    if (Number.isNaN(number)) return true;
  }
  return false;
}

/** Works like `mustPut`, for text in rows, from byte `at` on. @throws ReplayError SPEC_MISMATCH, INVALID_DATA if a text is too long; both name the leaf */
export function mustPutText(target: LeafTarget, to: Uint8Array, at: number, value: unknown, keys: readonly string[], maxBytes: number): void {
  if (target.shape.length === 0 && isWellFormed(value)) {
    if (!writeText(to, at, maxBytes, value)) throw tooLong(value, keys, maxBytes);
    return;
  }
  const texts: string[] = [];
  mustPut(target, texts as unknown as NumberArray, 0, value, keys);
  for (const [i, text] of texts.entries()) if (!writeText(to, at + i * textBytes(maxBytes), maxBytes, text)) throw tooLong(text, keys, maxBytes);
}

function tooLong(text: string, keys: readonly string[], maxBytes: number): Error {
  return new ReplayError(
    "INVALID_DATA",
    `${pathText(keys)} must be a string of at most ${maxBytes} bytes in UTF-8 (the maxBytes of its leaf), got ${utf8Bytes(text)} bytes`,
  );
}

/**
 * Returns the setter of a view, which works like `mustPut`, with fast paths for the most common values.
 * @param other an alternative form of equal size
 */
export function setterOf(to: ViewTarget, other?: LeafTarget): Visit {
  const { leaf, shape, size, keys } = to;
  if (isHalf(leaf.dtype)) return halfSetterOf(to, leaf.dtype, other);
  if (leaf.dtype === "string") return (value) => mustPutText(matchingTarget(value, to, other), to.view as unknown as Uint8Array, 0, value, keys, leaf.maxBytes);
  const { dtype } = leaf;
  const { array, big, float } = DTYPES[dtype];
  const isLine = float && shape.length === 1;
  const maxMagnitude = DTYPES[dtype].largest;
  const onNaN = float ? to.onNaN : undefined;
  const setSlowly: Visit = (value) => {
    if (isLine && Array.isArray(value) && value.length === size && copyNumbers(to.view, value, maxMagnitude)) return;
    mustPut(matchingTarget(value, to, other), to.view, 0, value, keys);
    if (onNaN !== undefined && hasNaN(to.view, 0, size)) onNaN();
  };
  if (shape.length === 0 && dtype === "f32") {
    return (value) => {
      // The largest f32 is a literal, because V8 would load a module constant on each call, which makes a step of five leaves 2 to 3 % slower.
      if (typeof value === "number" && Math.abs(value) <= 3.4028234663852886e38) to.view[0] = value;
      else setSlowly(value);
    };
  }
  if (shape.length === 0 && float) {
    return (value) => {
      if (typeof value === "number" && !Number.isNaN(value)) to.view[0] = value;
      else setSlowly(value);
    };
  }
  if (shape.length === 0 && dtype === "i32") {
    return (value) => {
      if (typeof value === "number" && (value | 0) === value) to.view[0] = value;
      else setSlowly(value);
    };
  }
  if (shape.length === 0 && !big) {
    const max = DTYPES[dtype].max as number;
    return (value) => {
      const { view } = to;
      const number = typeof value === "boolean" && dtype === "bool" ? +value : (value as number);
      if (typeof number === "number") view[0] = number;
      if (view[0] !== number || number > max) setSlowly(value);
    };
  }
  if (dtype === "bool") return setSlowly;
  return (value) => {
    const from = value as NumberArray;
    const { view } = to;
    // This checks the elements, since a subclass may override the length but not the elements.
    if (!(value instanceof array) || from[size - 1] === undefined || from[size] !== undefined) setSlowly(value);
    else if (size > SHORT) view.set(from);
    else for (let i = 0; i < size; i++) view[i] = from[i] as number;
  };
}

/** Returns the setter for half floats. The view contains f32 elements, and `narrow` checks all of them. */
function halfSetterOf(to: ViewTarget, dtype: HalfDtype, other?: LeafTarget): Visit {
  const { shape, size, keys, onNaN } = to;
  const { largest } = DTYPES[dtype];
  return (value) => {
    if (shape.length === 0 && typeof value === "number" && value <= largest && value >= -largest) to.view[0] = roundHalf(dtype, value);
    else if (value instanceof Float32Array && value[size - 1] !== undefined && value[size] === undefined) to.view.set(value);
    else {
      mustPut(matchingTarget(value, to, other), to.view, 0, value, keys);
      if (onNaN !== undefined && hasNaN(to.view, 0, size)) onNaN();
    }
    mustNarrow(to);
  };
}

/** Converts or checks the elements of a view as half floats. @throws ReplayError INVALID_DATA if an element would become infinite as a half float */
export function mustNarrow({ view, size, keys, leaf, narrow }: ViewTarget): void {
  const fitting = narrow?.() ?? countFitting(leaf.dtype as Dtype, view, 0, size);
  if (fitting < size) throw overflowError(leaf.dtype as Dtype, keys, view[fitting]);
}
