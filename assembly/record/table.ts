/** A table's numbers, slots and orders as records. */
import { E_CORRUPT, E_OUT_OF_MEMORY, fail } from "../memory/error";
import { numberOf, Pool } from "../rows/pool";
import { LINK_ROW } from "../rows/row";
import { UNIFORM } from "../selectors/selector";
import { Item, SHAPE_AT, Slots } from "../tables/slots";
import { CANONICAL_END, countEpisodes, retainRun, Table } from "../tables/table";
import { exchange, transfer } from "./names";

/** A slot's record: ITEM (with the number of its first row), priority, touch. */
const SLOT_RECORD: usize = 32;

/** Where a table's own numbers are, which hold no address: two spans (address, bytes). The host copies them out, or in again before anything else. */
export function table_spans(table: usize, out: usize): void {
  const t = changetype<Table>(table);
  store<u32>(out, <u32>table + offsetof<Table>("newest"));
  store<u32>(out, CANONICAL_END - offsetof<Table>("newest"), 4);
  store<u32>(out, <u32>changetype<usize>(t.slots()) + offsetof<Slots>("high"), 8);
  store<u32>(out, offsetof<Slots>() - offsetof<Slots>("high"), 12);
}

/** The records of `count` slots from `slot` on (32 bytes each), to or from `at`; 0, CORRUPT, or OUT_OF_MEMORY. */
export function table_records(table: usize, slot: u32, count: u32, at: usize, saving: u32): i32 {
  const t = changetype<Table>(table);
  const slots = t.slots();
  if (slots.high > slots.capacity || t.newest > slots.high || t.count > t.maxSize || t.count > slots.high) return fail(E_CORRUPT, 1, slots.high);
  if (slot == 0 || <u64>slot + count - 1 > slots.high) return fail(E_CORRUPT, 1, slot);
  for (; count > 0; count--, slot++, at += SLOT_RECORD) {
    const item = slots.item(slot);
    transfer(changetype<usize>(item), at, 16, saving);
    transfer(slots.priorityAt(slot), at + 16, 8, saving);
    if (slots.touches != 0) transfer(slots.touchAt(slot), at + 24, 8, saving);
    else if (saving != 0) store<u64>(at, 0, 24);
    // Of a free slot `first` is a slot.
    if (!slots.isUsed(slot)) continue;
    if (saving != 0) store<u32>(at, numberOf(t.rows(), item.first));
    else {
      const code = rejoin(t, slot);
      if (code != 0) return code;
    }
  }
  return 0;
}

/** Slots in the order that a role (0 sampler, 1 remover) keeps, from `cursor` on (0: its beginning), up to `most`: writes how many, the next cursor (0 = done), the disorder, then the slots. Heaps and trees keep none: they are derived. */
export function table_order(table: usize, role: u32, cursor: u32, most: u32, out: usize): void {
  const t = changetype<Table>(table);
  const s = role == 0 ? t.sampler() : t.remover();
  let count: u32 = 0;
  let next: u32 = 0;
  const slots = out + 12;
  store<u32>(out, 0, 8);
  if (s.keepsOrder() && (role == 0 || t.apart())) {
    if (s.kind == UNIFORM) {
      const ring = s.uniform().ring();
      for (; count < most && cursor + count < ring.count; count++) store<u32>(slots + ((<usize>count) << 2), ring.get(cursor + count));
      next = cursor + count < ring.count ? cursor + count : 0;
      store<u32>(out, s.uniform().disorder, 8);
    } else {
      const order = s.order();
      next = cursor == 0 ? order.oldest : cursor;
      for (; next != 0 && count < most; count++) {
        store<u32>(slots + ((<usize>count) << 2), next);
        next = next == order.youngest() ? 0 : order.next(next);
      }
    }
  }
  store<u32>(out, count);
  store<u32>(out, next, 4);
}

/** Joins live slots in the order that a role kept; 0, or CORRUPT. */
export function table_rejoin(table: usize, role: u32, count: u32, from: usize, disorder: u32): i32 {
  const t = changetype<Table>(table);
  const s = role == 0 ? t.sampler() : t.remover();
  if (count > t.count || !s.keepsOrder()) return fail(E_CORRUPT, 2, count);
  for (; count > 0; count--, from += 4) {
    const slot = load<u32>(from);
    if (slot == 0 || slot > t.slots().high || !t.slots().isLive(slot)) return fail(E_CORRUPT, 2, slot);
    s.insert(slot, 0);
  }
  if (s.kind == UNIFORM) s.uniform().disorder = disorder;
  return 0;
}

/** A slot that was loaded, its first row by number. */
function rejoin(t: Table, slot: u32): i32 {
  const item = t.slots().item(slot);
  item.first = exchange(t.rows(), item.first, 0);
  return joinItem(t, slot);
}

/** A slot that was loaded: holds its rows, counts its episodes, joins what is derived. 0, CORRUPT, or OUT_OF_MEMORY. */
export function joinItem(t: Table, slot: u32): i32 {
  const slots = t.slots();
  const item = slots.item(slot);
  const priority = Math.abs(slots.priority(slot));
  if (!t.takes(priority) || item.first > LINK_ROW || !isRun(t.rows(), item)) return fail(E_CORRUPT, 1, slot);
  // Rows may stand elsewhere now: whether they follow each other is found out anew.
  item.word = item.length() | retainRun(item.first, item.length()) | (item.shape() << SHAPE_AT);
  if (!t.episodes().reserve(item.episodes())) return E_OUT_OF_MEMORY;
  if (slots.isPending(slot)) {
    t.episodes().promised += item.episodes();
    return 0;
  }
  countEpisodes(t, item.first, item.episodes(), true);
  if (!t.sampler().keepsOrder()) t.sampler().insert(slot, priority);
  if (t.apart() && !t.remover().keepsOrder()) t.remover().insert(slot, priority);
  return 0;
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
