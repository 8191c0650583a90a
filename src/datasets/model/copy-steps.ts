/** Copies steps so that no other code can change their arrays. */
import { setPart } from "../../schema/nest.ts";
import { StepColumns } from "./step-columns.ts";

/**
 * Returns a function that makes a step safe to keep. It copies a step that arrives from a generator, because the generator may reuse its arrays. It returns a
 * step of an array or of columns unchanged.
 */
export function createStepCopier(steps: unknown): <T>(step: T) => T {
  return Array.isArray(steps) || steps instanceof StepColumns ? identity : copyArrays;
}

const identity = <T>(value: T): T => value;

/** Copies the arrays in a value, and the objects and lists that contain these arrays. All other values are shared. O(bytes) */
function copyArrays<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  // Buffer.prototype.slice returns a view instead of a copy.
  if (ArrayBuffer.isView(value)) return (value instanceof DataView ? value : Uint8Array.prototype.slice.call(value)) as T;
  if (Array.isArray(value)) return value.map(copyArrays) as T;
  const copy = {};
  for (const name of Object.keys(value)) setPart(copy, name, copyArrays((value as { readonly [name: string]: unknown })[name]));
  return copy as T;
}
