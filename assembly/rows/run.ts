/** A run: rows that are linked, one after the other. What an item is made of. */
import { Pool } from "./pool";
import { Head, LINK_ENDS, LINK_ROW, PLACE } from "./row";

/**
 * What a run is: single, no episode ends before its last row; plain, each row is its predecessor + 1 as well; piecewise, each is but those after a block's last place, which
 * may be anywhere; numbered, these have the next number. Places in ITEM's word.
 */
export const PLAIN: u32 = 1 << 24;
export const SINGLE: u32 = 1 << 25;
export const PIECEWISE: u32 = 1 << 26;
export const NUMBERED: u32 = 1 << 27;
/** Of a run whose rows follow each other in one block, in one episode: all of them. */
export const NEIGHBOURS: u32 = PLAIN | SINGLE | PIECEWISE | NUMBERED;

/** So many links, one after the other, are more than a search. */
const MANY: u32 = 8;

/** The rows of a run from its `from`-th on, n of them; they must be there. O(from + n) */
export function pool_run(pool: usize, row: u32, from: u32, n: u32, out: usize): void {
  Run.rows(changetype<Pool>(pool), row, from, out, out + ((<usize>n) << 2), true);
}

@unmanaged
export class Run {
  /** Whether `row` is where a run goes on after `last` that is plain, or piecewise. */
  @inline
  static goesStraight(p: Pool, last: u32, row: u32): bool {
    return row == last + 1 || (last & PLACE) + 1 == p.rows;
  }

  /** Writes the rows of a run from the `from`-th on; behind the end of an episode it stops, unless it may cross. Where it stopped. */
  static rows(p: Pool, row: u32, from: u32, at: usize, end: usize, cross: bool): usize {
    row = Run.skip(p, row, from, 0);
    while (at < end) {
      store<u32>(at, row);
      at += 4;
      const link = Head.of(row).next;
      // Mostly its neighbour follows, and no episode ends: a guess, so that the cache misses of links overlap.
      if (link == row + 1) row += 1;
      else if (!cross && (link & LINK_ENDS) != 0) break;
      else row = link & LINK_ROW;
    }
    return at;
  }

  /** The row n steps behind one of a run, which must be there. O(1) in a plain or numbered one; else O(blocks), and O(n) in blocks with SEVERAL jumps */
  static skip(p: Pool, row: u32, n: u32, kind: u32): u32 {
    if ((kind & NUMBERED) != 0) return p.rowBehind(row, n);
    for (let near = p.neighbours(row); n > near; near = p.neighbours(row)) {
      n -= near + 1;
      row = p.next(row + near);
    }
    return row + n;
  }

  /** The same, unless too many links would have to be read, one by one: then 0. */
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

  /** How many of n rows from one on there are before an episode ends behind one of them. O(n) */
  static reach(p: Pool, row: u32, n: u32): u32 {
    let count: u32 = 1;
    for (; count < n && !p.ends(row); count++) row = p.next(row);
    return count;
  }

  /** `rows` of a piecewise run: of links only those over the end of a block are read. */
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

  /** Holds each row of a run once more; tells what it is. */
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
      // Before the row is queued, which may overwrite its link.
      const after = head.next & LINK_ROW;
      p.releaseTimes(row, head, 1);
      left -= 1;
      if (left == 0) break;
      row = after;
    }
  }

  /** Lets go of `items` plain runs of a length, the first from `first` on and each a row further. */
  static releaseMany(p: Pool, first: u32, items: u32, length: u32): void {
    // Row j is in one run more than the row before it, in as many, then in one less.
    const limit = min(items, length);
    const ramp = limit - 1;
    const flat = items + length - 1 - 2 * ramp;
    releaseRows(p, first, ramp, 1, 1);
    releaseRows(p, first + ramp, flat, limit, 0);
    releaseRows(p, first + ramp + flat, ramp, ramp, -1);
  }
}

/** What a run can be that goes over a link to another row than the neighbour, or over the end of an episode. */
function kindOver(p: Pool, row: u32, link: u32): u32 {
  if ((link & LINK_ENDS) != 0) return 0;
  if ((row & PLACE) + 1 != p.rows) return SINGLE;
  return p.isNext(row, link) ? SINGLE | PIECEWISE | NUMBERED : SINGLE | PIECEWISE;
}

/** Lets go of rows that follow each other: the first `times` times, each of the others `more` times more often than the one before. */
function releaseRows(p: Pool, first: u32, rows: u32, times: u32, more: i32): void {
  for (let row = first; row < first + rows; row++) {
    p.releaseTimes(row, Head.of(row), times);
    times += more;
  }
}
