/** Blocks: many steps at once, given as columns. */
import { Bytes, copyBytes } from "../memory/bytes";
import { E_OUT_OF_MEMORY, E_PRIORITY, fail } from "../memory/error";
import { NARROW } from "../rows/leaf";
import { Pool, reserveRows } from "../rows/pool";
import { Head } from "../rows/row";
import { PLAIN, SINGLE } from "../rows/run";
import { placeLeaf, Stream, stream_end } from "../rows/stream";
import { EvictInPlace } from "../tables/evict-in-place";
import { canTake, makeItem, Writer } from "./writer";

/** A shorter run is not worth its preparation. */
const SHORT: u32 = 4;

/**
 * O(rows × (row + items)): appends rows given as columns, with the items that the rules make of them. Row r belongs to lane r mod lanes.
 * `columns`: u32 × leaves, where each begins, then u32 × rules: f64 × rows, the priority of the item that ends with the row; 0 for the rule's own. `ends`: u8 × rows, not 0 where the lane's episode ends with the row; 0 for none.
 * Items that wait, or what is refused, and then nothing changed.
 */
export function writer_append_block(writer: usize, columns: usize, rows: u32, ends: usize): i32 {
  const w = changetype<Writer>(writer);
  const pool = w.stream(0).rows();
  const refused = admissible(w, pool, columns, rows, ends);
  if (refused != 0) return refused;
  let waiting: u32 = 0;
  for (let r: u32 = 0; r < rows; ) {
    const live = pool.live();
    const row = pool.takeMany(rows - r);
    const count = pool.live() - live;
    scatterRows(pool, columns, row, r, count);
    waiting += pushRun(w, pool, columns, row, r, r + count, ends);
    r += count;
  }
  return waiting;
}

/** The priorities that the block brings for rule k; 0 for none. */
function given(pool: Pool, columns: usize, k: u32): usize {
  return <usize>load<u32>(columns + ((<usize>(pool.leaves + k)) << 2));
}

/** Rows of the block that follow each other in the pool: `row` is the r-th of the block. Items that wait. */
function pushRun(w: Writer, pool: Pool, columns: usize, row: u32, r: u32, end: u32, ends: usize): u32 {
  let waiting: u32 = 0;
  while (r < end) {
    const s = w.stream(r % w.lanes);
    let limit: u32 = 1;
    if (w.lanes == 1 && !pool.apart()) {
      if (ends == 0) limit = end - r;
      else while (r + limit < end && load<u8>(ends + <usize>(r + limit - 1)) == 0) limit++;
    }
    let count = pushStraight(w, s, pool, columns, row, r, limit);
    if (count == 0) {
      waiting += pushOne(w, s, pool, columns, row, r);
      count = 1;
    }
    r += count;
    row += count;
    if (ends != 0 && load<u8>(ends + <usize>(r - 1)) != 0) stream_end(changetype<usize>(s), w.across);
  }
  return waiting;
}

function pushOne(w: Writer, s: Stream, pool: Pool, columns: usize, row: u32, r: u32): u32 {
  let waiting: u32 = 0;
  // refs 1, next 0
  store<u64>(changetype<usize>(Head.of(row)), 1);
  for (let i: u32 = 0; pool.apart() && i < pool.leaves; i++) {
    placeLeaf(s, pool, row, i, <usize>load<u32>(columns + ((<usize>i) << 2)) + <usize>(r * pool.leaf(i).valueBytes()));
  }
  s.notePush(pool, row);
  s.push(pool, row);
  for (let k: u32 = 0; k < w.rules; k++) {
    const rule = w.rule(k);
    if (!rule.makes(s.episodeStep)) continue;
    const priorities = given(pool, columns, k);
    const priority = priorities == 0 ? rule.priority : load<f64>(priorities + ((<usize>r) << 3));
    if (makeItem(s, rule.to(), s.firstOf(rule.length), rule.length, rule.layout, priority) == 0) waiting += 1;
  }
  return waiting;
}

/**
 * The common case, made fast: up to `limit` rows of which every rule makes an item each, all of them runs, each in the place of one of
 * the oldest in a full table. How many; 0 where that does not hold.
 */
