/**
 * Defines one interface for all selectors. Sampler and remover are roles, and either may be of any kind. Only this file branches on the kind (kinds.ts). A
 * method that has no case for a kind traps instead of using another kind's structure.
 */
import { fillWith } from "../memory/bytes";
import { slotsOfPlaces } from "./age-window";
import { Heap, heapBytes, heapInit } from "./heap";
import { Items } from "./items";
import { FIFO, isFifo, KIND, kindHas, LIFO, LINKED, MAX_HEAP, MIN_HEAP, PRIORITIZED, RECENCY, TOGETHER, UNIFORM, WITH_MIN } from "./kinds";
import { ORDER_BYTES, Order } from "./order";
import { Recency, recencyBytes, recencyInit } from "./recency";
import { SumTree, sumTreeBytes, sumTreeInit } from "./sum-tree";
import { keepRun, restoreRun } from "./tree-part";
import { Uniform, uniformBytes, uniformInit } from "./uniform";

/** A flag of a draw: items are drawn without replacement. */
export const DISTINCT: u32 = 1;
/** A flag of n draws: one item is drawn from each of n equal parts of the total weight, or of the items if they have no weights. */
export const STRATIFIED: u32 = 2;
/** A flag of a draw from only some items: these items are the newest, instead of the oldest. */
export const NEWEST: u32 = 4;
/** The maximum number of words (u32) that describe the beginning and the end of an order. */
export const END_WORDS: u32 = 3;

/** A selector in a table: kind and address. */
@unmanaged
export class Selector {
  kind: u32;
  handle: u32;

  @inline
  order(): Order {
    return changetype<Order>(<usize>this.handle);
  }

  @inline
  uniform(): Uniform {
    return changetype<Uniform>(<usize>this.handle);
  }

  @inline
  tree(): SumTree {
    return changetype<SumTree>(<usize>this.handle);
  }

  @inline
  heap(): Heap {
    return changetype<Heap>(<usize>this.handle);
  }

  @inline
  recency(): Recency {
    return changetype<Recency>(<usize>this.handle);
  }

  /** Whether the selector's kind has a trait (kinds.ts). */
  has(trait: u32): bool {
    return kindHas(this.kind, trait);
  }

  insert(slot: u32, priority: f64): void {
    switch (this.kind) {
      case FIFO:
      case LIFO:
        return this.order().insert(slot);
      case UNIFORM:
        return this.uniform().insert(slot);
      case PRIORITIZED:
        return this.tree().set(slot, this.tree().weigh(priority));
      case MIN_HEAP:
      case MAX_HEAP:
        return this.heap().insert(slot);
      case RECENCY:
        return this.recency().insert(slot);
      default:
        return unreachable();
    }
  }

  remove(slot: u32): void {
    switch (this.kind) {
      case FIFO:
      case LIFO:
        return this.order().remove(slot);
      case UNIFORM:
        return this.uniform().remove(slot);
      case PRIORITIZED:
        return this.tree().set(slot, 0);
      case MIN_HEAP:
      case MAX_HEAP:
        return this.heap().remove(slot);
      case RECENCY:
        return this.recency().remove(slot);
      default:
        return unreachable();
    }
  }

  /** Replaces an item with a new one in the same slot. The priority and the stamp of the new item are already written. */
  @inline
  replace(slot: u32, priority: f64): void {
    if (this.kind == UNIFORM && this.uniform().evictsNext(slot)) this.uniform().ring().rotate(1);
    else if (isHeap(this.kind)) this.heap().update(slot);
    else {
      if (this.kind != PRIORITIZED) this.remove(slot);
      this.insert(slot, priority);
    }
  }

  /** Updates the selector after a new item has replaced the oldest one in its slot. The remover shares the order and has already rotated it. */
  @inline
  turned(slot: u32): void {
    if (this.kind == RECENCY) this.recency().turned(slot, 1);
  }

