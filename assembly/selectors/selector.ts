/**
 * The six selectors behind one set of verbs. Sampler and remover are roles, not kinds: either may be any of them.
 * Only this file knows the kinds: everything else asks it what a selector can do.
 */
import { fillWith } from "../memory/bytes";
import { Heap, heapBytes, heapInit } from "./heap";
import { Items } from "./items";
import { ORDER_BYTES, Order } from "./order";
import { SumTree, sumTreeBytes, sumTreeInit } from "./sum-tree";
import { Uniform, uniformBytes, uniformInit } from "./uniform";

export const FIFO: u32 = 1;
export const LIFO: u32 = 2;
export const UNIFORM: u32 = 3;
export const PRIORITIZED: u32 = 4;
export const MIN_HEAP: u32 = 5;
export const MAX_HEAP: u32 = 6;
/** Added to PRIORITIZED: keep the smallest weight too. */
export const WITH_MIN: u32 = 16;
/** Added to a remover's kind: the sampler's structure serves it too (fifo and lifo, or twice the same). */
export const TOGETHER: u32 = 32;
const KIND: u32 = 15;

/** Flags of a draw: without replacement; one draw from each n-th part. */
export const DISTINCT: u32 = 1;
export const STRATIFIED: u32 = 2;
/** Room that the ends of an order take in a record. */
export const END_BYTES: u32 = 12;

