/** Finds the leaves of a spec that share frames, which are sent over a socket only once. */
import { arrayFrameBytes, type PlacedLeaf } from "../../schema/layout.ts";
import { REFERENCE_BYTES, type SharedLeaves } from "./shared-frames.ts";

/** The maximum number of bytes of frames kept per connection and per group of leaves that share frames, unless a single frame is larger. */
const KEPT_BYTES = 4 << 20;

/** Returns the groups of leaves that share frames. @param lanes the number of lanes of the writer; each lane has separate frames */
export function sharedLeaves(leaves: readonly PlacedLeaf[], lanes: number): SharedLeaves[] {
  const groups = new Map<string, number[]>();
  leaves.forEach((found, i) => {
    const bytes = arrayFrameBytes(found);
    // Half floats are sent as f32, so their frames differ in size from the stored frames.
    if (found.leaf.shared === undefined || bytes <= 2 * REFERENCE_BYTES) return;
    const group = `${bytes} ${found.leaf.shared}`;
    groups.set(group, [...(groups.get(group) ?? []), i]);
  });
  return [...groups.values()].map((group) => {
    const frameBytes = arrayFrameBytes(leaves[group[0] as number] as PlacedLeaf);
    const framesPerStep = group.reduce((sum, i) => sum + (leaves[i] as PlacedLeaf).arrayBytes / frameBytes, 0) * lanes;
    // There must be room for the frames of the previous step and the current step.
    const capacity = Math.max(1, Math.min(2 * framesPerStep, Math.floor(KEPT_BYTES / frameBytes)));
    return { leaves: group, frameBytes, capacity };
  });
}
