/** Which leaves of a spec share frames that cross a socket once. */
import { arrayFrameBytes, type PlacedLeaf } from "../../schema/layout.ts";
import { REFERENCE_BYTES, type SharedLeaves } from "./shared-frames.ts";

/** Bytes of frames that are kept for a connection at most. */
const KEPT_BYTES = 4 << 20;

/** @param lanes of the writer: each has frames of its own */
export function sharedLeaves(leaves: readonly PlacedLeaf[], lanes: number): SharedLeaves[] {
  const groups = new Map<string, number[]>();
  leaves.forEach((found, i) => {
    const bytes = arrayFrameBytes(found);
    // Halves are floats on their way, and have frames of another size than what they share them with.
    if (found.leaf.shared === undefined || bytes <= 2 * REFERENCE_BYTES) return;
    const group = `${bytes} ${found.leaf.shared}`;
    groups.set(group, [...(groups.get(group) ?? []), i]);
  });
  return [...groups.values()].map((group) => {
    const frameBytes = arrayFrameBytes(leaves[group[0] as number] as PlacedLeaf);
    const framesPerStep = group.reduce((sum, i) => sum + (leaves[i] as PlacedLeaf).arrayBytes / frameBytes, 0) * lanes;
    // Those of the step before, and of this one.
    const capacity = Math.max(1, Math.min(2 * framesPerStep, Math.floor(KEPT_BYTES / frameBytes)));
    return { leaves: group, frameBytes, capacity };
  });
}
