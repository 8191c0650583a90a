/**
 * A draw holds the results of one `sample` call, with one entry per item, and the scratch memory of the call.
 *
 * DRAW, 96 bytes, then 16 columns of `stride` bytes each, then the rows, then copies of some rows:
 *    0 │ blocked f64                 │  why the draw is shorter than requested: 0 the draw is not shorter, 1 below minSize, 2 the rate limiter's cursor, 3 no more distinct items, 4 columns
 *    8 │ have f64     │ need f64     │  the available amount, the amount needed for one more item
 *   24 │ longest f64  │ layout f64   │  rows of the longest item · column layout of the first item
 *   40 │ count u32    │ stride u32   │
 *   48 │ rows u32     │ selected u32 │  u32 × rows each: rows, entry by entry · the rows of one output column
 *   56 │ addresses u32│ width u32    │  u32 × rows: the addresses of the selected rows' bytes, 0 = padding · rows per entry in `rows`
 *   64 │ single u32   │ ahead u32    │  not 0: each entry is one row, and `rows` and LENGTH are already filled · 1: the draw counts when its batch is passed on
 *   72 │ own u32      │ shortest u32 │  n-step: 1 if a row has its own next observation, so that the last step of a return is its bootstrap · rows of the shortest item, as a transition
 *   80 │ picks u32    │ position u32 │  if only some steps of each entry are looked up, the number of these steps: `rows` then has only these steps, in the order of the list · the position at which an epoch continues
 *   88 │ (8)                         │
 */
import { align16 } from "../memory/layout";

const COLUMNS_AT: usize = 96;

/** The columns of a draw, by number: first the columns of every batch, then the optional ones, then internal ones. Each group lists f64, then u32, then u8. */
export const KEY: u32 = 0;
export const PROBABILITY: u32 = 1;
export const PRIORITY: u32 = 2;
export const TIMES_SAMPLED: u32 = 3;
export const TABLE_SIZE: u32 = 4;
export const LENGTH: u32 = 5;
export const WEIGHT: u32 = 6;
export const RETURN: u32 = 7;
export const DISCOUNT: u32 = 8;
export const STEPS: u32 = 9;
/** The place in its item or stream at which an entry's run begins. The n-step return overwrites this column with STEPS. */
export const START: u32 = STEPS;
export const TERMINATED: u32 = 10;
export const TRUNCATED: u32 = 11;
export const REST: u32 = 12;
export const SAVED: u32 = 13;
export const SLOT: u32 = 14;
export const DRAWN: u32 = 15;
/** Filled after the items are drawn: 1 if an entry has another goal (u8), the row of that goal, and the place of the goal among the gathered goals. */
export const RELABELLED: u32 = REST;
export const GOAL: u32 = SAVED;
export const GOAL_PLACE: u32 = DRAWN;
/** The rows follow the last column, where a column with this number would begin. */
export const ROWS: u32 = 16;

/** The number of entries or rows processed together. Their items, or copies of their rows, fit in the first-level cache, and their cache misses overlap. */
export const PIECE: u32 = 256;
/** The number of bytes for copies of a piece's rows. */
export const NEAR_BYTES: u32 = 16384;

@unmanaged
export class Draw {
  blocked: f64;
  have: f64;
  need: f64;
  longest: f64;
  layout: f64;
  count: u32;
  stride: u32;
  rows: u32;
  selected: u32;
  addresses: u32;
  width: u32;
  single: u32;
  ahead: u32;
  own: u32;
  shortest: u32;
  picks: u32;
  position: u32;
  unused64: u64;

  @inline
  column(which: u32): usize {
    return changetype<usize>(this) + COLUMNS_AT + <usize>(which * this.stride);
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

  @inline
  start(i: u32): u32 {
    return load<u32>(this.u32At(START, i));
  }

  /** The number of places of an entry in `rows`. The last places may be empty. */
  @inline
  rowsOf(i: u32): u32 {
    return this.picks != 0 ? this.width : load<u32>(this.u32At(LENGTH, i));
  }

  /** The address of the area of NEAR_BYTES for copies of rows. The area follows the addresses. */
  @inline
  get prefetched(): usize {
    return align16(2 * this.addresses - this.selected);
  }

  /** Whether the draw was created (`draw_init`) with room for n entries of `width` rows. The memory after the draw belongs to other structures. */
  fits(n: u32, width: u32): bool {
    return n <= this.stride >> 3 && <u64>n * <u64>width <= <u64>((this.selected - this.rows) >> 2);
  }

  /** Records why the draw ends early. */
  block(why: f64, have: f64, need: f64): void {
    this.blocked = why;
    this.have = have;
    this.need = need;
  }
}
if (offsetof<Draw>() != COLUMNS_AT) ERROR("DRAW is 96 bytes");

/** Returns the bytes per column. Every column has room for f64, so its number determines its address. */
function strideOf(items: u32): u32 {
  return align16(items << 3);
}

/** Returns the number of bytes of a draw of up to `items` items, with room to gather. Each row of the items' windows takes 12 more bytes. */
export function draw_bytes(items: u32): u32 {
  return <u32>COLUMNS_AT + ROWS * strideOf(items) + 16 + NEAR_BYTES;
}

export function draw_init(draw: usize, items: u32, rows: u32): void {
  // memory.fill would call the engine.
  for (let i: usize = 0; i < COLUMNS_AT; i += 8) store<u64>(draw + i, 0);
  const d = changetype<Draw>(draw);
  d.stride = strideOf(items);
  d.rows = <u32>d.column(ROWS);
  d.selected = d.rows + (rows << 2);
  d.addresses = d.selected + (rows << 2);
}

/** Returns the address of a column by its number, or of the rows for 16. */
export function draw_column(draw: usize, which: u32): u32 {
  return <u32>changetype<Draw>(draw).column(which);
}

/** Converts a column's f64 to f32 in place. */
export function draw_narrow(draw: usize, which: u32): void {
  const d = changetype<Draw>(draw);
  let to = d.column(which);
  let from = to;
  for (const end = to + ((<usize>d.count) << 2); to < end; to += 4, from += 8) store<f32>(to, <f32>load<f64>(from));
}

/** Returns a result by number: 0 blocked, 1 have, 2 need, 3 longest, 4 layout; after a preview, 5 shortest; in an epoch, 6 position. */
export function draw_result(draw: usize, which: u32): f64 {
  if (which == 6) return changetype<Draw>(draw).position;
  if (which == 5) return changetype<Draw>(draw).shortest;
  return load<f64>(draw + ((<usize>which) << 3));
}
