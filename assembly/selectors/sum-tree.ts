/**
 * Draws items in proportion to their weights: a 4-ary tree of f64 sums with one leaf per slot.
 *
 * SUM_TREE, 136 bytes, then the levels, then their minima, from a multiple of 32 on, so that no family lies in two cache lines:
 *    0 │ exponent f64                    │  weight = priority^exponent
 *    8 │ lowest f64      │ highest f64   │  the lowest and the highest priority above 0 that the tree accepts
 *   24 │ depth u32       │ minima u32    │  levels above the leaves · the distance from the sum of a family to its minimum, 0 without minima
 *   32 │ sums u32 × 16                   │  addresses: sums[0] the leaves, sums[depth] the root
 *   96 │ cursor: slot u32, partial u32, rest f64 │  the walk of a single draw; partial 1: some branches are cut off (tree-part.ts)
 *  112 │ weighed f64     │ its leaf f64  │  the last priority of which a power was computed; 0: none
 *  128 │ stale u32       │ last u32      │  leaves from `stale` to `last` were set, and the nodes above these leaves are not renewed; 0: all nodes are renewed
 *
 * Parents are recomputed from their children, never adjusted, so that they do not drift. Consecutive items take adjacent slots. The parents of these slots are
 * renewed together, before anything reads the parents. A whole batch walks one level at a time, so that its loads overlap. Separate walks would be slower than
 * plain JavaScript.
 *
 * A leaf is 0 (no item), FAINT (an item of weight 0) or at least MIN. FLOOR separates the sums of up to 2^30 faint leaves from the sums that contain a weight.
 * If any item has weight, no faint item is drawn. Otherwise the total counts the faint leaves.
 */

import { Pair, power } from "../memory/power";
import { Prefetch } from "../memory/prefetch";
import { random_below, random_f64 } from "../memory/random";
import { Items } from "./items";

const SUMS_AT: usize = 32;
const CURSOR_AT: usize = 96;
const PARTIAL_AT: usize = 100;
/** The highest level above the leaves whose children are prefetched during draws. The lower levels may have too many nodes for a cache. */
const COLD: u32 = 4;
const WEIGHED_AT: usize = 112;
const STALE_AT: usize = 128;
const LEVELS_AT: usize = 136;
/** The maximum number of leaves that are renewed together, which limits how long a call can take. */
const MOST_STALE: u32 = 2048;
/** The number of bytes of four nodes. */
const FAMILY: usize = 32;
/** The leaf of an item of weight 0: the least positive f64, 2^-1074. */
const FAINT: f64 = 4.9406564584124654e-324;
/** The least weight, 2^-999. A smaller weight counts as 0. */
const MIN: f64 = 1.8665272370064378e-301;
/** The number 2^-1000, which is above every sum of faint leaves and below every weight. */
const FLOOR: f64 = 9.332636185032189e-302;
/** The greatest weight, 2^990. The sum of 2^30 such weights is finite. */
const MAX: f64 = 1.0463951242053391e298;

@unmanaged
export class SumTree {
  exponent: f64;
  lowest: f64;
  highest: f64;
  depth: u32;
  minima: u32;

  @inline
  sums(level: u32): usize {
    return <usize>load<u32>(changetype<usize>(this) + SUMS_AT + ((<usize>level) << 2));
  }

  @inline
  mins(level: u32): usize {
    return this.sums(level) + <usize>this.minima;
  }

  @inline
  leaf(slot: u32): usize {
    return this.sums(0) + ((<usize>slot) << 3);
  }

  @inline
  total(): f64 {
    if (this.stale != 0) this.recompute();
    return load<f64>(this.sums(this.depth));
  }

  @inline
  private get stale(): u32 {
    return load<u32>(changetype<usize>(this) + STALE_AT);
  }

  @inline
  private set stale(slot: u32) {
    store<u32>(changetype<usize>(this) + STALE_AT, slot);
  }

  @inline
  private get last(): u32 {
    return load<u32>(changetype<usize>(this) + STALE_AT, 4);
  }

  @inline
  private set last(slot: u32) {
    store<u32>(changetype<usize>(this) + STALE_AT, slot, 4);
  }

