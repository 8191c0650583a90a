/** Appends blocks: many steps in one call, passed as columns. */
import { Bytes, copyBytes } from "../memory/bytes";
import { E_NO_EPISODE, E_OUT_OF_MEMORY, E_PRIORITY, fail } from "../memory/error";
import { NARROW, SHARED } from "../rows/leaf";
import { Pool, reserveRows } from "../rows/pool";
import { Head, LINK_ENDS, LINK_FINAL, PLACE } from "../rows/row";
import { NEIGHBOURS, NUMBERED, PIECEWISE, Run, SINGLE } from "../rows/run";
import { SLIDES, Sliding } from "../rows/sliding";
import { DROPPED, FIRST, ONE_MORE, placeLeaf, Stream } from "../rows/stream";
import { EvictInPlace } from "../tables/evict-in-place";
import { canStore, keepStored } from "../tables/stored-bytes";
import { Dues, OWN } from "./dues";
import { ENDS, endLane, endOf, finishLane, GOES_ON, makeLast, TERMINATES, TRUNCATES } from "./ends";
import { canTake, makeItem } from "./item";
import { itemsOf } from "./lane-walk";
import { Rule } from "./rule";
import { Sequences } from "./sequence";
import { Writer } from "./writer";

/** The minimum number of rows for the fast path (`pushStraight`). For fewer rows, its preparation costs more than it saves. */
const SHORT: u32 = 4;

/**
 * Appends rows given as columns, with the items that the rules make of these rows. Row r belongs to lane r mod lanes. `columns`: u32 × leaves, the address of
 * each, then u32 × rules: f64 × rows, the priority of the item that ends with the row, or of the transition that begins with the row; 0 for the rule's own
 * priority. `ends`: u8 × rows, how the lane's episode ends with the row (0 not, 1 without a final step, 2 truncated, 3 terminated); 0 for none. `finals`: u32 ×
 * leaves as in `columns`, of final steps, one per row that ends with 2 or 3, in the order of these rows; 0 if the final steps are zeros, or (WRITER awaits)
 * follow as the next rows of their lanes. Returns the number of waiting items, or a code if nothing changed. O(rows × (row + items))
 */
export function writer_append_block(writer: usize, columns: usize, rows: u32, ends: usize, finals: usize): i32 {
  const w = changetype<Writer>(writer);
  const pool = w.stream(0).rows();
  const refused = admissible(w, pool, columns, rows, ends);
  if (refused != 0) return refused;
  let waiting: u32 = 0;
  let ended: u32 = 0;
  for (let r: u32 = 0; r < rows; ) {
    const first = w.stream(r % w.lanes);
    if (first.awaits == LINK_ENDS) {
      first.fill(0, columns, r, w.across);
      r += 1;
      continue;
    }
    if (first.awaits == DROPPED) {
      first.awaits = FIRST;
      r += 1;
      continue;
    }
    const live = pool.live();
    let row = pool.takeMany(rowsTaken(w, pool, ends, r, rows));
    const end = r + pool.live() - live;
    scatterRows(pool, columns, row, r, end - r);
    while (r < end) {
      const s = w.stream(r % w.lanes);
      const count = rowsAlike(w, pool, s, ends, r, end);
      const straight = pushStraight(w, s, pool, columns, row, r, count);
      if (straight == 0) waiting += pushOne(w, s, pool, columns, row, r);
      r += max(straight, 1);
      row += max(straight, 1);
      const how = endOf(ends, r - 1);
      if (how == ENDS) endLane(w, s);
      else if (how == TRUNCATES && w.awaits != 0) s.awaits = LINK_FINAL;
      else if (how != GOES_ON) {
        pushFinal(s, pool, finals, ended);
        waiting += finishLane(w, s, how == TERMINATES ? LINK_ENDS : LINK_FINAL);
        // The final step of a terminated episode is stored as zeros first, because transitions do not need its values. The lane's next row contains them.
        if (w.awaits != 0) s.awaits = LINK_ENDS;
        ended += 1;
      }
    }
    keepStored(pool);
  }
  return waiting;
}

/** Returns how many of the rows from the r-th on become new rows of the pool, up to the next row that only contains the values of a final step. */
function rowsTaken(w: Writer, pool: Pool, ends: usize, r: u32, rows: u32): u32 {
  if (w.awaits == 0) return rows - r;
  let end = r;
  // A pool returns at most the rows of one block at a time.
  rows = min(rows, r + pool.rows);
  while (end < rows && !isValue(w, ends, end, end < r + w.lanes)) end++;
  return end - r;
}

