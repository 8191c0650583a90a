/**
 * Defines the names and heads of rows. A row's name is its location: the granule at which its block begins × 1024 + its place in the block. So its bytes are
 * found without a directory. 0 means none.
 *
 * HEAD, 12 bytes, at the block's beginning, one per place: │ refs u32 │ next u32 │ episode u32 │
 *   refs: items, streams and rows (of another pool) that hold this row; in a pool of steps the upper 4 bits count sliding windows (sliding.ts), which begin with rows that are held
 *   next: the row that follows, 0 = none; two bits contain how the episode ends with this one:
 *     0 it continues · LINK_END · LINK_FINAL this is its final step, truncated · both: its final step, terminated
 */
import { GRANULE_BITS } from "../memory/layout";

/** The mask of the row in a link. */
export const LINK_ROW: u32 = 0x3fffffff;
const LINK_BITS: u32 = 30;
/** The episode ends here; the next state is unknown. */
export const LINK_END: u32 = 0x80000000;
/** The episode ends here with the last observation; this step has no action. */
export const LINK_FINAL: u32 = 0x40000000;
/** Both bits: the episode terminated, so nothing after the step has value. */
export const LINK_ENDS: u32 = 0xc0000000;
/** The number of lower bits in `refs` of a step that count its holders; the bits above count sliding windows. */
export const HOLD_BITS: u32 = 28;
export const HOLDS: u32 = (1 << HOLD_BITS) - 1;
export const WINDOW_BITS: u32 = 30;
export const MOST_WINDOWS: u32 = 3;
export const PLACE_BITS: u32 = 10;
export const PLACE: u32 = (1 << PLACE_BITS) - 1;
export const HEAD_BYTES: u32 = 12;

@unmanaged
export class Head {
  refs: u32;
  next: u32;
  episode: u32;

  /** The number of sliding windows that begin with a row of steps. */
  @inline
  get windows(): u32 {
    return this.refs >>> WINDOW_BITS;
  }

  /** The number of sliding windows that begin with the row and follow a window that begins with the previous row. */
  @inline
  get follows(): u32 {
    return (this.refs >>> HOLD_BITS) & MOST_WINDOWS;
  }

  /** The run that follows, in a freed row that begins a run. */
  @inline
  get nextRun(): u32 {
    return this.next;
  }

  @inline
  set nextRun(row: u32) {
    this.next = row;
  }

  /** The run's last row, in a freed row that begins a run. */
  @inline
  get runEnd(): u32 {
    return this.episode;
  }

  @inline
  set runEnd(row: u32) {
    this.episode = row;
  }

  @inline
  static of(row: u32): Head {
    return changetype<Head>(Head.block(row) + <usize>((row & PLACE) * HEAD_BYTES));
  }

  /** Returns the address at which the row's block begins. */
  @inline
  static block(row: u32): usize {
    return <usize>((row >> PLACE_BITS) << GRANULE_BITS);
  }
}
if (offsetof<Head>() != HEAD_BYTES) ERROR("HEAD is 12 bytes");

/** Whether the row is held. A freed row's name is reused, so a caller that stores names must update them when a new step takes over a name. */
export function row_live(row: u32): bool {
  return Head.of(row).refs != 0;
}

/** Returns the number of the row's episode. */
export function row_episode(row: u32): u32 {
  return Head.of(row).episode;
}

/**
 * Returns how the episode ends with the row: 0 it continues · 1 this is its final step, truncated · 2 the next state is unknown · 3 this is its final step,
 * terminated.
 */
export function row_ends(row: u32): u32 {
  return Head.of(row).next >>> LINK_BITS;
}
