/**
 * Slots and tables for a journal.
 *
 * A slot's record: │ slot u32 │ ITEM (with the number of its first row) │ priority f64 │ touch f64, where there are any │ place in the sampler's order │ in the remover's │
 *   a place: links u32 × 2 (fifo, lifo), position u32 (uniform), nothing (what is derived); one for both roles where they share a structure
 * A table's numbers: what table_spans tells, then of each role u32 × 3: the oldest (fifo, lifo), or disorder, head and count (uniform).
 */
import { E_CORRUPT, fail } from "../memory/error";
import { Ring } from "../memory/ring";
import { numberOf, rowOf } from "../rows/pool";
import { PLACE } from "../rows/row";
import { FIFO, LIFO, Selector, UNIFORM } from "../selectors/selector";
import { Slots } from "../tables/slots";
import { CANONICAL_END, Table } from "../tables/table";
import { account } from "./live";
import { joinItem } from "./table";

const TABLE_NUMBERS: usize = CANONICAL_END - <u32>offsetof<Table>("newest");
const SLOTS_NUMBERS: usize = offsetof<Slots>() - offsetof<Slots>("high");
const ROLE_NUMBERS: usize = 12;

export function journal_slot_bytes(table: usize): u32 {
  const t = changetype<Table>(table);
  return 4 + 16 + 8 + (t.slots().touches != 0 ? 8 : 0) + placeBytes(t.sampler()) + (t.apart() ? placeBytes(t.remover()) : 0);
}

/** O(most): takes up to `most` marked slots off the chain, as records to `out` + 16; writes how many, and whether slots are left (u32 each), to `out`. */
export function journal_slots(table: usize, segment: u32, live: usize, most: u32, out: usize): void {
  const t = changetype<Table>(table);
  const slots = t.slots();
  const bytes = journal_slot_bytes(table);
  const chain = slots.markOf(0);
  let count: u32 = 0;
  let slot = chain.word;
  let at = out + 16;
  for (; slot != 0 && count < most; count++, at += bytes) {
    const mark = slots.markOf(slot);
    if (mark.written != 0) account(live, mark.written, 0 - bytes);
    mark.written = <u16>segment;
    account(live, segment, bytes);
    store<u32>(at, slot);
    copySlot(t, slot, at, true);
    if (slots.isUsed(slot)) store<u32>(at, numberOf(t.rows(), slots.item(slot).first), 4);
    slot = mark.next();
    mark.word = 0;
  }
  chain.word = slot;
  store<u32>(out, count);
  store<u32>(out, u32(slot != 0), 4);
}

/** O(most): marks the slots whose newest record is in a segment, from `slot` on. The slot to go on with, 0 = done. */
export function journal_collect_slots(table: usize, segment: u32, slot: u32, most: u32): u32 {
  const slots = changetype<Table>(table).slots();
  for (; slot <= slots.high && most > 0; most--, slot++) {
    if (slots.markOf(slot).written == segment) slots.track(slot);
  }
  return slot <= slots.high ? slot : 0;
}

/** O(count): puts records in their places, in the order in which they were written. 0, or CORRUPT. */
export function journal_load_slots(table: usize, count: u32, from: usize, segment: u32, live: usize): i32 {
  const t = changetype<Table>(table);
  const slots = t.slots();
  const bytes = journal_slot_bytes(table);
  for (; count > 0; count--, from += bytes) {
    const slot = load<u32>(from);
    if (slot - 1 >= slots.capacity) return fail(E_CORRUPT, 1, slot);
    const mark = slots.markOf(slot);
    if (mark.written != 0) account(live, mark.written, 0 - bytes);
    mark.written = <u16>segment;
    account(live, segment, bytes);
    copySlot(t, slot, from, false);
  }
  return 0;
}

/** Bytes of a table's numbers. */
export function journal_table_bytes(): u32 {
  return <u32>(TABLE_NUMBERS + SLOTS_NUMBERS + 2 * ROLE_NUMBERS);
}

/** A table's numbers, to or from `at`. */
export function journal_table(table: usize, at: usize, saving: u32): void {
  const t = changetype<Table>(table);
  at = copyBytes(table + offsetof<Table>("newest"), at, TABLE_NUMBERS, saving);
  at = copyBytes(changetype<usize>(t.slots()) + offsetof<Slots>("high"), at, SLOTS_NUMBERS, saving);
  copyRole(t.sampler(), at, saving);
  if (t.apart()) copyRole(t.remover(), at + ROLE_NUMBERS, saving);
  else if (saving != 0) memory.fill(at + ROLE_NUMBERS, 0, ROLE_NUMBERS);
}

