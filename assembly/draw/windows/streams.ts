/**
 * Implements a set of streams, from which a buffer without a table draws windows. A window is identified by its stream and the place of its first step, 0 for
 * the oldest step that the stream holds. The streams are contiguous in memory, like the lanes of a writer.
 *
 * STREAM SET, 64 bytes, then u32 × n (sums), u8 × n (shown):
 *    0 │ first u32  │ stride u32 │  the address of stream 0, and the distance to the next stream
 *    8 │ n u32      │ stale u32  │  streams · 1: the sums must be recomputed
 *   16 │ sums u32   │ shown u32  │  addresses: the sum of the weights up to each stream · whether each stream can be drawn
 *   24 │ width u32  │ weigh u32  │  the width and the kind of weights of the sums
 *   32 │ RANDOM (32)             │
 */
import { random_init } from "../../memory/random";
import { Stream } from "../../rows/stream";

const RANDOM_AT: usize = 32;
const SET_BYTES: u32 = 64;

/**
 * How streams are weighted. With LEVEL, all streams hold the same number of steps, like the lanes of one writer, and every window has the same probability,
 * without sums.
 */
export const LEVEL: u32 = 0;
/** Every stream that is long enough has the same probability. */
export const ALIKE: u32 = 1;
/** The probability of a stream is proportional to its number of steps. */
export const BY_STEPS: u32 = 2;

@unmanaged
export class StreamSet {
  first: u32;
  stride: u32;
  n: u32;
  stale: u32;
  sums: u32;
  visible: u32;
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

  /** Returns the sum of the weights of the streams 0 to i. */
  @inline
  sum(i: u32): u32 {
    return load<u32>(<usize>this.sums + ((<usize>i) << 2));
  }

  /** Returns the sum of all weights, for windows of `width` steps. A stream that is empty, too short, or not shown has weight 0. */
  total(width: u32, weigh: u32): u32 {
    if (this.stale != 0 || this.width != width || this.weigh != weigh) {
      let sum: u32 = 0;
      for (let i: u32 = 0; i < this.n; i++) {
        const count = this.stream(i).recent().count;
        if (count != 0 && count >= width && load<u8>(<usize>this.visible + <usize>i) != 0) sum += weigh == BY_STEPS ? count : 1;
        store<u32>(<usize>this.sums + ((<usize>i) << 2), sum);
      }
      this.width = width;
      this.weigh = weigh;
      this.stale = 0;
    }
    return this.sum(this.n - 1);
  }

  /** Returns the first stream i whose `sum(i)` exceeds `rank`, which must be below the total. O(log n) */
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
if (offsetof<StreamSet>() != RANDOM_AT) ERROR("STREAM SET: RANDOM at byte 32");

export function streams_bytes(n: u32): u32 {
  return SET_BYTES + ((5 * n + 7) & ~7);
}

/** Initializes a set in zeroed memory. `first`, `stride`: the streams. All of them can be drawn. */
export function streams_init(set: usize, n: u32, first: u32, stride: u32): void {
  const s = changetype<StreamSet>(set);
  s.first = first;
  s.stride = stride;
  s.n = n;
  s.stale = 1;
  s.sums = <u32>set + SET_BYTES;
  s.visible = s.sums + 4 * n;
  memory.fill(s.visible, 1, n);
}

/** Seeds the random state of the set. */
export function streams_seed(set: usize, low: u32, high: u32, stream: u32): void {
  random_init(changetype<StreamSet>(set).random(), low, high, stream);
}

/** Sets whether stream i can be drawn. */
export function streams_show(set: usize, i: u32, visible: u32): void {
  const s = changetype<StreamSet>(set);
  s.stale = 1;
  store<u8>(<usize>s.visible + <usize>i, <u8>(visible != 0));
}

/** Call this function when a stream has gained or lost steps. Draws by LEVEL do not need this call. */
export function streams_changed(set: usize): void {
  changetype<StreamSet>(set).stale = 1;
}
