/** Derives the spec of the steps in a recording, which consist of the recorded leaves and of leaves that are derived from the position of a step. */

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

/** Returns the spec of the recorded leaves, with the missing RLDS fields added. An unrecorded reward is 0, and an unrecorded discount is 1. */
export function readSpec(spec: Spec): StepSpec {
  return { reward: NUMBER, discount: NUMBER, ...(spec as { readonly [name: string]: StepSpec }), ...Object.fromEntries(DERIVED.map((name) => [name, FLAG])) };
}

/** The leaves of steps that are read, both recorded and derived. */
export interface StepSelection extends SelectedSpec {
  /** The spec of all leaves. */
  readonly whole: StepSpec;
  /** Returns whether to read a recorded leaf. */
  reads(leaf: { readonly keys: readonly string[] }): boolean;
}

/** Returns the selected leaves of a recording's steps. @throws RangeError if a required RLDS field would lose all its leaves */
export function selectStep(spec: Spec, selection: Selection): StepSelection {
  const whole = readSpec(spec);
  const selected = selectSpec(whole, selection);
  const places = new Set(selected.places);
  const paths = new Set(leavesOf(whole).flatMap(({ keys }, place) => (places.has(place) ? [keys.join(".")] : [])));
  return { ...selected, whole, reads: ({ keys }) => paths.has(keys.join(".")) };
}

/**
 * Combines the whole columns of recorded leaves with the derived leaves. @param recorded the columns, by their paths with dots @param terminated whether the
 * last step is terminal
 */
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