/**
 * Whether row r contains the values of a final step that exists already, or that is dropped. @param known whether the lane's stream determines this, instead
 * of the previous row
 */
function isValue(w: Writer, ends: usize, r: u32, known: bool): bool {
  if (!known) return endOf(ends, r - w.lanes) == TERMINATES;
  const awaits = w.stream(r % w.lanes).awaits;
  return awaits == LINK_ENDS || awaits == DROPPED;
}

/** Returns how many rows from r on continue the open episode of a writer's only lane, if rows have no separate leaves; 1 in all other cases. */
function rowsAlike(w: Writer, pool: Pool, s: Stream, ends: usize, r: u32, end: u32): u32 {
  if (w.lanes != 1 || pool.hasSeparateLeaves() || s.awaits != ONE_MORE) return 1;
  if (ends == 0) return end - r;
  let count: u32 = 1;
  while (r + count < end && endOf(ends, r + count - 1) == GOES_ON) count++;
  return count;
}

/** Returns the address of the block's priorities for rule k; 0 for none. */
function prioritiesOf(pool: Pool, columns: usize, k: u32): usize {
  return <usize>load<u32>(columns + ((<usize>(pool.leaves + k)) << 2));
}

function pushOne(w: Writer, s: Stream, pool: Pool, columns: usize, row: u32, r: u32): u32 {
  let waiting: u32 = 0;
  const how = s.awaits;
  placeApart(s, pool, columns, row, r);
  pushRow(s, pool, row);
  for (let k: u32 = 0; k < w.rules; k++) {
    const rule = w.rule(k);
    const priorities = prioritiesOf(pool, columns, k);
    let priority = priorities == 0 ? OWN : load<f64>(priorities + ((<usize>r) << 3));
    if (how == LINK_FINAL) waiting += makeLast(w, s, rule, priority);
    else {
      if (rule.tails()) priority = duePriority(w, s, rule, priorities == 0 ? 0 : priorities + ((<usize>r) << 3));
      if (!(w.spans(rule) ? rule.reaches(s, 0) : rule.makes(s.episodeStep))) continue;
      if (rule.isSequence()) {
        waiting += Sequences.make(w, s, rule, rule.length, priority);
        continue;
      }
      if (priority < 0) priority = rule.gives(s, rule.length);
      waiting += u32(makeItem(s, s.episode, rule.to(), s.firstOf(rule.length), rule.length, rule.layout, priority) == 0);
    }
  }
  if (how == LINK_FINAL) {
    w.noteEnd(s, true);
    s.finish(how, w.across);
    Dues.clear(w, s);
  }
  return waiting;
}

/**
 * Returns the priority of the transition that the newest step may complete; a priority that comes with the step is for the transition that begins with the
 * step.
 */
function duePriority(w: Writer, s: Stream, rule: Rule, comes: usize): f64 {
  const step = s.episodeStep;
  const priority = step < rule.length ? 0 : Dues.take(w, s, rule, step + 1 - rule.length);
  if (comes != 0) Dues.put(w, s, rule, step, load<f64>(comes));
  return priority;
}

/** Adds a written row that only the stream holds. */
function pushRow(s: Stream, pool: Pool, row: u32): void {
  // refs 1, next 0
  store<u64>(changetype<usize>(Head.of(row)), 1);
  s.notePush(pool, row);
  s.push(pool, row);
}

/** Adds a final step: the f-th of `finals`, or zeros. */
function pushFinal(s: Stream, pool: Pool, finals: usize, f: u32): void {
  const row = pool.take();
  if (finals == 0) zeroRow(pool, row);
  else {
    scatterRows(pool, finals, row, f, 1);
    placeApart(s, pool, finals, row, f);
  }
  pushRow(s, pool, row);
}

/** Writes the leaves of the r-th row of a block that are outside the row. */
function placeApart(s: Stream, pool: Pool, columns: usize, row: u32, r: u32): void {
  for (let i: u32 = 0; pool.hasSeparateLeaves() && i < pool.leaves; i++) {
    placeLeaf(s, pool, row, i, <usize>load<u32>(columns + ((<usize>i) << 2)) + <usize>(r * pool.leaf(i).valueBytes()));
  }
}

/** Writes zeros to a row and its columns. Frames of zeros have the name 0, so no frame is stored. */
function zeroRow(pool: Pool, row: u32): void {
  memory.fill(pool.bytes(row), 0, pool.rowBytes);
  for (let i: u32 = 0; pool.hasSeparateLeaves() && i < pool.leaves; i++) {
    const leaf = pool.leaf(i);
    if (leaf.kind != SHARED) memory.fill(pool.value(row, leaf), 0, leaf.bytes);
  }
}

