/**
 * Implements the queue of a pool's freed rows, oldest first, as runs of neighbours. A row that is freed after its predecessor needs no write to its HEAD, and a
 * block of steps takes a whole run in one go.
 *
 * FREE_ROWS, 24 bytes:
 *    0 │ first u32 │ end u32   │  the next row to take, 0 = none · last row of that row's run; 0 = that run is the last one, which ends with `last`
 *    8 │ next u32  │ count u32 │  the run after the first, if `end` is not 0 · number of rows
 *   16 │ tail u32  │ last u32  │  first and last row of the last run; 0 = no run may be continued
 *
 * A run between the first and the last one has `nextRun` and `runEnd` in the HEAD of its first row, in `next` and `episode`.
 */
import { Head } from "./row";

@unmanaged
export class FreeRows {
  first: u32;
  end: u32;
  next: u32;
  count: u32;
  tail: u32;
  last: u32;

  /** Queues a row that is not held. O(1) */
  @inline
  push(row: u32): void {
    this.count += 1;
    // The number after a block's last row is not a row, so a run never crosses the end of a block.
    if (row != this.last + 1) this.begin(row);
    this.last = row;
  }

  /** Takes the oldest row; the queue must not be empty. O(1) */
  @inline
  take(): u32 {
    const row = this.first;
    this.count -= 1;
    if (row != this.last && row != this.end) this.first = row + 1;
    else this.leaveRun();
    return row;
  }

  /** Takes up to `limit` consecutive rows from `first` on, and returns how many. The queue must not be empty. O(1) */
  takeMany(limit: u32): u32 {
    const row = this.first;
    const end = this.runEnd();
    const taken = min(limit, end + 1 - row);
    this.count -= taken;
    this.first = row + taken;
    if (this.first > end) this.leaveRun();
    return taken;
  }

  /** Returns the last row of the run that begins with `first`. */
  @inline
  runEnd(): u32 {
    return this.end != 0 ? this.end : this.last;
  }

  /** Returns the last row of the run that begins with the row `run`. */
  endOf(run: u32): u32 {
    if (run == this.first) return this.runEnd();
    return run == this.tail ? this.last : Head.of(run).runEnd;
  }

  /** Returns the first row of the run after `run`, 0 = none. */
  after(run: u32): u32 {
    if (run == this.tail || this.end == 0) return 0;
    return run == this.first ? this.next : Head.of(run).nextRun;
  }

  /** Begins a new run with a row whose predecessor is not the last queued row. */
  private begin(row: u32): void {
    if (this.first == 0) {
      this.first = row;
    } else if (this.end == 0) {
      this.end = this.last;
      this.next = row;
    } else {
      Head.of(this.tail).nextRun = row;
      Head.of(this.tail).runEnd = this.last;
    }
    this.tail = row;
  }

  /** Removes the first run, which is used up. */
  private leaveRun(): void {
    const run = this.end == 0 ? 0 : this.next;
    if (run == 0) this.last = 0;
    this.end = run == this.tail || run == 0 ? 0 : Head.of(run).runEnd;
    if (this.end != 0) this.next = Head.of(run).nextRun;
    this.first = run;
  }
}
if (offsetof<FreeRows>() != 24) ERROR("FREE_ROWS is 24 bytes");
