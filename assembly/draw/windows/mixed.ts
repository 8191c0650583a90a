/** Makes draws that `table_sample` cannot make: some items uniformly and the rest by priority, items named by the host, and single steps of a stream. */
import { random_below } from "../../memory/random";
import { Ring } from "../../memory/ring";
import { Stream } from "../../rows/stream";
import { WEIGHS } from "../../selectors/kinds";
import { SumTree } from "../../selectors/sum-tree";
import { anySlot, table_total } from "../../tables/growing-table";
import { Table } from "../../tables/table";
import { DRAWN, Draw, KEY, PRIORITY, PROBABILITY, REST, SAVED, SLOT, TABLE_SIZE, TIMES_SAMPLED } from "../draw";
import { draw_rows, OF_ROWS } from "../row-matrix";

/**
 * Draws n different items of a prioritized table that has at least n items: the first `uniform` of them uniformly, the rest in proportion to the remaining
 * priorities, or uniformly if none is above 0. `ratio`: the fraction of uniform draws, which determines the probability. Returns the number of draws, which is
 * less than n if `ratio` is 0 and no more items have a priority above 0. O(n log size)
 */
export function draw_mixed(draw: usize, table: usize, n: u32, uniform: u32, ratio: f64): u32 {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  const tree = t.sampler().tree();
  const saved = d.column(SAVED);
  pickAlike(t, d, 0, uniform);
  let hidden = uniform;
  let drawn = uniform;
  if (n > uniform && table_total(table) != 0) {
    const at = <usize>uniform;
    drawn += tree.drawDistinct(t.random(), n - uniform, d.column(SLOT) + (at << 2), saved + (at << 3), d.column(REST), d.column(DRAWN));
  }
  if (drawn < n && ratio > 0) {
    pickAlike(t, d, drawn, n);
    hidden = n;
    drawn = n;
  }
  show(tree, d, hidden);
  draw_given(draw, table, drawn, ratio);
  return drawn;
}

/** Fills the columns of a draw whose slots are in SLOT. */
export function draw_given(draw: usize, table: usize, n: u32, ratio: f64): void {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  const weighed = t.sampler().has(WEIGHS);
  const total = table_total(table);
  // The items need not be single steps, so `rows` and LENGTH must be filled later.
  d.single = 0;
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

/** Draws n different steps of a stream uniformly and in random order, with the random state of a table. O(n) */
export function draw_single(draw: usize, table: usize, stream: usize, n: u32): void {
  const d = changetype<Draw>(draw);
  const random = changetype<Table>(table).random();
  const ring = changetype<Stream>(stream).recent();
  // The Fisher–Yates shuffle works on the ring itself, and is undone afterwards.
  for (let i: u32 = 0; i < n; i++) {
    const j = i + random_below(random, ring.count - i);
    store<u32>(d.u32At(DRAWN, i), j);
    swap(ring, i, j);
    store<u32>(<usize>d.rows + ((<usize>i) << 2), ring.get(i));
  }
  for (let i: u32 = n; i > 0; i--) swap(ring, i - 1, load<u32>(d.u32At(DRAWN, i - 1)));
  draw_rows(draw, OF_ROWS, stream, n, 1, 0);
}

/**
 * Draws the entries from `from` to `to` uniformly among the items that no earlier entry has. All drawn items get weight 0 until `show` restores their weights.
 */
function pickAlike(t: Table, d: Draw, from: u32, to: u32): void {
  if (to == from) return;
  const tree = t.sampler().tree();
  // The weight -1 distinguishes drawn items from items of priority 0, which may still be drawn.
  for (let i: u32 = 0; i < from; i++) store<f64>(tree.leaf(d.slot(i)), -1);
  for (let i = from; i < to; i++) {
    let slot = anySlot(t);
    while (load<f64>(tree.leaf(slot)) < 0) slot = anySlot(t);
    store<u32>(d.u32At(SLOT, i), slot);
    store<f64>(d.f64At(SAVED, i), load<f64>(tree.leaf(slot)));
    store<f64>(tree.leaf(slot), -1);
  }
  for (let i: u32 = 0; i < to; i++) store<f64>(tree.leaf(d.slot(i)), 0);
  tree.climb(d.column(SLOT), to, d.column(DRAWN));
}

/** Restores the weights of the first n drawn items. */
function show(tree: SumTree, d: Draw, n: u32): void {
  if (n == 0) return;
  for (let i: u32 = 0; i < n; i++) store<f64>(tree.leaf(d.slot(i)), load<f64>(d.f64At(SAVED, i)));
  tree.climb(d.column(SLOT), n, d.column(DRAWN));
}

function swap(ring: Ring, i: u32, j: u32): void {
  const a = <usize>ring.entries + ((<usize>ring.index(i)) << 2);
  const b = <usize>ring.entries + ((<usize>ring.index(j)) << 2);
  const row = load<u32>(a);
  store<u32>(a, load<u32>(b));
  store<u32>(b, row);
}