  /** Whether `replaceMany` can begin at this slot; a kind without support needs no case. */
  replacesMany(slot: u32): bool {
    switch (this.kind) {
      case FIFO:
      case LIFO:
      case PRIORITIZED:
      case RECENCY:
        return true;
      case UNIFORM:
        return this.uniform().evictsNext(slot);
      default:
        return false;
    }
  }

  /** Replaces the items in n adjacent slots with new ones, oldest first. `items`: the table's items, already written. */
  @inline
  replaceMany(slot: u32, n: u32, items: usize): void {
    if (this.kind == UNIFORM) this.uniform().ring().rotate(n);
    if (this.kind == PRIORITIZED) this.tree().setMany(slot, n, items);
    if (this.kind == RECENCY) this.recency().turned(slot, n);
  }

  /** Runs after the priority of a slot changed, for kinds that must process each change immediately. */
  @inline
  updated(slot: u32): void {
    if (isHeap(this.kind)) this.heap().update(slot);
  }

  /**
   * Runs after the priorities of n slots (u32 × n) changed, for kinds that process them together. `items`: the table's items; `nodes`: scratch for u32 × n.
   */
  updatedMany(slots: usize, n: u32, items: usize, nodes: usize): void {
    if (this.kind == PRIORITIZED) this.tree().update(slots, n, items, nodes);
  }

  setExponent(exponent: f64): void {
    if (this.kind == PRIORITIZED) this.tree().setExponent(exponent);
    if (this.kind == RECENCY) this.recency().tree().setExponent(exponent);
  }

  /** Returns the lowest priority above 0 that the selector accepts. */
  lowest(): f64 {
    return this.kind == PRIORITIZED ? this.tree().lowest : 0;
  }

  highest(): f64 {
    return this.kind == PRIORITIZED ? this.tree().highest : f64.MAX_VALUE;
  }

  /** Whether the selector always picks the oldest item. */
  @inline
  isFifo(): bool {
    return isFifo(this.kind);
  }

  /** Whether the selector picks the item with the least or greatest priority. */
  @inline
  isHeap(): bool {
    return isHeap(this.kind);
  }

  /**
   * Reads the memory that the removal of a slot needs first, so that this memory is cached by then. The result has no meaning. A kind without such memory needs
   * no case.
   */
  @inline
  near(slot: u32): u32 {
    if (this.kind == UNIFORM) return this.uniform().near(slot);
    return this.kind == PRIORITIZED ? load<u32>(this.tree().leaf(slot)) : 0;
  }

  /** Returns the sum of all weights; 0 if there are no items or no weights. */
  total(): f64 {
    return this.kind == PRIORITIZED ? this.tree().weight() : 0;
  }

  /** Returns the smallest probability above 0 of `count` items, times `count`; 0 if the probability is unknown. */
  minShare(count: u32): f64 {
    if (this.kind == RECENCY) return count == 0 ? 0 : <f64>count * this.recency().least();
    if (this.kind != PRIORITIZED) return 0;
    const tree = this.tree();
    return (<f64>count * tree.minWeight()) / tree.total();
  }

  /**
   * Whether draws can be limited to the k oldest, or newest, of `count` items; the remover may keep an order of insertion that this selector lacks. `removes`:
   * whether a draw may remove its item before the next draw.
   */
  reaches(k: u32, count: u32, newest: bool, remover: Selector, removes: bool): bool {
    switch (this.kind) {
      case FIFO:
      case RECENCY:
        return true;
      case LIFO:
        return newest;
      case UNIFORM:
        // If k is at least `disorder`, the first k entries of the ring are the k oldest items. Later entries are in order of age.
        if (!newest) return k >= this.uniform().disorder;
        return remover.has(LINKED) || k >= count || (!removes && count - k >= this.uniform().disorder);
      case PRIORITIZED:
        return remover.kind == FIFO || remover.kind == LIFO;
      default:
        return false;
    }
  }

  /** Whether `reaches` remains true after new items have replaced old ones. */
  keepsReach(remover: Selector): bool {
    return this.kind != UNIFORM || remover.kind == FIFO;
  }

