/** Implements tables that grow and remove their oldest items, and the calls that read a table slot by slot. */
import { arena_free } from "../memory/arena";
import { E_OUT_OF_MEMORY } from "../memory/error";
import { random_below, random_f64 } from "../memory/random";
import { ITEM_BYTES } from "../selectors/items";
import { FREE, layKeys, Slots } from "./slots";
import { CANONICAL_END, Table } from "./table";

/** Gives an empty table the keys of a table with up to `max` items, so that keys stay valid when the items move into a larger table. */
export function table_open(table: usize, max: u32): void {
  layKeys(changetype<Table>(table).slots(), max + 1, 0, 1);
}

/** Reserves memory for the item counts of n more episodes. Returns 0 or OUT_OF_MEMORY. */
export function table_reserve(table: usize, n: u32): i32 {
  return changetype<Table>(table).episodes().reserve(n) ? 0 : E_OUT_OF_MEMORY;
}

/** Sets the maximum number of items, which applies from the next insert on. The table may have more items at the time of the call. */
export function table_max_size(table: usize, max: u32): void {
  changetype<Table>(table).maxSize = max;
}

/**
 * Moves everything into an empty table with more room; afterwards the memory of the first table can be freed. Keys stay valid. Returns 0 or OUT_OF_MEMORY. O(n
 * log n)
 */
export function table_move(from: usize, to: usize): i32 {
  const a = changetype<Table>(from);
  const b = changetype<Table>(to);
  const old = a.slots();
  const slots = b.slots();
  if (old.layouts != 0) {
    if (!slots.reserveLayouts()) return E_OUT_OF_MEMORY;
    memory.copy(slots.layouts, old.layouts, (<usize>(old.high + 1)) << 2);
  }
  const numbers = offsetof<Table>("newest");
  memory.copy(to + numbers, from + numbers, <usize>CANONICAL_END - numbers);
  memory.copy(slots.items, old.items, <usize>(old.high + 1) * ITEM_BYTES);
  slots.high = old.high;
  slots.freeFirst = old.freeFirst;
  slots.freeLast = old.freeLast;
  slots.retired = old.retired;
  slots.since = old.since;
  memory.copy(changetype<usize>(b.episodes()), changetype<usize>(a.episodes()), 32);
  b.episodes().forget();
  const order = a.remover().order();
  let slot = order.oldest;
  for (let i = a.count; i > 0; i--) {
    b.remover().order().insert(slot);
    b.sampler().insert(slot, slots.priority(slot));
    slot = order.next(slot);
  }
  closeLayouts(old);
  return 0;
}

/** Frees the map of episodes and the column layouts, whose memory is outside the table's own area. The table must be empty. */
export function table_close(table: usize): void {
  const episodes = changetype<Table>(table).episodes();
  arena_free(episodes.entries, episodes.capacity << 3);
  closeLayouts(changetype<Table>(table).slots());
}

function closeLayouts(s: Slots): void {
  arena_free(s.layouts, (s.capacity + 1) << 2);
  s.layouts = 0;
}

/** Writes the free slots to `out`, in the order in which they are used next; returns how many. */
export function table_free_slots(table: usize, out: usize): u32 {
  const s = changetype<Table>(table).slots();
  let count: u32 = 0;
  for (let slot = s.freeFirst; slot != 0; slot = s.item(slot).nextFree) {
    store<u32>(out + ((<usize>count) << 2), slot);
    count += 1;
  }
  return count;
}

/** Returns the highest slot ever used. */
export function table_high(table: usize): u32 {
  return changetype<Table>(table).slots().high;
}

/**
 * Makes items of an empty table take these slots first (u32 × n, all of 1 … high), so that a tree draws as it did in another table. Returns false if the slots
 * are invalid, in which case nothing changed.
 */
