/** Keys and priorities on their way into the core. */
import { kindOf, mustBe } from "../error.ts";

/** Numbers as a caller gives them. */
export type Numbers = ArrayLike<number>;

/** What is wrong with a priority that the core refused. */
export function priorityError(subject: string, value: number): RangeError {
  return mustBe(RangeError, subject, "a finite number >= 0 (and its weight at most 2^990)", value);
}

/** Whether a value is an array, plain or typed. */
export function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || ArrayBuffer.isView(value);
}

/** How many numbers were given; `n` of them are asked for, where it is given. */
export function lengthOf(subject: string, numbers: Numbers, n = numbers?.length): number {
  if (!isList(numbers) || kindOf(numbers)?.startsWith("Big")) throw mustBe(TypeError, subject, "an array of numbers", numbers);
  if (numbers.length !== n) throw mustBe(RangeError, subject, `${n} numbers, one for each`, numbers);
  return n;
}

/** Copies so many numbers into the core. */
export function copyIn(to: Float64Array, at: number, subject: string, from: Numbers, n: number): void {
  lengthOf(subject, from, n);
  const wrong = Array.isArray(from) ? from.findIndex((value) => typeof value !== "number") : -1;
  if (wrong >= 0) throw mustBe(TypeError, `${subject}[${wrong}]`, "a number", from[wrong]);
  to.set(from, at);
}
