/**
 * Manages the slots of a table: items, keys, and free slots.
 *
 * ITEM, 32 bytes, one cache line for a draw:
 *   │ priority f64 │ first u32 │ length 24 bits, plain 1, single 1, piecewise 1, numbered 1, slides 1, settled 1 (at bit 29), ends 2 │ generation u32 │ timesSampled u32 │
 *   │ prev u32 │ next u32 │ of an order of insertion (assembly/selectors/order.ts)
 *   single: no episode ends before its last row · plain: single, and the rows follow each other in one block · piecewise: the rows follow each other in each of the run's blocks
 *   slides: the item's run is a sliding window (rows/sliding.ts). The bit is derived: in a restored Replay, no item has it
 *   settled: `ends` is valid and can no longer change: how an episode ends with the item's last row. This value was looked up, and is derived
 *   in free slots `first` is `nextFree`; in pending and doomed slots `timesSampled` is `nextInChain`
 *
 * The state of a slot is in its priority: +Infinity free · sign bit set pending · else live. Slot 0 does not exist.
 *
 * SLOTS, 64 bytes:
 *    0 │ items u32    │ stamps u32   │  ITEM × (capacity + 1); f64 × (capacity + 1), 0 if there is no heap
 *    8 │ capacity u32 │ since u32    │  slots are 1 … capacity · canonical: the least generation of items to come
 *   16 │ scale f64    │ base f64       │  key = generation × scale + base + slot: scale a power of two, base a different number for each table of a Replay
 *   32 │ bits u16     │ drawn u16 │ lastGeneration u32 │  log2 of the scale · 1: some slots are marked in DRAWN
 *   40 │ layouts u32  │ extras u32     │  column layouts (below), u32 × (capacity + 1), a separate area; 0 until an item has a layout · bit 0: there are layouts, stamps or CHANGEs;
 *      │                               │  above, a multiple of 4,096: HELD STEPS (held-steps.ts), 0 = none. A single test covers all of them, since each test costs time
 *   48 │ high u32     │ freeFirst u32  │  canonical from here: the highest slot ever used, the queue of free slots
 *   56 │ freeLast u32 │ retired u32    │  slots whose generations are used up
 *
 * A column layout has its form in the upper 16 bits, and its steps in the lower bits (src/memory/column-layouts.ts). Form 0 is whole steps: the lower bits are
 * 0, or, for an item that a sequence rule made, 1 + 2 × steps of burn-in + (1 if the item begins with the first step of an episode).
 *
 * If changes are tracked, the arrays end with CHANGE × (capacity + 1); the first CHANGE names the slot that changed last. DRAWN follows, u64 × (capacity / 64 +
 * 1): a bit for each slot whose count of draws is newer than its records. A draw marks nothing else, and the bits of a large table stay in the cache.
 */
import { arena_alloc } from "../memory/arena";
import { GRANULE } from "../memory/layout";
import { BYTES, CHANGE_BYTES, Change, chain, tracking } from "../rows/changes";
import { Head, LINK_ENDS } from "../rows/row";
import { NUMBERED, PIECEWISE, PLAIN, SINGLE } from "../rows/run";
import { SLIDES } from "../rows/sliding";
import { ITEM_BYTES, Items, LINKS } from "../selectors/items";

/** The length of the longest run that an item can name. */
export const MAX_LENGTH: u32 = 0xffffff;
const SETTLED: u32 = 1 << 29;

/** The number of low bits of a column layout, which contain its steps. Its form is in the bits above. */
export const FORM_BITS: u32 = 16;

/** Returns the column layout of a sequence: whole steps. */
export function sequenceLayout(burnIn: u32, isFirst: bool): u32 {
  return 1 + (burnIn << 1) + u32(isFirst);
}

/** Returns the part of a column layout that determines the columns of items: 0 for whole steps, sequences or not. */
export function columnsOf(layout: u32): u32 {
  return layout >> FORM_BITS == 0 ? 0 : layout;
}

