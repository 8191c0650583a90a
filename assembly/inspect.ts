/** What can be asked of a table: its counters, an item. */
import { MAX_SHAPES } from "./slots";
import { admitPending, discard, Table } from "./table";

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

/** Writes what there is to say of an item in use: first, length, shape, timesSampled, pending, plain (u32 each), then priority and probability (f64). 40 bytes. */
export function table_item(table: usize, slot: u32, out: usize): void {
  const t = changetype<Table>(table);
  const item = t.slots().item(slot);
  const pending = t.slots().isPending(slot);
  store<u32>(out, item.first);
  store<u32>(out, item.length(), 4);
  store<u32>(out, item.shape(), 8);
  store<u32>(out, pending ? 0 : item.timesSampled, 12);
  store<u32>(out, pending ? 1 : 0, 16);
  store<u32>(out, item.plain() ? 1 : 0, 20);
  store<f64>(out, Math.abs(t.slots().priority(slot)), 24);
  store<f64>(out, pending ? 0 : t.sampler().probability(slot, t.count), 32);
}

/** O(capacity): drops every live item and sets all counters to 0, as Reverb's reset; then lets in what waits. */
export function table_clear(table: usize): void {
  const t = changetype<Table>(table);
  for (let slot: u32 = 1; slot <= t.slots().high; slot++) {
    if (!t.slots().isLive(slot)) continue;
    store<f64>(t.slots().priorityAt(slot), Infinity);
    discard(t, slot);
  }
  t.sampler().clear();
  t.remover().clear();
  t.episodes().clear();
  t.count = 0;
  t.steps = 0;
  t.unique = 0;
  t.shapes = 0;
  t.longest = 0;
  t.deletedEpisodes = 0;
  const limiter = t.limiter();
  limiter.inserts = 0;
  limiter.samples = 0;
  admitPending(t);
}
