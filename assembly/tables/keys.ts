/** Changes items by key. A key whose item is gone is skipped and never affects another item. */
import { E_PRIORITY, fail } from "../memory/error";
import { tracking } from "../rows/changes";
import { admitPending, cancelItem, removeItem, Table } from "./table";

/** Returns the key of the newest item, waiting or not; 0 before the first. */
export function table_newest(table: usize): f64 {
  const t = changetype<Table>(table);
  return t.newest == 0 ? 0 : t.slots().key(t.newest);
}

/**
 * Sets new priorities for n keys (f64 × n each), in order; if a key occurs twice, its last priority counts. Returns how many of the keys belong to existing
 * items, or E_PRIORITY if a priority is invalid and nothing changed. `slots`, `nodes` are scratch for u32 × n. O(n log n)
 */
export function table_update(table: usize, keys: usize, priorities: usize, n: u32, slots: usize, nodes: usize): i32 {
  const t = changetype<Table>(table);
  for (let i: u32 = 0; i < n; i++) {
    const priority = load<f64>(priorities + ((<usize>i) << 3));
    if (!t.takes(priority)) return fail(E_PRIORITY, i, priority);
  }
  let live: u32 = 0;
  let found: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const slot = t.slots().find(load<f64>(keys + ((<usize>i) << 3)));
    if (slot == 0) continue;
    found += 1;
    if (tracking()) t.slots().track(slot);
    const priority = load<f64>(priorities + ((<usize>i) << 3));
    if (t.slots().isPending(slot)) {
      t.slots().item(slot).priority = -Math.abs(priority);
      continue;
    }
    t.setPriority(slot, priority);
    t.sampler().updated(slot);
    if (t.hasSeparateRemover()) t.remover().updated(slot);
    store<u32>(slots + ((<usize>live) << 2), slot);
    live += 1;
  }
  t.sampler().updatedMany(slots, live, t.slots().items, nodes);
  if (t.hasSeparateRemover()) t.remover().updatedMany(slots, live, t.slots().items, nodes);
  return found;
}

/** Deletes the items of n keys (f64 × n); returns how many items existed. O(n log n) */
export function table_delete(table: usize, keys: usize, n: u32): i32 {
  const t = changetype<Table>(table);
  let found: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const slot = t.slots().find(load<f64>(keys + ((<usize>i) << 3)));
    if (slot == 0) continue;
    found += 1;
    if (t.slots().isPending(slot)) cancelItem(t, slot);
    else removeItem(t, slot);
  }
  admitPending(t);
  return found;
}
