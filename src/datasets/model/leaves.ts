/** Lists the leaves of a step spec with the paths that RLDS tools use. */
import { isLeaf, sizeOf } from "../../schema/leaf.ts";
import { isSameNest, leaves } from "../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "./dataset.ts";

export interface LeafEntry {
  /** The path, for example `observation/state`. */
  readonly path: string;
  readonly keys: readonly string[];
  readonly leaf: StepLeaf;
  /** The number of elements per value. */
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

/** Returns the paths of groups that contain neither leaves nor other groups. The spec itself is never included. */
export function emptyGroups(spec: StepSpec, keys: readonly string[] = []): string[] {
  if (isLeaf(spec)) return [];
  const parts = Object.entries(spec);
  if (parts.length === 0) return keys.length === 0 ? [] : [keys.join("/")];
  return parts.flatMap(([name, part]) => emptyGroups(part as StepSpec, [...keys, name]));
}

/** Returns the spec without the groups that have no leaves. Arrays keep empty groups, because removing a group would shift the elements after it. */
export function withoutEmptyGroups(spec: StepSpec): StepSpec {
  if (isLeaf(spec) || Array.isArray(spec)) return spec;
  const parts = Object.entries(spec).flatMap(([name, part]) => (leavesOf(part as StepSpec).length > 0 ? [[name, withoutEmptyGroups(part as StepSpec)]] : []));
  return Object.fromEntries(parts) as StepSpec;
}
