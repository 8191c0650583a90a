/** Which leaf of a step a function of a program has handed on: by a step that it was really called with. */
import { valueAt } from "../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "./dataset.ts";
import { leavesOf } from "./leaves.ts";

/** A leaf, and the value that it had. */
export interface Known {
  readonly keys: readonly string[];
  readonly leaf: StepLeaf;
  readonly value: unknown;
}

/** What the leaves of a spec are in some steps. */
export function knownIn(spec: StepSpec, ...steps: readonly unknown[]): Known[] {
  return steps.flatMap((step) => leavesOf(spec).map(({ keys, leaf }) => ({ keys, leaf, value: valueAt(step, keys) })));
}

/** The leaf whose value is this one: the same array, or under the same name the same number. */
export function handedOn(known: readonly Known[], keys: readonly string[], value: unknown): StepLeaf | undefined {
  const name = keys.at(-1);
  return known.find((one) => (typeof value === "object" ? isSame(one.value, value) : one.keys.at(-1) === name && Object.is(one.value, value)))?.leaf;
}

/** Columns give a view of their arrays each time. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return a !== null;
  if (!ArrayBuffer.isView(a) || !ArrayBuffer.isView(b)) return false;
  return a.constructor === b.constructor && a.buffer === b.buffer && a.byteOffset === b.byteOffset && a.byteLength === b.byteLength;
}
