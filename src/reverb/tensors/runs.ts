/** Which steps of which chunks a column has: one slice for each run of steps that follow each other in a chunk. */
import type { SliceMessage } from "../wire/item.ts";

/** Where a step is kept. */
export interface StepLocation {
  readonly chunkKey: bigint;
  /** The step within the chunk. */
  readonly offset: number;
  /** The tensor within the chunk. */
  readonly index: number;
}

/** Reverb's own writer joins all steps of a chunk to one slice, whatever is between them; these are never joined. O(steps) */
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
