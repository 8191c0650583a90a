/**
 * Sampling: n draws, the limiter asked before each, every item's count raised, exhausted items taken out.
 * What leaves during a draw keeps its rows until `table_settle`, so that they can be gathered.
 */

import { E_UNSUPPORTED, fail } from "../memory/error";
import { power } from "../memory/power";
import { TRACKING } from "../rows/changes";
import { FIFO, LIFO, PRIORITIZED, Selector, UNIFORM } from "../selectors/selector";
import { admitPending, discard, removeItem, Table } from "../tables/table";
import { DRAWN, Draw, KEY, PRIORITY, PROBABILITY, REST, SAVED, SLOT, TABLE_SIZE, TIMES_SAMPLED, WEIGHT } from "./draw";

/** Flags of a draw. */
const DISTINCT: u32 = 1;
const STRATIFIED: u32 = 2;

/** Why a draw is shorter than asked. */
const BY_MIN_SIZE: f64 = 1;
const BY_CURSOR: f64 = 2;
const BY_ITEMS: f64 = 3;

/**
 * Up to n items into the draw; how many. `flags`: 0, 1 without replacement, 2 stratified. `among`: only the k oldest, 0 for all.
 * O(n log size) for uniform and prioritized, O(n) for orders. Opens the draw: `table_settle` closes it.
 */
export function table_sample(table: usize, draw: usize, n: u32, flags: u32, among: u32): i32 {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  const refused = supports(t, flags, among);
  if (refused != 0) return refused;
  d.count = 0;
  d.blocked = 0;
  d.longest = 0;
  t.drawing = 1;
  // One by one where an item may leave or come in between two draws; else the whole batch at once: the same distribution.
  if (flags == 0 && (t.maxTimesSampled != 0 || t.pending != 0)) drawSingly(t, d, n, among);
  else drawBatch(t, d, n, flags, among);
  return d.count;
}

/** Closes the draw: what left is released, what waits is let in. */
export function table_settle(table: usize): void {
  const t = changetype<Table>(table);
  t.drawing = 0;
  while (t.doomed != 0) {
    const slot = t.doomed;
    t.doomed = t.slots().item(slot).timesSampled;
    discard(t, slot);
  }
  admitPending(t);
}

/** (tableSize × probability)^-beta for each entry, divided by the largest of the draw (1), by the largest that the table could give (2), or by nothing (0). */
export function table_weights(table: usize, draw: usize, beta: f64, normalize: u32): void {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  let most: f64 = 0;
  for (let i: u32 = 0; i < d.count; i++) {
    const size = <f64>load<u32>(d.u32At(TABLE_SIZE, i));
    const weight = power(size * load<f64>(d.f64At(PROBABILITY, i)), -beta);
    store<f64>(d.f64At(WEIGHT, i), weight);
    most = max(most, weight);
  }
  if (normalize == 0 || d.count == 0) return;
  if (normalize == 2 && t.sampler().kind == PRIORITIZED) {
    const tree = t.sampler().tree();
    const least = tree.least();
    // An item that left with this draw may have weighed less than what is there now.
    if (least != 0) most = max(most, power((<f64>t.count * least) / tree.total(), -beta));
  }
  for (let i: u32 = 0; i < d.count; i++) {
    const at = d.f64At(WEIGHT, i);
    store<f64>(at, load<f64>(at) / most);
  }
}

function supports(t: Table, flags: u32, among: u32): i32 {
  const kind = t.sampler().kind;
  // Strata mean nothing in an order, nor where an item may have to leave between two draws.
  if ((flags & STRATIFIED) != 0 && (flags != STRATIFIED || t.maxTimesSampled != 0 || (kind != UNIFORM && kind != PRIORITIZED)))
    return fail(E_UNSUPPORTED, 3, flags);
  if (among == 0 || kind == FIFO) return 0;
  // The first k of the ring are the k oldest from its disorder on.
  if (kind == UNIFORM ? among >= t.sampler().uniform().disorder : kind == PRIORITIZED && isOrder(t.remover().kind)) return 0;
  return fail(E_UNSUPPORTED, 4, among);
}

function isOrder(kind: u32): bool {
  return kind == FIFO || kind == LIFO;
}

/** Each draw sees what the one before left. */
function drawSingly(t: Table, d: Draw, n: u32, among: u32): void {
  for (let i: u32 = 0; i < n && mayDraw(t, d); i++) {
    drawSlots(t, d, i, 1, 0, among);
    record(t, d, i, i + 1);
    retireExhausted(t, d, i);
    admitPending(t);
  }
}

function drawBatch(t: Table, d: Draw, n: u32, flags: u32, among: u32): void {
  let ask = t.limiter().samplesAllowed(n, t.count);
  if (ask < n) noteLimiter(t, d, ask);
  if ((flags & DISTINCT) != 0) ask = min(ask, among == 0 ? t.count : min(among, t.count));
  const drawn = drawSlots(t, d, 0, ask, flags, among);
  touchItems(t, d, drawn);
  if (t.maxTimesSampled == 0 && drawn != 0) record(t, d, 0, drawn);
  for (let i: u32 = 0; t.maxTimesSampled != 0 && i < drawn && mayDraw(t, d); i++) {
    record(t, d, i, i + 1);
    retireExhausted(t, d, i);
  }
  if (d.count < n && d.blocked == 0) d.block(BY_ITEMS, d.count, n);
}

function mayDraw(t: Table, d: Draw): bool {
  if (t.limiter().canSample(1, t.count)) return true;
  noteLimiter(t, d, 0);
  return false;
}

