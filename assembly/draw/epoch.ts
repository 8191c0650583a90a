/**
 * An epoch draws each item that existed at its start exactly once, in a computed seeded order of the slots or in slot order. The caller keeps the state of the
 * epoch, which is a few numbers. The items of an epoch have lower generations than items inserted since.
 */
import { fillWith } from "../memory/bytes";
import { E_UNLIKE, fail } from "../memory/error";
import { Prefetch } from "../memory/prefetch";
import { ITEM_BYTES, Items } from "../selectors/items";
import { Table } from "../tables/table";
import { Draw, PIECE, PROBABILITY, SLOT, WEIGHT } from "./draw";
import { Permutation, placesOf } from "./permutation";
import { AHEAD, fitsWith, prefetchItems, record, SAME_COLUMNS, see, takeBack } from "./sample";

/** A flag in addition to the flags of `table_sample`: draw in a seeded order instead of slot order. */
export const SHUFFLED: u32 = 128;
/** A flag in addition to the flags of `table_sample`: only preview the draw, without changing the table. */
export const LOOKS: u32 = 256;

/**
 * Begins an epoch: later items get higher generations than existing ones. Returns the lowest of the new generations, or 0 if none is left (KEYS_EXHAUSTED).
 * O(slots)
 */
export function table_epoch_begin(table: usize): u32 {
  return changetype<Table>(table).slots().begin();
}

/**
 * Continues an epoch that began before: later items get a generation of at least `since`. Returns false if no epoch of this table, or of the table in the
 * snapshot, can have these numbers: an epoch begins above every existing generation and has at most as many slots as exist now. O(1), or O(slots) if the table
 * has no record of the beginning of the epoch
 */
export function table_epoch_resume(table: usize, since: u32, high: u32, position: u32, flags: u32): bool {
  const slots = changetype<Table>(table).slots();
  if (since == 0 || since > slots.lastGeneration || high == 0 || high > slots.high) return false;
  if (position > ((flags & SHUFFLED) != 0 ? placesOf(high) : high)) return false;
  if (since <= slots.since) return true;
  // A snapshot taken before the epoch began has no newer items.
  const before = slots.since;
  if (slots.begin() < since) {
    slots.since = before;
    return false;
  }
  slots.since = since;
  return true;
}

/**
 * Writes the next items of an epoch from a position on, up to n, into the draw and returns the number of items, which is below n only at the end of the epoch.
 * Sets `position` of the draw to the position after these items. `flags`: 8 requires the same columns, in a preview (E_UNLIKE); 32 draws ahead; 128 uses a
 * seeded order instead of slot order; 256 only previews. `since` and `high`: the lowest generation of newer items and the highest slot when the epoch began.
 * Requires a table without maxTimesSampled, and a limiter that lets n draws pass. Opens the draw, unless the call is a preview. O(n), or O(positions) if items
 * are gone.
 */
export function table_epoch(table: usize, draw: usize, n: u32, flags: u32, seed: u32, epoch: u32, since: u32, high: u32, position: u32): i32 {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  const looks = (flags & LOOKS) != 0;
  d.count = 0;
  d.blocked = 0;
  d.longest = 0;
  d.width = 1;
  d.single = u32(!looks && t.longest == 1 && d.fits(n, 1));
  d.ahead = u32((flags & AHEAD) != 0);
  // No item was removed or added, so every slot belongs to the epoch.
  const slots = t.slots();
  const whole = t.count == slots.high && slots.item(t.newest).generation < since;
  const count = find(t, d, n, whole, (flags & SHUFFLED) != 0, seed, epoch, since, high, position);
  if (looks) return look(t, d, count, (flags & SAME_COLUMNS) != 0);
  assert(t.maxTimesSampled == 0, "a draw of an epoch removes nothing");
  t.drawing = 1;
  fillWith<f64>(d.f64At(PROBABILITY, 0), count, 1 / <f64>t.count);
  for (let from: u32 = 0; from < count; from += PIECE) {
    const to = min(from + PIECE, count);
    if (whole) prefetchItems(t, d, from, to);
    record(t, d, from, to);
  }
  if (d.ahead != 0) takeBack(t, d);
  return count;
}

/** Writes the slots of the next items, sets the new position, and returns the number of slots. `whole`: every slot belongs to the epoch. */
function find(t: Table, d: Draw, n: u32, whole: bool, shuffled: bool, seed: u32, epoch: u32, since: u32, high: u32, position: u32): u32 {
  const slots = t.slots();
  const items = <usize>slots.items;
  const out = d.column(SLOT);
  const order = changetype<Permutation>(d.column(WEIGHT));
  const places = shuffled ? placesOf(high) : high;
  if (shuffled) order.begin(high, seed, epoch);
  let count: u32 = 0;
  let place = position;
  while (count < n && place < places) {
    const from = count;
    // Reading all slots before their items lets the misses overlap.
    if (shuffled)
      for (; count < n && place < places; place++) {
        const number = order.at(place);
        store<u32>(out + ((<usize>count) << 2), number + 1);
        count += u32(number < high);
      }
    else for (; count < n && place < places; place++, count++) store<u32>(out + ((<usize>count) << 2), place + 1);
    if (whole) continue;
    let to = from;
    for (let i = from; i < count; i++) {
      if (((i - from) & (PIECE - 1)) == 0) Prefetch.touch(out + ((<usize>i) << 2), out + ((<usize>min(i + PIECE, count)) << 2), <u32>items, ITEM_BYTES);
      const slot = load<u32>(out + ((<usize>i) << 2));
      store<u32>(out + ((<usize>to) << 2), slot);
      to += u32(u32(Items.isLive(Items.priority(items, slot))) & u32(slots.item(slot).generation < since));
    }
    count = to;
  }
  d.position = place;
  return count;
}

/**
 * Fills in the results of a preview, as `table_peek` does, for the first `count` items of the draw, and returns `count`. With `alike`, returns E_UNLIKE if an
 * item has other columns than the first one.
 */
function look(t: Table, d: Draw, count: u32, alike: bool): i32 {
  const slots = t.slots();
  d.layout = count == 0 ? 0 : slots.layout(d.slot(0));
  d.shortest = u32.MAX_VALUE;
  for (let i: u32 = 0; i < count; i++) {
    see(t, d, d.slot(i));
    if (alike && !fitsWith(d, slots.layout(d.slot(i)))) return fail(E_UNLIKE, i, <f64>slots.layout(d.slot(i)));
  }
  return count;
}
