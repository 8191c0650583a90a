/**
 * The windows of several streams together: what a buffer draws from, which has no table. A window is named by its stream and the step that it begins
 * with, 0 for the oldest. The streams are the lanes of a writer, or the record's own, whose windows grow and never forget.
 *
 * WINDOWS, 64 bytes, then u32 × n (sums), u8 × n (shown), to a multiple of 8, then STREAM × n where they are its own:
 *    0 │ first u32  │ stride u32 │  where stream 0 is, and how far it is to the next one
 *    8 │ n u32      │ stale u32  │  streams · 1: the sums are to be made anew
 *   16 │ sums u32   │ shown u32  │  where the weights' sums are, up to each stream · where it is told which streams can be drawn
 *   24 │ width u32  │ weigh u32  │  what the sums are for
 *   32 │ RANDOM (32)             │
 */
import { E_OUT_OF_MEMORY } from "../memory/error";
import { random_init } from "../memory/random";
import { Pool, reserveRows } from "../rows/pool";
import { Stream, streamBytes, streamInit } from "../rows/stream";

const RANDOM_AT: usize = 32;
const WINDOWS_BYTES: u32 = 64;

/** What weighs a stream. LEVEL: all hold as many steps, as the lanes of one writer do, and every window is as likely as any other, without sums. */
export const LEVEL: u32 = 0;
/** Every stream is as likely as any other that is long enough. */
export const ALIKE: u32 = 1;
/** A stream is as likely as it has steps. */
export const STEPS: u32 = 2;

@unmanaged
export class Windows {
  first: u32;
  stride: u32;
  n: u32;
  stale: u32;
  sums: u32;
  shown: u32;
  width: u32;
  weigh: u32;

  @inline
  stream(i: u32): Stream {
    return changetype<Stream>(<usize>this.first + <usize>(i * this.stride));
  }

  @inline
  random(): usize {
    return changetype<usize>(this) + RANDOM_AT;
  }

  /** The sum of the weights up to stream i. */
  @inline
  sum(i: u32): u32 {
    return load<u32>(<usize>this.sums + ((<usize>i) << 2));
  }

  /** The sum of all weights, for windows of `width` steps; a stream without steps weighs nothing. */
  total(width: u32, weigh: u32): u32 {
    if (this.stale != 0 || this.width != width || this.weigh != weigh) {
      let sum: u32 = 0;
      for (let i: u32 = 0; i < this.n; i++) {
        const count = this.stream(i).window().count;
        if (count != 0 && count >= width && load<u8>(<usize>this.shown + <usize>i) != 0) sum += weigh == STEPS ? count : 1;
        store<u32>(<usize>this.sums + ((<usize>i) << 2), sum);
      }
      this.width = width;
      this.weigh = weigh;
      this.stale = 0;
    }
    return this.sum(this.n - 1);
  }

  /** The stream with which the sums pass a rank below their total. O(log n) */
  find(rank: u32): u32 {
    let low: u32 = 0;
    let high = this.n - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.sum(middle) > rank) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
if (offsetof<Windows>() != RANDOM_AT) ERROR("WINDOWS: RANDOM at byte 32");

/** `own`: 1 where the streams are its own. */
export function windows_bytes(n: u32, own: u32): u32 {
  return ownAt(n) + own * n * streamBytes(0);
}

/** In zeroed memory. `first`, `stride`: the streams; 0 for its own, which hold rows of `pool`. All are shown. */
export function windows_init(windows: usize, n: u32, pool: u32, first: u32, stride: u32): void {
  const w = changetype<Windows>(windows);
  w.n = n;
  w.stale = 1;
  w.sums = <u32>windows + WINDOWS_BYTES;
  w.shown = w.sums + 4 * n;
  memory.fill(w.shown, 1, n);
  w.first = first;
  w.stride = stride;
  if (first != 0) return;
  w.first = <u32>windows + ownAt(n);
  w.stride = streamBytes(0);
  for (let i: u32 = 0; i < n; i++) streamInit(w.stream(i), pool, 0);
}

/** Seeds its random state. */
export function windows_seed(windows: usize, low: u32, high: u32, stream: u32): void {
  random_init(changetype<Windows>(windows).random(), low, high, stream);
}

/** Whether stream i can be drawn. */
export function windows_show(windows: usize, i: u32, shown: u32): void {
  const w = changetype<Windows>(windows);
  w.stale = 1;
  store<u8>(<usize>w.shown + <usize>i, <u8>(shown != 0));
}

/** Makes sure that so many rows can be taken; 0, or OUT_OF_MEMORY. */
export function windows_reserve(windows: usize, rows: u32): i32 {
  return reserveRows(poolOf(changetype<Windows>(windows)), rows) ? 0 : E_OUT_OF_MEMORY;
}

/** The pool of the streams' rows. */
export function poolOf(w: Windows): Pool {
  return w.stream(0).rows();
}

function ownAt(n: u32): u32 {
  return WINDOWS_BYTES + ((5 * n + 7) & ~7);
}
