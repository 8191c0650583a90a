/** Finds the leaf of a step that a user function returns, by calling the function with a sample step. */
import { valueAt } from "../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "./dataset.ts";
import { leavesOf } from "./leaves.ts";

/** A leaf and its value in the sample step. */
export interface TracedLeaf {
  readonly keys: readonly string[];
  readonly leaf: StepLeaf;
  readonly value: unknown;
}

/** Lists the leaves of a spec with their values in some steps. */
export function traceLeaves(spec: StepSpec, ...steps: readonly unknown[]): TracedLeaf[] {
  return steps.flatMap((step) => leavesOf(spec).map(({ keys, leaf }) => ({ keys, leaf, value: valueAt(step, keys) })));
}

/** Finds the leaf that a value comes from. The value must be the same array, or an equal number under the same name. */
export function findTracedLeaf(leaves: readonly TracedLeaf[], keys: readonly string[], value: unknown): StepLeaf | undefined {
  const name = keys.at(-1);
  return leaves.find((traced) => (typeof value === "object" ? isSame(traced.value, value) : traced.keys.at(-1) === name && Object.is(traced.value, value)))
    ?.leaf;
}

/** Returns whether two values are the same memory. Steps of columns create a new view on each access, so identity is not enough. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return a !== null;
  if (!ArrayBuffer.isView(a) || !ArrayBuffer.isView(b)) return false;
  return a.constructor === b.constructor && a.buffer === b.buffer && a.byteOffset === b.byteOffset && a.byteLength === b.byteLength;
}
