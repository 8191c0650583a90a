/**
 * Draws of an epoch: each item that was there when it began comes once, in a seeded order of the slots that is computed, or in theirs. Its state is a few numbers, which the
 * caller has: the items of an epoch are those of lower generations than items that came since.
 */
import { fillWith } from "../memory/bytes";
import { E_UNLIKE, fail } from "../memory/error";
import { Prefetch } from "../memory/prefetch";
import { ITEM_BYTES, Items } from "../selectors/items";
import { Table } from "../tables/table";
import { Draw, PIECE, PROBABILITY, SLOT, WEIGHT } from "./draw";
import { Permutation, placesOf } from "./permutation";
import { AHEAD, fitsWith, prefetchItems, record, SAME_COLUMNS, see, takeBack } from "./sample";

/** Flags beside those of table_sample: in a seeded order; only looks, and changes nothing. */
export const SHUFFLED: u32 = 128;
export const LOOKS: u32 = 256;

/** Begins an epoch: items to come have higher generations than those that are there. The least of these generations; 0 if none is left (KEYS_EXHAUSTED). O(slots) */
export function table_epoch_begin(table: usize): u32 {
  return changetype<Table>(table).slots().begin();
}

/**
 * Continues an epoch that began before: items to come have no lower generation than `since`. false where no epoch of the table, or of the one whose snapshot it is, can have these numbers:
 * it began above every generation that there was, and had no more slots than there are now. O(1), and O(slots) where the table does not know that it began
 */
export function table_epoch_resume(table: usize, since: u32, high: u32, position: u32, flags: u32): bool {
  const slots = changetype<Table>(table).slots();
  if (since == 0 || since > slots.lastGeneration || high == 0 || high > slots.high) return false;
  if (position > ((flags & SHUFFLED) != 0 ? placesOf(high) : high)) return false;
  if (since <= slots.since) return true;
  // A snapshot of before the epoch began has no newer items than that.
  const before = slots.since;
  if (slots.begin() < since) {
    slots.since = before;
    return false;
  }
  slots.since = since;
  return true;
}

/**
 * The next items of an epoch from a position on, up to n, into the draw; how many: fewer only where it ends. Its RESULT 6 is the position behind them. `flags`: 8 of the
 * same columns, where it only looks (E_UNLIKE); 32 ahead; 128 in a seeded order, else in that of slots; 256 only looks. `since`, `high`: the least generation of newer items, and the
 * highest slot, when it began. Of a table without maxTimesSampled; the limiter must let n pass. Opens the draw, unless it looks. O(n), and O(positions) where items are gone.
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
  // Nothing has left, and nothing has come: every slot is one of the epoch's.
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

/** Writes the slots of the next items; how many. `whole`: each slot is one. */
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
    // Their slots first, then what is in these, so that the misses overlap.
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

/** What `table_peek` tells of these items. */
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
