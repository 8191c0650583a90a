/**
 * Implements a table: items, a sampler, a remover, a rate limiter, and limits. A table manages its slots, and holds rows that the pool manages.
 *
 * TABLE, 320 bytes, then the arrays of slots and selectors:
 *    0 │ pool u32            │ drawing u32    │  1 while a draw is open; when it is closed, the items removed in the meantime are released
 *    8 │ maxSize u32         │ maxPending u32 │
 *   16 │ maxTimesSampled u32 │ doomed u32     │  0: no limit · chain of slots that were removed during the draw
 *   24 │ maxSteps f64                         │  +Infinity: no limit
 *   32 │ lowest f64          │ highest f64    │  the lowest and the highest priority above 0 that both roles accept
 *   48 │ evictsInPlace u32   │ newest u32     │  canonical from byte 52: the slot of the last item created · evictsInPlace 1: a fifo whose only limit is maxSize, so that a full table replaces its oldest item with each new one
 *   56 │ steps f64           │ stamp f64      │  sum of the live items' lengths · the last stamp
 *   72 │ deletedEpisodes f64                  │
 *   80 │ maxPriority f64                      │  the larger of 1 and every priority given to a live item since the table was made or cleared
 *   88 │ count u32           │ pending u32    │
 *   96 │ pendingFirst u32    │ pendingLast u32 │
 *  104 │ layout u32          │ mixed u32      │  the column layout of all items that were created · mixed: MIXED, the items had several layouts; UNORDERED
 *  112 │ longest u32         │ shortest u32   │  rows of the items that were created; the shortest as a transition
 *  120 │ unique f64                           │  items that were drawn. Every draw changes the state from here to the limiter's samples, byte 168
 *  128 │ RANDOM (32)                          │
 *  160 │ LIMITER (48)                         │  its two counts are canonical: up to byte 176
 *  208 │ SLOTS (64)                           │
 *  272 │ sampler (8)         │ remover (8)    │  one address if both are alike
 *  288 │ EPISODES (32)                        │
 */
import { E_KEYS_EXHAUSTED, E_OUT_OF_MEMORY, E_RATE_LIMITED, E_UNSUPPORTED, fail } from "../memory/error";
import { align16 } from "../memory/layout";
import { Prefetch } from "../memory/prefetch";
import { random_init } from "../memory/random";
import { tracking } from "../rows/changes";
import { Pool } from "../rows/pool";
import { Head } from "../rows/row";
import { Run, SINGLE } from "../rows/run";
import { SLIDES, Sliding } from "../rows/sliding";
import { COMPARES_STAMPS, isFifo, kindHas, LINKED, TOGETHER } from "../selectors/kinds";
import { laySelector, Selector, selectorBytes } from "../selectors/selector";
import { Episodes } from "./episodes";
import { HeldSteps, newHeldSteps } from "./held-steps";
import { LIMITER_BYTES, LimiterOptions, RateLimiter } from "./rate-limiter";
import { columnsOf, FREE, Item, layKeys, MAX_LENGTH, Slots, slotsBytes, slotsInit } from "./slots";

const RANDOM_AT: usize = 128;
const LIMITER_AT: usize = 160;
const SLOTS_AT: usize = 208;
const SAMPLER_AT: usize = 272;
const REMOVER_AT: usize = 280;
const EPISODES_AT: usize = 288;
const TABLE_BYTES: u32 = 320;
export const MIXED: u32 = 1;
/**
 * An item was created after an item of the same episode that ends later. If steps between the two are gone, the order of the first steps of other items is
 * unknown.
 */
export const UNORDERED: u32 = 2;
/** The part of TABLE in an image ends with the limiter's counts. */
export const CANONICAL_END: u32 = 176;
/** The state that every draw changes: RANDOM, with a count before and after it. */
export const DRAWN_AT: u32 = 120;
export const DRAWN_BYTES: u32 = 48;

