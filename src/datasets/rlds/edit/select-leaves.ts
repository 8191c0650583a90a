/** Removes, keeps and renames leaves of steps. */
import { onlyKeys } from "../../../base/error.ts";
import { type SelectedSpec, selectSpec, selectSteps } from "../../formats/selection/selected-spec.ts";
import { Selection, type SelectionOptions } from "../../formats/selection/selection.ts";
import type { RldsDataset, StepSpec } from "../../model/dataset.ts";
import { type ColumnDataset, mapColumns } from "./map-columns.ts";

export type LeafSelection = Pick<SelectionOptions, "without" | "only" | "rename">;

/**
 * Returns the same steps with fewer or renamed leaves, for example `selectLeaves(data, { without: ["note"], rename: { state: "observation/state" } })`. The
 * options are the same as those of readers. Works lazily, and copies nothing.
 * @throws TypeError if an option is invalid
 * @throws RangeError during iteration if a name matches no leaf, if two leaves get the same name, or if an RLDS field would lose all its leaves
 */
export function selectLeaves(rlds: RldsDataset<unknown>, options: LeafSelection): ColumnDataset {
  onlyKeys("options", options, "without, only, rename");
  const select = (spec: StepSpec): SelectedSpec => {
    const selection = new Selection(options);
    const selected = selectSpec(spec, selection);
    selection.check();
    return selected;
  };
  new Selection(options);
  return mapColumns(rlds, {
    stepSpec: (spec) => select(spec).spec,
    begin(spec) {
      const selected = select(spec);
      return (episode) => ({ ...episode, steps: selectSteps(episode.steps, selected) });
    },
  });
}