/** `more`: samples that will still pass. */
function noteLimiter(t: Table, d: Draw, more: u32): void {
  const limiter = t.limiter();
  if (<f64>t.count < limiter.minSize) d.block(BY_MIN_SIZE, t.count, limiter.minSize);
  else d.block(BY_CURSOR, limiter.cursor() - <f64>more - 1, limiter.minDiff);
}

/** Entries `from` … `to` are drawn: raises their counts and writes what a learner wants to know of them. */
function record(t: Table, d: Draw, from: u32, to: u32): void {
  const slots = t.slots();
  const limiter = t.limiter();
  const size = t.count;
  const drawn = d.column(SLOT);
  const times = d.column(TIMES_SAMPLED);
  const sizes = d.column(TABLE_SIZE);
  const keys = d.column(KEY);
  const priorities = d.column(PRIORITY);
  let longest = <u32>d.longest;
  let unique: u32 = 0;
  for (let i = from; i < to; i++) {
    const at = (<usize>i) << 2;
    const slot = load<u32>(drawn + at);
    const item = slots.item(slot);
    const before = item.timesSampled;
    // 2^32 draws of one item: the count stays at the top.
    const after = before + u32(before != u32.MAX_VALUE);
    item.timesSampled = after;
    if (TRACKING) slots.track(slot);
    unique += u32(before == 0);
    longest = max(longest, item.length());
    store<u32>(times + at, after);
    store<u32>(sizes + at, size);
    store<f64>(keys + (at << 1), slots.key(slot));
    store<f64>(priorities + (at << 1), slots.priority(slot));
  }
  d.longest = longest;
  if (from == 0) d.shape = slots.item(d.slot(0)).shape();
  d.count = to;
  t.unique += unique;
  limiter.samples += to - from;
}

/** Reads one word of each item, nothing else: so short a loop has many cache misses under way at a time, a longer one a few. */
function touchItems(t: Table, d: Draw, n: u32): void {
  const slots = t.slots();
  const drawn = d.column(SLOT);
  let sum: u32 = 0;
  for (let at: usize = 0; at < (<usize>n) << 2; at += 4) {
    const slot = load<u32>(drawn + at);
    sum ^= slots.item(slot).word ^ load<u32>(slots.priorityAt(slot));
  }
  d.touched = sum;
}

function retireExhausted(t: Table, d: Draw, i: u32): void {
  const slot = d.slot(i);
  if (t.maxTimesSampled != 0 && t.slots().item(slot).timesSampled >= t.maxTimesSampled) removeItem(t, slot);
}

/** n slots and their probabilities from entry `at` on; how many. */
function drawSlots(t: Table, d: Draw, at: u32, n: u32, flags: u32, among: u32): u32 {
  const sampler = t.sampler();
  if (sampler.kind == PRIORITIZED) return drawPrioritized(t, d, at, n, flags, among);
  const out = d.u32At(SLOT, at);
  let probability: f64 = 1;
  if (sampler.kind == UNIFORM) {
    const oldest = among == 0 ? t.count : min(among, t.count);
    const uniform = sampler.uniform();
    probability = 1 / <f64>oldest;
    if ((flags & DISTINCT) != 0) uniform.drawDistinct(t.random(), oldest, n, out, d.column(DRAWN));
    else uniform.drawMany(t.random(), oldest, n, (flags & STRATIFIED) != 0, out);
  } else {
    drawFirst(sampler, n, (flags & DISTINCT) != 0, out);
  }
  for (let i = at; i < at + n; i++) store<f64>(d.f64At(PROBABILITY, i), probability);
  return n;
}

function drawPrioritized(t: Table, d: Draw, at: u32, n: u32, flags: u32, among: u32): u32 {
  const tree = t.sampler().tree();
  const hidden = among != 0 && among < t.count ? t.count - among : 0;
  weighYoungest(t, hidden, 0);
  const total = tree.total();
  const out = d.u32At(SLOT, at);
  const rests = d.column(REST);
  let drawn = n;
  if (tree.exhausted(0)) drawn = 0;
  else if ((flags & DISTINCT) != 0) drawn = tree.drawDistinct(t.random(), n, out, d.column(SAVED), rests, d.column(DRAWN));
  else tree.drawMany(t.random(), n, (flags & STRATIFIED) != 0, out, rests);
  for (let i: u32 = 0; i < drawn; i++) {
    store<f64>(d.f64At(PROBABILITY, at + i), tree.probability(load<u32>(out + ((<usize>i) << 2)), total));
  }
  weighYoungest(t, hidden, 1);
  return drawn;
}

/** Weighs the k youngest items `times` (0 or 1) their weight. O(k log n): meant for the few that are too young. */
function weighYoungest(t: Table, k: u32, times: f64): void {
  if (k == 0) return;
  const tree = t.sampler().tree();
  const order = t.remover().order();
  let slot = order.oldest;
  for (; k > 0; k--) {
    slot = order.prev(slot);
    tree.set(slot, times * tree.weigh(t.slots().priority(slot)));
  }
}

/** The first n in the selector's own order, or n times the first one. */
function drawFirst(selector: Selector, n: u32, distinct: bool, out: usize): void {
  let slot = selector.pick(0, n);
  for (let i: u32 = 0; i < n; i++) {
    store<u32>(out + ((<usize>i) << 2), slot);
    if (!distinct) continue;
    if (selector.kind == FIFO) slot = selector.order().next(slot);
    else if (selector.kind == LIFO) slot = selector.order().prev(slot);
    else {
      selector.heap().remove(slot);
      slot = selector.heap().top();
    }
  }
  if (!distinct || isOrder(selector.kind)) return;
  for (let i: u32 = 0; i < n; i++) selector.heap().insert(load<u32>(out + ((<usize>i) << 2)));
}
