/** Finds the slices of a column: one for each run of consecutive steps in a chunk. */
import type { SliceMessage } from "../wire/item.ts";

/** The position of a step. */
export interface StepLocation {
  readonly chunkKey: bigint;
  /** The index of the step within the chunk. */
  readonly offset: number;
  /** The index of the tensor within the chunk. */
  readonly index: number;
}

/**
 * Returns the slices of some steps, and joins only consecutive steps. Reverb's own writer instead joins all steps of a chunk into one slice, regardless of the
 * steps between them. O(steps)
 */
export function slicesOf(locations: readonly StepLocation[]): SliceMessage[] {
  const slices: SliceMessage[] = [];
  for (let i = 0; i < locations.length; ) {
    const { chunkKey, offset, index } = locations[i] as StepLocation;
    let length = 1;
    for (let next = locations[i + 1]; next !== undefined; next = locations[i + length]) {
      if (next.chunkKey !== chunkKey || next.index !== index || next.offset !== offset + length) break;
      length++;
    }
    slices.push({ chunkKey, offset, length, index });
    i += length;
  }
  return slices;
}
