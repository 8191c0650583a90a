/**
 * Limits a sum tree to some leaves during a draw: the leaves of consecutive ages, or of a run of the order of insertion.
 *
 * Whole branches without such a leaf are cut off: the sum of the branch is set to 0 in the family at its top, and the nodes below stay unchanged. So the sums
 * above equal, to the bit, the sums of a tree whose other leaves are 0. Cutting off and restoring each cost O(log n) for each end of a range, or for each leaf
 * of a run.
 */
import { power } from "../memory/power";
import { Items } from "./items";
import { Order } from "./order";
import { SumTree } from "./sum-tree";

/** Returns age^-exponent: the probability of an age, before dividing by the sum. */
export function weightOfAge(t: SumTree, age: u32): f64 {
  return t.exponent == 0 ? 1 : power(<f64>age, -t.exponent);
}

/** Limits a tree of ages to the leaves `first` … `last`. */
export function keepAges(t: SumTree, first: u32, last: u32): void {
  t.begin();
  for (let level: u32 = 0; level < t.depth; level++) {
    if (level != 0) {
      t.renewSum(level, first);
      t.renewSum(level, last);
    }
    for (let node = first & ~3; node < first; node++) store<f64>(t.nodeAt(level, node), 0);
    for (let node = last + 1; node <= (last | 3); node++) store<f64>(t.nodeAt(level, node), 0);
    first >>= 2;
    last >>= 2;
  }
  t.renewSum(t.depth, 0);
}

/** Reverses `keepAges`, so that all ages up to `highest` count again. */
export function restoreAges(t: SumTree, first: u32, last: u32, highest: u32): void {
  for (let age = max(first & ~3, 1); age < first; age++) store<f64>(t.leaf(age), weightOfAge(t, age));
  for (let age = last + 1; age <= min(last | 3, highest); age++) store<f64>(t.leaf(age), weightOfAge(t, age));
  for (let level: u32 = 1; level <= t.depth; level++) {
    first >>= 2;
    last >>= 2;
    t.renewFamily(level, first);
    if (last >> 2 != first >> 2) t.renewFamily(level, last);
  }
  t.end();
}

/** Limits a tree of slots to the k youngest, or the k oldest slots. */
export function keepRun(t: SumTree, order: Order, k: u32, youngest: bool): void {
  t.begin();
  for (let level: u32 = 0; level < t.depth; level++) {
    mark(t, order, k, youngest, level);
    cutOthers(t, order, k, youngest, level);
    unmark(t, order, k, youngest, level);
  }
  t.renewSum(t.depth, 0);
}

/** Reverses `keepRun`, so that all slots count again. `high`: the highest slot ever used. */
export function restoreRun(t: SumTree, order: Order, k: u32, youngest: bool, items: usize, high: u32): void {
  let slot = order.end(youngest);
  for (let i: u32 = 0; i < k; i++) {
    for (let other = max(slot & ~3, 1); other <= min(slot | 3, high); other++) {
      const priority = Items.priority(items, other);
      if (load<f64>(t.leaf(other)) == 0 && Items.isLive(priority)) store<f64>(t.leaf(other), t.weigh(priority));
    }
    slot = order.neighbour(slot, youngest);
  }
  for (let level: u32 = 1; level <= t.depth; level++) {
    let last = u32.MAX_VALUE;
    slot = order.end(youngest);
    for (let i: u32 = 0; i < k; i++) {
      const node = slot >> (level << 1);
      if (node >> 2 != last) t.renewFamily(level, node);
      last = node >> 2;
      slot = order.neighbour(slot, youngest);
    }
  }
  t.end();
}

/** Stores in each node above the k slots on a level the sum of the counting leaves below that node. A negative sign marks the node. */
function mark(t: SumTree, order: Order, k: u32, youngest: bool, level: u32): void {
  let last = u32.MAX_VALUE;
  let slot = order.end(youngest);
  for (let i: u32 = 0; i < k; i++) {
    const node = slot >> (level << 1);
    if (node != last) {
      if (level != 0) t.renewSum(level, node);
      const at = t.nodeAt(level, node);
      store<f64>(at, -Math.abs(load<f64>(at)));
    }
    last = node;
    slot = order.neighbour(slot, youngest);
  }
}

/** Sets the weights of the unmarked nodes in the families of marked nodes to 0. */
function cutOthers(t: SumTree, order: Order, k: u32, youngest: bool, level: u32): void {
  let last = u32.MAX_VALUE;
  let slot = order.end(youngest);
  for (let i: u32 = 0; i < k; i++) {
    const family = (slot >> (level << 1)) >> 2;
    if (family != last) {
      for (let node = family << 2; node <= (family << 2) + 3; node++) {
        const at = t.nodeAt(level, node);
        store<f64>(at, min(load<f64>(at), 0));
      }
    }
    last = family;
    slot = order.neighbour(slot, youngest);
  }
}

function unmark(t: SumTree, order: Order, k: u32, youngest: bool, level: u32): void {
  let slot = order.end(youngest);
  for (let i: u32 = 0; i < k; i++) {
    const at = t.nodeAt(level, slot >> (level << 1));
    store<f64>(at, Math.abs(load<f64>(at)));
    slot = order.neighbour(slot, youngest);
  }
}
