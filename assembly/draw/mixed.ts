/** A draw's picks where the core does not make them: some alike and the rest by priority, or slots that the host names; then the weights, and runs that begin anywhere. */

import { power } from "../memory/power";
import { random_below } from "../memory/random";
import { SumTree } from "../selectors/sum-tree";
import { anySlot, items_total } from "../tables/room";
import { Table } from "../tables/table";
import { DRAWN, Draw, KEY, LENGTH, PRIORITY, PROBABILITY, REST, SAVED, SLOT, STEPS as START, TABLE_SIZE, TIMES_SAMPLED, WEIGHT } from "./draw";

/**
 * n items of a prioritized table, no two the same: the first `alike` of them all alike, the rest in proportion to what is left. `ratio`: which part of the
 * probability is that of the first kind. How many; fewer than n where no more have a priority above 0. O(n log size)
 */
export function picks_mixed(table: usize, draw: usize, n: u32, alike: u32, ratio: f64): u32 {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  const tree = t.sampler().tree();
  const out = d.column(SLOT);
  const saved = d.column(SAVED);
  const nodes = d.column(DRAWN);
  for (let i: u32 = 0; i < alike; i++) {
    let slot = anySlot(t);
    // What was drawn weighs 0 until the end.
    while (load<f64>(tree.leaf(slot)) == 0) slot = anySlot(t);
    hide(tree, d, i, slot);
  }
  if (alike != 0) tree.climb(out, alike, nodes);
  let drawn = alike;
  if (n > alike && items_total(table) != 0) {
    const at = <usize>alike;
    drawn += tree.drawDistinct(t.random(), n - alike, out + (at << 2), saved + (at << 3), d.column(REST), nodes);
  }
  show(tree, d, alike);
  picks_given(table, draw, drawn, ratio);
  return drawn;
}

/**
 * As `picks_mixed`, with chance given: the slots of the first `alike` entries, and in REST of the others points in [0, 1). Each takes the first item, oldest
 * first, with which the sum of priorities passes the point's part of what is left; that is left there instead. How many. O(n × size)
 */
export function picks_points(table: usize, draw: usize, n: u32, alike: u32, ratio: f64): u32 {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  const tree = t.sampler().tree();
  for (let i: u32 = 0; i < alike; i++) hide(tree, d, i, d.slot(i));
  if (alike != 0) tree.climb(d.column(SLOT), alike, d.column(DRAWN));
  let drawn = alike;
  for (; drawn < n; drawn++) {
    const left = items_total(table);
    const slot = left == 0 ? 0 : passes(t, load<f64>(d.f64At(REST, drawn)) * left);
    if (slot == 0) break;
    store<f64>(d.f64At(REST, drawn), left);
    hide(tree, d, drawn, slot);
    tree.climb(d.u32At(SLOT, drawn), 1, d.column(DRAWN));
  }
  show(tree, d, drawn);
  picks_given(table, draw, drawn, ratio);
  return drawn;
}

/** Fills what a draw tells of its items, whose slots are in SLOT. */
export function picks_given(table: usize, draw: usize, n: u32, ratio: f64): void {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  const weighed = t.sampler().weighs();
  const total = items_total(table);
  let longest: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const slot = d.slot(i);
    const item = t.slots().item(slot);
    let probability = 1 / <f64>t.count;
    if (weighed) probability = ratio * probability + (1 - ratio) * (total == 0 ? 0 : t.sampler().tree().probability(slot, total));
    longest = max(longest, item.length());
    store<f64>(d.f64At(KEY, i), t.slots().key(slot));
    store<f64>(d.f64At(PRIORITY, i), t.slots().priority(slot));
    store<f64>(d.f64At(PROBABILITY, i), probability);
    store<u32>(d.u32At(TIMES_SAMPLED, i), item.timesSampled);
    store<u32>(d.u32At(TABLE_SIZE, i), t.count);
  }
  d.longest = longest;
  d.count = n;
}

/** (probability / divisor)^-beta for each entry, 1 at most where they are `bounded`; divided by the least probability of the draw where the divisor is 0. */
export function picks_weights(draw: usize, divisor: f64, beta: f64, bounded: u32): void {
  const d = changetype<Draw>(draw);
  const most = bounded != 0 ? 1 : f64.MAX_VALUE;
  if (divisor == 0) {
    divisor = Infinity;
    for (let i: u32 = 0; i < d.count; i++) divisor = min(divisor, probabilityOf(d, i));
  }
  for (let i: u32 = 0; i < d.count; i++) store<f64>(d.f64At(WEIGHT, i), min(power(probabilityOf(d, i) / divisor, -beta), most));
}

/** One that is too small for a double with all its bits counts as the least that has them: its weight is finite. */
function probabilityOf(d: Draw, i: u32): f64 {
  return max(load<f64>(d.f64At(PROBABILITY, i)), f64.MIN_NORMAL_VALUE);
}

/** Where in a longer item its `width` steps begin, all starts alike; 0 in one that is no longer. */
export function picks_starts(table: usize, draw: usize, width: u32): void {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  for (let i: u32 = 0; i < d.count; i++) {
    const length = t.slots().item(d.slot(i)).length();
    store<u32>(d.u32At(START, i), length > width ? random_below(t.random(), length - width + 1) : 0);
  }
}

/** The rows of `width` steps of each item from its start on, 0 behind its end; LENGTH tells how many are there. O(n × (start + width)) */
export function picks_rows(table: usize, draw: usize, width: u32): void {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  d.width = width;
  let at = <usize>d.rows;
  for (let i: u32 = 0; i < d.count; i++) {
    const item = t.slots().item(d.slot(i));
    const start = load<u32>(d.u32At(START, i));
    const length = start < item.length() ? min(width, item.length() - start) : 0;
    store<u32>(d.u32At(LENGTH, i), length);
    let row = item.first;
    for (let k: u32 = 0; k < start && length != 0; k++) row = t.rows().next(row);
    for (let k: u32 = 0; k < width; k++, at += 4) {
      store<u32>(at, k < length ? row : 0);
      if (k < length) row = t.rows().next(row);
    }
  }
}

/** Takes a slot out of the tree's leaves; the sums above are the caller's. */
function hide(tree: SumTree, d: Draw, i: u32, slot: u32): void {
  store<u32>(d.u32At(SLOT, i), slot);
  store<f64>(d.f64At(SAVED, i), load<f64>(tree.leaf(slot)));
  store<f64>(tree.leaf(slot), 0);
}

/** Puts the first n back. */
function show(tree: SumTree, d: Draw, n: u32): void {
  if (n == 0) return;
  for (let i: u32 = 0; i < n; i++) store<f64>(tree.leaf(d.slot(i)), load<f64>(d.f64At(SAVED, i)));
  tree.climb(d.column(SLOT), n, d.column(DRAWN));
}

/** The first slot, oldest first, with which the sum of the leaves passes a point; of those that weigh something the last one, where rounding let none pass. */
function passes(t: Table, point: f64): u32 {
  const tree = t.sampler().tree();
  const order = t.remover().order();
  let slot = order.oldest;
  let last: u32 = 0;
  let sum: f64 = 0;
  for (let i = t.count; i > 0; i--) {
    const weight = load<f64>(tree.leaf(slot));
    if (weight >= tree.floor(weight) && weight > f64.MIN_VALUE) {
      last = slot;
      sum += weight;
      if (sum > point) return slot;
    }
    slot = order.next(slot);
  }
  return last;
}
