/**
 * Saves and loads slots as records: all of them by number, or the changed ones.
 *
 * COUNT: │ slot u32 │ timesSampled u32 │   for a slot that was drawn after its record, and has not changed otherwise
 * SLOT: │ slot u32 │ number of the first row u32 │ length u32 │ generation u32 │ timesSampled u32 │ column layout u32 │ priority f64 │ stamp f64, if there are any │ place in the sampler's order │ in the remover's │
 *   a place has the form that its selector defines, and is zeros if the slot is not live; if both roles share a structure, they have one place in common
 *
 * The payload of a section: │ count u32 │ records … │
 */

import { E_CORRUPT, E_OUT_OF_MEMORY, fail } from "../memory/error";
import { numberOf } from "../rows/pool";
import { placeWords } from "../selectors/kinds";
import { Selector } from "../selectors/selector";
import { Table } from "../tables/table";
import { account, LINK_BYTES, noteLink, noteRecord } from "./record";

/** Returns the number of bytes of a slot's record. */
export function record_slot_bytes(table: usize): u32 {
  const t = changetype<Table>(table);
  return 4 + 16 + 4 + 8 + (t.slots().stamps != 0 ? 8 : 0) + placeBytes(t.sampler()) + (t.hasSeparateRemover() ? placeBytes(t.remover()) : 0);
}

/** Saves up to `limit` slots from `slot` on. Returns the slot to continue with, 0 = done. O(limit) */
export function record_slots(table: usize, slot: u32, limit: u32, out: usize): u32 {
  const t = changetype<Table>(table);
  const bytes = record_slot_bytes(table);
  let count: u32 = 0;
  for (let at = out + 4; slot <= t.slots().high && count < limit; at += bytes, slot++, count++) saveSlot(t, slot, at, at + bytes);
  store<u32>(out, count);
  return slot <= t.slots().high ? slot : 0;
}

/** Removes up to `limit` slots from the chain of changes, and saves them. Returns whether there are more. O(limit) */
export function record_changed_slots(table: usize, segment: u32, live: usize, limit: u32, out: usize): bool {
  const t = changetype<Table>(table);
  const slots = t.slots();
  const bytes = record_slot_bytes(table);
  const chain = slots.changeOf(0);
  let count: u32 = 0;
  let slot = chain.word;
  for (let at = out + 4; slot != 0 && count < limit; at += bytes, count++) {
    const change = slots.changeOf(slot);
    noteRecord(change, segment, live, bytes);
    saveSlot(t, slot, at, at + bytes);
    slots.forgetDraws(slot);
    slot = change.next();
    change.word = 0;
  }
  account(live, segment, count * bytes);
  chain.word = slot;
  store<u32>(out, count);
  return slot != 0;
}

/**
 * Saves up to `limit` counts of drawn slots, from `slot` on. Returns the slot to continue with, 0 = done. `due`: 0 saves only counts that decide when an item
 * is removed. O(slots / 64 + limit), after `record_changed_slots`
 */
export function record_changed_counts(table: usize, segment: u32, live: usize, due: u32, slot: u32, limit: u32, out: usize): u32 {
  const t = changetype<Table>(table);
  const slots = t.slots();
  store<u32>(out, 0);
  if (slots.drawn == 0 || (due == 0 && t.maxTimesSampled == 0)) return 0;
  let at = out + 4;
  const end = at + <usize>(limit * LINK_BYTES);
  for (; slot <= slots.high; slot = (slot | 63) + 1) {
    const word = slots.drawnAt(slot);
    let bits = load<u64>(word);
    for (; bits != 0 && at < end; bits &= bits - 1, at += LINK_BYTES) {
      const drawn = (slot & ~63) + <u32>ctz(bits);
      noteLink(slots.changeOf(drawn), segment, live);
      store<u32>(at, drawn);
      store<u32>(at, slots.item(drawn).timesSampled, 4);
    }
    store<u64>(word, bits);
    if (bits != 0) break;
  }
  store<u32>(out, <u32>(at - out - 4) / LINK_BYTES);
  if (slot <= slots.high) return slot;
  slots.drawn = 0;
  return 0;
}

