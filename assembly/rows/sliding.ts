/**
 * Sliding windows: runs of one length of which each begins a row after the one before, as rules make them. What two of them have in common is held once: a window that
 * follows another one holds its last row only, and if the oldest leaves, its first row is let go. So items of 1,000 steps cost what items of 2 steps do.
 *
 * HEAD.refs of a row of steps:
 *   │ rows, items and streams that hold it 28 bits │ follows 2 │ windows 2 │
 *   windows: sliding windows that begin with the row, all of one length, 3 at most · follows: how many of them follow a window that begins with the row before
 *
 * Windows of one row and one length are alike, so it does not matter which of them follow: `follows` is at most `windows`, and at most `windows` of the row before. If a window
 * leaves in the middle, or with others beside it, `follows` sinks as far as that asks, and what the window had in common with its neighbours is held by each of them.
 */
import { Pool } from "./pool";
import { HEAD_BYTES, Head, HOLD_BITS, LINK_ROW, MOST_WINDOWS, PLACE, WINDOW_BITS } from "./row";
import { NEIGHBOURS, NUMBERED, PIECEWISE, Run, SINGLE } from "./run";
import { Stream } from "./stream";

/** Shorter runs are held row by row, which costs no more. */
export const SHORTEST: u32 = 4;
/** The run of an item is a sliding window: a place in ITEM's word. */
export const SLIDES: u32 = 1 << 28;

const FOLLOW: u32 = 1 << HOLD_BITS;
const WINDOW: u32 = 1 << WINDOW_BITS;
/** One window, which follows none. */
const ALONE: u32 = 4;

export class Sliding {
  /** Holds the rows of a stream's last `length` steps; tells what run they are, as `Run.retain` does. O(1) if the window before it is held, else O(length) */
  static retain(s: Stream, p: Pool, first: u32, length: u32): u32 {
    const windows = Head.of(first).windows;
    if (windows == 0 ? !Sliding.mayBegin(s, length) : windows == MOST_WINDOWS || s.window != first || s.windowLength != length)
      return holdRun(p, first, length);
    if (windows == 0) Sliding.begin(s, first, length);
    if (!Sliding.join(s, p, first)) return SLIDES | holdRun(p, first, length);
    p.retain(s.last);
    return SLIDES | Sliding.kindOf(s, p, first, length);
  }

  /** Whether `count` runs that end with the next rows, the first of which begins with `first` and each a place further, may be windows. O(count) */
  static takesMany(s: Stream, first: u32, length: u32, count: u32): bool {
    if (length < SHORTEST || !Sliding.mayBegin(s, length)) return false;
    // Of rows that are to come nothing is written yet.
    for (let row = first; row < first + min(count, length - 1); row++) if (Head.of(row).windows != 0) return false;
    return true;
  }

  /** Holds the rows of `count` runs, the first from `first` on and each a place further, of which `takesMany` was told; but for the last row of each, which is held already. */
  static retainMany(s: Stream, p: Pool, first: u32, length: u32, count: u32): void {
    Sliding.begin(s, first, length);
    if (!Sliding.join(s, p, first)) holdRun(p, first, length - 1);
    const last = first + count - 1;
    for (let row = first + 1; row <= last; row++) Head.of(row).refs += WINDOW + FOLLOW;
    if (count > 1) s.windowBefore = last - 1;
    s.window = last;
  }

  /** Lets go of a window, of which `kind` tells what run it is. O(1) at an end of its row of windows, else O(length) */
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

  /** Lets go of `count` windows, the first of which begins with `first` and each a place further. O(count) as a rule */
  static releaseMany(p: Pool, first: u32, count: u32, length: u32, kind: u32): void {
    for (let row = first; row < first + count; row++) {
      const head = Head.of(row);
      const next = changetype<Head>(changetype<usize>(head) + HEAD_BYTES);
      // The oldest of a row of windows, and it is followed.
      if (head.refs >>> HOLD_BITS == ALONE && head.next == row + 1 && next.follows == 1) {
        next.refs -= FOLLOW;
        head.refs -= WINDOW;
        p.releaseTimes(row, head, 1);
      } else Sliding.release(p, row, length, kind);
    }
  }

  /** Whether a window of this length may begin with a row that begins none yet: of several lengths the longest slides, as long as it does. */
  @inline
  private static mayBegin(s: Stream, length: u32): bool {
    return length >= s.windowLength || Head.of(s.window).windows == 0;
  }

  /** Notes the newest window, and that before it, if it can be followed. */
  @inline
  private static begin(s: Stream, first: u32, length: u32): void {
    s.windowBefore = length == s.windowLength ? s.window : 0;
    s.window = first;
    s.windowLength = length;
  }

  /** Begins a window. Whether it follows the one before it: then all of its rows but the last are held. */
  @inline
  private static join(s: Stream, p: Pool, first: u32): bool {
    const head = Head.of(first);
    const before = s.windowBefore;
    // The row may be another one by now, to which this one is not linked.
    const follows = before != 0 && Head.of(before).windows > head.follows && p.next(before) == first;
    head.refs += follows ? WINDOW + FOLLOW : WINDOW;
    return follows;
  }

  /** What the run of a stream's last `length` steps is. O(1) */
  @inline
  private static kindOf(s: Stream, p: Pool, first: u32, length: u32): u32 {
    if (p.episode(first) != p.episode(s.last)) return 0;
    if (s.straight() < length - 1) return SINGLE;
    // It is in one block, or goes over its end.
    if ((first & PLACE) + length <= p.rows) return NEIGHBOURS;
    return s.numbered() < length - 1 ? SINGLE | PIECEWISE : SINGLE | PIECEWISE | NUMBERED;
  }
}

/** The loops of `Run` once, and not at each call. */
function holdRun(p: Pool, first: u32, length: u32): u32 {
  return Run.retain(p, first, length);
}

function dropRun(p: Pool, first: u32, length: u32): void {
  Run.release(p, first, length);
}