@unmanaged
export class Table {
  pool: u32;
  drawing: u32;
  maxSize: u32;
  maxPending: u32;
  maxTimesSampled: u32;
  doomed: u32;
  maxSteps: f64;
  lowest: f64;
  highest: f64;
  evictsInPlace: u32;
  newest: u32;
  steps: f64;
  stamp: f64;
  deletedEpisodes: f64;
  maxPriority: f64;
  count: u32;
  pending: u32;
  pendingFirst: u32;
  pendingLast: u32;
  layout: u32;
  mixed: u32;
  longest: u32;
  shortest: u32;
  unique: f64;

  @inline
  rows(): Pool {
    return changetype<Pool>(<usize>this.pool);
  }

  @inline
  random(): usize {
    return changetype<usize>(this) + RANDOM_AT;
  }

  @inline
  limiter(): RateLimiter {
    return changetype<RateLimiter>(changetype<usize>(this) + LIMITER_AT);
  }

  @inline
  slots(): Slots {
    return changetype<Slots>(changetype<usize>(this) + SLOTS_AT);
  }

  @inline
  sampler(): Selector {
    return changetype<Selector>(changetype<usize>(this) + SAMPLER_AT);
  }

  @inline
  remover(): Selector {
    return changetype<Selector>(changetype<usize>(this) + REMOVER_AT);
  }

  @inline
  episodes(): Episodes {
    return changetype<Episodes>(changetype<usize>(this) + EPISODES_AT);
  }

  /** Whether the remover has a separate structure. */
  @inline
  hasSeparateRemover(): bool {
    return this.remover().handle != this.sampler().handle;
  }

  /** Whether the table has more items or steps than its limits allow. */
  @inline
  exceeds(): bool {
    return this.count > this.maxSize || this.steps > this.maxSteps;
  }

  /** Whether both roles accept the priority: the priority and its weight are finite and not negative. */
  @inline
  takes(priority: f64): bool {
    // NaN fails every comparison.
    if (priority >= this.lowest && priority <= this.highest) return true;
    return priority == 0;
  }

  /** Returns the rows of an item as a transition: an item that begins with the last step of an episode counts only that row. */
  @inline
  transitionRows(item: Item): u32 {
    return item.single() || !this.rows().ends(item.first) ? item.length() : 1;
  }

  /** Notes the form of a new item. @param shown the number of its rows as a transition */
  @inline
  sees(layout: u32, length: u32, shown: u32): void {
    if (layout != this.layout) this.seesLayout(layout);
    if (shown < this.shortest || this.longest == 0) this.shortest = shown;
    if (length > this.longest) this.longest = length;
  }

  private seesLayout(layout: u32): void {
    const columns = columnsOf(layout);
    if (this.longest == 0) this.layout = columns;
    else if (columns != this.layout) this.mixed |= MIXED;
  }

  /** Notes a new priority of a live item. */
  @inline
  seesPriority(priority: f64): void {
    if (priority > this.maxPriority) this.maxPriority = priority;
  }

  @inline
  mayInsert(): bool {
    return this.limiter().canInsert(1, this.count);
  }

  /** Notes for a journal, before a slot is removed, the other slots whose places in an order change. Call this method only if changes are tracked. */
  trackLeave(slot: u32): void {
    for (let i = 0; i < 2; i++) {
      this.slots().track(this.sampler().touched(slot, i));
      this.slots().track(this.remover().touched(slot, i));
    }
  }

  /** Like `trackLeave`, before a slot is added. */
  trackJoin(): void {
    for (let i = 0; i < 2; i++) {
      this.slots().track(this.sampler().touched(0, i));
      this.slots().track(this.remover().touched(0, i));
    }
  }

  /**
   * Writes priority and stamp of a slot that is added or updated; the caller notes the change for a journal. The sign of -0 would mark the slot as pending.
   */
  @inline
  setPriority(slot: u32, priority: f64): void {
    this.slots().item(slot).priority = Math.abs(priority);
    this.seesPriority(priority);
    this.setStamp(slot);
  }