/** Marks as changed the slots, from `slot` on, whose newest record or count is in a segment. Returns the slot to continue with, 0 = done. O(limit) */
export function record_collect_slots(table: usize, segment: u32, slot: u32, limit: u32): u32 {
  const slots = changetype<Table>(table).slots();
  for (; slot <= slots.high && limit > 0; limit--, slot++) {
    const change = slots.changeOf(slot);
    if (change.written == segment || change.linked == segment) slots.track(slot);
  }
  return slot <= slots.high ? slot : 0;
}

/** Loads counts into their slots. Returns 0 or CORRUPT. O(count) */
export function record_load_counts(table: usize, count: u32, from: usize, segment: u32, live: usize): i32 {
  const slots = changetype<Table>(table).slots();
  for (; count > 0; count--, from += LINK_BYTES) {
    const slot = load<u32>(from);
    if (slot - 1 >= slots.capacity) return fail(E_CORRUPT, 1, slot);
    // The record to which the count belongs may be gone, because a newer record follows, which contains a newer count.
    if (!slots.isLive(slot)) continue;
    if (segment != 0) noteLink(slots.changeOf(slot), segment, live);
    slots.item(slot).timesSampled = load<u32>(from, 4);
  }
  return 0;
}

/**
 * Loads records into their slots, in the order in which they were written. References to rows remain row numbers. `segment` is the segment of the journal that
 * contains the records, or 0 if there is no journal. Returns 0, CORRUPT, or OUT_OF_MEMORY. O(count)
 */
export function record_load_slots(table: usize, count: u32, from: usize, segment: u32, live: usize): i32 {
  const t = changetype<Table>(table);
  const slots = t.slots();
  const bytes = record_slot_bytes(table);
  if (segment != 0) account(live, segment, count * bytes);
  for (; count > 0; count--, from += bytes) {
    const slot = load<u32>(from);
    if (slot - 1 >= slots.capacity) return fail(E_CORRUPT, 1, slot);
    if (load<u32>(from, 20) != 0 && !slots.reserveLayouts()) return E_OUT_OF_MEMORY;
    if (segment != 0) noteRecord(slots.changeOf(slot), segment, live, bytes);
    loadSlot(t, slot, from);
  }
  return 0;
}

function saveSlot(t: Table, slot: u32, at: usize, end: usize): void {
  const slots = t.slots();
  const item = slots.item(slot);
  store<u32>(at, slot);
  // In a free slot, `first` is the next free slot.
  store<u32>(at, slots.isUsed(slot) ? numberOf(t.rows(), item.first) : item.first, 4);
  // The kind of the run is not saved, because it depends on where the rows are in memory.
  store<u32>(at, item.length(), 8);
  store<u32>(at, item.generation, 12);
  store<u32>(at, item.timesSampled, 16);
  store<u32>(at, slots.layout(slot), 20);
  store<f64>(at, slots.priority(slot), 24);
  at += 32;
  if (slots.stamps != 0) {
    store<f64>(at, load<f64>(slots.stampAt(slot)));
    at += 8;
  }
  if (!slots.isLive(slot)) {
    memory.fill(at, 0, end - at);
    return;
  }
  at = t.sampler().copyPlace(slot, at, false);
  if (t.hasSeparateRemover()) at = t.remover().copyPlace(slot, at, false);
  if (!ASC_NO_ASSERT) assert(at == end, "copyPlace copies as many words as kinds.ts has");
}

function placeBytes(s: Selector): u32 {
  return placeWords(s.kind) << 2;
}

function loadSlot(t: Table, slot: u32, from: usize): void {
  const slots = t.slots();
  const item = slots.item(slot);
  item.first = load<u32>(from, 4);
  item.word = load<u32>(from, 8);
  item.generation = load<u32>(from, 12);
  item.timesSampled = load<u32>(from, 16);
  slots.setLayout(slot, load<u32>(from, 20));
  item.priority = load<f64>(from, 24);
  from += 32;
  if (slots.stamps != 0) {
    store<f64>(slots.stampAt(slot), load<f64>(from));
    from += 8;
  }
  from = t.sampler().copyPlace(slot, from, true);
  if (t.hasSeparateRemover()) t.remover().copyPlace(slot, from, true);
}
