/** Implements Python indexing. Converts an index, a slice or a list to positions in a history or in a column. */
import { integer, mustBe } from "../../base/error.ts";

const MAX = Number.MAX_SAFE_INTEGER;

/** Returns the position of an index among `length` steps. Negative indices count from the end. @throws RangeError outside of -length … length - 1 */
export function stepAt(subject: string, index: number, length: number): number {
  // For an empty history, `-length` would be minus zero and would appear as such in the message.
  integer(subject, index, 0 - length, length - 1);
  return index < 0 ? index + length : index;
}

type Bound = number | null | undefined;

/**
 * Returns the positions of a slice. `stop` may be any integer, but `start` must be at least `min`. By default, `min` refers to the first existing step.
 * @throws RangeError if `start` is too small, or if `step` is 0
 */
export function stepsOfSlice(start: Bound, stop: Bound, step: Bound, length: number, min = 0 - length): number[] {
  const by = integer("step", step ?? 1, -MAX, MAX);
  if (by === 0) throw mustBe(RangeError, "step", "an integer other than 0", step);
  const first = start == null ? (by > 0 ? 0 : length - 1) : clamp(integer("start", start, min, MAX), length, by);
  const end = stop == null ? (by > 0 ? length : -1) : clamp(integer("stop", stop, -MAX, MAX), length, by);
  const steps = new Array<number>(Math.max(0, Math.ceil((end - first) / by)));
  for (let i = 0; i < steps.length; i++) steps[i] = first + i * by;
  return steps;
}

/** Clamps a bound to the existing positions. */
function clamp(at: number, length: number, by: number): number {
  const min = by > 0 ? 0 : -1;
  return Math.min(Math.max(at < 0 ? at + length : at, min), length + min);
}

/** Returns the positions of a list of indices. @throws RangeError outside of -length … length - 1 · TypeError if `indices` is not an array of integers */
export function stepsOfList(indices: readonly number[], length: number): number[] {
  if (!Array.isArray(indices)) throw mustBe(TypeError, "indices", "an array of integers", indices);
  return indices.map((index, i) => stepAt(`indices[${i}]`, index, length));
}