/** A selector as a table knows it: kind and address. */
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

  /** Whether its order is state, not derived from priorities. */
  @inline
  keepsOrder(): bool {
    return this.kind <= UNIFORM;
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
      default:
        return this.heap().insert(slot);
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
      default:
        return this.heap().remove(slot);
    }
  }

  /** An item leaves and another comes in the same slot; priority and stamp are the new one's already. */
  @inline
  replace(slot: u32, priority: f64): void {
    if (this.kind == UNIFORM && this.uniform().evictsNext(slot)) this.uniform().ring().rotate(1);
    else if (isHeap(this.kind)) this.heap().update(slot);
    else {
      if (this.kind != PRIORITIZED) this.remove(slot);
      this.insert(slot, priority);
    }
  }

  /** Whether `replaceMany` can begin at this slot. */
  replacesMany(slot: u32): bool {
    return this.kind == UNIFORM ? this.uniform().evictsNext(slot) : !isHeap(this.kind);
  }

  /** Items in n neighbouring slots leave and others come in their places, oldest first, in the table's items. */
  @inline
  replaceMany(slot: u32, n: u32, items: usize): void {
    if (this.kind == UNIFORM) this.uniform().ring().rotate(n);
    if (this.kind == PRIORITIZED) this.tree().setMany(slot, n, items);
  }

  /** After the priority of a slot changed: for kinds that must hear of each at once. */
  @inline
  updated(slot: u32): void {
    if (isHeap(this.kind)) this.heap().update(slot);
  }

  /** After the priorities of n slots (u32 × n) changed: for kinds that hear of them together. `items`: the table's; `nodes`: scratch for u32 × n. */
  updatedMany(slots: usize, n: u32, items: usize, nodes: usize): void {
    if (this.kind == PRIORITIZED) this.tree().update(slots, n, items, nodes);
  }

  setExponent(exponent: f64): void {
    if (this.kind == PRIORITIZED) this.tree().setExponent(exponent);
  }

  /** The lowest priority above 0 that it takes. */
  lowest(): f64 {
    return this.kind == PRIORITIZED ? this.tree().lowest : 0;
  }

  highest(): f64 {
    return this.kind == PRIORITIZED ? this.tree().highest : f64.MAX_VALUE;
  }

  /** Whether it always picks the item that came first. */
  @inline
  isFifo(): bool {
    return isFifo(this.kind);
  }

  /** Whether it picks by priorities as weights. */
  weighs(): bool {
    return this.kind == PRIORITIZED;
  }

  /** The sum of all weights; 0 where there is none, or no weights. */
  total(): f64 {
    return this.kind == PRIORITIZED ? this.tree().weight() : 0;
  }

  /** The smallest probability above 0 of `count` items, times `count`; 0 where it is not known. */
  minShare(count: u32): f64 {
    if (this.kind != PRIORITIZED) return 0;
    const tree = this.tree();
    return (<f64>count * tree.minWeight()) / tree.total();
  }

  /** Whether draws can be stratified: it has no order of its own. */
  stratifies(): bool {
    return this.kind == UNIFORM || this.kind == PRIORITIZED;
  }

  /** Whether draws can be from the k oldest items only; the remover may know ages where this one does not. */
  reaches(k: u32, remover: Selector): bool {
    switch (this.kind) {
      case FIFO:
        return true;
      case UNIFORM:
        // The first k of the ring are the k oldest from its disorder on.
        return k >= this.uniform().disorder;
      case PRIORITIZED:
        return remover.kind == FIFO || remover.kind == LIFO;
      default:
        return false;
    }
  }

  /** Whether it `reaches` as many when items have come in, and others have left for them. */
  keepsReach(remover: Selector): bool {
    return this.kind != UNIFORM || remover.kind == FIFO;
  }

  /** How many of the `oldest` oldest of `count` items a draw without replacement can give, up to `most`; slots are 1 … `slots`. */
  drawable(remover: Selector, oldest: u32, count: u32, most: u32, slots: u32): u32 {
    if (this.kind != PRIORITIZED) return min(oldest, most);
    if (oldest == count) return this.tree().drawable(most, slots);
    if (!this.reaches(oldest, remover)) return 0;
    const order = remover.order();
    let n: u32 = 0;
    let slot = order.oldest;
    for (let i: u32 = 0; i < oldest && n < most; i++) {
      n += u32(this.tree().hasWeight(slot));
      slot = order.next(slot);
    }
    return n == 0 ? min(oldest, most) : n;
  }

  /** Before and after a draw from the older items only: the k youngest weigh nothing (`hidden`), or what they did. O(k log n): meant for the few that are too young. */
  weighYoungest(remover: Selector, k: u32, items: usize, hidden: bool): void {
    if (this.kind != PRIORITIZED) return;
    const tree = this.tree();
    const order = remover.order();
    let slot = order.oldest;
    for (; k > 0; k--) {
      slot = order.prev(slot);
      tree.set(slot, hidden ? 0 : tree.weigh(Items.priority(items, slot)));
    }
  }

  /**
   * n slots of the `count` oldest to `out` (u32 × n), their probabilities to `probabilities` (f64 × n); how many. Scratch: `rests`, `saved` for f64 × n, `nodes` for
   * u32 × n. O(n log size) where priorities are weights, else O(n).
   */
  drawMany(random: usize, count: u32, n: u32, flags: u32, out: usize, probabilities: usize, rests: usize, saved: usize, nodes: usize): u32 {
    const distinct = (flags & DISTINCT) != 0;
    const stratified = (flags & STRATIFIED) != 0;
    if (this.kind == PRIORITIZED) return this.tree().drawWeighed(random, n, distinct, stratified, out, probabilities, rests, saved, nodes);
    let probability: f64 = 1;
    if (this.kind == UNIFORM) {
      probability = 1 / <f64>count;
      if (distinct) this.uniform().drawDistinct(random, count, n, out, nodes);
      else this.uniform().drawMany(random, count, n, stratified, out);
    } else {
      this.drawFirst(n, distinct, out);
    }
    fillWith<f64>(probabilities, n, probability);
    return n;
  }

  /** The first n in its own order, or n times the first one. */
  private drawFirst(n: u32, distinct: bool, out: usize): void {
    let slot = this.pick(0, n);
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

  /** Of those whose place is state, the i-th (0, 1) other slot whose place changes when this one leaves; 0 for none. */
  moves(slot: u32, i: i32): u32 {
    if (this.kind == UNIFORM) return i == 0 ? this.uniform().ring().get(0) : 0;
    if (!this.keepsOrder()) return 0;
    return i == 0 ? this.order().prev(slot) : this.order().next(slot);
  }

  /** The i-th (0, 1) slot whose place changes when one joins; 0 for none. */
  ends(i: i32): u32 {
    if (this.kind == UNIFORM || !this.keepsOrder()) return 0;
    return i == 0 ? this.order().oldest : this.order().youngest();
  }

  /** Bytes of a slot's place in its order, as records keep it; 0 where it is derived. */
  placeBytes(): u32 {
    if (this.kind == UNIFORM) return 4;
    return this.keepsOrder() ? 8 : 0;
  }

  savePlace(slot: u32, to: usize): void {
    if (this.kind == UNIFORM) store<u32>(to, load<u32>(this.uniform().position(slot)));
    else if (this.keepsOrder()) store<u64>(to, load<u64>(this.order().at(slot)));
  }

  loadPlace(slot: u32, from: usize): void {
    if (this.kind == UNIFORM) store<u32>(this.uniform().position(slot), load<u32>(from));
    else if (this.keepsOrder()) store<u64>(this.order().at(slot), load<u64>(from));
  }

  /** Where its order begins and ends: END_BYTES at most. */
  saveEnds(to: usize): void {
    if (this.kind == UNIFORM) this.uniform().saveEnds(to);
    else if (this.keepsOrder()) store<u32>(to, this.order().oldest);
  }

  loadEnds(from: usize): void {
    if (this.kind == UNIFORM) this.uniform().loadEnds(from);
    else if (this.keepsOrder()) this.order().oldest = load<u32>(from);
  }

  /** A live slot joins again whose place, priority and stamp were loaded; `rebuild` follows when all have. false where that is no place. */
  restore(slot: u32, priority: f64): bool {
    switch (this.kind) {
      case FIFO:
      case LIFO:
        return true;
      case UNIFORM:
        return this.uniform().restore(slot);
      case PRIORITIZED:
        store<f64>(this.tree().leaf(slot), this.tree().weigh(priority));
        return true;
      default:
        this.heap().insert(slot);
        return true;
    }
  }

  /** O(slots): once all live slots are restored; false where they make no order of `count`. */
  rebuild(count: u32, slots: u32): bool {
    switch (this.kind) {
      case FIFO:
      case LIFO:
        return this.order().oldest <= slots && this.order().check(count, slots) == 0;
      case UNIFORM:
        return this.uniform().ring().head < this.uniform().ring().capacity && this.uniform().check(count, slots) == 0;
      case PRIORITIZED:
        this.tree().rebuild();
        return true;
      default:
        return this.heap().count == count;
    }
  }

  /** One slot of `count` > 0; `random` is drawn from where the kind asks for it. */
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
      default:
        return this.heap().top();
    }
  }

  /** The probability with which `pick` would give this slot. */
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
      default:
        return this.pick(0, count) == slot ? 1 : 0;
    }
  }

  /** Whether what it derived from a live slot's priority is right. */
  checkSlot(slot: u32, priority: f64): bool {
    return this.kind != PRIORITIZED || load<f64>(this.tree().leaf(slot)) == this.tree().weigh(priority);
  }

  /** 0, or the number of the broken invariant. */
  check(count: u32, slots: u32): i32 {
    switch (this.kind) {
      case FIFO:
      case LIFO:
        return this.order().check(count, slots);
      case UNIFORM:
        return this.uniform().check(count, slots);
      case PRIORITIZED:
        return this.tree().check(slots);
      default:
        return this.heap().check(count, slots);
    }
  }
}
if (offsetof<Selector>() != 8) ERROR("Selector is 8 bytes");

