/** The leaves of a step spec, under the paths that RLDS tools write. */
import { sizeOf } from "../../schema/leaf.ts";
import { leaves, same } from "../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "./dataset.ts";

export interface FoundLeaf {
  /** `observation/state` */
  readonly path: string;
  readonly keys: readonly string[];
  readonly leaf: StepLeaf;
  /** Elements of a value. */
  readonly size: number;
}

/** Every leaf, in order. */
export function leavesOf(spec: StepSpec): FoundLeaf[] {
  return leaves(spec).map(({ keys, leaf }) => ({ path: keys.join("/"), keys, leaf, size: sizeOf(leaf.shape) }));
}

/** Whether two specs have the same leaves in the same places. */
export function sameSpec(a: StepSpec, b: StepSpec): boolean {
  return same(a, b, (one, other) => one.dtype === other.dtype && one.shape.join() === other.shape.join());
}