  /** Returns how many of the k oldest, or newest, of `count` items a draw without replacement can return, up to `most`; slots are 1 … `slots`. */
  drawable(remover: Selector, k: u32, count: u32, newest: bool, most: u32, slots: u32): u32 {
    if (this.kind != PRIORITIZED) return min(k, most);
    if (k == count) return this.tree().drawable(most, slots);
    if (!this.reaches(k, count, newest, remover, false)) return 0;
    const order = remover.order();
    let n: u32 = 0;
    let slot = order.end(newest);
    for (let i: u32 = 0; i < k && n < most; i++) {
      n += u32(this.tree().hasWeight(slot));
      slot = order.neighbour(slot, newest);
    }
    return n == 0 ? min(k, most) : n;
  }

  /**
   * Runs before and after a draw from only the k oldest, or newest, items: sets the weights of the other items to 0 (`hidden`), or restores these weights.
   * O(log n) for each of the k items, or for each of the other items if they are fewer. `high`: the highest slot ever used.
   */
  weighPart(remover: Selector, k: u32, count: u32, newest: bool, items: usize, high: u32, hidden: bool): void {
    if (this.kind != PRIORITIZED) return;
    const tree = this.tree();
    const order = remover.order();
    if (k < count - k) {
      if (hidden) keepRun(tree, order, k, newest);
      else restoreRun(tree, order, k, newest, items, high);
      return;
    }
    let slot = order.end(!newest);
    for (let others = count - k; others > 0; others--) {
      tree.set(slot, hidden ? 0 : tree.weigh(Items.priority(items, slot)));
      slot = order.neighbour(slot, !newest);
    }
  }

  /**
   * Draws n slots from the `count` items after the `first` oldest of `size` to `out` (u32 × n), and their probabilities to `probabilities` (f64 × n); returns
   * how many. Scratch: `rests`, `saved` for f64 × n, `nodes` for u32 × n. O(n log size) if items have weights, else O(n), or O(count + n log n) if a remover in
   * an order has to help.
   */
  drawMany(
    remover: Selector,
    random: usize,
    size: u32,
    first: u32,
    count: u32,
    n: u32,
    flags: u32,
    out: usize,
    probabilities: usize,
    rests: usize,
    saved: usize,
    nodes: usize,
  ): u32 {
    const distinct = (flags & DISTINCT) != 0;
    const stratified = (flags & STRATIFIED) != 0;
    switch (this.kind) {
      case PRIORITIZED:
        return this.tree().drawWeighed(random, n, distinct, stratified, out, probabilities, rests, saved, nodes);
      case RECENCY:
        return this.recency().drawMany(random, first, count, n, distinct, stratified, out, probabilities, rests, saved, nodes);
      case UNIFORM: {
        const uniform = this.uniform();
        if (distinct) uniform.drawDistinct(random, first, count, n, out, nodes);
        else uniform.drawMany(random, first, count, n, stratified, out);
        if (first < uniform.disorder && first != 0) {
          uniform.places(first, out, n);
          slotsOfPlaces(remover.order(), count, n, out, rests);
        }
        fillWith<f64>(probabilities, n, 1 / <f64>count);
        return n;
      }
      case FIFO:
      case LIFO:
      case MIN_HEAP:
      case MAX_HEAP:
        this.drawFirst(first == 0 || this.kind != FIFO ? this.pick(0, n) : this.order().at(first, size), n, distinct, out);
        fillWith<f64>(probabilities, n, 1);
        return n;
      default:
        return unreachable();
    }
  }

  /** Draws n slots in the selector's own order, from `slot` on; if not `distinct`, draws `slot` n times. */
  private drawFirst(slot: u32, n: u32, distinct: bool, out: usize): void {
    for (let at = out; at < out + ((<usize>n) << 2); at += 4) {
      store<u32>(at, slot);
      if (!distinct) continue;
      if (this.kind == FIFO) slot = this.order().next(slot);
      else if (this.kind == LIFO) slot = this.order().prev(slot);
      else {
        this.heap().remove(slot);
        slot = this.heap().top();
      }
    }
    if (!distinct || !isHeap(this.kind)) return;
    for (let at = out; at < out + ((<usize>n) << 2); at += 4) this.heap().insert(load<u32>(at));
  }

