/** The size of a pool's blocks: how many rows one has, and how many bytes it takes. */
import { BLOCK_BYTES, GRANULE } from "../memory/layout";
import { CHANGE_BYTES, tracking } from "./changes";
import { PLACE } from "./row";

/** Bytes of the blocks that so many rows take, of which each has `each` bytes together with its HEAD. */
export function pool_room(each: u32, rows: u32): f64 {
  const block = rowsOfBlock(each);
  return Math.ceil(<f64>rows / <f64>block) * <f64>blockBytes(block, each);
}

/** Rows of a block: as many as fit, or, if that takes fewer bytes each, as many as fit into a granule less. */
export function rowsOfBlock(each: u32): u32 {
  const rows = min(max((BLOCK_BYTES - overhead()) / (each + changeBytes()), 1), PLACE + 1);
  const bytes = blockBytes(rows, each);
  const less = (max(bytes - GRANULE, overhead()) - overhead()) / (each + changeBytes());
  return less != 0 && blockBytes(less, each) * rows < bytes * less ? less : rows;
}

/** Bytes of granules that a block of so many rows takes. */
function blockBytes(rows: u32, each: u32): u32 {
  return (rows * (each + changeBytes()) + overhead() + GRANULE - 1) & ~(GRANULE - 1);
}

/** What a block has beside its rows: jump and number, and what aligns their bytes, the columns and the CHANGEs. */
function overhead(): u32 {
  return tracking() ? 32 : 24;
}

function changeBytes(): u32 {
  return tracking() ? CHANGE_BYTES : 0;
}
