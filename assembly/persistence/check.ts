/** What holds between any two calls: all that is derived is computed anew and compared. */
import { checkPacks } from "../rows/packs";
import { Pool, rowOf } from "../rows/pool";
import { Head } from "../rows/row";
import { Item } from "../tables/slots";
import { Table } from "../tables/table";

/** O(capacity): 0, or the number of the broken invariant. Recomputes all that is derived. */
export function table_check(table: usize): i32 {
  const t = changetype<Table>(table);
  const slots = t.slots();
  if (t.drawing != 0 || t.doomed != 0) return 1;
  if (slots.high > slots.capacity || t.count > t.maxSize || t.steps > t.maxSteps) return 2;
  let live: u32 = 0;
  let pending: u32 = 0;
  let steps: f64 = 0;
  let memberships: u64 = 0;
  for (let slot: u32 = 1; slot <= slots.high; slot++) {
    const item = slots.item(slot);
    if (slots.isUsed(slot) ? t.mixed == 0 && slots.layout(slot) != t.layout : slots.layout(slot) != 0) return 11;
    if (slots.isPending(slot)) pending += 1;
    if (!slots.isLive(slot)) continue;
    live += 1;
    steps += item.length();
    if (item.first == 0 || item.length() == 0) return 3;
    const episodes = episodesOf(t, item);
    if (episodes == 0) return 4;
    memberships += episodes;
    const priority = slots.priority(slot);
    if (!t.sampler().checkSlot(slot, priority) || !t.remover().checkSlot(slot, priority)) return 5;
  }
  if (live != t.count || pending != t.pending || steps != t.steps) return 6;
  if (t.limiter().inserts < t.count) return 7;
  if (chainOf(t, slots.freeFirst) + live + pending + slots.retired != slots.high) return 8;
  if (queueOf(t) != pending) return 9;
  if (t.episodes().memberships() != memberships) return 10;
  const sampler = t.sampler().check(t.count, slots.capacity);
  if (sampler != 0) return 20 + sampler;
  const remover = t.remover().check(t.count, slots.capacity);
  return remover != 0 ? 30 + remover : 0;
}

/** Distinct episodes of an item, 0 where one is missing in the map. */
function episodesOf(t: Table, item: Item): u32 {
  const rows = t.rows();
  let n = item.first;
  let last: u32 = 0;
  let episodes: u32 = 0;
  for (let i: u32 = 0; i < item.length(); i++) {
    const episode = rows.episode(n);
    if (t.episodes().items(episode) == 0) return 0;
    if (episode != last) episodes += 1;
    last = episode;
    n = rows.next(n);
  }
  return episodes;
}

/** Length of the queue of free slots, more than there are where it does not end, or leads to one that is not free. */
function chainOf(t: Table, first: u32): u32 {
  let length: u32 = 0;
  let last: u32 = 0;
  for (let slot = first; slot != 0 && length <= t.slots().high; slot = t.slots().item(slot).nextFree) {
    if (slot > t.slots().high || t.slots().isUsed(slot)) return u32.MAX_VALUE;
    length += 1;
    last = slot;
  }
  return length != 0 && last != t.slots().freeLast ? u32.MAX_VALUE : length;
}

/** Length of the queue of those that wait. */
function queueOf(t: Table): u32 {
  let slot = t.pendingFirst;
  for (let i: u32 = 0; i < t.pending; i++) {
    if (slot == 0 || slot > t.slots().high || !t.slots().isPending(slot)) return i;
    if (i + 1 == t.pending && slot != t.pendingLast) return i;
    slot = t.slots().item(slot).nextInChain;
  }
  return t.pending;
}

/** O(rows): 0, or the number of the broken invariant. */
export function pool_check(pool: usize): i32 {
  const p = changetype<Pool>(pool);
  const free = p.free();
  if (p.high > p.capacity || free.count > p.high) return 1;
  let unheld: u32 = 0;
  for (let number: u32 = 1; number <= p.high; number++) unheld += u32(Head.of(rowOf(p, number)).refs == 0);
  if (unheld != free.count) return 2;
  let queued: u32 = 0;
  for (let run = free.first; run != 0; run = free.after(run)) {
    const end = free.endOf(run);
    if (end < run || queued + (end - run) >= free.count) return 3;
    for (let row = run; row <= end; row++) if (Head.of(row).refs != 0) return 4;
    queued += end + 1 - run;
  }
  if (queued != free.count) return 5;
  if (p.fresh != rowOf(p, p.high + 1)) return 6;
  if (!p.hasEntries()) return 0;
  const packs = checkPacks(p.packed());
  return packs == 0 ? 0 : 10 + packs;
}
