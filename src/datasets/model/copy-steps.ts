/** Steps whose arrays nobody else changes. */
import { setPart } from "../../schema/nest.ts";
import { StepColumns } from "./step-columns.ts";

/** What a step goes through before it is kept beside the next ones: a copy, but where steps are there at once. A generator may use its arrays again. */
export function createStepCopier(steps: unknown): <T>(step: T) => T {
  return Array.isArray(steps) || steps instanceof StepColumns ? identity : copyArrays;
}

const identity = <T>(value: T): T => value;

/** A copy of the arrays, and of what nests them; all else is the same. O(bytes). */
function copyArrays<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  // A Buffer's own slice is a view.
  if (ArrayBuffer.isView(value)) return (value instanceof DataView ? value : Uint8Array.prototype.slice.call(value)) as T;
  if (Array.isArray(value)) return value.map(copyArrays) as T;
  const copy = {};
  for (const name of Object.keys(value)) setPart(copy, name, copyArrays((value as { readonly [name: string]: unknown })[name]));
  return copy as T;
}
