/** Checks keys and priorities, and copies them into the core. */

import { described, mustBe, show } from "../base/error.ts";
import { trimStack } from "../base/stack-trace.ts";
import { isDetached, kindOf, typedLength } from "../base/typed-arrays.ts";

/** The numbers that a caller passes. */
export type Numbers = ArrayLike<number>;

/** Returns the error for a priority that the core rejected. */
export function priorityError(subject: string, value: number): RangeError {
  return mustBe(RangeError, subject, "a finite number >= 0, with a weight (priority^exponent) of at most 2^990", value);
}

/** Returns whether a value is a plain or typed array. */
export function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || kindOf(value) !== undefined;
}

/** Returns the length of a plain or typed array. The length of a typed array is read even if a subclass overrides it. */
export function listLength(list: ArrayLike<unknown>): number {
  return kindOf(list) === undefined ? list.length : typedLength(list as Uint8Array);
}

/** Returns the elements of a list, including holes. Reads each element once. */
export function elementsIn<T>(list: ArrayLike<T>): T[] {
  return Array.from({ length: listLength(list) }, (_, i) => list[i] as T);
}

/**
 * Returns numbers that cannot change while they are copied: a typed array itself, or the elements of a plain array, which are each read once.
 * @param n the required number of elements
 * @throws TypeError if the input is not an array of numbers · RangeError if its length is wrong, or if its memory was transferred
 */
export function checkedNumbers(subject: string, input: Numbers, n?: number): Numbers {
  const kind = kindOf(input);
  if (kind?.startsWith("Big") || (kind === undefined && !Array.isArray(input))) throw notNumbersError(subject, input);
  const length = listLength(input);
  if (n !== undefined && length !== n) throw mustBe(RangeError, subject, `an array of ${n} numbers`, input);
  if (kind === undefined) return copyElements(subject, input, length, "number");
  if (length === 0 && isDetached(input as Uint8Array))
    throw mustBe(RangeError, subject, "an array of numbers", described("an array whose memory was transferred or has shrunk"));
  return input;
}

/** The rule for keys. Keys of this process are below 2^53, and keys of a server are below 2^64. */
const KEY_RULE = "whole numbers from 0 to 2^53 - 1, such as batch.keys";
const KEY_END = 2 ** 53;
const SERVER_KEY_END = 2n ** 64n;

/** Returns whether a value can be the key of an item, live or removed. Accepts 0: no item has this key, but batches contain it after their last item. */
export function isKey(value: unknown): value is number | bigint {
  return typeof value === "bigint" ? value >= 0n && value < SERVER_KEY_END : Number.isSafeInteger(value) && (value as number) >= 0;
}

/**
 * Checks the class of a list of keys. Other typed arrays would lose bits of large keys, which would then refer to other items. @throws TypeError for an array
 * of another class
 */
export function checkKeyArray(subject: string, input: unknown, alternative?: "BigUint64Array"): void {
  const kind = kindOf(input);
  if (kind === undefined || kind === "Float64Array" || kind === alternative) return;
  const reason = kind.startsWith("Big") ? "" : ` (${kind} loses bits of large keys, which then refer to other items)`;
  throw mustBe(TypeError, subject, `an array of numbers, or a Float64Array such as batch.keys${reason}`, input);
}

/** Works like `checkedNumbers`, for keys. `checkKeys` checks each key after the copy. */
export function checkedKeys(subject: string, input: Numbers, n?: number): Numbers {
  if (kindOf(input) !== undefined) checkKeyArray(subject, input);
  else if (!Array.isArray(input)) throw notNumbersError(subject, input, keysIn(input));
  return checkedNumbers(subject, input, n);
}

/** Checks n keys from element `first` on. Allocates nothing. @throws RangeError if a number cannot be a key */
export function checkKeys(numbers: Float64Array, first: number, n: number): void {
  for (let i = first; i < first + n; i++) {
    const key = numbers[i] as number;
    // NaN fails every comparison.
    if (!(key >= 0 && key < KEY_END && Math.floor(key) === key)) throw keyError("keys", numbers.subarray(first, first + n));
  }
}

/** Returns the error for invalid keys, with the number of invalid keys and the first invalid key. */
export function keyError(subject: string, keys: ArrayLike<unknown>, rule: string = KEY_RULE): RangeError {
  const invalid = elementsIn(keys).flatMap((key, i) => (isKey(key) ? [] : [i]));
  const [first = 0] = invalid;
  const others = invalid.length === 1 ? "" : ` (${invalid.length} values are invalid)`;
  return trimStack(
    new RangeError(`${subject} must be ${rule}, got ${show(keys[first])} at ${subject}[${first}]${others}. Pass the keys of the batch unchanged`),
  );
}

/** Returns a hint that names the place of the keys if the value is a batch or the info of a batch. */
function keysIn(input: unknown): string {
  const { keys, info } = (input ?? {}) as { readonly keys?: unknown; readonly info?: { readonly keys?: unknown } };
  if (kindOf(info?.keys) !== undefined) return ", such as batch.info.keys (batch.keys for transitions)";
  return kindOf(keys) === undefined ? "" : ", such as batch.keys";
}

/** Works like `checkedNumbers`, for flags: numbers or booleans. */
export function checkedFlags(subject: string, input: ArrayLike<unknown> | undefined, n: number): ArrayLike<unknown> | undefined {
  if (input === undefined) return input;
  if (!Array.isArray(input)) return checkedNumbers(subject, input as Numbers, n);
  if (input.length !== n) throw mustBe(RangeError, subject, `an array of ${n} numbers or booleans`, input);
  return copyElements(subject, input, n, "boolean");
}

function copyElements<T>(subject: string, from: ArrayLike<T>, n: number, alternative: "number" | "boolean"): T[] {
  const elements: T[] = [];
  for (let i = 0; i < n; i++) {
    const value = from[i] as T;
    if (typeof value !== "number" && typeof value !== alternative)
      throw mustBe(TypeError, `${subject}[${i}]`, alternative === "number" ? "a number" : "a number or a boolean", value);
    elements.push(value);
  }
  return elements;
}

function notNumbersError(subject: string, input: unknown, hint = ""): Error {
  const isColumn = kindOf((input as { readonly data?: unknown } | null | undefined)?.data) !== undefined;
  return mustBe(TypeError, subject, `an array of numbers${isColumn ? ", such as the column's data" : hint}`, input);
}