function isHeap(kind: u32): bool {
  return kind == MIN_HEAP || kind == MAX_HEAP;
}

/** The number of a remover beside a sampler: TOGETHER where one structure serves both, since they keep the same order. `alike`: whether their exponents are the same. */
export function table_remover(sampler: u32, remover: u32, alike: bool): u32 {
  const both = (isOrder(sampler) && isOrder(remover)) || ((sampler & KIND) == (remover & KIND) && alike);
  return both ? (remover & KIND) + TOGETHER : remover;
}

/** Whether a kind compares the table's stamps. */
export function needsStamps(kind: u32): bool {
  return isHeap(kind & KIND);
}

/** Whether a kind picks by the order of insertion. */
export function isOrder(kind: u32): bool {
  return (kind & KIND) <= LIFO;
}

/** As a remover it always makes room first: nobody can tell, since the new item is never its victim. */
export function isFifo(kind: u32): bool {
  return (kind & KIND) == FIFO;
}

export function selectorBytes(kind: u32, slots: u32): u32 {
  if ((kind & TOGETHER) != 0) return 0;
  switch (kind & KIND) {
    case FIFO:
    case LIFO:
      return ORDER_BYTES;
    case UNIFORM:
      return uniformBytes(slots);
    case PRIORITIZED:
      return sumTreeBytes(slots, (kind & WITH_MIN) != 0);
    default:
      return heapBytes(slots);
  }
}

/** Lays an empty selector of at most `max` items out at `at`, on zeroed memory; one that is TOGETHER with what is there already only notes its kind. */
export function selectorInit(s: Selector, kind: u32, at: u32, slots: u32, max: u32, items: u32, stamps: u32): void {
  s.kind = kind & KIND;
  s.handle = at;
  if ((kind & TOGETHER) != 0) return;
  switch (s.kind) {
    case FIFO:
    case LIFO:
      s.order().items = items;
      return;
    case UNIFORM:
      return uniformInit(s.uniform(), slots, max);
    case PRIORITIZED:
      return sumTreeInit(s.tree(), slots, (kind & WITH_MIN) != 0);
    default:
      return heapInit(s.heap(), slots, items, stamps, s.kind == MAX_HEAP);
  }
}
