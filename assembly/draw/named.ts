/** Single rows: followed, named by the host, asked whether they are held. */

import { Pool } from "../rows/pool";
import { Head, LINK_END } from "../rows/row";
import { Draw, LENGTH } from "./draw";

/** Whether something holds the row. Its name may be that of another step by now: who notes names notes them anew when a step takes one. */
export function row_live(row: u32): bool {
  return Head.of(row).refs != 0;
}

/** The number of its episode. */
export function row_episode(row: u32): u32 {
  return Head.of(row).episode;
}

/** Whether the episode ends with it. */
export function row_ends(row: u32): bool {
  return (Head.of(row).next & LINK_END) != 0;
}

/** The rows of a run from the `from`-th on, up to `most`; they must be there. O(from + most) */
export function rows_run(pool: usize, row: u32, from: u32, most: u32, out: usize): void {
  const p = changetype<Pool>(pool);
  for (; from > 0; from--) row = p.next(row);
  for (let i: u32 = 0; i < most; i++) {
    store<u32>(out + ((<usize>i) << 2), row);
    row = p.next(row);
  }
}

/** A draw of n single rows. Where the host writes their names. */
export function rows_named(draw: usize, n: u32): u32 {
  const d = changetype<Draw>(draw);
  d.count = n;
  d.width = 1;
  for (let i: u32 = 0; i < n; i++) store<u32>(d.u32At(LENGTH, i), 1);
  return d.rows;
}

/** Where a draw has the rows of its items. */
export function rows_of(draw: usize): u32 {
  return changetype<Draw>(draw).rows;
}
