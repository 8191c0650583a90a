/**
 * The six selectors behind one set of verbs. Sampler and remover are roles, not kinds: either may be any of them.
 * This switch is the only place that knows them all.
 */
import { Heap, heapBytes, heapInit } from "./heap";
import { Order, orderBytes } from "./order";
import { SumTree, sumTreeBytes, sumTreeInit } from "./sum-tree";
import { Uniform, uniformBytes, uniformInit } from "./uniform";

export const FIFO: u32 = 1;
export const LIFO: u32 = 2;
export const UNIFORM: u32 = 3;
export const PRIORITIZED: u32 = 4;
export const MIN_HEAP: u32 = 5;
export const MAX_HEAP: u32 = 6;
/** Added to PRIORITIZED: keep the least weight too. */
export const WITH_MIN: u32 = 16;
/** Added to a remover's kind: the sampler's structure serves it too (fifo and lifo, or twice the same). */
export const TOGETHER: u32 = 32;
export const KIND: u32 = 15;

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

  /** An item leaves and another comes in the same slot; priority and touch are the new one's already. */
  @inline
  replace(slot: u32, priority: f64): void {
    if (this.kind == UNIFORM && this.uniform().turns(slot)) this.uniform().ring().turnBy(1);
    else if (isHeap(this.kind)) this.heap().update(slot);
    else {
      if (this.kind != PRIORITIZED) this.remove(slot);
      this.insert(slot, priority);
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

/** Whether a kind is a heap, which needs the table's touches. */
export function isHeap(kind: u32): bool {
  return kind == MIN_HEAP || kind == MAX_HEAP;
}

export function selectorBytes(kind: u32, slots: u32): u32 {
  if ((kind & TOGETHER) != 0) return 0;
  switch (kind & KIND) {
    case FIFO:
    case LIFO:
      return orderBytes(slots);
    case UNIFORM:
      return uniformBytes(slots);
    case PRIORITIZED:
      return sumTreeBytes(slots, (kind & WITH_MIN) != 0);
    default:
      return heapBytes(slots);
  }
}

/** Lays an empty selector of at most `most` items out at `at`, on zeroed memory. */
export function selectorInit(s: Selector, kind: u32, at: u32, slots: u32, most: u32, priorities: u32, touches: u32): void {
  s.kind = kind & KIND;
  s.handle = at;
  switch (s.kind) {
    case FIFO:
    case LIFO:
      return;
    case UNIFORM:
      return uniformInit(s.uniform(), slots, most);
    case PRIORITIZED:
      return sumTreeInit(s.tree(), slots, (kind & WITH_MIN) != 0);
    default:
      return heapInit(s.heap(), slots, priorities, touches, s.kind == MAX_HEAP);
  }
}
