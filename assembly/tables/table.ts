/**
 * A table: items, a sampler, a remover, a rate limiter, limits. It knows slots, and rows only as something to retain and release.
 *
 * TABLE, 320 bytes, then the arrays of slots and selectors:
 *    0 │ pool u32            │ drawing u32    │  1 while a draw is open: what leaves is released at its end
 *    8 │ maxSize u32         │ maxPending u32 │
 *   16 │ maxTimesSampled u32 │ doomed u32     │  0: no limit · chain of slots that left during the draw
 *   24 │ maxSteps f64                         │  +Infinity: no limit
 *   32 │ lowest f64          │ highest f64    │  the priorities above 0 that both roles take
 *   48 │ evictsInPlace u32   │ newest u32     │  canonical from byte 52: the slot of the last item created · evictsInPlace 1: a fifo without a limit but maxSize, so that in the end each item takes the place of the oldest
 *   56 │ steps f64           │ stamp f64      │  sum of the live items' lengths · the last stamp
 *   72 │ unique f64          │ deletedEpisodes f64 │
 *   88 │ maxPriority f64                      │  the larger of 1 and every priority given to a live item since the table was made or cleared
 *   96 │ count u32           │ pending u32    │
 *  104 │ pendingFirst u32    │ pendingLast u32 │
 *  112 │ layout u32          │ mixed u32      │  the column layout of all items that were created; mixed 1: they had several
 *  120 │ longest u32         │ shortest u32   │  rows of the items that were created; the shortest as a transition
 *  128 │ RANDOM (32)                          │
 *  160 │ LIMITER (48)                         │  its two counts are canonical: up to byte 176
 *  208 │ SLOTS (64)                           │
 *  272 │ sampler (8)         │ remover (8)    │  one address where both are alike
 *  288 │ EPISODES (32)                        │
 */
import { E_KEYS_EXHAUSTED, E_OUT_OF_MEMORY, E_RATE_LIMITED, fail } from "../memory/error";
import { align16 } from "../memory/layout";
import { random_init } from "../memory/random";
import { tracking } from "../rows/changes";
import { Pool } from "../rows/pool";
import { Run, SINGLE } from "../rows/run";
import { COMPARES_STAMPS, isFifo, kindHas, LINKED, TOGETHER } from "../selectors/kinds";
import { laySelector, Selector, selectorBytes } from "../selectors/selector";
import { Episodes } from "./episodes";
import { LIMITER_BYTES, LimiterOptions, RateLimiter } from "./rate-limiter";
import { FREE, Item, layKeys, Slots, slotsBytes, slotsInit } from "./slots";

const RANDOM_AT: usize = 128;
const LIMITER_AT: usize = 160;
const SLOTS_AT: usize = 208;
const SAMPLER_AT: usize = 272;
const REMOVER_AT: usize = 280;
const EPISODES_AT: usize = 288;
const TABLE_BYTES: u32 = 320;
/** What an image stores of TABLE itself ends with the limiter's counts. */
export const CANONICAL_END: u32 = 176;

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
  unique: f64;
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

  /** Whether the remover keeps a structure of its own. */
  @inline
  hasSeparateRemover(): bool {
    return this.remover().handle != this.sampler().handle;
  }

  /** Whether both roles can take the priority: finite, not negative, its weight neither. */
  @inline
  takes(priority: f64): bool {
    // NaN fails every comparison.
    if (priority >= this.lowest && priority <= this.highest) return true;
    return priority == 0;
  }

  /** Rows of an item, as a transition has them: one that begins with the last step of an episode has that row alone. */
  @inline
  transitionRows(item: Item): u32 {
    return item.single() || !this.rows().ends(item.first) ? item.length() : 1;
  }

  /** Notes what an item that is created looks like. @param shown its rows as a transition */
  @inline
  sees(layout: u32, length: u32, shown: u32): void {
    if (layout != this.layout) {
      if (this.longest == 0) this.layout = layout;
      else this.mixed = 1;
    }
    if (shown < this.shortest || this.longest == 0) this.shortest = shown;
    if (length > this.longest) this.longest = length;
  }

  /** Notes a priority that a live item is given. */
  @inline
  seesPriority(priority: f64): void {
    if (priority > this.maxPriority) this.maxPriority = priority;
  }

  @inline
  mayInsert(): bool {
    return this.limiter().canInsert(1, this.count);
  }

  /** Notes for a journal, before a slot leaves: the others whose places in an order change. Where changes are tracked. */
  trackLeave(slot: u32): void {
    for (let i = 0; i < 2; i++) {
      this.slots().track(this.sampler().touched(slot, i));
      this.slots().track(this.remover().touched(slot, i));
    }
  }

  /** The same, before a slot joins. */
  trackJoin(): void {
    for (let i = 0; i < 2; i++) {
      this.slots().track(this.sampler().touched(0, i));
      this.slots().track(this.remover().touched(0, i));
    }
  }

  /** Writes priority and stamp of a slot that joins or is updated, which the caller notes for a journal. The sign of -0 would mark it as pending. */
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
if (CANONICAL_END != <u32>(LIMITER_AT + offsetof<RateLimiter>())) ERROR("TABLE: canonical up to byte 176");
if (LIMITER_AT + LIMITER_BYTES != SLOTS_AT || SLOTS_AT + offsetof<Slots>() != SAMPLER_AT) ERROR("TABLE: SLOTS at byte 208");
if (REMOVER_AT + offsetof<Selector>() != EPISODES_AT || EPISODES_AT + offsetof<Episodes>() != TABLE_BYTES) ERROR("TABLE is 320 bytes");

