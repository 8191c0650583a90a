/** Computes the size of a pool's blocks, in rows and in bytes. */
import { BLOCK_BYTES, GRANULE } from "../memory/layout";
import { CHANGE_BYTES, tracking } from "./changes";
import { PLACE } from "./row";

/** Returns the number of bytes of the blocks for `rows` rows. `each`: the bytes of a row, including its HEAD. */
export function pool_room(each: u32, rows: u32): f64 {
  const block = rowsOfBlock(each);
  return Math.ceil(<f64>rows / <f64>block) * <f64>blockBytes(block, each);
}

/** Returns the number of rows per block: as many as fit, or as many as fit into one granule less, if that takes fewer bytes per row. */
export function rowsOfBlock(each: u32): u32 {
  const rows = min(max((BLOCK_BYTES - overhead()) / (each + changeBytes()), 1), PLACE + 1);
  const bytes = blockBytes(rows, each);
  const less = (max(bytes - GRANULE, overhead()) - overhead()) / (each + changeBytes());
  return less != 0 && blockBytes(less, each) * rows < bytes * less ? less : rows;
}

/** Returns the number of bytes of a block of `rows` rows, in whole granules. */
function blockBytes(rows: u32, each: u32): u32 {
  return (rows * (each + changeBytes()) + overhead() + GRANULE - 1) & ~(GRANULE - 1);
}

/** Returns the number of bytes to reserve in a block besides its rows: for jump and number, and for the alignment of row bytes, columns and CHANGEs. */
function overhead(): u32 {
  return tracking() ? 32 : 24;
}

function changeBytes(): u32 {
  return tracking() ? CHANGE_BYTES : 0;
}