  /**
   * Returns the i-th (0, 1) other slot whose stored place changes when `slot` is removed, or when a slot is added (`slot` 0). Returns 0 for none. A kind whose
   * slots have no places, or do not change the places of other slots, needs no case.
   */
  touched(slot: u32, i: i32): u32 {
    switch (this.kind) {
      case FIFO:
      case LIFO:
      case RECENCY:
        if (slot == 0) return i == 0 ? this.order().oldest : this.order().youngest();
        return i == 0 ? this.order().prev(slot) : this.order().next(slot);
      case UNIFORM:
        return slot != 0 && i == 0 ? this.uniform().at(0) : 0;
      default:
        return 0;
    }
  }

  /**
   * Copies a slot's place, if priorities do not determine it, to a record at `at`, or from the record if `loads` is true: `placeWords` words. Returns the
   * address at which the record continues.
   */
  @inline
  copyPlace(slot: u32, at: usize, loads: bool): usize {
    switch (this.kind) {
      case FIFO:
      case LIFO:
      case RECENCY:
        return copyState<u64>(this.order().linksOf(slot), at, loads);
      case UNIFORM:
        if (loads) this.uniform().setPosition(slot, load<u32>(at));
        else store<u32>(at, this.uniform().position(slot));
        return at + 4;
      case PRIORITIZED:
      case MIN_HEAP:
      case MAX_HEAP:
        return at;
      default:
        return unreachable();
    }
  }

  /** Like `copyPlace`, for the beginning and the end of the order: the record has END_WORDS words, of which some kinds use fewer or none. */
  copyEnds(at: usize, loads: bool): usize {
    switch (this.kind) {
      case FIFO:
      case LIFO:
      case RECENCY:
        copyState<u32>(<usize>this.handle + offsetof<Order>("oldest"), at, loads);
        break;
      case UNIFORM:
        for (let i: u32 = 0; i < END_WORDS; i++) copyState<u32>(this.uniform().endAt(i), at + ((<usize>i) << 2), loads);
        break;
      case PRIORITIZED:
      case MIN_HEAP:
      case MAX_HEAP:
        break;
      default:
        unreachable();
    }
    return at + ((<usize>END_WORDS) << 2);
  }

  /** Re-adds a live slot whose place, priority and stamp were loaded; call `rebuild` after all slots are restored. Returns false if the place is invalid. */
  restore(slot: u32, priority: f64): bool {
    switch (this.kind) {
      case FIFO:
      case LIFO:
      case RECENCY:
        return true;
      case UNIFORM:
        return this.uniform().restore(slot);
      case PRIORITIZED:
        store<f64>(this.tree().leaf(slot), this.tree().weigh(priority));
        return true;
      case MIN_HEAP:
      case MAX_HEAP:
        this.heap().insert(slot);
        return true;
      default:
        return unreachable();
    }
  }

  /** Rebuilds derived state after all live slots are restored. Returns false if the slots do not form an order of `count` slots. O(slots) */
  rebuild(count: u32, slots: u32): bool {
    switch (this.kind) {
      case FIFO:
      case LIFO:
      case UNIFORM:
        return this.check(count, slots) == 0;
      case PRIORITIZED:
        this.tree().rebuild();
        return true;
      case MIN_HEAP:
      case MAX_HEAP:
        return this.heap().count == count;
      case RECENCY:
        return this.recency().rebuild(count, slots);
      default:
        return unreachable();
    }
  }

  /** Picks one of `count` > 0 slots. Some kinds draw from `random`. */
  pick(random: usize, count: u32): u32 {
    switch (this.kind) {
      case FIFO:
        return this.order().oldest;
      case LIFO:
        return this.order().youngest();
      case UNIFORM:
        return this.uniform().draw(random, count);
      case PRIORITIZED:
        return this.tree().draw(random);
      case MIN_HEAP:
      case MAX_HEAP:
        return this.heap().top();
      case RECENCY:
        return this.recency().draw(random);
      default:
        return unreachable();
    }
  }

