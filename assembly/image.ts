/**
 * The image: canonical state as records without addresses, so that a host can store it and restore it elsewhere. The core never sees a file.
 * Rows are named by number (1, 2, … as they were first used), items by slot. The same calls save (`saving` 1) and load (0). Loading
 * is into freshly made structures: pools (those of frames first), tables, streams; what is derived is rebuilt, what is wrong is CORRUPT.
 */
import { arena_alloc, arena_free } from "./arena";
import { E_CORRUPT, E_OUT_OF_MEMORY, fail } from "./error";
import { GRANULE_BITS, header } from "./layout";
import { SHARED, WIDE } from "./leaf";
import { growPool, LINK_END, LINK_ROW, PLACE, PLACE_BITS, Pool, rowOf } from "./pool";
import { UNIFORM } from "./selectors/selector";
import { Item, SHAPE_AT, Slots } from "./slots";
import { Stream } from "./stream";
import { CANONICAL_END, countEpisodes, retainRun, Table } from "./table";

/** A slot's record: ITEM (with the number of its first row), priority, touch. */
const SLOT_RECORD: usize = 32;

/** Makes rows' numbers known while an image is saved; 0, or OUT_OF_MEMORY. Ended by `pool_unindex`; nothing may change in between. */
export function pool_index(pool: usize): i32 {
  const p = changetype<Pool>(pool);
  pool_unindex(pool);
  p.indexBytes = header().top << 2;
  p.index = arena_alloc(p.indexBytes);
  if (p.index == 0) return E_OUT_OF_MEMORY;
  for (let b: u32 = 0; b < p.blocks; b++) {
    const block = load<u32>(<usize>p.directory + ((<usize>b) << 2));
    store<u32>(<usize>p.index + ((<usize>(block >> GRANULE_BITS)) << 2), b);
  }
  return 0;
}

export function pool_unindex(pool: usize): void {
  const p = changetype<Pool>(pool);
  arena_free(p.index, p.indexBytes);
  p.index = 0;
}

/** Rows ever used, and the last episode number (u32 each). */
export function pool_numbers(pool: usize, out: usize): void {
  const p = changetype<Pool>(pool);
  store<u32>(out, p.high);
  store<u32>(out, p.episodes, 4);
}

/** Gives an empty pool `high` rows that nothing holds yet; 0, or OUT_OF_MEMORY. */
export function pool_restore(pool: usize, high: u32, episodes: u32): i32 {
  const p = changetype<Pool>(pool);
  while (p.capacity < high) {
    if (!growPool(p)) return E_OUT_OF_MEMORY;
  }
  p.high = high;
  p.fresh = rowOf(p, high + 1);
  p.episodes = episodes;
  return 0;
}

/** The next row number from `number` on that is held (1) or not (0); rows ever used + 1 where there is none. */
export function pool_seek(pool: usize, number: u32, held: u32): u32 {
  const p = changetype<Pool>(pool);
  while (number <= p.high && u32(load<u32>(p.head(rowOf(p, number))) != 0) != held) number++;
  return number;
}

/** Bytes of a row's record: link, episode, bytes, wide values. */
export function pool_record(pool: usize): u32 {
  const p = changetype<Pool>(pool);
  let bytes = 8 + p.rowBytes;
  for (let i: u32 = 0; i < p.leaves; i++) bytes += p.leaf(i).kind == WIDE ? p.leaf(i).bytes : 0;
  return bytes;
}

/** The records of `count` rows from `number` on, to or from `at`; 0, or CORRUPT. */
export function pool_records(pool: usize, number: u32, count: u32, at: usize, saving: u32): i32 {
  const p = changetype<Pool>(pool);
  if (number == 0 || <u64>number + count - 1 > p.high) return fail(E_CORRUPT, 1, number);
  for (; count > 0; count--, number++) {
    const row = rowOf(p, number);
    const head = p.head(row);
    const link = load<u32>(saving != 0 ? head + 4 : at);
    const next = exchange(p, link & LINK_ROW, saving);
    if (next > LINK_ROW) return fail(E_CORRUPT, 1, number);
    store<u32>(saving != 0 ? at : head + 4, next | (link & LINK_END));
    transfer(head + 8, at + 4, 4, saving);
    transfer(p.bytes(row), at + 8, p.rowBytes, saving);
    if (p.shares != 0 && !exchangeFrames(p, row, at + 8, saving)) return fail(E_CORRUPT, 1, number);
    at += 8 + p.rowBytes;
    for (let i: u32 = 0; i < p.leaves; i++) {
      const leaf = p.leaf(i);
      if (leaf.kind != WIDE) continue;
      transfer(p.value(row, leaf), at, leaf.bytes, saving);
      at += leaf.bytes;
    }
  }
  return 0;
}

