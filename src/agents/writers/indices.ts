/** Which steps an index means, by Python's rules: negative ones count from the end, a slice may stop anywhere. */
import { integer, mustBe } from "../../error.ts";

/** A step of `length`. @throws RangeError outside of -length … length - 1 */
export function stepAt(subject: string, index: number, length: number): number {
  // Minus zero would be shown as such, and a history of no steps has it.
  integer(subject, index, 0 - length, length - 1);
  return index < 0 ? index + length : index;
}

/** The steps of a slice. @throws RangeError for a `start` before the first step, a `step` of 0 */
export function stepsOfSlice(start: number | null | undefined, stop: number | null | undefined, step: number | null | undefined, length: number): number[] {
  const by = integer("step", step ?? 1, -MAX, MAX);
  if (by === 0) throw mustBe(RangeError, "step", "not 0", step);
  const [min, max] = by > 0 ? [0, length] : [-1, length - 1];
  /** Where a bound is, cut to what there is. */
  const bound = (at: number) => Math.min(Math.max(at < 0 ? at + length : at, min), max);
  const first = start == null ? (by > 0 ? 0 : length - 1) : bound(integer("start", start, 0 - length, MAX));
  const end = stop == null ? (by > 0 ? length : -1) : bound(integer("stop", stop, -MAX, MAX));
  const steps: number[] = [];
  for (let at = first; by > 0 ? at < end : at > end; at += by) steps.push(at);
  return steps;
}

const MAX = Number.MAX_SAFE_INTEGER;