/** The number of steps of burn-in of an item with this column layout. */
export function burnInOf(layout: u32): u32 {
  return layout == 0 || layout >> FORM_BITS != 0 ? 0 : (layout - 1) >> 1;
}

/** Whether an item with this column layout is known to begin with the first step of an episode. */
export function beginsEpisode(layout: u32): bool {
  return layout != 0 && layout >> FORM_BITS == 0 && ((layout - 1) & 1) != 0;
}

/** The priority of a free slot. */
export const FREE: f64 = Infinity;
const SIGN_BIT: u64 = 0x8000000000000000;
/** Keys have at most this many bits, so that they are exact in a double. */
const KEY_BITS: u32 = 53;

@unmanaged
export class Item {
  priority: f64;
  first: u32;
  word: u32;
  generation: u32;
  timesSampled: u32;
  prev: u32;
  next: u32;

  /** The slot that was freed after this one, in a free slot. */
  @inline
  get nextFree(): u32 {
    return this.first;
  }

  @inline
  set nextFree(slot: u32) {
    this.first = slot;
  }

  /** The next slot in the queue of waiting items, or in the chain of items that were removed during a draw. */
  @inline
  get nextInChain(): u32 {
    return this.timesSampled;
  }

  @inline
  set nextInChain(slot: u32) {
    this.timesSampled = slot;
  }

  @inline
  length(): u32 {
    return this.word & MAX_LENGTH;
  }

  /** Returns the bits PLAIN, SINGLE, PIECEWISE and NUMBERED. */
  @inline
  kind(): u32 {
    return this.word & (PLAIN | SINGLE | PIECEWISE | NUMBERED);
  }

  @inline
  plain(): bool {
    return (this.word & PLAIN) != 0;
  }

  /** Whether all rows have consecutive numbers; such a run is also single. */
  @inline
  numbered(): bool {
    return (this.word & NUMBERED) != 0;
  }

  @inline
  piecewise(): bool {
    return (this.word & PIECEWISE) != 0;
  }

  @inline
  single(): bool {
    return (this.word & SINGLE) != 0;
  }

  @inline
  settled(): bool {
    return (this.word & SETTLED) != 0;
  }

  /** Returns how an episode ends with the item's last row: the bits of that row's link. */
  @inline
  ends(last: u32): u32 {
    if (this.settled()) return this.word & LINK_ENDS;
    const link = Head.of(last).next;
    // For a stream's newest row, the end is not known yet.
    if (link != 0) this.word |= SETTLED | (link & LINK_ENDS);
    return link & LINK_ENDS;
  }

  /** Returns the item's length, the kind of its run, and whether the run is a sliding window (SLIDES). */
  @inline
  form(): u32 {
    return this.word & (MAX_LENGTH | PLAIN | SINGLE | PIECEWISE | NUMBERED | SLIDES);
  }

  /** Returns the maximum number of episodes that the item can touch. */
  @inline
  episodes(): u32 {
    return this.single() ? 1 : this.length();
  }

  /** Raises the count of draws and returns the new count, which saturates at 2^32 - 1. */
  @inline
  raise(): u32 {
    const before = this.timesSampled;
    const after = before + u32(before != u32.MAX_VALUE);
    this.timesSampled = after;
    return after;
  }

  /** Writes the run of a new item, and sets its count of draws to 0. The caller writes the other fields. `run`: the result of Run.retain. */
  @inline
  begin(first: u32, length: u32, run: u32): void {
    this.first = first;
    this.word = length | run;
    this.timesSampled = 0;
  }
}
if (offsetof<Item>() != ITEM_BYTES || offsetof<Item>("priority") != 0 || offsetof<Item>("prev") != LINKS) ERROR("ITEM is as selectors take it");

@unmanaged
export class Slots {
  items: u32;
  stamps: u32;
  capacity: u32;
  since: u32;
  scale: f64;
  base: f64;
  bits: u16;
  drawn: u16;
  lastGeneration: u32;
  layouts: u32;
  extras: u32;
  high: u32;
  freeFirst: u32;
  freeLast: u32;
  retired: u32;

