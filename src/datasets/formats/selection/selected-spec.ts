/** Selects the leaves of steps whose spec is stored in the file. */
import { mustBe } from "../../../base/error.ts";
import { isLeaf } from "../../../schema/leaf.ts";
import { leaves, setPart } from "../../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import { STEP_FIELDS } from "../../model/step-fields.ts";
import { withAbsentFields } from "../columns/absent-fields.ts";
import type { Selection } from "./selection.ts";

export interface SelectedSpec {
  readonly spec: StepSpec;
  /** For each leaf of `spec`, its index among the leaves of the file. */
  readonly places: readonly number[];
}

/**
 * Returns the spec of the selected steps.
 * @throws RangeError if a required RLDS field would lose all its leaves, or if two leaves would have the same place
 */
export function selectSpec(spec: StepSpec, selection: Selection): SelectedSpec {
  const places = new Map<StepLeaf, number>();
  const moved: (readonly [keys: readonly string[], leaf: StepLeaf])[] = [];
  let count = 0;
  const visit = (node: StepSpec, keys: readonly string[]): StepSpec | undefined => {
    if (isLeaf(node)) {
      const target = selection.keysOf(keys);
      const leaf = { ...(node as StepLeaf) };
      places.set(leaf, count++);
      if (target !== undefined && selection.isRenamed(keys)) moved.push([target, leaf]);
      return target === undefined || selection.isRenamed(keys) ? undefined : leaf;
    }
    // Leaves are in the order of their sorted names.
    const names = Array.isArray(node) ? Object.keys(node) : Object.keys(node).sort();
    const parts = names.map((name) => [name, visit((node as { readonly [name: string]: StepSpec })[name] as StepSpec, [...keys, name])] as const);
    const kept = parts.filter((part): part is readonly [string, StepSpec] => part[1] !== undefined);
    if (kept.length === 0 && names.length > 0 && keys.length > 0) return undefined;
    if (Array.isArray(node)) return kept.map(([, part]) => part);
    const selected = {};
    for (const [name, part] of kept) setPart(selected, name, part);
    return selected;
  };
  const selected = (visit(spec, []) ?? {}) as { [name: string]: StepSpec };
  for (const [keys, leaf] of moved) setLeaf(selected, keys, leaf);
  // A missing reward or discount has a default.
  const missing = STEP_FIELDS.find((field) => Object.hasOwn(spec, field) && !Object.hasOwn(withAbsentFields(selected), field));
  if (missing !== undefined) throw new RangeError(`without, only and rename must keep ${STEP_FIELDS.join(", ")}, but remove ${missing}`);
  return { spec: selected, places: leaves(selected as StepSpec).map(({ leaf }) => places.get(leaf as StepLeaf) as number) };
}

function setLeaf(spec: { [name: string]: StepSpec }, keys: readonly string[], leaf: StepLeaf): void {
  let at: { [name: string]: unknown } = spec;
  const occupiedError = () => mustBe(RangeError, "rename", "a name that no other leaf has", keys.join("/"));
  for (const key of keys.slice(0, -1)) {
    if (!Object.hasOwn(at, key)) setPart(at, key, {});
    const next = at[key] as StepSpec;
    if (isLeaf(next) || Array.isArray(next)) throw occupiedError();
    at = next as { [name: string]: unknown };
  }
  const name = keys.at(-1) as string;
  if (Object.hasOwn(at, name)) throw occupiedError();
  setPart(at, name, leaf);
}

/** Returns the columns of the selected leaves without copying. */
export function selectSteps<S>(steps: StepColumns<unknown>, { spec, places }: SelectedSpec): StepColumns<S> {
  return new StepColumns<S>(
    spec,
    places.map((place) => steps.parts[place] as ColumnData),
    steps.length,
  );
}
