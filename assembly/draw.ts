/**
 * A draw: what one call to sample gave, one entry an item, and the scratch that it took.
 *
 * DRAW, 128 bytes, then the columns, each of `capacity` entries:
 *    0 │ capacity u32 │ count u32    │
 *    8 │ blocked u32  │ longest u32  │  why it is shorter than asked · the longest item in it
 *   16 │ have f64     │ need f64     │  what was there, what was missing
 *   32 │ rows u32     │ selected u32 │  u32 × rowCapacity each: rows, those of one output column
 *   40 │ addresses u32│ rowCapacity u32 │  u32 × rowCapacity: where the selected rows' bytes are, 0 = padding
 *   48 │ width u32    │ chosen u32   │  rows an item in `rows`, in `selected`
 *   56 │ touched u32  │ shape u32    │  of no meaning: what the touching of cache lines read · of the first item drawn
 *   64 │ columns u32 × 16            │  where each begins
 */
import { align16 } from "./layout";

const COLUMNS_AT: usize = 64;
const DRAW_BYTES: u32 = 128;

/** The columns of a draw, in the order of their places: f64, then u32, then u8. */
export const KEY: u32 = 0;
export const PROBABILITY: u32 = 1;
export const PRIORITY: u32 = 2;
export const WEIGHT: u32 = 3;
export const RETURN: u32 = 4;
export const DISCOUNT: u32 = 5;
export const REST: u32 = 6;
export const SAVED: u32 = 7;
export const SLOT: u32 = 8;
export const TIMES_SAMPLED: u32 = 9;
export const TABLE_SIZE: u32 = 10;
export const LENGTH: u32 = 11;
export const STEPS: u32 = 12;
export const DRAWN: u32 = 13;
export const TERMINATED: u32 = 14;
export const TRUNCATED: u32 = 15;
const COLUMNS: u32 = 16;
const FIRST_U32: u32 = SLOT;
const FIRST_U8: u32 = TERMINATED;

@unmanaged
export class Draw {
  capacity: u32;
  count: u32;
  blocked: u32;
  longest: u32;
  have: f64;
  need: f64;
  rows: u32;
  selected: u32;
  addresses: u32;
  rowCapacity: u32;
  width: u32;
  chosen: u32;
  touched: u32;
  shape: u32;

  @inline
  column(which: u32): usize {
    return <usize>load<u32>(changetype<usize>(this) + COLUMNS_AT + ((<usize>which) << 2));
  }

  @inline
  u32At(which: u32, i: u32): usize {
    return this.column(which) + ((<usize>i) << 2);
  }

  @inline
  f64At(which: u32, i: u32): usize {
    return this.column(which) + ((<usize>i) << 3);
  }

  @inline
  slot(i: u32): u32 {
    return load<u32>(this.u32At(SLOT, i));
  }

  /** Notes why the draw ends early. */
  block(why: u32, have: f64, need: f64): void {
    this.blocked = why;
    this.have = have;
    this.need = need;
  }
}
if (offsetof<Draw>() != COLUMNS_AT || COLUMNS_AT + COLUMNS * 4 != DRAW_BYTES) ERROR("DRAW: the columns' addresses follow at byte 64");

/** Bytes of a draw of up to `capacity` items. */
export function draw_bytes(capacity: u32): u32 {
  const n = align16(capacity);
  return DRAW_BYTES + n * (FIRST_U32 * 8 + (FIRST_U8 - FIRST_U32) * 4 + (COLUMNS - FIRST_U8));
}

export function draw_init(draw: usize, capacity: u32): void {
  memory.fill(draw, 0, DRAW_BYTES);
  changetype<Draw>(draw).capacity = capacity;
  let at = <u32>draw + DRAW_BYTES;
  for (let which: u32 = 0; which < COLUMNS; which++) {
    store<u32>(draw + COLUMNS_AT + ((<usize>which) << 2), at);
    at += align16(capacity) * (which < FIRST_U32 ? 8 : which < FIRST_U8 ? 4 : 1);
  }
}

/** Gives the draw three areas of u32 × capacity, one after the other, for the rows of its windows. */
export function draw_rows(draw: usize, at: u32, capacity: u32): void {
  const d = changetype<Draw>(draw);
  d.rows = at;
  d.selected = at + (capacity << 2);
  d.addresses = at + (capacity << 3);
  d.rowCapacity = capacity;
}

/** Address of a column (0 KEY … 15 TRUNCATED). */
export function draw_column(draw: usize, which: u32): u32 {
  return <u32>changetype<Draw>(draw).column(which);
}

/** Rows of the longest item drawn. */
export function draw_longest(draw: usize): u32 {
  return changetype<Draw>(draw).longest;
}

/** The shape of the first item drawn. */
export function draw_shape(draw: usize): u32 {
  return changetype<Draw>(draw).shape;
}

/** Why the draw is shorter than asked: 0 it is not, 1 the table is below minSize, 2 the rate limiter's cursor, 3 no more distinct items. */
export function draw_blocked(draw: usize): u32 {
  return changetype<Draw>(draw).blocked;
}

/** What there was of what `draw_blocked` names. */
export function draw_have(draw: usize): f64 {
  return changetype<Draw>(draw).have;
}

/** What was needed for one more. */
export function draw_need(draw: usize): f64 {
  return changetype<Draw>(draw).need;
}
