/** Checks the number of leaves that a file declares before any memory is allocated for them. */
import { MAX_LEAVES } from "../../base/limits.ts";
import { isLeaf } from "../../schema/leaf.ts";
import type { StepSpec } from "../model/dataset.ts";
import { type Place, unsupportedFile } from "../model/rlds-error.ts";

/** Checks the number of leaves in a spec. @param subject the name of the spec in messages @throws RldsError UNSUPPORTED if there are too many */
export function checkLeaves(spec: StepSpec, subject: string, place: Place): void {
  checkLeafCount(leafCount(spec), subject, place);
}

/** Checks a number of leaves. @throws RldsError UNSUPPORTED if there are too many */
export function checkLeafCount(count: number, subject: string, place: Place): void {
  if (count > MAX_LEAVES) throw unsupportedFile(place, `${subject} has ${count} leaves, but a step can have at most ${MAX_LEAVES}`);
}

function leafCount(spec: StepSpec): number {
  if (isLeaf(spec)) return 1;
  let count = 0;
  for (const part of Object.values(spec)) count += leafCount(part);
  return count;
}