  @inline
  item(slot: u32): Item {
    return changetype<Item>(Items.at(<usize>this.items, slot));
  }

  @inline
  priority(slot: u32): f64 {
    return Items.priority(<usize>this.items, slot);
  }

  @inline
  stampAt(slot: u32): usize {
    return <usize>this.stamps + ((<usize>slot) << 3);
  }

  /** Returns the number of an item's column layout; 0: whole steps. */
  layout(slot: u32): u32 {
    return this.layouts == 0 ? 0 : load<u32>(<usize>this.layouts + ((<usize>slot) << 2));
  }

  /** Returns the part of the layout that determines the item's columns: 0 for whole steps. */
  @inline
  columns(slot: u32): u32 {
    return columnsOf(this.layout(slot));
  }

  /** Sets the column layout. A layout other than 0 requires room. */
  @inline
  setLayout(slot: u32, layout: u32): void {
    if (this.layouts != 0) store<u32>(<usize>this.layouts + ((<usize>slot) << 2), layout);
  }

  /** Makes sure that slots can have layouts other than 0; false (OUT_OF_MEMORY) changes nothing. */
  reserveLayouts(): bool {
    if (this.layouts == 0) this.layouts = arena_alloc((this.capacity + 1) << 2);
    if (this.layouts == 0) return false;
    this.extras |= 1;
    return true;
  }

  /** The address of HELD STEPS (held-steps.ts); 0 if the table does not track held steps. */
  @inline
  get heldSteps(): u32 {
    return this.extras & ~(GRANULE - 1);
  }

  set heldSteps(held: u32) {
    this.extras = (this.extras & (GRANULE - 1)) | held;
  }

  @inline
  isLive(slot: u32): bool {
    return Items.isLive(this.priority(slot));
  }

  /** Whether the slot is live or pending. */
  isUsed(slot: u32): bool {
    return this.priority(slot) < Infinity;
  }

  @inline
  isPending(slot: u32): bool {
    return (reinterpret<u64>(this.priority(slot)) & SIGN_BIT) != 0;
  }

  @inline
  changeOf(slot: u32): Change {
    const behind = this.stamps != 0 ? this.stampAt(this.capacity + 1) : Items.at(<usize>this.items, this.capacity + 1);
    return changetype<Change>(behind + ((<usize>slot) << 3));
  }

  /**
   * Notes for a journal that a slot, or its place in an order, has changed, or that several consecutive slots have. Slot 0 means none. Call this method
   * only if changes are tracked.
   */
  track(slot: u32, count: u32 = 1): void {
    if (slot == 0) return;
    for (const end = slot + count; slot < end; slot++) chain(changetype<usize>(this.changeOf(0)), this.changeOf(slot), slot, BYTES);
  }

  /** Returns the address of a slot's mark in DRAWN. Its bit is `slot & 63`. */
  @inline
  drawnAt(slot: u32): usize {
    return changetype<usize>(this.changeOf(this.capacity + 1)) + ((<usize>(slot >> 6)) << 3);
  }

  /** Notes for a journal that a slot was drawn. Call this method only if changes are tracked. */
  @inline
  trackDraw(slot: u32): void {
    const word = this.drawnAt(slot);
    store<u64>(word, load<u64>(word) | ((<u64>1) << (slot & 63)));
    this.drawn = 1;
  }

  /** Like `trackDraw`, for many slots: u32 each, from `at` to `end`. */
  trackDraws(at: usize, end: usize): void {
    for (; at < end; at += 4) this.trackDraw(load<u32>(at));
  }

  /** Clears the mark of a slot, because a record contains the slot's count. */
  @inline
  forgetDraws(slot: u32): void {
    const word = this.drawnAt(slot);
    store<u64>(word, load<u64>(word) & ~((<u64>1) << (slot & 63)));
  }

