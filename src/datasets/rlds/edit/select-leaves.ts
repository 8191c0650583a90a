/** Leaves of steps by their names: left out, kept, renamed. */
import { onlyKeys } from "../../../base/error.ts";
import { type SelectedSpec, selectSpec, selectSteps } from "../../formats/selection/selected-spec.ts";
import { Selection, type SelectionOptions } from "../../formats/selection/selection.ts";
import type { RldsDataset, StepSpec } from "../../model/dataset.ts";
import { type ColumnDataset, mapColumns } from "./map-columns.ts";

export type LeafSelection = Pick<SelectionOptions, "without" | "only" | "rename">;

/**
 * The same steps with fewer leaves, or with other names: `selectLeaves(data, { without: ["note"], rename: { state: "observation/state" } })`. The options mean what they mean to readers. Nothing is copied. Lazy.
 * @throws TypeError for an option; passes throw a RangeError for a name that no leaf has, for two leaves of one name, and for a field of RLDS of which nothing is left
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
