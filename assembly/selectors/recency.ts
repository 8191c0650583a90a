/**
 * Prefers newer items: the probability is proportional to age^-exponent, where age is the rank by insertion and the newest item has age 1.
 *
 * RECENCY, 64 bytes, then the arrays of RANKS, and the SUM_TREE:
 *    0 │ ORDER (8)              │  the order of insertion, which is state; a fifo or lifo remover shares it
 *    8 │ tree u32  │ … u32      │  address of the tree: leaf a is a^-exponent if there are items of age a, else 0
 *   16 │ RANKS (48)             │  derived from the order; the tree is derived from the number of items
 *
 * Weights belong to ages and not to items, so an insert only adds the weight of the greatest age, and a removal only removes it. A draw picks an age, then
 * looks up the item of that age.
 */
import { Items } from "./items";
import { Order } from "./order";
import { Ranks, ranksBytes, ranksInit } from "./ranks";
import { SumTree, sumTreeBytes, sumTreeInit } from "./sum-tree";
import { keepAges, restoreAges, weightOfAge } from "./tree-part";

const RANKS_AT: usize = 16;
const RECENCY_BYTES: u32 = 16;

@unmanaged
export class Recency {
  oldest: u32;
  items: u32;
  treeAt: u32;
  unused: u32;

  @inline
  order(): Order {
    return changetype<Order>(changetype<usize>(this));
  }

  @inline
  ranks(): Ranks {
    return changetype<Ranks>(changetype<usize>(this) + RANKS_AT);
  }

  @inline
  tree(): SumTree {
    return changetype<SumTree>(<usize>this.treeAt);
  }

  /** Inserts a slot. O(1), or O(log n) after removals from the middle. */
  insert(slot: u32): void {
    this.order().insert(slot);
    this.ranks().insert(slot);
    const count = this.ranks().live;
    this.tree().set(count, weightOfAge(this.tree(), count));
  }

  /** Removes a slot. O(log n) */
  remove(slot: u32): void {
    const order = this.order();
    const ranks = this.ranks();
    this.tree().set(ranks.live, 0);
    order.remove(slot);
    ranks.remove(slot, order.oldest, order.youngest());
  }

  /** Notes that the n oldest slots, which are adjacent from `slot` on, have become the youngest in the order. */
  turned(slot: u32, n: u32): void {
    for (const end = slot + n; slot < end; slot++) this.ranks().turn(slot, this.order().next(slot));
  }

  /** Returns the probability of a slot. O(log n) */
  probability(slot: u32): f64 {
    return this.tree().probability(this.ranks().live - this.ranks().rank(slot), this.tree().total());
  }

  /** Returns the smallest probability, which is that of the oldest item. */
  least(): f64 {
    return weightOfAge(this.tree(), this.ranks().live) / this.tree().total();
  }

  /** Draws one slot. O(log n) */
  draw(random: usize): u32 {
    const age = this.tree().draw(random);
    const cursor = this.tree().cursor();
    store<u32>(cursor, this.ranks().live - age);
    this.ranks().find(cursor, 1);
    return load<u32>(cursor);
  }

  /** Like `SumTree.drawWeighed`, among the `count` items after the `first` oldest. O(n log size) */
  drawMany(
    random: usize,
    first: u32,
    count: u32,
    n: u32,
    distinct: bool,
    stratified: bool,
    out: usize,
    probabilities: usize,
    rests: usize,
    saved: usize,
    drawn: usize,
  ): u32 {
    const tree = this.tree();
    const live = this.ranks().live;
    const most = live - first;
    const part = count < live;
    if (part) keepAges(tree, most - count + 1, most);
    n = tree.drawWeighed(random, n, distinct, stratified, out, probabilities, rests, saved, drawn);
    if (part) restoreAges(tree, most - count + 1, most, live);
    for (const end = out + ((<usize>n) << 2); out < end; out += 4) store<u32>(out, live - load<u32>(out));
    this.ranks().find(out - ((<usize>n) << 2), n);
    return n;
  }

  /** Rebuilds the state derived from the order of `count` items; false if the order is invalid. O(n) */
  rebuild(count: u32, slots: u32): bool {
    const order = this.order();
    const ranks = this.ranks();
    ranks.clear();
    if (order.check(count, slots) != 0) return false;
    let slot = order.oldest;
    for (let i: u32 = 1; i <= count; i++) {
      ranks.insert(slot);
      store<f64>(this.tree().leaf(i), weightOfAge(this.tree(), i));
      slot = order.next(slot);
    }
    this.tree().rebuild();
    return true;
  }

  /** Returns 0, or the number of the broken invariant. */
  check(count: u32, slots: u32): i32 {
    const broken = this.order().check(count, slots);
    if (broken != 0) return broken;
    const wrong = this.ranks().check(count, this.oldest, Items.links(<usize>this.items, 0));
    if (wrong != 0) return wrong;
    const tree = this.tree();
    for (let age: u32 = 1; age <= slots; age++) if (load<f64>(tree.leaf(age)) != (age <= count ? weightOfAge(this.tree(), age) : 0)) return 9;
    return tree.check(slots) == 0 ? 0 : 9;
  }
}
if (offsetof<Recency>() != RANKS_AT || RECENCY_BYTES != <u32>RANKS_AT) ERROR("RECENCY: RANKS at byte 16");

/** Returns the address at which the tree begins. */
function treeFrom(slots: u32, items: u32): u32 {
  return (RECENCY_BYTES + ranksBytes(slots, items) + 15) & ~15;
}

export function recencyBytes(slots: u32): u32 {
  return treeFrom(slots, slots) + sumTreeBytes(slots, false);
}

/** Initializes a recency selector in zeroed memory. `items`: the maximum number of items; `at`: the address of the table's items. */
export function recencyInit(r: Recency, slots: u32, items: u32, at: u32): void {
  r.items = at;
  r.treeAt = <u32>changetype<usize>(r) + treeFrom(slots, slots);
  ranksInit(r.ranks(), slots, items);
  sumTreeInit(r.tree(), slots, false);
}