  /** Takes a slot in a new generation; free slots are reused in the order in which they were freed. Returns 0 if no slot is free. */
  @inline
  take(): u32 {
    let slot = this.freeFirst;
    if (slot != 0) {
      this.freeFirst = this.item(slot).nextFree;
    } else {
      if (this.high == this.capacity) return 0;
      slot = this.high + 1;
      this.high = slot;
    }
    this.item(slot).generation = this.nextGeneration(this.item(slot));
    if (tracking()) this.track(slot);
    return slot;
  }

  /** Queues a slot for reuse, or retires it if its generations are used up, so that no key ever occurs twice. */
  @inline
  free(slot: u32): void {
    if (tracking()) {
      this.track(slot);
      this.track(this.freeLast);
    }
    const item = this.item(slot);
    if (item.generation >= this.lastGeneration) {
      this.retired += 1;
      return;
    }
    item.nextFree = 0;
    if (this.freeFirst != 0) this.item(this.freeLast).nextFree = slot;
    else this.freeFirst = slot;
    this.freeLast = slot;
  }

  /** Returns the generation of the next item in this item's slot. */
  @inline
  nextGeneration(item: Item): u32 {
    return max(item.generation + 1, this.since);
  }

  /**
   * Gives all later items an unused generation above all earlier ones, and returns that generation; 0 if that generation would exceed the last one. O(slots)
   */
  begin(): u32 {
    let last: u32 = 0;
    for (let slot: u32 = 1; slot <= this.high; slot++) last = max(last, this.item(slot).generation);
    // No item was added since the last call.
    if (last < this.since) return this.since;
    if (last >= this.lastGeneration) return 0;
    this.since = last + 1;
    return this.since;
  }

  /** Whether the slot of a live item has a generation left. */
  @inline
  renews(slot: u32): bool {
    return this.item(slot).generation < this.lastGeneration;
  }

  @inline
  key(slot: u32): f64 {
    return <f64>this.item(slot).generation * this.scale + this.base + <f64>slot;
  }

  /** Returns the slot of the live or pending item with this key; 0 if the item is gone, or the number was never a key. */
  find(key: f64): u32 {
    // The conversion saturates: NaN, fractions and negative numbers do not convert back to the same value, and no generation is as large as that of a key above
    // 2^53.
    const k = <u64>key;
    if (<f64>k != key) return 0;
    // A key of another table, or 0, is below 1 or above `high` as an unsigned number.
    const low = (k & (((<u64>1) << (<u64>this.bits)) - 1)) - <u64>this.base;
    if (low - 1 >= <u64>this.high) return 0;
    const slot = <u32>low;
    if (<u64>this.item(slot).generation != k >> <u64>this.bits) return 0;
    return this.priority(slot) == FREE ? 0 : slot;
  }
}
if (offsetof<Slots>() != 64) ERROR("SLOTS is 64 bytes");

/** Lays the arrays out from `at` on. */
export function slotsInit(s: Slots, at: u32, capacity: u32, withStamps: bool): void {
  s.items = at;
  s.stamps = withStamps ? at + (capacity + 1) * ITEM_BYTES : 0;
  s.extras = u32(withStamps || tracking());
  s.capacity = capacity;
  layKeys(s, capacity, 0, 1);
}

/** Lays out the keys of an empty table with up to `capacity` slots. `number`: the table's place, from 0, among `tables` tables whose keys all differ. */
export function layKeys(s: Slots, capacity: u32, number: u32, tables: u32): void {
  const bits = 32 - clz(capacity);
  s.base = <f64>((<u64>number) << bits);
  const all: u32 = bits + 32 - clz(tables - 1);
  s.bits = <u16>all;
  s.scale = <f64>((<u64>1) << (<u64>all));
  s.lastGeneration = all <= KEY_BITS - 32 ? u32.MAX_VALUE : (1 << (KEY_BITS - all)) - 1;
}

export function slotsBytes(capacity: u32, withStamps: bool): u64 {
  const bytes = <u64>(capacity + 1) * (ITEM_BYTES + (withStamps ? 8 : 0));
  return tracking() ? bytes + <u64>(capacity + 1) * CHANGE_BYTES + ((<u64>(capacity >> 6) + 1) << 3) : bytes;
}