/** Once numbers, slots and rows are there: items hold their rows, and what is derived is made anew. 0, CORRUPT, or OUT_OF_MEMORY. */
export function journal_join_table(table: usize): i32 {
  const t = changetype<Table>(table);
  const slots = t.slots();
  if (slots.high > slots.capacity || slots.freeFirst > slots.high || t.newest > slots.high || t.pendingFirst > slots.high || t.pendingLast > slots.high)
    return fail(E_CORRUPT, 1, slots.high);
  if (!joins(t, t.sampler()) || (t.apart() && !joins(t, t.remover()))) return fail(E_CORRUPT, 2, t.count);
  let number: u32 = 0;
  let row: u32 = 0;
  for (let slot: u32 = 1; slot <= slots.high; slot++) {
    if (slots.markOf(slot).written == 0) return fail(E_CORRUPT, 1, slot);
    if (!slots.isUsed(slot)) {
      if (slots.item(slot).first > slots.high) return fail(E_CORRUPT, 1, slot);
      continue;
    }
    const item = slots.item(slot);
    if (item.first > t.rows().high) return fail(E_CORRUPT, 1, slot);
    // Most items begin a row after the one before: a division less.
    row = row != 0 && item.first == number + 1 && ((row + 1) & PLACE) != 0 && ((row + 1) & PLACE) < t.rows().rows ? row + 1 : rowOf(t.rows(), item.first);
    number = item.first;
    item.first = row;
    const code = joinItem(t, slot);
    if (code != 0) return code;
  }
  return 0;
}

function placeBytes(s: Selector): u32 {
  return s.kind == UNIFORM ? 4 : s.keepsOrder() ? 8 : 0;
}

function copySlot(t: Table, slot: u32, record: usize, saving: bool): void {
  const slots = t.slots();
  const item = changetype<usize>(slots.item(slot));
  let at = copyWord(item, record + 4, saving);
  at = copyWord(item + 8, at, saving);
  at = copyWord(slots.priorityAt(slot), at, saving);
  if (slots.touches != 0) at = copyWord(slots.touchAt(slot), at, saving);
  at = copyPlace(t.sampler(), slot, at, saving);
  if (t.apart()) copyPlace(t.remover(), slot, at, saving);
}

function copyPlace(s: Selector, slot: u32, at: usize, saving: bool): usize {
  if (s.kind == UNIFORM) {
    const here = s.uniform().position(slot);
    store<u32>(saving ? at : here, load<u32>(saving ? here : at));
    return at + 4;
  }
  return s.keepsOrder() ? copyWord(s.order().at(slot), at, saving) : at;
}

function copyRole(s: Selector, at: usize, saving: u32): void {
  if (saving != 0) memory.fill(at, 0, ROLE_NUMBERS);
  if (s.kind == FIFO || s.kind == LIFO) copyBytes(changetype<usize>(s.order()), at, 4, saving);
  if (s.kind != UNIFORM) return;
  const ring = s.uniform().ring();
  copyBytes(changetype<usize>(s.uniform()) + 4, at, 4, saving);
  copyBytes(changetype<usize>(ring) + offsetof<Ring>("head"), at + 4, 8, saving);
}

/** Whether the order of a role fits its table; the entries of a ring are made of their positions. */
function joins(t: Table, s: Selector): bool {
  const slots = t.slots();
  if (s.kind != UNIFORM) {
    if (!s.keepsOrder()) return true;
    if (s.order().oldest > slots.high) return false;
    for (let slot: u32 = 1; slot <= slots.high; slot++) if (s.order().prev(slot) > slots.high || s.order().next(slot) > slots.high) return false;
    return true;
  }
  const ring = s.uniform().ring();
  if (ring.head >= ring.capacity || ring.count != t.count || ring.count > ring.capacity) return false;
  for (let slot: u32 = 1; slot <= slots.high; slot++) {
    if (!slots.isLive(slot)) continue;
    const position = load<u32>(s.uniform().position(slot));
    if (position >= ring.capacity) return false;
    store<u32>(<usize>ring.entries + ((<usize>position) << 2), slot);
  }
  return true;
}

/** Eight bytes from here to a record, or back; where the record goes on. Short copies are quicker by a load and a store. */
function copyWord(here: usize, record: usize, saving: bool): usize {
  store<u64>(saving ? record : here, load<u64>(saving ? here : record));
  return record + 8;
}

/** Bytes from here to a record, or back; where the record goes on. */
function copyBytes(here: usize, record: usize, bytes: usize, saving: u32): usize {
  memory.copy(saving != 0 ? record : here, saving != 0 ? here : record, bytes);
  return record + bytes;
}