  /** Returns the leaf for a priority: priority^exponent, but at most MAX, and FAINT if the weight is below MIN or the priority is 0. */
  weigh(priority: f64): f64 {
    if (priority == 0) return FAINT;
    if (this.exponent == 1) return SumTree.bounded(priority);
    // Items in a row often have the same priority, such as 1 or the maximum so far.
    if (priority != load<f64>(changetype<usize>(this) + WEIGHED_AT)) {
      store<f64>(changetype<usize>(this) + WEIGHED_AT, priority);
      store<f64>(changetype<usize>(this) + WEIGHED_AT, SumTree.bounded(power(priority, this.exponent)), 8);
    }
    return load<f64>(changetype<usize>(this) + WEIGHED_AT, 8);
  }

  /** Returns the leaf for a weight. */
  @inline
  private static bounded(weight: f64): f64 {
    return weight < MIN ? FAINT : min(weight, MAX);
  }

  /** Sets two leaves from priorities, whose powers are computed in parallel. */
  @inline
  private setTwo(one: u32, first: f64, other: u32, second: f64): void {
    if (!Pair.isNormal(first) || !Pair.isNormal(second)) {
      store<f64>(this.leaf(one), this.weigh(first));
      store<f64>(this.leaf(other), this.weigh(second));
      return;
    }
    const weights = Pair.power(f64x2.replace_lane(f64x2.splat(first), 1, second), this.exponent);
    // As in `weigh`, a weight below MIN is faint, and a weight above MAX is MAX.
    const bounded = f64x2.pmin(f64x2.splat(MAX), weights);
    const taken = v128.bitselect(f64x2.splat(FAINT), bounded, f64x2.lt(weights, f64x2.splat(MIN)));
    store<f64>(this.leaf(one), f64x2.extract_lane(taken, 0));
    store<f64>(this.leaf(other), f64x2.extract_lane(taken, 1));
  }

  setExponent(exponent: f64): void {
    this.exponent = exponent;
    store<f64>(changetype<usize>(this) + WEIGHED_AT, 0);
    const edge = power(MAX, 1 / exponent);
    this.lowest = exponent < 0 ? edge : 0;
    this.highest = exponent > 0 ? min(edge, f64.MAX_VALUE) : f64.MAX_VALUE;
  }

  /** Returns the value of a leaf, divided by a total. */
  @inline
  probability(slot: u32, total: f64): f64 {
    return load<f64>(this.leaf(slot)) / total;
  }

  /** Returns the least weight above 0, 0 if there is none; requires minima. */
  minWeight(): f64 {
    if (this.stale != 0) this.recompute();
    return load<f64>(this.mins(this.depth));
  }

  /** Sets one leaf. O(log n), and O(1) next to stale leaves */
  set(slot: u32, weight: f64): void {
    store<f64>(this.leaf(slot), weight);
    this.invalidate(slot, slot);
  }

  /** Sets the leaves of n neighbours from the priorities in their items. O(n + log slots) */
  setMany(slot: u32, n: u32, items: usize): void {
    for (let i: u32 = 0; i < n; i++) store<f64>(this.leaf(slot + i), this.weigh(Items.priority(items, slot + i)));
    this.invalidate(slot, slot + n - 1);
  }

  /** Notes that these leaves were set. They are added to the stale leaves, unless that would create a gap or too many stale leaves. */
  @inline
  private invalidate(first: u32, last: u32): void {
    const stale = this.stale;
    if (stale != 0 && first - stale <= this.last + 1 - stale && last - stale < MOST_STALE) {
      if (last > this.last) this.last = last;
      return;
    }
    if (stale != 0) this.recompute();
    this.stale = first;
    this.last = last;
  }

  /** Renews the nodes above stale leaves. O(stale + log slots) */
  private recompute(): void {
    let first = this.stale;
    let last = this.last;
    this.stale = 0;
    if (first == last) return this.recomputeOne(first);
    for (let level: u32 = 1; level <= this.depth; level++) {
      first >>= 2;
      last >>= 2;
      this.renewMany(level, first, last);
    }
  }

