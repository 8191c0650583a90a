/** Implements runs. A run is a sequence of linked rows, and each item consists of one run. */
import { Pool } from "./pool";
import { Head, LINK_ENDS, LINK_ROW, PLACE } from "./row";

/** A kind of run, as a bit in ITEM's word: the run is single, and each row is its predecessor + 1. */
export const PLAIN: u32 = 1 << 24;
/** A kind of run: no episode ends before the last row. */
export const SINGLE: u32 = 1 << 25;
/** A kind of run: like plain, except that the row after a block's last place may be anywhere. */
export const PIECEWISE: u32 = 1 << 26;
/** A kind of run: piecewise, and the row after a block's last place has the next number. */
export const NUMBERED: u32 = 1 << 27;
/** All kinds: a run whose rows are consecutive in one block and one episode. */
export const NEIGHBOURS: u32 = PLAIN | SINGLE | PIECEWISE | NUMBERED;

/** The number of links to non-adjacent rows above which following them costs more than a search. */
const MANY: u32 = 8;

/** Writes the names of n rows of a run, from its `from`-th row on; these rows must exist. O(from + n) */
export function pool_run(pool: usize, row: u32, from: u32, n: u32, out: usize): void {
  Run.rows(changetype<Pool>(pool), row, from, out, out + ((<usize>n) << 2), true);
}

@unmanaged
export class Run {
  /** Whether a plain or piecewise run whose last row is `last` remains at least piecewise if `row` follows. */
  @inline
  static goesStraight(p: Pool, last: u32, row: u32): bool {
    return row == last + 1 || (last & PLACE) + 1 == p.rows;
  }

  /**
   * Writes the names of a run's rows from the `from`-th row on, up to the address `end`. Stops after the end of an episode, unless `cross` is set. Returns the
   * address after the last name.
   */
  static rows(p: Pool, row: u32, from: u32, at: usize, end: usize, cross: bool): usize {
    row = Run.skip(p, row, from, 0);
    while (at < end) {
      store<u32>(at, row);
      at += 4;
      const link = Head.of(row).next;
      // Usually the next row is adjacent and in the same episode. The processor predicts this branch and reads on, so that cache misses overlap.
      if (link == row + 1) row += 1;
      else if (!cross && (link & LINK_ENDS) != 0) break;
      else row = link & LINK_ROW;
    }
    return at;
  }

  /**
   * Returns the row n steps after `row` in a run. That row must exist. O(1) in a plain or numbered run; O(blocks) in a piecewise run; else O(jumps), and O(n) in
   * blocks with SEVERAL jumps
   */
  static skip(p: Pool, row: u32, n: u32, kind: u32): u32 {
    if ((kind & NUMBERED) != 0) return p.rowBehind(row, n);
    if ((kind & PIECEWISE) != 0) return Run.skipBlocks(p, row, n);
    for (let near = p.neighbours(row); n > near; near = p.neighbours(row)) {
      n -= near + 1;
      row = p.next(row + near);
    }
    return row + n;
  }

  /** Like `skip`, for a piecewise run: reads only the link of each block's last row. */
  private static skipBlocks(p: Pool, row: u32, n: u32): u32 {
    for (let left = p.rows - (row & PLACE); n >= left; left = p.rows - (row & PLACE)) {
      n -= left;
      row = p.next(row + left - 1);
    }
    return row + n;
  }

  /** Like `skip`, but returns 0 if more than MANY links would have to be followed. */
  static skipStraight(p: Pool, row: u32, n: u32): u32 {
    let links: u32 = 0;
    for (let near = p.neighbours(row); n > near; near = p.neighbours(row)) {
      links += 1;
      if (links > MANY) return 0;
      n -= near + 1;
      row = p.next(row + near);
    }
    return row + n;
  }

  /** Returns how many of n rows from `row` on there are up to the first row that ends an episode. O(n) */
  static reach(p: Pool, row: u32, n: u32): u32 {
    let count: u32 = 1;
    for (; count < n && !p.ends(row); count++) row = p.next(row);
    return count;
  }

  /** Like `rows`, for a piecewise run: reads links only across the end of a block. */
  static pieces(p: Pool, row: u32, from: u32, at: usize, end: usize): usize {
    row = Run.skip(p, row, from, PIECEWISE);
    let left = p.rows - (row & PLACE);
    while (true) {
      const stop = min(end, at + ((<usize>left) << 2));
      for (; at < stop; at += 4) store<u32>(at, row++);
      if (at == end) break;
      row = p.next(row - 1);
      left = p.rows - (row & PLACE);
    }
    return at;
  }

  /** Holds each row of a run once more; returns the kind of the run. */
  @inline
  static retain(p: Pool, first: u32, length: u32): u32 {
    let kind = NEIGHBOURS;
    let row = first;
    for (let left = length; ; ) {
      const head = Head.of(row);
      head.refs += 1;
      left -= 1;
      if (left == 0) break;
      const link = head.next;
      if (link != row + 1) kind &= kindOver(p, row, link);
      row = link & LINK_ROW;
      assert(row != 0, "a run is linked to its end");
    }
    return kind;
  }

  @inline
  static release(p: Pool, first: u32, length: u32): void {
    let row = first;
    for (let left = length; ; ) {
      const head = Head.of(row);
      // The link is read before the row is released, because the queue of freed rows may overwrite the link.
      const after = head.next & LINK_ROW;
      p.releaseTimes(row, head, 1);
      left -= 1;
      if (left == 0) break;
      row = after;
    }
  }

  /** Releases `items` plain runs of a length. The first run begins with `first`, and each of the others one row later. */
  static releaseMany(p: Pool, first: u32, items: u32, length: u32): void {
    // From row to row, the number of runs that contain the row first rises by one, then remains constant, then falls by one.
    const limit = min(items, length);
    const ramp = limit - 1;
    const flat = items + length - 1 - 2 * ramp;
    releaseRows(p, first, ramp, 1, 1);
    releaseRows(p, first + ramp, flat, limit, 0);
    releaseRows(p, first + ramp + flat, ramp, ramp, -1);
  }
}

/** Returns the kinds that remain possible for a run with this link, which leads to a non-adjacent row or across the end of an episode. */
function kindOver(p: Pool, row: u32, link: u32): u32 {
  if ((link & LINK_ENDS) != 0) return 0;
  if ((row & PLACE) + 1 != p.rows) return SINGLE;
  return p.isNext(row, link) ? SINGLE | PIECEWISE | NUMBERED : SINGLE | PIECEWISE;
}

/** Releases consecutive rows: the first `times` times, each of the others `more` times more often than its predecessor. */
function releaseRows(p: Pool, first: u32, rows: u32, times: u32, more: i32): void {
  for (let row = first; row < first + rows; row++) {
    p.releaseTimes(row, Head.of(row), times);
    times += more;
  }
}
