/** Checks keys and priorities and copies them into the core. */
import { kindOf, mustBe } from "../error.ts";

/** Numbers from a caller. */
export type Numbers = ArrayLike<number>;

/** The error for a priority that the core refused. */
export function priorityError(subject: string, value: number): RangeError {
  return mustBe(RangeError, subject, "a finite number >= 0, with a weight (priority^exponent) of at most 2^990", value);
}

/** Whether a value is a plain or typed array. */
export function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || ArrayBuffer.isView(value);
}

/** Checks an array of numbers, and its length if `n` is given. @returns the length */
export function lengthOf(subject: string, numbers: Numbers, n = numbers?.length): number {
  if (!isList(numbers) || kindOf(numbers)?.startsWith("Big")) {
    const isColumn = ArrayBuffer.isView((numbers as { readonly data?: unknown } | undefined)?.data);
    throw mustBe(TypeError, subject, `an array of numbers${isColumn ? ", such as the column's data" : ""}`, numbers);
  }
  if (numbers.length !== n) throw mustBe(RangeError, subject, `an array of ${n} numbers`, numbers);
  return n;
}
export function copyIn(to: Float64Array, at: number, subject: string, from: Numbers, n: number): void {
  lengthOf(subject, from, n);
  const wrong = Array.isArray(from) ? from.findIndex((value) => typeof value !== "number") : -1;
  if (wrong >= 0) throw mustBe(TypeError, `${subject}[${wrong}]`, "a number", from[wrong]);
  to.set(from, at);
}