  /** Like `recompute`, above one leaf. The method uses single loads: a vector load would wait until the number just stored is in the cache. */
  private recomputeOne(slot: u32): void {
    for (let level: u32 = 1; level <= this.depth; level++) {
      slot >>= 2;
      store<f64>(this.sums(level) + ((<usize>slot) << 3), SumTree.sumSingly(this.sums(level - 1) + ((<usize>slot) << 5)));
      if (this.minima != 0) store<f64>(this.mins(level) + ((<usize>slot) << 3), SumTree.minSingly(this.minFamily(level, slot)));
    }
  }

  /** Renews all nodes above the leaves. O(slots) */
  rebuild(): void {
    this.stale = 0;
    for (let level: u32 = 1; level <= this.depth; level++) this.renewMany(level, 0, this.families(level) - 1);
  }

  /** Renews the nodes above n leaves that were written; `nodes` is scratch for u32 × n. O(n log n), level by level */
  climb(slots: usize, n: u32, nodes: usize): void {
    const end = (<usize>n) << 2;
    let from = slots;
    for (let level: u32 = 1; level <= this.depth; level++) {
      const below = this.sums(level - 1);
      const here = this.sums(level);
      // A level with no more families than the batch has leaves is renewed completely, unless branches are cut off.
      if (this.families(level) <= n && load<u32>(changetype<usize>(this) + PARTIAL_AT) == 0) {
        this.renewMany(level, 0, this.families(level) - 1);
        continue;
      }
      for (let i: usize = 0; i < end; i += 4) {
        const node = load<u32>(from + i) >> 2;
        store<u32>(nodes + i, node);
        store<f64>(here + ((<usize>node) << 3), SumTree.sum(below + ((<usize>node) << 5)));
        if (this.minima != 0) this.renewMin(level, node);
      }
      from = nodes;
    }
  }

  /** Sets the leaves of n slots (u32 × n) from the priorities in their items; `nodes` is scratch for u32 × n. O(n log slots) */
  update(slots: usize, n: u32, items: usize, nodes: usize): void {
    let i: u32 = 0;
    if (ASC_FEATURE_SIMD && this.exponent != 1) {
      for (; i + 1 < n; i += 2) {
        const one = load<u32>(slots + ((<usize>i) << 2));
        const other = load<u32>(slots + ((<usize>i) << 2), 4);
        this.setTwo(one, Items.priority(items, one), other, Items.priority(items, other));
      }
    }
    for (; i < n; i++) {
      const slot = load<u32>(slots + ((<usize>i) << 2));
      store<f64>(this.leaf(slot), this.weigh(Items.priority(items, slot)));
    }
    this.climb(slots, n, nodes);
  }

  /** Returns the sum of all weights that are not faint. */
  weight(): f64 {
    const total = this.total();
    return this.floor(total) == 0 ? 0 : total;
  }

  /** Returns the address of scratch for one slot (u32). */
  @inline
  cursor(): usize {
    return changetype<usize>(this) + CURSOR_AT;
  }

  /** Allows branches to be cut off until `end`. */
  begin(): void {
    if (this.stale != 0) this.recompute();
    store<u32>(changetype<usize>(this) + PARTIAL_AT, 1);
  }

  /** Ends the part that `begin` began, after all branches that were cut off have been renewed. */
  end(): void {
    store<u32>(changetype<usize>(this) + PARTIAL_AT, 0);
  }

  @inline
  nodeAt(level: u32, node: u32): usize {
    return this.sums(level) + ((<usize>node) << 3);
  }

  @inline
  renewSum(level: u32, node: u32): void {
    store<f64>(this.nodeAt(level, node), SumTree.sum(this.sums(level - 1) + ((<usize>node) << 5)));
  }

  /** Renews a node and its three neighbours in the family, if these nodes have children. */
  renewFamily(level: u32, node: u32): void {
    this.renewMany(level, node & ~3, min(node | 3, this.families(level) - 1));
  }

  /** Draws one slot. The total must not be 0. O(log n) */
  draw(random: usize): u32 {
    const cursor = this.cursor();
    this.drawMany(random, 1, false, cursor, cursor + 8);
    return load<u32>(cursor);
  }