/** Runs of the queue of freed rows, from row `cursor` on (0: its head), up to `most`: writes how many, the next cursor (0 = done), then (number, count) each. */
export function pool_free_runs(pool: usize, cursor: u32, most: u32, out: usize): void {
  const p = changetype<Pool>(pool);
  let row = cursor == 0 ? p.freeFirst : cursor;
  let runs: u32 = 0;
  for (; row != 0 && runs < most; runs++) {
    const first = numberOf(p, row);
    let count: u32 = 0;
    while (row != 0 && numberOf(p, row) == first + count) {
      row = p.next(row);
      count += 1;
    }
    store<u32>(out + 8 + ((<usize>runs) << 3), first);
    store<u32>(out + 8 + ((<usize>runs) << 3), count, 4);
  }
  store<u32>(out, runs);
  store<u32>(out, row, 4);
}

/** Queues a run of rows as freed; 0, or CORRUPT. */
export function pool_free_run(pool: usize, number: u32, count: u32): i32 {
  const p = changetype<Pool>(pool);
  if (number == 0 || <u64>number + count - 1 > p.high) return fail(E_CORRUPT, 1, number);
  for (; count > 0; count--, number++) p.queue(rowOf(p, number), p.head(rowOf(p, number)));
  return 0;
}

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

/** A stream: last row, rows in the window, episode, steps of it, whether the next step opens one, then the window's rows (u32 each); 0, or CORRUPT. */
export function stream_record(stream: usize, at: usize, saving: u32): i32 {
  const s = changetype<Stream>(stream);
  const p = s.rows();
  const window = s.window();
  transfer(stream + offsetof<Stream>("episode"), at + 8, 12, saving);
  if (saving != 0) {
    store<u32>(at, numberOf(p, s.last));
    store<u32>(at, window.count, 4);
  } else {
    s.last = exchange(p, load<u32>(at), 0);
    if (s.last > LINK_ROW || load<u32>(at, 4) > window.capacity) return fail(E_CORRUPT, 1, s.last);
  }
  const count = load<u32>(at, 4);
  for (let i: u32 = 0; i < count; i++) {
    at += 4;
    if (saving != 0) store<u32>(at, numberOf(p, window.get(i)), 16);
    else {
      const row = exchange(p, load<u32>(at, 16), 0);
      if (row == 0 || row > LINK_ROW) return fail(E_CORRUPT, 1, row);
      window.push(row);
      p.retain(row);
    }
  }
  return 0;
}

/** Bytes from here to a record, or back. */
function transfer(here: usize, record: usize, bytes: u32, saving: u32): void {
  if (saving != 0) memory.copy(record, here, bytes);
  else memory.copy(here, record, bytes);
}

/** A row's number, or a number's row; more than any row where there is no such row. */
function exchange(p: Pool, name: u32, saving: u32): u32 {
  if (saving != 0) return numberOf(p, name);
  return name > p.high ? u32.MAX_VALUE : rowOf(p, name);
}

/** The number of a row, 0 for none; the pool is indexed. */
function numberOf(p: Pool, row: u32): u32 {
  if (row == 0) return 0;
  return load<u32>(<usize>p.index + ((<usize>(row >> PLACE_BITS)) << 2)) * p.rows + (row & PLACE) + 1;
}

/** Translates the frames that a row names, in its record or in itself, whichever was just written. */
function exchangeFrames(p: Pool, row: u32, record: usize, saving: u32): bool {
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind != SHARED) continue;
    const frames = changetype<Pool>(<usize>leaf.pool);
    const names = saving != 0 ? record + <usize>(leaf.at - p.rowsAt) : p.value(row, leaf);
    for (let f: u32 = 0; f < leaf.frames; f++) {
      const name = exchange(frames, load<u32>(names + ((<usize>f) << 2)), saving);
      if (name > LINK_ROW) return false;
      store<u32>(names + ((<usize>f) << 2), name);
      if (saving == 0 && name != 0) frames.retain(name);
    }
  }
  return true;
}

/** A slot that was loaded: holds its rows, counts its episodes, joins what is derived. */
function rejoin(t: Table, slot: u32): i32 {
  const slots = t.slots();
  const item = slots.item(slot);
  const priority = Math.abs(slots.priority(slot));
  item.first = exchange(t.rows(), item.first, 0);
  if (!t.takes(priority) || item.first > LINK_ROW || !isRun(t.rows(), item)) return fail(E_CORRUPT, 1, slot);
  // Rows may stand elsewhere now: whether they follow each other is found out anew.
  item.word = item.length() | retainRun(t, item.first, item.length()) | (item.shape() << SHAPE_AT);
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
