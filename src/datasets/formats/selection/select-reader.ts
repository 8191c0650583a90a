/** Applies a selection to a reader whose files contain the spec of their steps. */
import { leavesOf } from "../../model/leaves.ts";
import type { RldsReader } from "../reader.ts";
import { addAbsentFields, changeSteps } from "../reader-steps.ts";
import { type SelectedSpec, selectSpec, selectSteps } from "./selected-spec.ts";
import type { Selection } from "./selection.ts";

/** Returns the reader with only the selected leaves. Closes the reader if the selection fails. @throws RangeError if a name matches no leaf */
export async function selectReader<S>(reader: RldsReader<S>, selection: Selection): Promise<RldsReader<S>> {
  if (selection.isEmpty) return reader;
  let selected: SelectedSpec;
  try {
    selection.note(leavesOf(reader.stepSpec).map(({ keys }) => keys));
    selected = selectSpec(reader.stepSpec, selection);
    selection.check(reader.unread);
  } catch (error) {
    await reader.close();
    throw error;
  }
  return addAbsentFields(changeSteps(reader, selected.spec, ({ steps }) => selectSteps<S>(steps, selected)));
}