  /** Draws n slots into `out`, with replacement; one in each n-th of the total if `stratified`. `rests` is scratch for f64 × n. O(n log n), level by level */
  drawMany(random: usize, n: u32, stratified: bool, out: usize, rests: usize): void {
    const total = this.total();
    const floor = this.floor(total);
    for (let i: u32 = 0; i < n; i++) {
      const r = stratified ? this.stratum(random, total, i, n) : this.point(random, total);
      store<f64>(rests + ((<usize>i) << 3), r);
      store<u32>(out + ((<usize>i) << 2), 0);
    }
    for (let level = this.depth; level > 0; level--) {
      const below = this.sums(level - 1);
      if (level <= COLD) Prefetch.touch(out, out + ((<usize>n) << 2), below, <u32>FAMILY);
      for (let i: usize = 0; i < <usize>n; i++) {
        const node = load<u32>(out + (i << 2));
        const r = load<f64>(rests + (i << 3));
        const at = below + ((<usize>node) << 5);
        let k: u32;
        let before: f64;
        // Masks select the sums that the point has passed. V8 would compile a select of f64 to a branch, and this branch would be unpredictable.
        if (ASC_FEATURE_SIMD) {
          const zero = i64x2.splat(0);
          const first = v128.load(at);
          // (s1, s2), then (s3, -)
          const s12 = f64x2.add(first, v128.shuffle<i64>(zero, first, 0, 2));
          const s3 = f64x2.add(v128.shuffle<i64>(s12, zero, 1, 2), v128.load64_zero(at, 16));
          const point = f64x2.splat(r);
          const over12 = f64x2.ge(point, s12);
          const over3 = f64x2.ge(point, s3);
          const passed = v128.bitmask<i64>(over12);
          k = <u32>(passed - (passed >> 1) + (v128.bitmask<i64>(over3) & 1));
          // The maximum is the last sum that the point has passed, because sums only grow.
          const sums = f64x2.pmax(v128.and(over12, s12), v128.and(over3, s3));
          before = f64x2.extract_lane(f64x2.pmax(sums, v128.shuffle<i64>(sums, zero, 1, 2)), 0);
        } else {
          const s1 = load<f64>(at);
          const s2 = s1 + load<f64>(at, 8);
          const s3 = s2 + load<f64>(at, 16);
          const over1 = u64(r >= s1);
          const over2 = u64(r >= s2);
          const over3 = u64(r >= s3);
          k = <u32>(over1 + over2 + over3);
          before = reinterpret<f64>(load<u64>(at) & (0 - over1));
          before += reinterpret<f64>(load<u64>(at, 8) & (0 - over2));
          before += reinterpret<f64>(load<u64>(at, 16) & (0 - over3));
        }
        // Both conditions are one test, which is almost never true. A separate test of the first condition would be unpredictable.
        if ((u32(k == 3) & u32(load<f64>(at, 24) <= floor)) != 0) {
          // Rounding led past the end, so the draw uses the start of the last child that counts.
          k = SumTree.lastChild(at, floor);
          before = r;
        }
        // The rest is never below the floor, so that no faint leaf can follow.
        store<f64>(rests + (i << 3), max(r - before, floor));
        store<u32>(out + (i << 2), (node << 2) + k);
      }
    }
  }

  /**
   * Draws up to n distinct slots into `out`, as if drawn one by one without replacement; fewer if fewer slots have weight. `saved`, `rests` are scratch for f64
   * × n, `drawn` for u32 × n. Drawn slots weigh 0 until the end; slots drawn twice in a round are drawn again from the rest, with the same distribution. O(n
   * log n)
   */
  drawDistinct(random: usize, n: u32, out: usize, saved: usize, rests: usize, drawn: usize): u32 {
    const floor = this.floor(this.total());
    let count: u32 = 0;
    let rounds: u32 = 0;
    while (count < n && !this.exhausted(floor)) {
      const fresh = count;
      const missing = n - count;
      this.drawMany(random, missing, false, drawn, rests);
      for (let i: u32 = 0; i < missing; i++) {
        const slot = load<u32>(drawn + ((<usize>i) << 2));
        const weight = load<f64>(this.leaf(slot));
        if (weight == 0) continue;
        store<f64>(this.leaf(slot), 0);
        store<f64>(saved + ((<usize>count) << 3), weight);
        store<u32>(out + ((<usize>count) << 2), slot);
        count += 1;
      }
      // Usually no slot was drawn twice, so the draw is complete, and the sums need not be renewed.
      if (count < n) this.climb(out + ((<usize>fresh) << 2), count - fresh, drawn);
      rounds += 1;
    }
    for (let i: u32 = 0; i < count; i++) {
      store<f64>(this.leaf(load<u32>(out + ((<usize>i) << 2))), load<f64>(saved + ((<usize>i) << 3)));
    }
    if (rounds > 1 || count < n) this.climb(out, count, drawn);
    return count;
  }

