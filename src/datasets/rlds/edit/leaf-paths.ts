/** Resolves the leaf paths of options. */
import { mustBe } from "../../../base/error.ts";
import { map } from "../../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { type LeafEntry, leavesOf } from "../../model/leaves.ts";

export interface NamedLeaf extends LeafEntry {
  /** The index among all leaves. */
  readonly index: number;
}

/** Returns a path with its dots replaced by slashes. */
export function slashed(path: string): string {
  return path.replaceAll(".", "/");
}

/** Returns the leaves that a path selects, which are one leaf or all leaves of a group. @throws RangeError if there is no such leaf or group */
export function leavesAt(spec: StepSpec, option: string, path: string): NamedLeaf[] {
  const all = leavesOf(spec).map((leaf, index) => ({ ...leaf, index }));
  const found = all.filter((leaf) => leaf.path === slashed(path) || leaf.path.startsWith(`${slashed(path)}/`));
  if (found.length === 0) {
    const known = all.map((leaf) => leaf.path);
    throw mustBe(RangeError, `a path in ${option}`, `a leaf of the steps (${known.join(", ")})`, path, known);
  }
  return found;
}

/** Returns the spec with some leaves replaced. @param leaves the new leaves, by index */
export function withLeaves(spec: StepSpec, leaves: ReadonlyMap<number, StepLeaf>): StepSpec {
  const places = new Map(leavesOf(spec).map(({ path }, index) => [path, index]));
  return map(spec, (leaf: StepLeaf, keys: readonly string[]) => leaves.get(places.get(keys.join("/")) as number) ?? leaf) as StepSpec;
}