  @inline
  setStamp(slot: u32): void {
    if (this.slots().stamps == 0) return;
    this.stamp += 1;
    store<f64>(this.slots().stampAt(slot), this.stamp);
  }
}
if (offsetof<Table>() != RANDOM_AT) ERROR("TABLE: RANDOM at byte 128");
if (DRAWN_AT != <u32>offsetof<Table>("unique") || DRAWN_AT + DRAWN_BYTES != <u32>(LIMITER_AT + offsetof<RateLimiter>("inserts")))
  ERROR("TABLE: `unique`, RANDOM and `samples` follow each other");
if (CANONICAL_END != <u32>(LIMITER_AT + offsetof<RateLimiter>())) ERROR("TABLE: canonical up to byte 176");
if (LIMITER_AT + LIMITER_BYTES != SLOTS_AT || SLOTS_AT + offsetof<Slots>() != SAMPLER_AT) ERROR("TABLE: SLOTS at byte 208");
if (REMOVER_AT + offsetof<Selector>() != EPISODES_AT || EPISODES_AT + offsetof<Episodes>() != TABLE_BYTES) ERROR("TABLE is 320 bytes");

/** Returns the number of slots of a table: for the items, for an item that is inserted before another one is removed, and for waiting items. */
export function slotsOf(maxSize: u32, maxPending: u32): u32 {
  return maxSize + 1 + maxPending;
}

/** Returns the number of bytes of a table with its arrays, without its map of episodes; may exceed the maximum memory. */
export function table_bytes(maxSize: u32, maxPending: u32, sampler: u32, remover: u32): f64 {
  const slots = slotsOf(maxSize, maxPending);
  let bytes = <u64>align16(TABLE_BYTES) + slotsBytes(slots, comparesStamps(sampler, remover));
  bytes += <u64>selectorBytes(sampler, slots) + <u64>selectorBytes(remover, slots);
  return <f64>(bytes + 3 * 16);
}

/** Whether a table has stamps. */
function comparesStamps(sampler: u32, remover: u32): bool {
  return kindHas(sampler, COMPARES_STAMPS) || kindHas(remover, COMPARES_STAMPS);
}

/** Initializes an empty table in zeroed memory; `table_exponents` and `table_limits` follow. */
export function table_init(table: usize, pool: u32, maxSize: u32, maxPending: u32, sampler: u32, remover: u32): void {
  const t = changetype<Table>(table);
  const slots = slotsOf(maxSize, maxPending);
  const stamped = comparesStamps(sampler, remover);
  t.pool = pool;
  t.maxSize = maxSize;
  t.maxPending = maxPending;
  t.maxPriority = 1;
  t.episodes().forget();
  let at = align16(<u32>table + TABLE_BYTES);
  slotsInit(t.slots(), at, slots, stamped);
  at = align16(at + <u32>slotsBytes(slots, stamped));
  const items = t.slots().items;
  const stamps = t.slots().stamps;
  // A fifo makes room before the insert, any other remover makes room after it.
  const places = isFifo(remover) ? maxSize : maxSize + 1;
  assert(
    (remover & TOGETHER) != 0 || !kindHas(sampler, LINKED) || !kindHas(remover, LINKED),
    "a table has one linked order, because its links are in the items",
  );
  const bytes = laySelector(t.sampler(), sampler, at, slots, places, items, stamps);
  if ((remover & TOGETHER) == 0) at = align16(at + bytes);
  laySelector(t.remover(), remover, at, slots, places, items, stamps);
}

/** Sets the exponents of prioritized roles of an empty table. */
export function table_exponents(table: usize, sampler: f64, remover: f64): void {
  const t = changetype<Table>(table);
  t.sampler().setExponent(sampler);
  t.remover().setExponent(remover);
  t.lowest = max(t.sampler().lowest(), t.remover().lowest());
  t.highest = min(t.sampler().highest(), t.remover().highest());
}