  /** Returns the probability with which `pick` would return this slot. */
  probability(slot: u32, count: u32): f64 {
    switch (this.kind) {
      case UNIFORM:
        return 1 / <f64>count;
      case PRIORITIZED: {
        const tree = this.tree();
        const weight = load<f64>(tree.leaf(slot));
        const total = tree.total();
        return weight < tree.floor(total) ? 0 : weight / total;
      }
      case FIFO:
      case LIFO:
      case MIN_HEAP:
      case MAX_HEAP:
        return this.pick(0, count) == slot ? 1 : 0;
      case RECENCY:
        return this.recency().probability(slot);
      default:
        return unreachable();
    }
  }

  /** Whether the state that is derived from a live slot's priority is correct. */
  checkSlot(slot: u32, priority: f64): bool {
    return this.kind != PRIORITIZED || load<f64>(this.tree().leaf(slot)) == this.tree().weigh(priority);
  }

  /** Returns 0, or the number of the broken invariant. */
  check(count: u32, slots: u32): i32 {
    switch (this.kind) {
      case FIFO:
      case LIFO:
        return this.order().check(count, slots);
      case UNIFORM:
        return this.uniform().check(count, slots);
      case PRIORITIZED:
        return this.tree().check(slots);
      case MIN_HEAP:
      case MAX_HEAP:
        return this.heap().check(count, slots);
      case RECENCY:
        return this.recency().check(count, slots);
      default:
        return unreachable();
    }
  }
}
if (offsetof<Selector>() != 8) ERROR("Selector is 8 bytes");

function isHeap(kind: u32): bool {
  return kind == MIN_HEAP || kind == MAX_HEAP;
}

/** Copies a number of a selector's state to a record at `at`, or from the record. Returns the address at which the record continues. */
function copyState<T>(state: usize, at: usize, loads: bool): usize {
  if (loads) store<T>(state, load<T>(at));
  else store<T>(at, load<T>(state));
  return at + sizeof<T>();
}

/**
 * Returns the kind of a remover that is used with a sampler: with TOGETHER if one structure serves both, because both roles keep the same order. `alike`:
 * whether the exponents of the two roles are the same.
 */
export function table_remover(sampler: u32, remover: u32, alike: bool): u32 {
  const both = (kindHas(sampler, LINKED) && kindHas(remover, LINKED)) || ((sampler & KIND) == (remover & KIND) && alike);
  return both ? (remover & KIND) + TOGETHER : remover;
}

/**
 * Returns the number of bytes of a selector's structure. If `at` is an address, also lays out the structure there as `s`, in zeroed memory, empty and for at
 * most `max` items. A selector TOGETHER with the structure at `at` only notes its kind.
 */
export function laySelector(s: Selector, kind: u32, at: u32, slots: u32, max: u32, items: u32, stamps: u32): u32 {
  if (at != 0) {
    s.kind = kind & KIND;
    s.handle = at;
  }
  if ((kind & TOGETHER) != 0) return 0;
  switch (kind & KIND) {
    case FIFO:
    case LIFO:
      if (at != 0) s.order().items = items;
      return ORDER_BYTES;
    case UNIFORM:
      if (at != 0) uniformInit(s.uniform(), slots, max);
      return uniformBytes(slots);
    case PRIORITIZED:
      if (at != 0) sumTreeInit(s.tree(), slots, (kind & WITH_MIN) != 0);
      return sumTreeBytes(slots, (kind & WITH_MIN) != 0);
    case MIN_HEAP:
    case MAX_HEAP:
      if (at != 0) heapInit(s.heap(), slots, items, stamps, s.kind == MAX_HEAP);
      return heapBytes(slots);
    case RECENCY:
      if (at != 0) recencyInit(s.recency(), slots, max, items);
      return recencyBytes(slots);
    default:
      return unreachable();
  }
}

/** Returns the number of bytes of a selector's structure. */
export function selectorBytes(kind: u32, slots: u32): u32 {
  return laySelector(changetype<Selector>(0), kind, 0, slots, 0, 0, 0);
}
