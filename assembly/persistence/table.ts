/**
 * Saves the numbers of a table as two records. TABLE changes when items are created, changed or removed, and DRAWN changes with each draw. So a journal writes
 * little per draw.
 *
 * TABLE: │ TABLE from `newest` to `shortest` │ the limiter's inserts u64 │ SLOTS from `high` on │ the ends of the sampler's order (12) │ of the remover's (12) │
 *   one of the orders does not need its last word, which holds `since` of SLOTS: the remover's order, unless the remover is a separate uniform selector.
 *   In that case the sampler is not uniform, and its order holds `since`
 * DRAWN: │ unique f64 │ RANDOM (32) │ the limiter's samples u64 │
 */
import { E_CORRUPT, E_OUT_OF_MEMORY, fail } from "../memory/error";
import { Pool } from "../rows/pool";
import { UNIFORM } from "../selectors/kinds";
import { END_WORDS } from "../selectors/selector";
import { Item, Slots } from "../tables/slots";
import { CANONICAL_END, countEpisodes, DRAWN_AT, DRAWN_BYTES, retainRun, Table } from "../tables/table";

const TABLE_AT: usize = offsetof<Table>("newest");
const TABLE_BYTES: usize = <usize>DRAWN_AT - TABLE_AT;
const INSERTS_AT: usize = <usize>(DRAWN_AT + DRAWN_BYTES);
const INSERTS_BYTES: usize = <usize>CANONICAL_END - INSERTS_AT;
const SLOTS_AT: usize = offsetof<Slots>("high");
const SLOTS_BYTES: usize = offsetof<Slots>() - SLOTS_AT;
const ENDS_AT: usize = TABLE_BYTES + INSERTS_BYTES + SLOTS_BYTES;
const END_BYTES: u32 = END_WORDS << 2;
/** The offset of the last word of the sampler's order. */
const SAMPLER_LAST: usize = ENDS_AT + END_BYTES - 4;
/** The offset of the last word of the remover's order. */
const REMOVER_LAST: usize = ENDS_AT + 2 * END_BYTES - 4;

/** Returns the number of bytes of a TABLE. */
export function record_table_bytes(): u32 {
  return <u32>ENDS_AT + 2 * END_BYTES;
}

/** Returns the number of bytes of a DRAWN. */
export function record_drawn_bytes(): u32 {
  return DRAWN_BYTES;
}

export function record_drawn(table: usize, out: usize): void {
  memory.copy(out, table + DRAWN_AT, DRAWN_BYTES);
}

/** Loads the state that draws change, on which no other state depends. Returns 0. */
export function record_load_drawn(table: usize, from: usize): i32 {
  memory.copy(table + DRAWN_AT, from, DRAWN_BYTES);
  return 0;
}

export function record_table(table: usize, out: usize): void {
  const t = changetype<Table>(table);
  memory.copy(out, table + TABLE_AT, TABLE_BYTES);
  memory.copy(out + TABLE_BYTES, table + INSERTS_AT, INSERTS_BYTES);
  memory.copy(out + TABLE_BYTES + INSERTS_BYTES, changetype<usize>(t.slots()) + SLOTS_AT, SLOTS_BYTES);
  memory.fill(out + ENDS_AT, 0, 2 * END_BYTES);
  const end = t.sampler().copyEnds(out + ENDS_AT, false);
  if (t.hasSeparateRemover()) t.remover().copyEnds(end, false);
  store<u32>(sinceAt(t, out), t.slots().since);
}

/** Returns the address of `since` in a record: a word that is 0 until the first epoch. */
function sinceAt(t: Table, record: usize): usize {
  return record + (t.hasSeparateRemover() && t.remover().kind == UNIFORM ? SAMPLER_LAST : REMOVER_LAST);
}

/**
 * Loads the numbers of a table, after its slots are loaded and rows have their names. Lets the items hold their rows, and rebuilds derived state. Returns 0,
 * CORRUPT, or OUT_OF_MEMORY.
 */
export function record_load_table(table: usize, from: usize): i32 {
  const t = changetype<Table>(table);
  const slots = t.slots();
  memory.copy(table + TABLE_AT, from, TABLE_BYTES);
  memory.copy(table + INSERTS_AT, from + TABLE_BYTES, INSERTS_BYTES);
  memory.copy(changetype<usize>(slots) + SLOTS_AT, from + TABLE_BYTES + INSERTS_BYTES, SLOTS_BYTES);
  const end = t.sampler().copyEnds(from + ENDS_AT, true);
  if (t.hasSeparateRemover()) t.remover().copyEnds(end, true);
  slots.since = load<u32>(sinceAt(t, from));
  if (slots.since > slots.lastGeneration) return fail(E_CORRUPT, 1, slots.since);
  const high = slots.high;
  if (high > slots.capacity || slots.freeFirst > high || slots.freeLast > high) return fail(E_CORRUPT, 1, high);
  if (t.newest > high || t.pendingFirst > high || t.pendingLast > high || t.count > high) return fail(E_CORRUPT, 1, high);
  let number: u32 = 0;
  let row: u32 = 0;
  for (let slot: u32 = 1; slot <= high; slot++) {
    const item = slots.item(slot);
    // A slot that was ever used has had a generation.
    if (item.generation == 0) return fail(E_CORRUPT, 1, slot);
    if (!slots.isUsed(slot)) {
      if (item.first > high || slots.layout(slot) != 0) return fail(E_CORRUPT, 1, slot);
      continue;
    }
    if (item.first > t.rows().high || (slots.isPending(slot) && item.nextInChain > high)) return fail(E_CORRUPT, 1, slot);
    row = t.rows().rowNear(row, number, item.first);
    number = item.first;
    item.first = row;
    const code = joinItem(t, slot);
    if (code != 0) return code;
  }
  if (!t.sampler().rebuild(t.count, high) || (t.hasSeparateRemover() && !t.remover().rebuild(t.count, high))) return fail(E_CORRUPT, 2, t.count);
  return 0;
}

/**
 * Adds a loaded item: holds its rows and, unless the item waits, counts its episodes and adds it to the selectors. Returns 0, CORRUPT, or OUT_OF_MEMORY.
 */
function joinItem(t: Table, slot: u32): i32 {
  const slots = t.slots();
  const item = slots.item(slot);
  const priority = Math.abs(slots.priority(slot));
  if (!t.takes(priority) || !isRun(t.rows(), item)) return fail(E_CORRUPT, 1, slot);
  item.word = item.length() | retainRun(t, item.first, item.length());
  if (!t.episodes().reserve(item.episodes())) return E_OUT_OF_MEMORY;
  if (slots.isPending(slot)) {
    t.episodes().promised += item.episodes();
    return 0;
  }
  countEpisodes(t, item.first, item.episodes(), true);
  const placed = t.sampler().restore(slot, priority) && (!t.hasSeparateRemover() || t.remover().restore(slot, priority));
  return placed ? 0 : fail(E_CORRUPT, 2, slot);
}

/** Whether an item's rows are linked to its end. */
function isRun(p: Pool, item: Item): bool {
  let row = item.first;
  let left = item.length();
  while (row != 0 && left > 1) {
    row = p.next(row);
    left -= 1;
  }
  return row != 0 && left == 1;
}
