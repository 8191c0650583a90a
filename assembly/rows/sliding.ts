/**
 * Implements sliding windows: runs of equal length, each of which begins one row after the previous run, as rules with stride 1 make them. A window that
 * follows another window holds only its own last row, because the other window holds the rows before it. When the oldest window is removed, its first row is
 * released. So the cost of an item does not depend on its length.
 *
 * HEAD.refs of a row of steps:
 *   │ rows, items and streams that hold it 28 bits │ follows 2 │ windows 2 │
 *   windows: sliding windows that begin with the row, all of one length, at most 3 · follows: how many of these windows follow a window that begins with the previous row
 *
 * Windows that begin with the same row are interchangeable, so only the number of windows that follow another one is stored: `follows` is at most `windows`,
 * and at most `windows` of the previous row. If a window in the middle is removed, or shares its first row with other windows, `follows` decreases as required,
 * and each neighbour holds the rows that it shared with the removed window.
 */
import { Pool } from "./pool";
import { HEAD_BYTES, Head, HOLD_BITS, LINK_ROW, MOST_WINDOWS, PLACE, WINDOW_BITS } from "./row";
import { NEIGHBOURS, NUMBERED, PIECEWISE, Run, SINGLE } from "./run";
import { Stream } from "./stream";

/** The minimum length of a sliding window. Holding a shorter run row by row costs the same. */
export const SHORTEST: u32 = 4;
/** The bit in ITEM's word that marks an item whose run is a sliding window. */
export const SLIDES: u32 = 1 << 28;

const FOLLOW: u32 = 1 << HOLD_BITS;
const WINDOW: u32 = 1 << WINDOW_BITS;
/** The upper bits of `refs` for one window that does not follow another window. */
const ALONE: u32 = 4;

export class Sliding {
  /** Holds the rows of a stream's last `length` steps; returns the kind of their run, like `Run.retain`. O(1) if the previous window is held, else O(length) */
  static retain(s: Stream, p: Pool, first: u32, length: u32): u32 {
    const windows = Head.of(first).windows;
    if (windows == 0 ? !Sliding.mayBegin(s, length) : windows == MOST_WINDOWS || s.window != first || s.windowLength != length)
      return holdRun(p, first, length);
    if (windows == 0) Sliding.begin(s, first, length);
    if (!Sliding.join(s, p, first)) return SLIDES | holdRun(p, first, length);
    p.retain(s.last);
    return SLIDES | Sliding.kindOf(s, p, first, length);
  }

  /**
   * Whether the next `count` runs may be windows. Each run ends with a row that is not written yet. The first run begins with `first`, and each of the others
   * begins one place later. O(count)
   */
  static takesMany(s: Stream, first: u32, length: u32, count: u32): bool {
    if (length < SHORTEST || !Sliding.mayBegin(s, length)) return false;
    // New rows are not written yet, so only rows up to the end of the first run are checked.
    for (let row = first; row < first + min(count, length - 1); row++) if (Head.of(row).windows != 0) return false;
    return true;
  }

  /**
   * Holds the rows of `count` runs, after `takesMany` has returned true. The first run begins with `first`, and each of the others begins one place later.
   * Skips the last row of each run, which is already held.
   */
  static retainMany(s: Stream, p: Pool, first: u32, length: u32, count: u32): void {
    Sliding.begin(s, first, length);
    if (!Sliding.join(s, p, first)) holdRun(p, first, length - 1);
    const last = first + count - 1;
    for (let row = first + 1; row <= last; row++) Head.of(row).refs += WINDOW + FOLLOW;
    if (count > 1) s.windowBefore = last - 1;
    s.window = last;
  }

  /** Releases a window; `kind` is the kind of its run. O(1) at either end of a sequence of windows, else O(length) */
  static release(p: Pool, first: u32, length: u32, kind: u32): void {
    const head = Head.of(first);
    const second = head.next & LINK_ROW;
    const next = Head.of(second);
    const windows = head.windows;
    const follows = head.follows == windows;
    const followed = next.follows == windows;
    head.refs -= follows ? WINDOW + FOLLOW : WINDOW;
    if (followed) next.refs -= FOLLOW;
    if (followed) {
      if (follows) holdRun(p, second, length - 2);
      else p.releaseTimes(first, head, 1);
    } else if (follows) {
      const last = Run.skip(p, first, length - 1, kind);
      p.releaseTimes(last, Head.of(last), 1);
    } else dropRun(p, first, length);
  }

  /** Releases `count` windows. The first window begins with `first`, and each of the others begins one place later. Usually O(count) */
  static releaseMany(p: Pool, first: u32, count: u32, length: u32, kind: u32): void {
    for (let row = first; row < first + count; row++) {
      const head = Head.of(row);
      const next = changetype<Head>(changetype<usize>(head) + HEAD_BYTES);
      // This window is the oldest one of a sequence, and another window follows it.
      if (head.refs >>> HOLD_BITS == ALONE && head.next == row + 1 && next.follows == 1) {
        next.refs -= FOLLOW;
        head.refs -= WINDOW;
        p.releaseTimes(row, head, 1);
      } else Sliding.release(p, row, length, kind);
    }
  }

  /**
   * Whether a window of this length may begin with a row with which no window begins yet. If rules make runs of several lengths, only the longest runs become
   * windows as long as the newest window exists.
   */
  @inline
  private static mayBegin(s: Stream, length: u32): bool {
    return length >= s.windowLength || Head.of(s.window).windows == 0;
  }

  /** Stores the newest window, and the previous window if the new window can follow it. */
  @inline
  private static begin(s: Stream, first: u32, length: u32): void {
    s.windowBefore = length == s.windowLength ? s.window : 0;
    s.window = first;
    s.windowLength = length;
  }

  /** Begins a window. Returns whether it follows the previous window, in which case all of its rows except the last one are already held. */
  @inline
  private static join(s: Stream, p: Pool, first: u32): bool {
    const head = Head.of(first);
    const before = s.windowBefore;
    // The previous window's row may have been reused, and then has no link to the first row of this window.
    const follows = before != 0 && Head.of(before).windows > head.follows && p.next(before) == first;
    head.refs += follows ? WINDOW + FOLLOW : WINDOW;
    return follows;
  }

  /** Returns the kind of run of a stream's last `length` steps. O(1) */
  @inline
  private static kindOf(s: Stream, p: Pool, first: u32, length: u32): u32 {
    if (p.episode(first) != p.episode(s.last)) return 0;
    if (s.straight() < length - 1) return SINGLE;
    // The window is within one block, or crosses the end of the block.
    if ((first & PLACE) + length <= p.rows) return NEIGHBOURS;
    return s.numbered() < length - 1 ? SINGLE | PIECEWISE : SINGLE | PIECEWISE | NUMBERED;
  }
}

/** Calls `Run.retain`, which is inlined only here instead of at each call site. */
function holdRun(p: Pool, first: u32, length: u32): u32 {
  return Run.retain(p, first, length);
}

function dropRun(p: Pool, first: u32, length: u32): void {
  Run.release(p, first, length);
}