/**
 * A fast path for the common case: up to `limit` rows from which every rule makes one item each, if all items are runs and each replaces one of the oldest
 * items in a full table. Returns the number of rows; 0 if the case does not apply.
 */
function pushStraight(w: Writer, s: Stream, pool: Pool, columns: usize, row: u32, r: u32, limit: u32): u32 {
  let count: u32 = s.awaits != ONE_MORE ? 0 : limit;
  // Without rules, only the stream holds steps, so all of the pushed steps must fit in it.
  if (w.rules == 0) count = min(count, s.recent().capacity);
  let refs: u32 = 0;
  for (let k: u32 = 0; k < w.rules && count >= SHORT; k++) {
    // While priorities from steps before the block are due, rows are appended one by one.
    if (w.rule(k).dues != 0 && r < w.rule(k).length - 1) return 0;
    count = evictable(w, k, s, row, count);
    refs += w.rule(k).length;
  }
  if (count < SHORT) return 0;
  // Items of one rule may be sliding windows; the items of the other rules must be plain.
  const sliding = slidingRule(w, s, row, count);
  for (let k: u32 = 0; k < w.rules; k++) if (k != sliding && !inBlock(s, row, w.rule(k))) return 0;
  const begins = sliding < w.rules ? firstOf(s, row, w.rule(sliding)) : 0;
  if (begins != 0) refs += 1 - w.rule(sliding).length;
  s.pushMany(pool, row, count, refs);
  if (begins != 0) Sliding.retainMany(s, pool, begins, w.rule(sliding).length, count);
  for (let k: u32 = 0; k < w.rules; k++) if (k != sliding) holdEnds(row, count, w.rule(k).length);
  for (let k: u32 = 0; k < w.rules; k++) {
    const rule = w.rule(k);
    const first = k == sliding ? begins : row + 1 - rule.length;
    // If items cross the end of a block, their kind depends on all of their links: the links of the first item, and the links of the new rows.
    const kind = first == row + 1 - rule.length ? NEIGHBOURS : s.numbered() >= rule.length + count - 2 ? SINGLE | PIECEWISE | NUMBERED : SINGLE | PIECEWISE;
    const word = rule.length | kind | (k == sliding ? SLIDES : 0);
    let priorities = prioritiesOf(pool, columns, k);
    if (priorities != 0) priorities += (<usize>r) << 3;
    if (priorities != 0 && rule.tails()) {
      for (let i = count - min(rule.length - 1, count); i < count; i++)
        Dues.put(w, s, rule, s.episodeStep + 1 + i - count, load<f64>(priorities + ((<usize>i) << 3)));
      priorities -= (<usize>(rule.length - 1)) << 3;
    }
    EvictInPlace.many(rule.to(), first, word, rule.layout, count, rule.gives(s, 0), priorities);
  }
  return count;
}

/** Whether the run of a rule's item that ends with `row`, the next row, is contiguous in one block. In several blocks, the names could match by chance. */
function inBlock(s: Stream, row: u32, rule: Rule): bool {
  return (row & PLACE) + 1 >= rule.length && firstOf(s, row, rule) == row + 1 - rule.length;
}

/** Returns the first row of a rule's item that ends with `row`, the next row. */
function firstOf(s: Stream, row: u32, rule: Rule): u32 {
  return rule.length == 1 ? row : s.firstOf(rule.length - 1);
}

/** Returns the first rule whose items, which end with `row` and the rows after it, may be sliding windows; else the number of rules. */
function slidingRule(w: Writer, s: Stream, row: u32, count: u32): u32 {
  let k: u32 = 0;
  while (k < w.rules && !Sliding.takesMany(s, firstOf(s, row, w.rule(k)), w.rule(k).length, count)) k++;
  return k;
}

/**
 * Updates the holds for runs of `length` rows, one run ending with each of `count` rows: adds holds to the rows before the first row, and removes holds from
 * the last rows, which belong to fewer than `length` runs.
 */
function holdEnds(row: u32, count: u32, length: u32): void {
  for (let i: u32 = 1; i < length; i++) {
    Head.of(row - i).refs += min(count, length - i);
    if (i <= count) Head.of(row + count - i).refs -= length - i;
  }
}

