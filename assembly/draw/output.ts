/**
 * Outputs map the columns of a batch to leaves and steps of each entry.
 *
 * OUTPUT, 20 bytes, one output column:
 * │ leaf u32 │ steps u32 │ count u32 │ each u32 │ to u32 │
 * steps: address of i32 × count, a list of steps in any order; negative steps count from the window's end; steps outside the window are padding
 *   if a draw has looked up only some steps (`picks` of DRAW), the list has places among these steps
 * each: the distance from an entry's list to the next list; 0 if all entries share one list
 */

import { Leaf } from "../rows/leaf";
import { Pool } from "../rows/pool";
import { Draw, STEPS } from "./draw";

/** In a list of steps, denotes the step at which the n-step return ends. */
export const BOOTSTRAP: i32 = i32.MAX_VALUE;

@unmanaged
export class Output {
  leaf: u32;
  steps: u32;
  count: u32;
  each: u32;
  to: u32;
}
export const OUTPUT_BYTES: usize = 20;
if (offsetof<Output>() != OUTPUT_BYTES) ERROR("OUTPUT is 20 bytes");

/** Writes the rows of an entry's window for a list of steps into the draw's `selected`. */
export function chooseRows(d: Draw, i: u32, steps: usize, count: u32): void {
  const length = d.rowsOf(i);
  const window = <usize>d.rows + <usize>((i * d.width) << 2);
  const end = steps + ((<usize>count) << 2);
  for (let to = <usize>d.selected; steps < end; steps += 4, to += 4) {
    let at = load<i32>(steps);
    if (at < 0) at += <i32>length;
    else if (at == BOOTSTRAP) at = <i32>(load<u32>(d.u32At(STEPS, i)) - d.own);
    store<u32>(to, <u32>at < length ? load<u32>(window + ((<usize>at) << 2)) : 0);
  }
}

/** Returns the name of a frame of a row; 0 = zeros, or padding. */
export function nameOf(p: Pool, leaf: Leaf, row: u32, f: u32): u32 {
  return row == 0 ? 0 : load<u32>(p.value(row, leaf) + ((<usize>f) << 2));
}
