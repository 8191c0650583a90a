/** Python's indices: which steps of a history, or of a column of one, an index, a slice or a list names. */
import { integer, mustBe } from "../../base/error.ts";

const MAX = Number.MAX_SAFE_INTEGER;

/** A step of `length`, by Python's rules: negative indices count from the end. @throws RangeError outside of -length … length - 1 */
export function stepAt(subject: string, index: number, length: number): number {
  // Minus zero would be shown as such, and a history of no steps has it.
  integer(subject, index, 0 - length, length - 1);
  return index < 0 ? index + length : index;
}

type Bound = number | null | undefined;

/** The steps of a slice, which may stop anywhere, and start from `min` on: by its default only at steps that there are. @throws RangeError, also for a `step` of 0 */
export function stepsOfSlice(start: Bound, stop: Bound, step: Bound, length: number, min = 0 - length): number[] {
  const by = integer("step", step ?? 1, -MAX, MAX);
  if (by === 0) throw mustBe(RangeError, "step", "not 0", step);
  const first = start == null ? (by > 0 ? 0 : length - 1) : clamp(integer("start", start, min, MAX), length, by);
  const end = stop == null ? (by > 0 ? length : -1) : clamp(integer("stop", stop, -MAX, MAX), length, by);
  const steps = new Array<number>(Math.max(0, Math.ceil((end - first) / by)));
  for (let i = 0; i < steps.length; i++) steps[i] = first + i * by;
  return steps;
}

/** Where a bound is, cut to what there is. */
function clamp(at: number, length: number, by: number): number {
  const min = by > 0 ? 0 : -1;
  return Math.min(Math.max(at < 0 ? at + length : at, min), length + min);
}

/** The steps of a list. @throws RangeError outside of -length … length - 1 · TypeError */
export function stepsOfList(indices: readonly number[], length: number): number[] {
  if (!Array.isArray(indices)) throw mustBe(TypeError, "indices", "an array of integers", indices);
  return indices.map((index, i) => stepAt(`indices[${i}]`, index, length));
}
