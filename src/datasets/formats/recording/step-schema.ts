/** What a step of a recording is to who reads it: the recorded leaves, and what follows from where it stands. */

import type { Leaf } from "../../../schema/leaf.ts";
import type { Spec } from "../../../schema/spec.ts";
import type { StepSpec } from "../../model/dataset.ts";
import { type LeafEntry, leavesOf } from "../../model/leaves.ts";
import { DERIVED } from "../../model/recording/about.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import { type SelectedSpec, selectSpec } from "../selection/selected-spec.ts";
import type { Selection } from "../selection/selection.ts";

const FLAG: Leaf<"bool"> = { dtype: "bool", shape: [] };
const NUMBER: Leaf<"f32"> = { dtype: "f32", shape: [] };

/** The recorded leaves with RLDS's other fields: a reward of 0 and a discount of 1 where none was recorded. */
export function readSpec(spec: Spec): StepSpec {
  return { reward: NUMBER, discount: NUMBER, ...(spec as { readonly [name: string]: StepSpec }), ...Object.fromEntries(DERIVED.map((name) => [name, FLAG])) };
}

/** The leaves of steps that are read: some of those that were recorded, and of those that follow. */
export interface StepSelection extends SelectedSpec {
  /** The spec of all leaves. */
  readonly whole: StepSpec;
  /** Whether a recorded leaf is read. */
  reads(leaf: { readonly keys: readonly string[] }): boolean;
}

/** @throws RangeError for a selection that leaves no step */
export function selectStep(spec: Spec, selection: Selection): StepSelection {
  const whole = readSpec(spec);
  const selected = selectSpec(whole, selection);
  const places = new Set(selected.places);
  const paths = new Set(leavesOf(whole).flatMap(({ keys }, place) => (places.has(place) ? [keys.join(".")] : [])));
  return { ...selected, whole, reads: ({ keys }) => paths.has(keys.join(".")) };
}

/** Whole columns of recorded leaves, by their paths with dots, with those that follow. @param terminated whether the last step is terminal */
export function readSteps<S>(
  { spec, whole, places }: StepSelection,
  recorded: ReadonlyMap<string, ColumnData>,
  length: number,
  terminated: boolean,
): StepColumns<S> {
  const derived: { readonly [path: string]: () => ColumnData } = {
    is_first: () => flagAt(length, 0, length > 0),
    is_last: () => flagAt(length, length - 1, length > 0),
    is_terminal: () => flagAt(length, length - 1, terminated),
    reward: () => new Float32Array(length),
    discount: () => new Float32Array(length).fill(1).fill(0, terminated ? length - 1 : length),
  };
  const leaves = leavesOf(whole);
  const data = places.map((place) => {
    const { path, keys } = leaves[place] as LeafEntry;
    return recorded.get(keys.join(".")) ?? (derived[path] as () => ColumnData)();
  });
  return new StepColumns<S>(spec, data, length);
}

function flagAt(length: number, at: number, value: boolean): Uint8Array {
  const flags = new Uint8Array(length);
  if (length > 0) flags[at] = Number(value);
  return flags;
}