/**
 * Sets the limits of a table. `maxSteps`: the maximum sum of the live items' lengths, Infinity for none. `maxTimesSampled`: 0 for none. `limiter`:
 * LIMITER_OPTIONS.
 */
export function table_limits(table: usize, maxSteps: f64, maxTimesSampled: u32, limiter: usize): void {
  const t = changetype<Table>(table);
  t.maxSteps = maxSteps;
  t.maxTimesSampled = maxTimesSampled;
  memory.copy(changetype<usize>(t.limiter().options()), limiter, offsetof<LimiterOptions>());
  t.evictsInPlace = u32(t.remover().isFifo() && t.limiter().lets() && maxSteps == Infinity);
}

/** Gives an empty table, number `number` (from 0) of `tables` tables, its own keys, so that a key identifies an item of only one table. */
export function table_number(table: usize, number: u32, tables: u32): void {
  const s = changetype<Table>(table).slots();
  layKeys(s, s.capacity, number, tables);
}

/** Seeds the table's own random state. */
export function table_seed(table: usize, low: u32, high: u32, stream: u32): void {
  random_init(changetype<Table>(table).random(), low, high, stream);
}

export function table_can_insert(table: usize, n: f64): bool {
  const t = changetype<Table>(table);
  return t.limiter().canInsert(n, t.count);
}

export function table_can_sample(table: usize, n: f64): bool {
  const t = changetype<Table>(table);
  return t.limiter().canSample(n, t.count);
}

/**
 * Inserts an item of a run whose rows are held already; `run`: the result of Run.retain. Returns 1 if the item is in the table; 0 if the item waits for the
 * limiter, and enters, oldest first, with the call that makes room; or a code, after which the run is released and nothing changed. O(length + log n)
 */
export function insertItem(t: Table, first: u32, length: u32, run: u32, layout: u32, priority: f64): i32 {
  const waits = t.pending != 0 || !t.mayInsert();
  const episodes: u32 = (run & SINGLE) != 0 ? 1 : length;
  let code: i32 = 0;
  let slot: u32 = 0;
  if (waits && t.pending >= t.maxPending) code = E_RATE_LIMITED;
  else if ((waits || episodes != 1 || !t.episodes().joins(t.rows().episode(first))) && !t.episodes().reserve(episodes)) code = E_OUT_OF_MEMORY;
  else {
    slot = t.slots().take();
    if (slot == 0) code = E_KEYS_EXHAUSTED;
  }
  if (code != 0) {
    releaseRun(t, first, length | run);
    return fail(code, 0, <f64>t.pending);
  }
  t.newest = slot;
  t.slots().item(slot).begin(first, length, run);
  t.slots().setLayout(slot, layout);
  // The form is noted now, because a draw may let the item in, and again when the item enters, because the table may have been emptied.
  t.sees(layout, length, t.transitionRows(t.slots().item(slot)));
  if (waits) enqueue(t, slot, priority, episodes);
  else admit(t, slot, priority);
  return waits ? 0 : 1;
}

/** Lets waiting items in, as long as the limiter allows. */
export function admitPending(t: Table): void {
  while (t.pending != 0 && t.mayInsert()) {
    const slot = t.pendingFirst;
    const item = t.slots().item(slot);
    t.pendingFirst = item.nextInChain;
    t.pending -= 1;
    item.timesSampled = 0;
    t.episodes().promised -= item.episodes();
    admit(t, slot, Math.abs(t.slots().priority(slot)));
  }
}

/** Removes a live item. The rows of the item are released immediately, or when the open draw is closed. */
export function removeItem(t: Table, slot: u32): void {
  leave(t, slot, t.hasSeparateRemover());
}