/** Slots of a table: its items, the one that is inserted before another leaves, and those that wait. */
export function slotsOf(maxSize: u32, maxPending: u32): u32 {
  return maxSize + 1 + maxPending;
}

/** Bytes of a table with its arrays, its map of episodes aside; may exceed what a memory holds. */
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

/** An empty table on zeroed memory; `table_exponents` and `table_limits` follow. */
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
  // A fifo makes room first, any other remover after.
  const places = isFifo(remover) ? maxSize : maxSize + 1;
  assert((remover & TOGETHER) != 0 || !kindHas(sampler, LINKED) || !kindHas(remover, LINKED), "one order a table: its links are in the items");
  const bytes = laySelector(t.sampler(), sampler, at, slots, places, items, stamps);
  if ((remover & TOGETHER) == 0) at = align16(at + bytes);
  laySelector(t.remover(), remover, at, slots, places, items, stamps);
}

/** The exponents of prioritized roles; on an empty table. */
export function table_exponents(table: usize, sampler: f64, remover: f64): void {
  const t = changetype<Table>(table);
  t.sampler().setExponent(sampler);
  t.remover().setExponent(remover);
  t.lowest = max(t.sampler().lowest(), t.remover().lowest());
  t.highest = min(t.sampler().highest(), t.remover().highest());
}

/** `maxSteps`: the sum of the live items' lengths, Infinity for none. `maxTimesSampled`: 0 for none. `limiter`: LIMITER_OPTIONS. */
export function table_limits(table: usize, maxSteps: f64, maxTimesSampled: u32, limiter: usize): void {
  const t = changetype<Table>(table);
  t.maxSteps = maxSteps;
  t.maxTimesSampled = maxTimesSampled;
  memory.copy(changetype<usize>(t.limiter().options()), limiter, offsetof<LimiterOptions>());
  t.evictsInPlace = u32(t.remover().isFifo() && t.limiter().lets() && maxSteps == Infinity);
}

/** On an empty table: its keys are those of the `number`-th of so many tables, so that a key names an item of one of them. */
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
 * O(length + log n): an item of a run whose rows are held already; `run`: what Run.retain told. 1 it is in · 0 it waits: the limiter does not
 * let it in yet, the call that makes room will, oldest first · or a code, and then the run is released and nothing changed.
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
    releaseRun(t, first, length);
    return fail(code, 0, <f64>t.pending);
  }
  t.newest = slot;
  t.slots().item(slot).begin(first, length, run);
  t.slots().setLayout(slot, layout);
  // Here, since a draw may let it in; and once more when it is in, since the table may have been emptied.
  t.sees(layout, length, t.transitionRows(t.slots().item(slot)));
  if (waits) enqueue(t, slot, priority, episodes);
  else admit(t, slot, priority);
  return waits ? 0 : 1;
}

/** Lets in what waits, as long as the limiter allows. */
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

/** Takes a live item out of everything. Its rows are released at once, or when the open draw ends. */
export function removeItem(t: Table, slot: u32): void {
  const item = t.slots().item(slot);
  if (tracking()) {
    t.slots().track(slot);
    t.trackLeave(slot);
  }
  t.sampler().remove(slot);
  if (t.hasSeparateRemover()) t.remover().remove(slot);
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
    discard(t, slot);
  }
}

/** Takes a pending item out of the queue. O(pending): the queue has one direction. */
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

/** Releases the rows of an item that left, and its slot. */
export function discard(t: Table, slot: u32): void {
  const item = t.slots().item(slot);
  releaseRun(t, item.first, item.length());
  t.slots().setLayout(slot, 0);
  t.slots().free(slot);
}

/** Run.retain, for where speed does not matter. */
export function retainRun(t: Table, first: u32, length: u32): u32 {
  return Run.retain(t.rows(), first, length);
}

function releaseRun(t: Table, first: u32, length: u32): void {
  Run.release(t.rows(), first, length);
}

function admit(t: Table, slot: u32, priority: f64): void {
  const item = t.slots().item(slot);
  // Insert first, then evict: the new item may be the victim. Never of a fifo, where there is room for maxSize items only; but an
  // episode that the new item holds did not end with the old one.
  countEpisodes(t, item.first, item.episodes(), true);
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
  if (t.hasSeparateRemover()) t.remover().insert(slot, priority);
  while (t.count > t.maxSize || t.steps > t.maxSteps) removeItem(t, t.remover().pick(t.random(), t.count));
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

/** Counts an item in or out of the episodes that its first rows touch. */
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
