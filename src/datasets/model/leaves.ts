/** Lists the leaves of a step spec under the paths that RLDS tools write. */
import { sizeOf } from "../../schema/leaf.ts";
import { isSameNest, leaves } from "../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "./dataset.ts";

export interface LeafEntry {
  /** For example `observation/state` */
  readonly path: string;
  readonly keys: readonly string[];
  readonly leaf: StepLeaf;
  /** Elements per value. */
  readonly size: number;
}

/** Returns all leaves in order. */
export function leavesOf(spec: StepSpec): LeafEntry[] {
  return leaves(spec).map(({ keys, leaf }) => ({ path: keys.join("/"), keys, leaf, size: sizeOf(leaf.shape) }));
}

/** Returns whether two specs have equal leaves in the same places. */
export function sameSpec(a: StepSpec, b: StepSpec): boolean {
  return isSameNest(a, b, (left, right) => left.dtype === right.dtype && left.shape.join() === right.shape.join());
}