/** Like `removeItem`. `listed`: whether a separate remover still holds the item. */
function leave(t: Table, slot: u32, listed: bool): void {
  const item = t.slots().item(slot);
  if (tracking()) {
    t.slots().track(slot);
    t.trackLeave(slot);
  }
  t.sampler().remove(slot);
  if (listed) t.remover().remove(slot);
  t.count -= 1;
  if (t.count == 0 && t.pending == 0) {
    t.layout = 0;
    t.mixed = 0;
    t.longest = 0;
    t.shortest = 0;
  }
  t.steps -= <f64>item.length();
  countEpisodes(t, item.first, item.episodes(), false);
  t.slots().item(slot).priority = FREE;
  if (t.drawing != 0) {
    item.nextInChain = t.doomed;
    t.doomed = slot;
  } else {
    leaveSteps(t, item.first, item.length());
    discard(t, slot);
  }
}

/** Removes a pending item from the queue. O(pending), because the queue is singly linked. */
export function cancelItem(t: Table, slot: u32): void {
  const slots = t.slots();
  let before: u32 = 0;
  for (let at = t.pendingFirst; at != slot; at = slots.item(at).nextInChain) before = at;
  const item = slots.item(slot);
  if (before == 0) t.pendingFirst = item.nextInChain;
  else slots.item(before).nextInChain = item.nextInChain;
  if (tracking()) slots.track(before);
  if (t.pendingLast == slot) t.pendingLast = before;
  t.pending -= 1;
  t.episodes().promised -= item.episodes();
  slots.item(slot).priority = FREE;
  discard(t, slot);
}

/** Releases the rows and the slot of a removed item. */
export function discard(t: Table, slot: u32): void {
  const item = t.slots().item(slot);
  releaseRun(t, item.first, item.word);
  t.slots().setLayout(slot, 0);
  t.slots().free(slot);
}

/** Calls Run.retain, for code that does not have to be fast. */
export function retainRun(t: Table, first: u32, length: u32): u32 {
  return Run.retain(t.rows(), first, length);
}

/** Releases a run. `word`: as in ITEM. */
function releaseRun(t: Table, first: u32, word: u32): void {
  if ((word & SLIDES) != 0) Sliding.release(t.rows(), first, word & MAX_LENGTH, word);
  else Run.release(t.rows(), first, word & MAX_LENGTH);
}

function admit(t: Table, slot: u32, priority: f64): void {
  const item = t.slots().item(slot);
  // The insert comes first, then the eviction, because the new item may be the victim. A fifo evicts first, because it has room for only maxSize items. The
  // episodes of the new item are counted even earlier, so that an episode does not end between its old and its new item.
  countEpisodes(t, item.first, item.episodes(), true);
  joinSteps(t, item);
  if (t.remover().isFifo() && t.count == t.maxSize) removeItem(t, t.remover().order().oldest);
  t.limiter().inserts += 1;
  t.count += 1;
  t.steps += <f64>item.length();
  t.sees(t.slots().layout(slot), item.length(), t.transitionRows(item));
  t.setPriority(slot, priority);
  if (tracking()) {
    t.slots().track(slot);
    t.trackJoin();
  }
  t.sampler().insert(slot, priority);
  if (t.exceeds() && t.remover().isHeap() && t.hasSeparateRemover()) {
    // This takes one descent of the heap instead of two.
    bringNear(t);
    leave(t, t.remover().heap().exchange(slot), false);
  } else if (t.hasSeparateRemover()) t.remover().insert(slot, priority);
  while (t.exceeds()) removeItem(t, t.remover().pick(t.random(), t.count));
}

/**
 * Prefetches the memory that the next removal and the next append need: the memory of the heap's first item, and of the row to take next. Both are scattered,
 * so their cache misses overlap with the descent of the heap.
 */
function bringNear(t: Table): void {
  const heap = t.remover().heap();
  if (heap.count == 0) return;
  const top = heap.slot(0);
  let sum = Head.of(t.slots().item(top).first).episode ^ t.sampler().near(top);
  const free = t.rows().free();
  const row = free.first;
  if (row != 0) sum ^= load<u8>(t.rows().bytes(row)) ^ Head.of(row).refs ^ t.rows().blockNumber(row);
  // If that row ends its run, taking it reads the HEAD of the row that begins the next run.
  if (free.end != 0) sum ^= Head.of(free.next).runEnd;
  Prefetch.keep(sum);
}

