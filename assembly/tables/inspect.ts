/** What can be asked of a table: its counters, an item. */
import { MAX_SHAPES } from "./slots";
import { admitPending, removeItem, Table } from "./table";

/** A counter by number: 0 size, 1 steps, 2 pending, 3 inserts, 4 samples, 5 deletes, 6 unique samples, 7 episodes, 8 deleted episodes, 9 retired slots, 10 the shape of all items since it was empty (64: they had several), 11 the length of the longest of them. */
export function table_counter(table: usize, which: u32): f64 {
  const t = changetype<Table>(table);
  switch (which) {
    case 0:
      return t.count;
    case 1:
      return t.steps;
    case 2:
      return t.pending;
    case 3:
      return <f64>t.limiter().inserts;
    case 4:
      return <f64>t.limiter().samples;
    case 5:
      return <f64>(t.limiter().inserts - t.count);
    case 6:
      return t.unique;
    case 7:
      return t.episodes().count;
    case 8:
      return t.deletedEpisodes;
    case 9:
      return t.slots().retired;
    case 10:
      return popcnt(t.shapes) > 1 ? MAX_SHAPES : t.shapes == 0 ? 0 : <f64>ctz(t.shapes);
    case 11:
      return t.longest;
    default:
      return NaN;
  }
}

/** Writes what there is to say of the item of a key: first row, length, timesSampled, whether it is pending, priority, probability (f64 each). 0 where it is gone. */
export function table_item(table: usize, key: f64, out: usize): bool {
  const t = changetype<Table>(table);
  const slot = t.slots().find(key);
  if (slot == 0) return false;
  const item = t.slots().item(slot);
  const pending = t.slots().isPending(slot);
  store<f64>(out, item.first);
  store<f64>(out, item.length(), 8);
  store<f64>(out, pending ? 0 : item.timesSampled, 16);
  store<f64>(out, u32(pending), 24);
  store<f64>(out, Math.abs(t.slots().priority(slot)), 32);
  store<f64>(out, pending ? 0 : t.sampler().probability(slot, t.count), 40);
  return true;
}

/** O(n log n): drops every live item and sets all counters to 0, as Reverb's reset; then lets in what waits. */
export function table_clear(table: usize): void {
  const t = changetype<Table>(table);
  for (let slot: u32 = 1; slot <= t.slots().high; slot++) {
    if (t.slots().isLive(slot)) removeItem(t, slot);
  }
  t.unique = 0;
  t.deletedEpisodes = 0;
  const limiter = t.limiter();
  limiter.inserts = 0;
  limiter.samples = 0;
  admitPending(t);
}