export function table_arrange(table: usize, high: u32, slots: usize, n: u32): bool {
  const s = changetype<Table>(table).slots();
  if (high > s.capacity || s.high != 0) return false;
  for (let i: u32 = 0; i < n; i++) {
    const slot = load<u32>(slots + ((<usize>i) << 2));
    const again = slot - 1 >= high || s.priority(slot) == FREE;
    if (!again) s.item(slot).priority = FREE;
    else {
      for (let slot: u32 = 1; slot <= high; slot++) s.item(slot).priority = 0;
      return false;
    }
  }
  for (let slot: u32 = 1; slot <= high; slot++) s.item(slot).priority = FREE;
  s.high = high;
  for (let i: u32 = 0; i < n; i++) s.free(load<u32>(slots + ((<usize>i) << 2)));
  return true;
}

/** Writes slots in order of age, after `after` (0: from the oldest on), up to `max`; returns how many. */
export function table_slots(table: usize, after: u32, max: u32, out: usize): u32 {
  const t = changetype<Table>(table);
  const order = t.remover().order();
  const youngest = order.youngest();
  let count: u32 = 0;
  let slot = after == 0 ? order.oldest : after == youngest ? 0 : order.next(after);
  while (slot != 0 && count < max) {
    store<u32>(out + ((<usize>count) << 2), slot);
    count += 1;
    slot = slot == youngest ? 0 : order.next(slot);
  }
  return count;
}

/** Returns the slot of an item by its key; 0 if the item is gone. */
export function table_find(table: usize, key: f64): u32 {
  return changetype<Table>(table).slots().find(key);
}

/** The properties of a slot, numbered as in src/base/abi.ts. */
const ABOUT_PRIORITY: u32 = 0;
const ABOUT_KEY: u32 = 1;
const ABOUT_LENGTH: u32 = 2;
const ABOUT_FIRST: u32 = 3;

/** Returns the property with this number of a slot. */
export function table_about(table: usize, slot: u32, which: u32): f64 {
  const slots = changetype<Table>(table).slots();
  switch (which) {
    case ABOUT_PRIORITY:
      return slots.priority(slot);
    case ABOUT_KEY:
      return slots.key(slot);
    case ABOUT_LENGTH:
      return slots.item(slot).length();
    case ABOUT_FIRST:
      return slots.item(slot).first;
    default:
      return NaN;
  }
}

/** Returns the sum of all weights; 0 if priorities are not used as weights. */
export function table_total(table: usize): f64 {
  return changetype<Table>(table).sampler().total();
}

/** Whether an item has a weight above 0; false if priorities are not used as weights. */
export function table_weighs(table: usize): bool {
  return table_total(table) != 0;
}

/**
 * Returns the least priority; Infinity if there is no item. `zeros`: 1 if some priorities may be 0, which takes O(n) instead of O(1). With `zeros` 0, the
 * exponent must be 1, because the least weight is returned.
 */
export function table_min(table: usize, zeros: u32): f64 {
  const t = changetype<Table>(table);
  if (t.count == 0) return Infinity;
  if (zeros == 0) return t.sampler().tree().minWeight();
  let lowest = Infinity;
  for (let slot: u32 = 1; slot <= t.slots().high; slot++) if (t.slots().isLive(slot)) lowest = min(lowest, t.slots().priority(slot));
  return lowest;
}

/** Returns the address of the table's random state: 32 bytes. */
export function table_random(table: usize): u32 {
  return <u32>changetype<Table>(table).random();
}

/** Returns how many of n random numbers in [0, 1) are below `ratio`. */
export function table_chances(table: usize, n: u32, ratio: f64): u32 {
  const random = changetype<Table>(table).random();
  let below: u32 = 0;
  for (let i: u32 = 0; i < n; i++) if (random_f64(random) < ratio) below += 1;
  return below;
}

/** Returns the slot of a uniformly random item; there must be one. */
export function anySlot(t: Table): u32 {
  const slots: Slots = t.slots();
  let slot: u32;
  // Only the oldest items are removed, and their slots are reused next, so few slots are empty and the loop is short.
  do slot = 1 + random_below(t.random(), slots.high);
  while (!slots.isLive(slot));
  return slot;
}
