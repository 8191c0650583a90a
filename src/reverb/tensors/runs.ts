/** Which steps of which chunks a column has: one slice for each run of steps that follow each other in a chunk. */
import type { SliceMessage } from "../wire/item.ts";

/** Where a step is kept. */
export interface StepPlace {
  readonly chunkKey: bigint;
  /** The step within the chunk. */
  readonly offset: number;
  /** The tensor within the chunk. */
  readonly index: number;
}

/** Reverb's own writer joins all steps of a chunk to one slice, whatever is between them; these are never joined. O(steps) */
export function slicesOf(places: readonly StepPlace[]): SliceMessage[] {
  const slices: SliceMessage[] = [];
  for (let i = 0; i < places.length; ) {
    const { chunkKey, offset, index } = places[i] as StepPlace;
    let length = 1;
    for (let next = places[i + 1]; next !== undefined; next = places[i + length]) {
      if (next.chunkKey !== chunkKey || next.index !== index || next.offset !== offset + length) break;
      length++;
    }
    slices.push({ chunkKey, offset, length, index });
    i += length;
  }
  return slices;
}
