/**
 * A draw: what one call to sample gave, one entry an item, and the scratch that it took.
 *
 * DRAW, 96 bytes, then 16 columns of `stride` bytes each, then the rows, then copies of some:
 *    0 │ blocked f64                 │  why it is shorter than asked: 0 it is not, 1 below minSize, 2 the rate limiter's cursor, 3 no more distinct items, 4 columns
 *    8 │ have f64     │ need f64     │  what there was of that, what was needed for one more
 *   24 │ longest f64  │ layout f64   │  rows of the longest item · column layout of the first item
 *   40 │ count u32    │ stride u32   │
 *   48 │ rows u32     │ selected u32 │  u32 × rows each: rows, entry by entry · those of one output column
 *   56 │ addresses u32│ width u32    │  u32 × rows: where the selected rows' bytes are, 0 = padding · rows an entry in `rows`
 *   64 │ single u32   │ ahead u32    │  not 0: each entry is one row, and `rows` and LENGTH have it already · 1: it counts when its batch is passed on
 *   72 │ own u32      │ shortest u32 │  n-step: 1 where a row has its own next observation, so that the last step of a return is its bootstrap · rows of the shortest item, as a transition
 *   80 │ picks u32    │ position u32 │  of entries of which only some steps are looked up: how many; then `rows` has these alone, in the order of their list · of an epoch: where it goes on
 *   88 │ (8)                         │
 */
import { align16 } from "../memory/layout";

const COLUMNS_AT: usize = 96;

/** The columns of a draw by their places: first those that every batch shows, then what some do, last what none does. f64, then u32, then u8 in each. */
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
/** Until STEPS has the length of an n-step return: where in its item or stream an entry's run begins. */
export const START: u32 = STEPS;
export const TERMINATED: u32 = 10;
export const TRUNCATED: u32 = 11;
export const REST: u32 = 12;
export const SAVED: u32 = 13;
export const SLOT: u32 = 14;
export const DRAWN: u32 = 15;
/** Once its items are drawn: 1 where an entry has another goal (u8), the row that it comes from, and its place among the goals that are read. */
export const RELABELLED: u32 = REST;
export const GOAL: u32 = SAVED;
export const GOAL_PLACE: u32 = DRAWN;
/** The rows stand behind the last column, where another would. */
export const ROWS: u32 = 16;

/** Entries, or rows, that are handled at a time: their items, or copies of their rows, fit the first cache, and the misses of so many overlap. */
export const PIECE: u32 = 256;
/** Room for copies of a piece's rows. */
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

  /** Places of an entry in `rows`, of which the last may be empty. */
  @inline
  rowsOf(i: u32): u32 {
    return this.picks != 0 ? this.width : load<u32>(this.u32At(LENGTH, i));
  }

  /** Where NEAR_BYTES are for copies of rows: behind the addresses. */
  @inline
  get prefetched(): usize {
    return align16(2 * this.addresses - this.selected);
  }

  /** Whether it was made for so many entries of so many rows (`draw_init`): what is behind it is not its own. */
  fits(n: u32, width: u32): bool {
    return n <= this.stride >> 3 && <u64>n * <u64>width <= <u64>((this.selected - this.rows) >> 2);
  }

  /** Notes why the draw ends early. */
  block(why: f64, have: f64, need: f64): void {
    this.blocked = why;
    this.have = have;
    this.need = need;
  }
}
if (offsetof<Draw>() != COLUMNS_AT) ERROR("DRAW is 96 bytes");

/** Every column has room for f64, so that a column is found by its number. */
function strideOf(items: u32): u32 {
  return align16(items << 3);
}

/** Bytes of a draw of up to so many items, with room to gather; each row that their windows may have takes 12 more. */
export function draw_bytes(items: u32): u32 {
  return <u32>COLUMNS_AT + ROWS * strideOf(items) + 16 + NEAR_BYTES;
}

export function draw_init(draw: usize, items: u32, rows: u32): void {
  // Not memory.fill: that is a call to the engine.
  for (let i: usize = 0; i < COLUMNS_AT; i += 8) store<u64>(draw + i, 0);
  const d = changetype<Draw>(draw);
  d.stride = strideOf(items);
  d.rows = <u32>d.column(ROWS);
  d.selected = d.rows + (rows << 2);
  d.addresses = d.selected + (rows << 2);
}

/** Address of a column by its number; 16: of the rows. */
export function draw_column(draw: usize, which: u32): u32 {
  return <u32>changetype<Draw>(draw).column(which);
}

/** Makes a column's f64 into f32, in its place. */
export function draw_narrow(draw: usize, which: u32): void {
  const d = changetype<Draw>(draw);
  let to = d.column(which);
  let from = to;
  for (const end = to + ((<usize>d.count) << 2); to < end; to += 4, from += 8) store<f32>(to, <f32>load<f64>(from));
}

/** 0 blocked, 1 have, 2 need, 3 longest, 4 layout; 5 shortest, of a draw that was only looked at; 6 position, of an epoch. */
export function draw_result(draw: usize, which: u32): f64 {
  if (which == 6) return changetype<Draw>(draw).position;
  if (which == 5) return changetype<Draw>(draw).shortest;
  return load<f64>(draw + ((<usize>which) << 3));
}