function enqueue(t: Table, slot: u32, priority: f64, episodes: u32): void {
  if (tracking()) {
    t.slots().track(slot);
    t.slots().track(t.pendingLast);
  }
  t.slots().item(slot).priority = -Math.abs(priority);
  t.episodes().promised += episodes;
  if (t.pending == 0) t.pendingFirst = slot;
  else t.slots().item(t.pendingLast).nextInChain = slot;
  t.pendingLast = slot;
  t.pending += 1;
}

/** Adds an item to the counts of the episodes of its first `rows` rows; if `joins` is false, removes the item from these counts. */
export function countEpisodes(t: Table, first: u32, rows: u32, joins: bool): void {
  const pool = t.rows();
  let last: u32 = 0;
  let row = first;
  for (let i = rows; i > 0; i--) {
    const episode = pool.episode(row);
    if (episode != last) {
      if (joins) t.episodes().add(episode);
      else leaveEpisode(t, episode);
    }
    last = episode;
    row = pool.next(row);
  }
}

export function leaveEpisode(t: Table, episode: u32): void {
  if (t.episodes().remove(episode)) t.deletedEpisodes += 1;
}

/** Notes that a new item holds its rows, if held steps are tracked. */
export function joinSteps(t: Table, item: Item): void {
  if (t.slots().heldSteps != 0) noteJoin(t, item);
}

/** Notes that an item releases the rows of a run, which are still held, if held steps are tracked. */
export function leaveSteps(t: Table, first: u32, length: u32): void {
  if (t.slots().heldSteps != 0) changetype<HeldSteps>(<usize>t.slots().heldSteps).leave(t.rows(), first, length);
}

function noteJoin(t: Table, item: Item): void {
  const held = changetype<HeldSteps>(<usize>t.slots().heldSteps);
  if (held.reserve(t.rows(), item.episodes())) held.join(t.rows(), item.first, item.length());
  else forgetSteps(t);
}

/** Drops the notes of held steps, which are derived. The next draw that needs them rebuilds them. */
function forgetSteps(t: Table): void {
  changetype<HeldSteps>(<usize>t.slots().heldSteps).close();
  t.slots().heldSteps = 0;
}

/**
 * Begins to note which steps live items hold, and in which order; requires a table with an order of insertion. Returns 0, or UNSUPPORTED if items are
 * UNORDERED, or OUT_OF_MEMORY; then nothing is noted. O(1) if held steps are already noted, else O(steps of all items × log steps)
 */
export function table_hold_steps(table: usize): i32 {
  const t = changetype<Table>(table);
  if ((t.mixed & UNORDERED) != 0) {
    if (t.slots().heldSteps != 0) forgetSteps(t);
    return fail(E_UNSUPPORTED, 0, 0);
  }
  const slots = t.slots();
  if (slots.heldSteps != 0) {
    // Items that enter while a draw is open must find room.
    if (changetype<HeldSteps>(<usize>slots.heldSteps).reserve(t.rows(), t.episodes().promised)) return 0;
    forgetSteps(t);
    return E_OUT_OF_MEMORY;
  }
  const order = t.remover().has(LINKED) ? t.remover().order() : t.sampler().order();
  slots.heldSteps = newHeldSteps();
  if (slots.heldSteps == 0) return E_OUT_OF_MEMORY;
  const held = changetype<HeldSteps>(<usize>slots.heldSteps);
  if (!held.reserve(t.rows(), t.episodes().count + t.episodes().promised)) {
    forgetSteps(t);
    return E_OUT_OF_MEMORY;
  }
  let slot = order.oldest;
  for (let left = t.count; left > 0; left--) {
    held.join(t.rows(), slots.item(slot).first, slots.item(slot).length());
    slot = order.next(slot);
  }
  return 0;
}
