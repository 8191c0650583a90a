/**
 * Implements sliding windows. These are runs of equal length, made by rules, in which each run begins one row after the previous run. A row that several
 * windows share is held only once: a window that follows another window holds only its own last row. Removing the oldest window releases only its first row.
 * Items of 1,000 steps therefore cost as much as items of 2 steps.
 *
 * HEAD.refs of a row of steps:
 *   │ rows, items and streams that hold it 28 bits │ follows 2 │ windows 2 │
 *   windows: sliding windows that begin with the row, all of one length, at most 3 · follows: how many of these windows follow a window that begins with the row before
 *
 * Windows of one row and one length are alike, so it does not matter which of these windows follow one: `follows` is at most `windows`, and at most `windows`
 * of the row before. If a window in the middle is removed, or shares its row with other windows, `follows` decreases as required, and each neighbour holds the
 * rows that it shared with the window.
 */
import { Pool } from "./pool";
import { HEAD_BYTES, Head, HOLD_BITS, LINK_ROW, MOST_WINDOWS, PLACE, WINDOW_BITS } from "./row";
import { NEIGHBOURS, NUMBERED, PIECEWISE, Run, SINGLE } from "./run";
import { Stream } from "./stream";

/** Shorter runs are held row by row, which costs the same. */
export const SHORTEST: u32 = 4;
/** The run of an item is a sliding window: a bit in ITEM's word. */
export const SLIDES: u32 = 1 << 28;

const FOLLOW: u32 = 1 << HOLD_BITS;
const WINDOW: u32 = 1 << WINDOW_BITS;
/** One window that does not follow another. */
const ALONE: u32 = 4;

export class Sliding {
  /** Holds the rows of a stream's last `length` steps; returns their kind of run, like `Run.retain`. O(1) if the window before it is held, else O(length) */
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
   * Returns whether `count` runs may be windows. The runs end with the next `count` rows, one run per row. The first run begins with `first`, and each later
   * run begins one place after the previous run. O(count)
   */
  static takesMany(s: Stream, first: u32, length: u32, count: u32): bool {
    if (length < SHORTEST || !Sliding.mayBegin(s, length)) return false;
    // New rows are not yet written.
    for (let row = first; row < first + min(count, length - 1); row++) if (Head.of(row).windows != 0) return false;
    return true;
  }

  /**
   * Holds the rows of `count` runs after `takesMany` returned true. The first run begins with `first`, and each of the others one place later. Skips the last
   * row of each run, which is already held.
   */
  static retainMany(s: Stream, p: Pool, first: u32, length: u32, count: u32): void {
    Sliding.begin(s, first, length);
    if (!Sliding.join(s, p, first)) holdRun(p, first, length - 1);
    const last = first + count - 1;
    for (let row = first + 1; row <= last; row++) Head.of(row).refs += WINDOW + FOLLOW;
    if (count > 1) s.windowBefore = last - 1;
    s.window = last;
  }

  /** Releases a window; `kind` is its kind of run. O(1) at an end of a sequence of windows, else O(length) */
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

  /** Releases `count` windows. The first window begins with `first`, and each of the others one place later. Usually O(count) */
  static releaseMany(p: Pool, first: u32, count: u32, length: u32, kind: u32): void {
    for (let row = first; row < first + count; row++) {
      const head = Head.of(row);
      const next = changetype<Head>(changetype<usize>(head) + HEAD_BYTES);
      // This window is the oldest of a sequence of windows, and another window follows it.
      if (head.refs >>> HOLD_BITS == ALONE && head.next == row + 1 && next.follows == 1) {
        next.refs -= FOLLOW;
        head.refs -= WINDOW;
        p.releaseTimes(row, head, 1);
      } else Sliding.release(p, row, length, kind);
    }
  }

  /**
   * Whether a window of this length may begin with a row that begins no window yet. Among windows of several lengths, only the longest slide while the newest
   * one exists.
   */
  @inline
  private static mayBegin(s: Stream, length: u32): bool {
    return length >= s.windowLength || Head.of(s.window).windows == 0;
  }

  /** Notes the newest window, and the window before it, if the new window can follow that window. */
  @inline
  private static begin(s: Stream, first: u32, length: u32): void {
    s.windowBefore = length == s.windowLength ? s.window : 0;
    s.window = first;
    s.windowLength = length;
  }

  /** Begins a window. Returns whether the window follows the previous one, in which case all rows of the window but the last are held already. */
  @inline
  private static join(s: Stream, p: Pool, first: u32): bool {
    const head = Head.of(first);
    const before = s.windowBefore;
    // By now the row may have been reused, without a link to the first row of this window.
    const follows = before != 0 && Head.of(before).windows > head.follows && p.next(before) == first;
    head.refs += follows ? WINDOW + FOLLOW : WINDOW;
    return follows;
  }

  /** Returns the kind of run of a stream's last `length` steps. O(1) */
  @inline
  private static kindOf(s: Stream, p: Pool, first: u32, length: u32): u32 {
    if (p.episode(first) != p.episode(s.last)) return 0;
    if (s.straight() < length - 1) return SINGLE;
    // The window is in one block, or crosses the end of the block.
    if ((first & PLACE) + length <= p.rows) return NEIGHBOURS;
    return s.numbered() < length - 1 ? SINGLE | PIECEWISE : SINGLE | PIECEWISE | NUMBERED;
  }
}

/** Calls the loops of `Run`, which are compiled once here instead of once per call. */
function holdRun(p: Pool, first: u32, length: u32): u32 {
  return Run.retain(p, first, length);
}

function dropRun(p: Pool, first: u32, length: u32): void {
  Run.release(p, first, length);
}