  /** Calls `drawMany` or `drawDistinct`, and writes the probability of each slot, f64 × n; returns how many. */
  drawWeighed(random: usize, n: u32, distinct: bool, stratified: bool, out: usize, probabilities: usize, rests: usize, saved: usize, drawn: usize): u32 {
    const total = this.total();
    if (this.exhausted(0)) return 0;
    if (distinct) n = this.drawDistinct(random, n, out, saved, rests, drawn);
    else this.drawMany(random, n, stratified, out, rests);
    for (let i: usize = 0; i < <usize>n; i++) store<f64>(probabilities + (i << 3), this.probability(load<u32>(out + (i << 2)), total));
    return n;
  }

  /**
   * Returns how many slots can be drawn without replacement, up to `most`: the slots with a weight, or the faint slots if no slot has a weight. O(most), and
   * O(slots) if many are faint
   */
  drawable(most: u32, slots: u32): u32 {
    const floor = this.floor(this.total());
    let n: u32 = 0;
    for (let slot: u32 = 1; slot <= slots && n < most; slot++) n += u32(load<f64>(this.leaf(slot)) > floor);
    return n;
  }

  /** Whether a slot has a weight that is not faint. */
  hasWeight(slot: u32): bool {
    return load<f64>(this.leaf(slot)) > FLOOR;
  }

  /** Whether nothing is left to draw: there is no weight, or a draw that began with heavier leaves has only faint leaves left. */
  @inline
  exhausted(floor: f64): bool {
    const total = this.total();
    return total == 0 || total < floor;
  }

  /** Returns the threshold of sums that count. If every item is faint, all sums count; otherwise, sums from FLOOR on count. */
  @inline
  floor(total: f64): f64 {
    return total < FLOOR ? 0 : FLOOR;
  }

  /** Returns 0, or the number of the broken invariant. */
  check(slots: u32): i32 {
    if (this.stale != 0) this.recompute();
    for (let slot: u32 = 0; slot <= (slots | 3); slot++) {
      const weight = load<f64>(this.leaf(slot));
      if (!(weight == 0 || weight == FAINT || (weight >= MIN && weight <= MAX))) return 1;
      if ((slot == 0 || slot > slots) && weight != 0) return 2;
    }
    for (let level: u32 = 1; level <= this.depth; level++) {
      for (let node: u32 = 0; node < this.families(level); node++) {
        if (load<f64>(this.sums(level) + ((<usize>node) << 3)) != SumTree.sum(this.sums(level - 1) + ((<usize>node) << 5))) return 3;
        if (this.minima != 0 && load<f64>(this.mins(level) + ((<usize>node) << 3)) != SumTree.minSingly(this.minFamily(level, node))) return 4;
      }
    }
    return 0;
  }

  /** Returns the number of nodes of a level that have children, which is the number of families on the level below. */
  @inline
  private families(level: u32): u32 {
    return <u32>(this.sums(level) - this.sums(level - 1)) >> 5;
  }

  private renewMany(level: u32, first: u32, last: u32): void {
    for (let node = first; node <= last; node++) this.renew(level, node);
  }

  @inline
  private renew(level: u32, node: u32): void {
    store<f64>(this.sums(level) + ((<usize>node) << 3), SumTree.sum(this.sums(level - 1) + ((<usize>node) << 5)));
    if (this.minima != 0) this.renewMin(level, node);
  }

  @inline
  private renewMin(level: u32, node: u32): void {
    store<f64>(this.mins(level) + ((<usize>node) << 3), SumTree.min(this.minFamily(level, node)));
  }

  /** Returns the address of the four numbers whose minimum is the minimum of the node. */
  @inline
  private minFamily(level: u32, node: u32): usize {
    return (level == 1 ? this.sums(0) : this.mins(level - 1)) + ((<usize>node) << 5);
  }

