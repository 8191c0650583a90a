/** Windows: which rows each item of a draw gives, as a matrix of row numbers, 0 where there is none. */

import { random_below } from "../memory/random";
import { Pool } from "../rows/pool";
import { Item } from "../tables/slots";
import { Table } from "../tables/table";
import { Draw, LENGTH } from "./draw";

/** Where in a longer item a window begins. */
const FROM_START: u32 = 0;
const FROM_END: u32 = 1;

/**
 * O(count × width): fills `rows` (count × width) and the column LENGTH (rows that are there) for every entry.
 * `from`: 0 the item's start, 1 so that the window ends with it, 2 uniform among the starts that fit. `cross`: 1 to read over the end of an episode.
 */
export function draw_window(draw: usize, table: usize, width: u32, from: u32, cross: u32): void {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  const pool = t.rows();
  d.width = width;
  let row = <usize>d.rows;
  for (let i: u32 = 0; i < d.count; i++) {
    const item = t.slots().item(d.slot(i));
    const length = item.length();
    let skip: u32 = 0;
    if (length > width && from != FROM_START) {
      skip = from == FROM_END ? length - width : random_below(t.random(), length - width + 1);
    }
    const end = row + ((<usize>width) << 2);
    const last = row + ((<usize>min(length, width)) << 2);
    const filled = item.plain() ? fillPlain(item.first + skip, row, last) : fillLinked(pool, item, skip, row, last, cross != 0);
    store<u32>(d.u32At(LENGTH, i), <u32>(filled - row) >> 2);
    for (row = filled; row < end; row += 4) store<u32>(row, 0);
  }
}

function fillPlain(n: u32, at: usize, end: usize): usize {
  for (; at < end; at += 4) store<u32>(at, n++);
  return at;
}

/** Follows the links; stops behind the end of an episode unless it may cross. */
function fillLinked(pool: Pool, item: Item, skip: u32, at: usize, end: usize, cross: bool): usize {
  let n = item.first;
  for (let i: u32 = 0; i < skip; i++) n = pool.next(n);
  while (at < end) {
    store<u32>(at, n);
    at += 4;
    if (!cross && pool.ends(n)) break;
    n = pool.next(n);
  }
  return at;
}
