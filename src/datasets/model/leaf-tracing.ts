/** Traces which leaf of a step a function of the program returned, by a step that it was called with. */
import { valueAt } from "../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "./dataset.ts";
import { leavesOf } from "./leaves.ts";

/** A leaf, and the value that it had. */
export interface TracedLeaf {
  readonly keys: readonly string[];
  readonly leaf: StepLeaf;
  readonly value: unknown;
}

/** Lists the leaves of a spec with their values in some steps. */
export function traceLeaves(spec: StepSpec, ...steps: readonly unknown[]): TracedLeaf[] {
  return steps.flatMap((step) => leavesOf(spec).map(({ keys, leaf }) => ({ keys, leaf, value: valueAt(step, keys) })));
}

/** The leaf whose value is this one: the same array, or under the same name the same number. */
export function findTracedLeaf(leaves: readonly TracedLeaf[], keys: readonly string[], value: unknown): StepLeaf | undefined {
  const name = keys.at(-1);
  return leaves.find((traced) => (typeof value === "object" ? isSame(traced.value, value) : traced.keys.at(-1) === name && Object.is(traced.value, value)))
    ?.leaf;
}

/** Columns give a view of their arrays each time. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return a !== null;
  if (!ArrayBuffer.isView(a) || !ArrayBuffer.isView(b)) return false;
  return a.constructor === b.constructor && a.buffer === b.buffer && a.byteOffset === b.byteOffset && a.byteLength === b.byteLength;
}