  /** Returns the least of those among four numbers that are at least MIN; 0 if no number is. So leaves and families without weight do not count. */
  @inline
  private static min(at: usize): f64 {
    if (ASC_FEATURE_SIMD) {
      // There is no branch, because the branch predictor cannot guess which of two weights is less.
      const infinite = f64x2.splat(Infinity);
      const first = v128.load(at);
      const second = v128.load(at, 16);
      const pairs = f64x2.pmin(
        v128.bitselect(first, infinite, f64x2.ge(first, f64x2.splat(MIN))),
        v128.bitselect(second, infinite, f64x2.ge(second, f64x2.splat(MIN))),
      );
      const lowest = f64x2.pmin(pairs, v128.shuffle<i64>(pairs, pairs, 1, 0));
      return f64x2.extract_lane(v128.and(lowest, f64x2.lt(lowest, infinite)), 0);
    }
    return SumTree.minSingly(at);
  }

  private static minSingly(at: usize): f64 {
    let lowest = Infinity;
    for (let k: usize = 0; k < 32; k += 8) {
      const value = load<f64>(at + k);
      if (value >= MIN && value < lowest) lowest = value;
    }
    return lowest == Infinity ? 0 : lowest;
  }

  /** Adds four children in the same order in scalar and SIMD code: (c0 + c2) + (c1 + c3). */
  @inline
  private static sum(at: usize): f64 {
    if (ASC_FEATURE_SIMD) {
      const pairs = f64x2.add(v128.load(at), v128.load(at, 16));
      return f64x2.extract_lane(pairs, 0) + f64x2.extract_lane(pairs, 1);
    }
    return SumTree.sumSingly(at);
  }

  @inline
  private static sumSingly(at: usize): f64 {
    return load<f64>(at) + load<f64>(at, 16) + (load<f64>(at, 8) + load<f64>(at, 24));
  }

  private static lastChild(at: usize, floor: f64): u32 {
    let k: u32 = 3;
    while (k > 0 && load<f64>(at + ((<usize>k) << 3)) <= floor) k--;
    return k;
  }

  /** Returns a point in [0, total). */
  @inline
  private point(random: usize, total: f64): f64 {
    if (total < FLOOR) return <f64>random_below(random, <u32>(total / FAINT)) * FAINT;
    return max(random_f64(random) * total, FLOOR);
  }

  /** Returns a point in the i-th of n equal parts of [0, total). */
  private stratum(random: usize, total: f64, i: u32, n: u32): f64 {
    const part = (<f64>i + random_f64(random)) / <f64>n;
    if (total < FLOOR) return min(Math.floor(part * (total / FAINT)), total / FAINT - 1) * FAINT;
    return max(part * total, FLOOR);
  }
}
if (offsetof<SumTree>() != SUMS_AT) ERROR("SUM_TREE: the levels' addresses follow at byte 32");

/** Returns the number of bytes of all levels up to the one with a single family, and of the root. Each level consists of whole families. */
export function sumTreeBytes(slots: u32, withMin: bool): u32 {
  const leaves = (slots | 3) + 1;
  let upper: u32 = 0;
  let nodes = leaves;
  for (let below: u32 = 8; below > 4; upper += nodes) {
    below = nodes;
    nodes = ((nodes >> 2) + 3) & ~3;
  }
  return <u32>(LEVELS_AT + FAMILY) + ((leaves + (withMin ? upper << 1 : upper)) << 3);
}

/** Initializes a tree in zeroed memory: all zeros is the empty tree. */
export function sumTreeInit(t: SumTree, slots: u32, withMin: bool): void {
  const sums = changetype<usize>(t) + SUMS_AT;
  let at = <u32>((changetype<usize>(t) + LEVELS_AT + FAMILY - 1) & ~(FAMILY - 1));
  let depth: usize = 0;
  let nodes = (slots | 3) + 1;
  store<u32>(sums, at);
  for (let below: u32 = 8; below > 4; ) {
    at += nodes << 3;
    depth += 1;
    store<u32>(sums + (depth << 2), at);
    below = nodes;
    nodes = ((nodes >> 2) + 3) & ~3;
  }
  t.depth = <u32>depth;
  t.minima = withMin ? at + <u32>FAMILY - <u32>t.sums(1) : 0;
  t.setExponent(1);
}