/** Returns how many items, which end with `row` and the rows after it, can replace old items together. */
function evictable(w: Writer, k: u32, s: Stream, row: u32, limit: u32): u32 {
  const pool = s.rows();
  const rule = w.rule(k);
  // This excludes items that span episodes, sequences, which differ from each other, and items whose priorities are in their first steps. It also excludes two
  // rules for one table, whose items alternate.
  if (rule.stride != 1 || rule.isSequence() || rule.leaf() != 0 || !rule.makes(s.nextStep()) || w.making(k, s) != 1) return 0;
  const before = rule.length - 1;
  if (before != 0) {
    if (s.straight() < before - 1 || !Run.goesStraight(pool, s.last, row)) return 0;
    // If items cross the end of a block, only those that begin before the end replace items together, because each must begin one row after the previous one.
    const first = s.firstOf(before);
    if (first != row - before) limit = min(limit, pool.rows - (first & PLACE));
  }
  return EvictInPlace.fitting(rule.to(), s.episode, limit);
}

/** Checks and reserves everything that could otherwise make a block fail halfway. Returns 0 or a code. */
function admissible(w: Writer, pool: Pool, columns: usize, rows: u32, ends: usize): i32 {
  let episodes = w.lanes;
  let finals: u32 = 0;
  for (let lane: u32 = 0; lane < w.lanes && w.across != 0; lane++) episodes += w.stream(lane).recent().count;
  for (let r: u32 = 0; ends != 0 && r < rows; r++) {
    const how = endOf(ends, r);
    episodes += u32(how != GOES_ON);
    if (how <= ENDS) continue;
    // If final steps follow as the next rows (WRITER awaits), the row after a done flag cannot end another episode.
    const before = r < w.lanes ? w.stream(r).awaitsFinal() : endOf(ends, r - w.lanes) > ENDS;
    if (w.awaits != 0 && before) return fail(E_NO_EPISODE, r % w.lanes, <f64>r);
    finals += 1;
  }
  if (w.reward != 0) {
    const leaf = pool.leaf(w.reward - 1);
    let value = <usize>load<u32>(columns + ((<usize>(w.reward - 1)) << 2));
    for (let r: u32 = 0; r < rows; r++, value += <usize>leaf.bytes) {
      const code = w.checkReward(pool, value, r);
      if (code != 0) return code;
    }
  }
  for (let k: u32 = 0; k < w.rules; k++) {
    const rule = w.rule(k);
    const priorities = prioritiesOf(pool, columns, k);
    const code = checkPriorities(w, k, pool, columns, rows);
    if (code != 0) return code;
    for (let r: u32 = 0; priorities != 0 && r < rows; r++) {
      const priority = load<f64>(priorities + ((<usize>r) << 3));
      if (!rule.to().takes(priority)) return fail(E_PRIORITY, r, priority);
    }
    const items = rule.to().limiter().lets() ? rows : itemsOf(w, k, rows, ends);
    const refused = canTake(rule.to(), items, episodes);
    if (refused != 0) return refused;
  }
  const stored = canStore(pool);
  if (stored != 0) return stored;
  if (!reserveRows(pool, rows + finals)) return E_OUT_OF_MEMORY;
  for (let k: u32 = 0; k < w.rules; k++) {
    if (w.rule(k).tails() && prioritiesOf(pool, columns, k) != 0 && !Dues.open(w, w.rule(k))) return E_OUT_OF_MEMORY;
  }
  return 0;
}

/** Checks whether a rule that reads priorities from a leaf can use the values of a block. Returns 0 or PRIORITY_LEAF. */
function checkPriorities(w: Writer, k: u32, pool: Pool, columns: usize, rows: u32): i32 {
  const number = w.rule(k).leaf();
  if (number == 0) return 0;
  const bytes = <usize>pool.leaf(number - 1).bytes;
  let value = <usize>load<u32>(columns + ((<usize>(number - 1)) << 2));
  for (let r: u32 = 0; r < rows; r++, value += bytes) {
    const code = w.checkPriority(k, pool, value);
    if (code != 0) return code;
  }
  return 0;
}

/** Writes the narrow leaves of the block's rows from the r-th on to consecutive rows. */
function scatterRows(pool: Pool, columns: usize, row: u32, r: u32, count: u32): void {
  for (let i: u32 = 0; i < pool.leaves; i++) {
    const leaf = pool.leaf(i);
    const column = <usize>load<u32>(columns + ((<usize>i) << 2)) + <usize>(r * leaf.bytes);
    if (leaf.kind == NARROW) scatter(column, leaf.bytes, pool.value(row, leaf), pool.rowBytes, count);
  }
}

/** Writes one leaf's column to consecutive rows. */
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
