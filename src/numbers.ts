/** Keys and priorities on their way into the core. */
import { kindOf, mustBe } from "./error.ts";

/** Numbers as a caller gives them. */
export type Numbers = ArrayLike<number>;

/** What is wrong with a priority that the core refused. */
export function priorityError(subject: string, value: number): RangeError {
  return mustBe(RangeError, subject, "a finite number >= 0 (of a prioritized selector, its weight at most 2^990)", value);
}

/** How many numbers were given; `n` of them are asked for, where it is given, by a rule of that name. */
export function lengthOf(subject: string, numbers: Numbers, n = numbers?.length, rule?: string): number {
  if (!(Array.isArray(numbers) || ArrayBuffer.isView(numbers)) || kindOf(numbers)?.startsWith("Big"))
    throw mustBe(TypeError, subject, "an array of numbers", numbers);
  if (numbers.length !== n) throw mustBe(RangeError, subject, `${rule}, ${n}`, numbers);
  return n;
}

/** Copies them into the core. */
export function copyIn(to: Float64Array, at: number, from: Numbers, subject: string): void {
  const wrong = Array.isArray(from) ? from.findIndex((value) => typeof value !== "number") : -1;
  if (wrong >= 0) throw mustBe(TypeError, `${subject}[${wrong}]`, "a number", from[wrong]);
  to.set(from, at);
}
