/**
 * A row's name is where it is, granule × 1024 + place in the block: no directory stands between a name and its bytes. 0 means none.
 *
 * HEAD, 12 bytes, at the block's beginning, one a place: │ refs u32 │ next u32 │ episode u32 │
 *   refs: items, windows and rows (of another pool) that hold this row
 *   next: the row that follows, 0 = none; bit 31: the episode ends here
 */
import { GRANULE_BITS } from "../memory/layout";

/** The row in a link. */
export const LINK_ROW: u32 = 0x3fffffff;
/** The bit of a link that ends the episode. */
export const LINK_END: u32 = 0x80000000;
export const PLACE_BITS: u32 = 10;
export const PLACE: u32 = (1 << PLACE_BITS) - 1;
export const HEAD_BYTES: u32 = 12;

@unmanaged
export class Head {
  refs: u32;
  next: u32;
  episode: u32;

  @inline
  static of(row: u32): Head {
    return changetype<Head>(Head.block(row) + <usize>((row & PLACE) * HEAD_BYTES));
  }

  /** Where the row's block begins. */
  @inline
  static block(row: u32): usize {
    return <usize>((row >> PLACE_BITS) << GRANULE_BITS);
  }
}
if (offsetof<Head>() != HEAD_BYTES) ERROR("HEAD is 12 bytes");
