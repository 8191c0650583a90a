/** Checks the invariants that hold between any two calls. Derived state is recomputed and compared. */
import { checkPacks } from "../rows/packs";
import { Pool, rowOf } from "../rows/pool";
import { Head, PLACE } from "../rows/row";
import { CHUNK_BITS, checkTree, HeldEpisode, HeldSteps, Node, placeOf } from "../tables/held-steps";
import { Item } from "../tables/slots";
import { MIXED, Table } from "../tables/table";

/** Checks a table. Returns 0, or the number of the broken invariant. Recomputes all derived state. O(capacity) */
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
    if (slots.isUsed(slot) ? (t.mixed & MIXED) == 0 && slots.columns(slot) != t.layout : slots.layout(slot) != 0) return 11;
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
  if (slots.heldSteps != 0 && !notesHeldSteps(t)) return 12;
  const sampler = t.sampler().check(t.count, slots.capacity);
  if (sampler != 0) return 20 + sampler;
  const remover = t.remover().check(t.count, slots.capacity);
  return remover != 0 ? 30 + remover : 0;
}

/** Whether the notes of held steps (tables/held-steps.ts) match the steps that live items hold, and have the steps of each episode in order. */
function notesHeldSteps(t: Table): bool {
  const p = t.rows();
  const held = changetype<HeldSteps>(<usize>t.slots().heldSteps);
  let items: f64 = 0;
  let nodes: u32 = 0;
  let sizes: u32 = 0;
  for (let number: u32 = 1; number <= min(p.high, held.chunks << CHUNK_BITS); number++) {
    const node = held.node(p, rowOf(p, number));
    if (node.items == 0) continue;
    items += node.items;
    nodes += 1;
    if (node.row != rowOf(p, number) || held.episodes().items(p.episode(node.row)) != node.episode) return false;
    if (node.parent != 0) continue;
    sizes += node.size;
    if (HeldEpisode.of(node.episode).root != node.at || checkTree(node.at, 0) != 0) return false;
  }
  if (items != t.steps || sizes != nodes) return false;
  for (let slot: u32 = 1; slot <= t.slots().high; slot++) {
    if (!t.slots().isLive(slot)) continue;
    let row = t.slots().item(slot).first;
    for (let left = t.slots().item(slot).length(); left > 0; left--) {
      const node = held.node(p, row);
      const next = p.next(row);
      const episode = HeldEpisode.of(node.episode);
      const place = placeOf(node.at);
      if (episode.tail != 0 && episode.tail != episode.rowAt(p, episode.size() - 1, node)) return false;
      if (node.items == 0 || episode.size() != Node.of(episode.root).size || episode.place(node) != place || episode.rowAt(p, place, node) != row) return false;
      if (left > 1 && p.episode(next) == p.episode(row) && placeOf(held.node(p, next).at) != place + 1) return false;
      row = next;
    }
  }
  return true;
}

/** Returns the number of episodes of an item, or 0 if an episode is missing in the map. */
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

/**
 * Returns the length of the queue of free slots, or more than the number of slots if the queue does not end, leads to a slot that is not free, or does not end
 * with `freeLast`.
 */
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

/** Returns the number of waiting items if their queue is intact, else a smaller number. */
function queueOf(t: Table): u32 {
  let slot = t.pendingFirst;
  for (let i: u32 = 0; i < t.pending; i++) {
    if (slot == 0 || slot > t.slots().high || !t.slots().isPending(slot)) return i;
    if (i + 1 == t.pending && slot != t.pendingLast) return i;
    slot = t.slots().item(slot).nextInChain;
  }
  return t.pending;
}

/** Checks a pool. Returns 0, or the number of the broken invariant. O(rows) */
export function pool_check(pool: usize): i32 {
  const p = changetype<Pool>(pool);
  const free = p.free();
  if (p.high > p.capacity || free.count > p.high) return 1;
  let unheld: u32 = 0;
  // Packed frames and their entries store other data in their links.
  const linked = !p.packs() && !p.hasEntries();
  for (let number: u32 = 1; number <= p.high; number++) {
    const row = rowOf(p, number);
    const isFree = Head.of(row).refs == 0;
    unheld += u32(isFree);
    const next = p.next(row);
    if (linked && !isFree && next != 0 && next != row + 1 && (row & PLACE) + 1 != p.rows && p.neighbours(row) != 0) return 7;
  }
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