function pushStraight(w: Writer, s: Stream, pool: Pool, columns: usize, row: u32, r: u32, limit: u32): u32 {
  let count: u32 = s.fresh != 0 ? 0 : limit;
  // Without an item nothing holds what the stream does not keep.
  if (w.rules == 0) count = min(count, s.recent().capacity);
  let refs: u32 = 0;
  for (let k: u32 = 0; k < w.rules && count >= SHORT; k++) {
    count = evictable(w, k, s, row, count);
    refs += w.rule(k).length;
  }
  if (count < SHORT) return 0;
  s.pushMany(pool, row, count, refs);
  for (let k: u32 = 0; k < w.rules; k++) holdEnds(row, count, w.rule(k).length);
  for (let k: u32 = 0; k < w.rules; k++) {
    const rule = w.rule(k);
    let priorities = given(pool, columns, k);
    if (priorities != 0) priorities += (<usize>r) << 3;
    EvictInPlace.many(rule.to(), row + 1 - rule.length, rule.length | PLAIN | SINGLE, rule.layout, count, rule.priority, priorities);
  }
  return count;
}

/** Of runs of a length, one of which ends with each of `count` rows: holds the rows before the first, and lets go of the last ones, which are in fewer than `length`. */
function holdEnds(row: u32, count: u32, length: u32): void {
  for (let i: u32 = 1; i < length; i++) {
    Head.of(row - i).refs += min(count, length - i);
    if (i <= count) Head.of(row + count - i).refs -= length - i;
  }
}

/** How many items that end with `row`, the next one, … can take the places of old ones at once. */
function evictable(w: Writer, k: u32, s: Stream, row: u32, limit: u32): u32 {
  const recent = s.recent();
  const rule = w.rule(k);
  const step = s.episodeStep + 1;
  // Where two rules make items for one table, these come in turns.
  if (rule.stride != 1 || !rule.makes(step) || w.making(k, step) != 1) return 0;
  for (let i: u32 = 1; i < rule.length; i++) {
    if (recent.get(recent.count - i) != row - i) return 0;
  }
  return EvictInPlace.fitting(rule.to(), s.episode, limit);
}

/** Everything that could be refused half-way is asked for first. */
function admissible(w: Writer, pool: Pool, columns: usize, rows: u32, ends: usize): i32 {
  let episodes = w.lanes;
  if (ends != 0) for (let r: u32 = 0; r < rows; r++) episodes += load<u8>(ends + <usize>r) != 0 ? 1 : 0;
  for (let k: u32 = 0; k < w.rules; k++) {
    const rule = w.rule(k);
    const priorities = given(pool, columns, k);
    for (let r: u32 = 0; priorities != 0 && r < rows; r++) {
      const priority = load<f64>(priorities + ((<usize>r) << 3));
      if (!rule.to().takes(priority)) return fail(E_PRIORITY, r, priority);
    }
    const items = rule.to().limiter().lets() ? rows : itemsOf(w, k, rows, ends);
    const code = canTake(rule.to(), items, episodes);
    if (code != 0) return code;
  }
  return reserveRows(pool, rows) ? 0 : E_OUT_OF_MEMORY;
}

/** The narrow leaves of the block's rows from the r-th on into rows that follow each other. */
function scatterRows(pool: Pool, columns: usize, row: u32, r: u32, count: u32): void {
  for (let i: u32 = 0; i < pool.leaves; i++) {
    const leaf = pool.leaf(i);
    const column = <usize>load<u32>(columns + ((<usize>i) << 2)) + <usize>(r * leaf.bytes);
    if (leaf.kind == NARROW) scatter(column, leaf.bytes, pool.value(row, leaf), pool.rowBytes, count);
  }
}

/** Items that the rules up to the k-th make of a block for the table of the k-th. */
function itemsOf(w: Writer, k: u32, rows: u32, ends: usize): u32 {
  let items: u32 = 0;
  for (let lane: u32 = 0; lane < w.lanes; lane++) {
    const s = w.stream(lane);
    let step: u32 = s.fresh != 0 ? 0 : s.episodeStep;
    for (let r = lane; r < rows; r += w.lanes) {
      step += 1;
      items += w.making(k, step);
      if (ends != 0 && load<u8>(ends + <usize>r) != 0) step = 0;
    }
  }
  return items;
}

/** One leaf's column into rows that follow each other. */
function scatter(column: usize, bytes: u32, to: usize, step: u32, rows: u32): void {
  const end = to + <usize>(rows * step);
  switch (bytes) {
    case 4:
      for (; to < end; to += step, column += 4) store<u32>(to, load<u32>(column));
      return;
    case 16:
      for (; to < end; to += step, column += 16) Bytes.copy16(to, column);
      return;
    default:
      for (; to < end; to += step, column += bytes) copyBytes(to, column, bytes);
  }
}
