/** Checks keys and priorities and copies them into the core. */
import { mustBe } from "../error.ts";
import { isGone, kindOf, typedLength } from "../typed.ts";

/** Numbers from a caller. */
export type Numbers = ArrayLike<number>;

/** The error for a priority that the core refused. */
export function priorityError(subject: string, value: number): RangeError {
  return mustBe(RangeError, subject, "a finite number >= 0, with a weight (priority^exponent) of at most 2^990", value);
}

/** Whether a value is a plain or typed array. */
export function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || kindOf(value) !== undefined;
}

/** Elements of a plain or typed array: of the latter, whatever a subclass says. */
export function listLength(list: ArrayLike<unknown>): number {
  return kindOf(list) === undefined ? list.length : typedLength(list as Uint8Array);
}

/** The elements of a list, its holes too, each read once. */
export function elementsIn<T>(list: ArrayLike<T>): T[] {
  return Array.from({ length: listLength(list) }, (_, i) => list[i] as T);
}

/**
 * Numbers as nobody changes them while they are copied: a typed array as it is, of a plain one the elements, each read once.
 * @param n how many there must be
 */
export function numbersOf(subject: string, given: Numbers, n?: number): Numbers {
  const kind = kindOf(given);
  if (kind?.startsWith("Big") || (kind === undefined && !Array.isArray(given))) throw noNumbers(subject, given);
  const length = listLength(given);
  if (n !== undefined && length !== n) throw mustBe(RangeError, subject, `an array of ${n} numbers`, given);
  if (kind === undefined) return copied(subject, given, length, "number");
  if (length === 0 && isGone(given as Uint8Array)) throw mustBe(RangeError, subject, "an array of numbers", "one whose memory was transferred, or has shrunk");
  return given;
}

/** The same of flags: numbers or booleans. */
export function flagsOf(subject: string, given: ArrayLike<unknown> | undefined, n: number): ArrayLike<unknown> | undefined {
  if (given === undefined) return given;
  if (!Array.isArray(given)) return numbersOf(subject, given as Numbers, n);
  if (given.length !== n) throw mustBe(RangeError, subject, `an array of ${n} numbers or booleans`, given);
  return copied(subject, given, n, "boolean");
}

function copied<T>(subject: string, from: ArrayLike<T>, n: number, or: "number" | "boolean"): T[] {
  const own: T[] = [];
  for (let i = 0; i < n; i++) {
    const value = from[i] as T;
    if (typeof value !== "number" && typeof value !== or)
      throw mustBe(TypeError, `${subject}[${i}]`, or === "number" ? "a number" : "a number or a boolean", value);
    own.push(value);
  }
  return own;
}

function noNumbers(subject: string, given: unknown): Error {
  const isColumn = kindOf((given as { readonly data?: unknown } | null | undefined)?.data) !== undefined;
  return mustBe(TypeError, subject, `an array of numbers${isColumn ? ", such as the column's data" : ""}`, given);
}
