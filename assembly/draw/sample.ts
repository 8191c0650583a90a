/**
 * Sampling makes n draws. `table_sample` checks the limiter before each draw, raises the count of each drawn item, and removes exhausted items. Items that are
 * removed during a draw keep their rows until `table_close_draw`, so that the rows can be gathered.
 */
import { fillWith } from "../memory/bytes";
import { E_UNLIKE, E_UNSUPPORTED, fail } from "../memory/error";
import { Prefetch } from "../memory/prefetch";
import { tracking } from "../rows/changes";
import { ITEM_BYTES, Items } from "../selectors/items";
import { DETERMINISTIC } from "../selectors/kinds";
import { DISTINCT, NEWEST, STRATIFIED } from "../selectors/selector";
import { FORM_BITS, Item, Slots } from "../tables/slots";
import { admitPending, discard, leaveSteps, removeItem, Table } from "../tables/table";
import { DRAWN, Draw, KEY, LENGTH, PIECE, PRIORITY, PROBABILITY, REST, SAVED, SLOT, TABLE_SIZE, TIMES_SAMPLED, WEIGHT } from "./draw";

/** A flag in addition to the flags of selectors: only items with the column layout of the first item. */
export const SAME_COLUMNS: u32 = 8;
/** A flag for a preview: also find the longest and the shortest item that may be drawn, which costs O(slots) if items are removed between two draws. */
export const SIZED: u32 = 16;
/**
 * A flag for a draw ahead: only the random state changes, and `table_count_draw` counts the draw when its batch is passed on. Requires a table that has no
 * maxTimesSampled and no waiting items.
 */
export const AHEAD: u32 = 32;

/** The reasons why a draw is shorter than requested. */
const BY_MIN_SIZE: f64 = 1;
const BY_CURSOR: f64 = 2;
const BY_ITEMS: f64 = 3;
const BY_COLUMNS: f64 = 4;

/**
 * Draws up to n items into the draw and returns the number of items. `flags` is a sum of: 1 without replacement; 2 stratified; 4 `among` refers to the newest
 * items; 8 same columns (if items are removed between two draws, the call ends before an item with other columns; else call `table_peek` first); 32 draw ahead.
 * `among`: draw only from the k oldest, or newest, items; 0 for all. O(n log size) for uniform and prioritized, O(n) for orders. Opens the draw, which
 * `table_close_draw` closes.
 */
export function table_sample(table: usize, draw: usize, n: u32, flags: u32, among: u32): i32 {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  const alike = (flags & SAME_COLUMNS) != 0;
  const ahead = (flags & AHEAD) != 0;
  flags &= DISTINCT | STRATIFIED | NEWEST;
  const refused = supports(t, flags, among);
  if (refused != 0) return refused;
  d.count = 0;
  d.blocked = 0;
  d.longest = 0;
  d.width = 1;
  d.single = u32(t.longest == 1 && d.fits(n, 1));
  t.drawing = 1;
  d.ahead = u32(ahead);
  assert(!ahead || (t.maxTimesSampled == 0 && t.pending == 0), "a draw ahead removes nothing and lets nothing in");
  if (!singly(t, flags)) drawBatch(t, d, n, flags, among);
  else if (t.pending != 0) drawSingly(t, d, n, flags, among, alike);
  else drawUntilLast(t, d, n, flags, among, alike);
  if (ahead) takeBack(t, d);
  return d.count;
}

/** Reverts the counts of a draw. The columns keep the values that the draw would have counted. */
export function takeBack(t: Table, d: Draw): void {
  const slots = t.slots();
  // Starts with the last entry, because an item that was drawn more than once counts from its first draw.
  for (let i = d.count; i > 0; i--) {
    const item = slots.item(d.slot(i - 1));
    item.timesSampled = load<u32>(d.u32At(TIMES_SAMPLED, i - 1)) - 1;
    t.unique -= u32(item.timesSampled == 0);
  }
  t.limiter().samples -= d.count;
}

/**
 * Counts a draw of n items that was made ahead. The limiter counts all n draws. Each item in `keys` (f64 each) that still exists is counted as drawn, and its
 * entry in `times` (u32 each) is set to its new count. The entries of other items are unchanged. O(n)
 */
export function table_count_draw(table: usize, keys: usize, n: u32, times: usize): void {
  const t = changetype<Table>(table);
  const slots = t.slots();
  for (let i: usize = 0; i < <usize>n; i++) {
    const slot = slots.find(load<f64>(keys + (i << 3)));
    if (slot == 0) continue;
    const item = slots.item(slot);
    t.unique += u32(item.timesSampled == 0);
    store<u32>(times + (i << 2), item.raise());
    if (tracking()) slots.trackDraw(slot);
  }
  t.limiter().samples += n;
}

/**
 * Previews `table_sample` without changing anything: returns how many items `table_sample` would draw, and notes the column layout of the first item and the
 * rows of the longest and the shortest item. If items are removed between two draws, the call only looks at the first item; with flag 16, the lengths are then
 * those of all items. With flag 8, returns E_UNLIKE for different columns.
 */
export function table_peek(table: usize, draw: usize, n: u32, flags: u32, among: u32): i32 {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  const how = flags & (DISTINCT | STRATIFIED | NEWEST);
  const refused = supports(t, how, among);
  if (refused != 0) return refused;
  d.blocked = 0;
  const first = singly(t, how);
  const ask = allowed(t, d, first ? min(n, 1) : n, how, among);
  const random = t.random();
  // `drawSlots` does not write into the column WEIGHT, so it can hold the random state.
  const saved = d.column(WEIGHT);
  memory.copy(saved, random, 32);
  const drawn = drawSlots(t, d, 0, ask, how, among);
  memory.copy(random, saved, 32);
  const slots = t.slots();
  d.layout = drawn == 0 ? 0 : slots.columns(d.slot(0));
  d.longest = 0;
  d.shortest = u32.MAX_VALUE;
  for (let i: u32 = 0; i < drawn; i++) {
    see(t, d, d.slot(i));
    if ((flags & SAME_COLUMNS) != 0 && !fitsWith(d, slots.columns(d.slot(i)))) return fail(E_UNLIKE, i, <f64>slots.columns(d.slot(i)));
  }
  if (first && (flags & SIZED) != 0) for (let slot: u32 = 1; slot <= slots.high; slot++) if (slots.isUsed(slot)) see(t, d, slot);
  return drawn;
}

/**
 * Looks up the items of n keys in the column KEY, in the order of the keys, and returns how many still exist. The call is not a real draw: it raises no counts
 * and checks no limiter. With flag 8, returns E_UNLIKE for different columns. Items that wait for the limiter are not found. O(n)
 */
export function table_get(table: usize, draw: usize, n: u32, flags: u32): i32 {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  const slots = t.slots();
  d.blocked = 0;
  d.single = 0;
  d.layout = 0;
  d.longest = 0;
  d.shortest = u32.MAX_VALUE;
  let count: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const slot = slots.find(load<f64>(d.f64At(KEY, i)));
    if (slot == 0 || slots.isPending(slot)) continue;
    if (count == 0) d.layout = slots.columns(slot);
    else if ((flags & SAME_COLUMNS) != 0 && !fitsWith(d, slots.columns(slot))) return fail(E_UNLIKE, i, <f64>slots.columns(slot));
    see(t, d, slot);
    const item = slots.item(slot);
    store<u32>(d.u32At(SLOT, count), slot);
    store<f64>(d.f64At(KEY, count), slots.key(slot));
    store<f64>(d.f64At(PRIORITY, count), item.priority);
    store<f64>(d.f64At(PROBABILITY, count), t.sampler().probability(slot, t.count));
    store<u32>(d.u32At(TIMES_SAMPLED, count), item.timesSampled);
    store<u32>(d.u32At(TABLE_SIZE, count), t.count);
    count += 1;
  }
  d.count = count;
  return count;
}

/** The number of bytes of a batch above which it pays to measure the items before making room for the batch. */
const LARGE: f64 = 16777216;
/** The number of bytes of room per slot above which measuring pays off, if a longer item may have been evicted. */
const LOOSE: f64 = 512;

/**
 * Whether to measure the items of a draw (`table_peek` with flag 16) before making room for n items of `longest` steps, `stepBytes` each, because the longest
 * item ever stored may no longer exist. If items are at least half as long on average, only LARGE batches are measured.
 */
export function table_loose(table: usize, n: u32, longest: u32, stepBytes: f64): bool {
  const t = changetype<Table>(table);
  const bytes = <f64>n * <f64>longest * stepBytes;
  if (bytes > LARGE) return true;
  if (bytes <= <f64>n * LOOSE || <f64>longest * <f64>t.count <= 2 * t.steps) return false;
  // If items may be removed between two draws, measuring reads every slot.
  return bytes > LOOSE * <f64>(t.maxTimesSampled == 0 && t.pending == 0 ? n : t.slots().high);
}

/** Whether an item's column layout has the same form as that of the first item. The form is the upper half of the layout's number. */
export function fitsWith(d: Draw, layout: u32): bool {
  return layout >> FORM_BITS == <u32>d.layout >> FORM_BITS;
}

export function see(t: Table, d: Draw, slot: u32): void {
  const item = t.slots().item(slot);
  d.longest = max(d.longest, item.length());
  d.shortest = min(d.shortest, t.transitionRows(item));
}

/** Closes the draw: releases the items that the draw removed, and lets waiting items in. */
export function table_close_draw(table: usize): void {
  const t = changetype<Table>(table);
  t.drawing = 0;
  while (t.doomed != 0) {
    const slot = t.doomed;
    const item = t.slots().item(slot);
    t.doomed = item.nextInChain;
    // Until the draw is closed, the item's steps can serve as goals.
    leaveSteps(t, item.first, item.length());
    discard(t, slot);
  }
  admitPending(t);
}

function supports(t: Table, flags: u32, among: u32): i32 {
  // Strata have no meaning in an order, or if an item may be removed between two draws.
  if ((flags & STRATIFIED) != 0 && ((flags & DISTINCT) != 0 || t.maxTimesSampled != 0 || t.sampler().has(DETERMINISTIC))) return fail(E_UNSUPPORTED, 3, flags);
  const newest = (flags & NEWEST) != 0;
  if (among == 0 || t.sampler().reaches(among, t.count, newest, t.remover(), t.maxTimesSampled != 0)) return 0;
  return fail(E_UNSUPPORTED, newest ? 5 : 4, among);
}

/**
 * Whether to draw one by one, because an item may be removed or enter between two draws; otherwise the whole batch is drawn together, with the same
 * distribution.
 */
function singly(t: Table, flags: u32): bool {
  return (flags & (DISTINCT | STRATIFIED)) == 0 && (t.maxTimesSampled != 0 || t.pending != 0);
}

/** Makes each draw from the items that remain after the previous draw. If entering items may displace the oldest items, they enter after the last draw. */
function drawSingly(t: Table, d: Draw, n: u32, flags: u32, among: u32, alike: bool): void {
  const admits = among == 0 || t.sampler().keepsReach(t.remover());
  for (let i: u32 = 0; i < n && mayDraw(t, d) && drawOne(t, d, i, n, flags, among, alike); i++) if (admits) admitPending(t);
}

/** Makes the i-th of n draws. With `alike`, returns false if the item has other columns than the first one. The next call then begins with this draw. */
function drawOne(t: Table, d: Draw, i: u32, n: u32, flags: u32, among: u32, alike: bool): bool {
  const random = t.random();
  if (alike) memory.copy(d.column(WEIGHT), random, 32);
  drawSlots(t, d, i, 1, flags, among);
  if (alike && i > 0 && !fitsWith(d, t.slots().columns(d.slot(i)))) {
    memory.copy(random, d.column(WEIGHT), 32);
    d.block(BY_COLUMNS, i, n);
    return false;
  }
  record(t, d, i, i + 1);
  retireExhausted(t, d, i);
  return true;
}

/**
 * Like `drawSingly`, if no item waits. An item is removed only by its last draw, so earlier draws are made together, with the same result as one by one. In the
 * long run, every maxTimesSampled-th draw removes an item. So a run has at most a quarter of maxTimesSampled draws, or as many as were made since the last
 * removal, whichever is larger. A selector that is an order draws the same item until it is removed, so there maxTimesSampled replaces the quarter.
 */
function drawUntilLast(t: Table, d: Draw, n: u32, flags: u32, among: u32, alike: bool): void {
  const least = t.sampler().has(DETERMINISTIC) ? t.maxTimesSampled : max(t.maxTimesSampled >> 2, 1);
  let since: u32 = 0;
  for (let i: u32 = 0; i < n; i = d.count) {
    const count = t.count;
    const ask = min(t.limiter().samplesAllowed(n - i, count), max(least, since));
    if (ask == 0) {
      noteLimiter(t, d, 0);
      return;
    }
    if (!(ask == 1 ? drawOne(t, d, i, n, flags, among, alike) : drawRun(t, d, i, ask, n, flags, among, alike))) return;
    since = t.count == count ? since + ask : 0;
  }
}

/**
 * Makes up to `ask` of n draws, from the i-th on, and stops after the first draw that is the last one of its item. The random state then equals the state after
 * the same number of single draws. With `alike`, also stops before an item with other columns than the first one, and then returns false.
 */
function drawRun(t: Table, d: Draw, i: u32, ask: u32, n: u32, flags: u32, among: u32, alike: bool): bool {
  const random = t.random();
  const state = d.column(WEIGHT);
  memory.copy(state, random, 32);
  drawSlots(t, d, i, ask, flags, among);
  const end = alike ? alikeUntil(t, d, i, i + ask) : i + ask;
  let next = i;
  let left = false;
  while (next < end && !left) {
    const to = min(next + PIECE, end);
    prefetchItems(t, d, next, to);
    const last = lastDraw(t, d, next, to);
    left = last != 0;
    record(t, d, next, left ? last : to);
    next = left ? last : to;
  }
  if (next < i + ask) {
    memory.copy(random, state, 32);
    if (next > i) drawSlots(t, d, i, next - i, flags, among);
  }
  if (left) retireExhausted(t, d, next - 1);
  else if (next < i + ask) d.block(BY_COLUMNS, next, n);
  return left || next == i + ask;
}

/** Returns the first of the draws `from` … `to` whose columns differ from those of the first entry; `to` if there is none. */
function alikeUntil(t: Table, d: Draw, from: u32, to: u32): u32 {
  const slots = t.slots();
  if (from == 0) d.layout = slots.columns(d.slot(0));
  while (from < to && fitsWith(d, slots.columns(d.slot(from)))) from += 1;
  return from;
}

/** Returns the place after the first of the draws `from` … `to` that is the last one of its item; 0 if there is none. Raises counts and then reverts them. */
function lastDraw(t: Table, d: Draw, from: u32, to: u32): u32 {
  const slots = t.slots();
  const max = t.maxTimesSampled;
  let end = from;
  let last: u32 = 0;
  while (end < to && last == 0) {
    const times = slots.item(d.slot(end)).raise();
    end += 1;
    if (times >= max) last = end;
  }
  for (let i = from; i < end; i++) {
    const item = slots.item(d.slot(i));
    item.timesSampled -= 1;
  }
  return last;
}

function drawBatch(t: Table, d: Draw, n: u32, flags: u32, among: u32): void {
  const ask = allowed(t, d, n, flags, among);
  const drawn = drawSlots(t, d, 0, ask, flags, among);
  for (let from: u32 = 0; from < drawn; from += PIECE) {
    const to = min(from + PIECE, drawn);
    prefetchItems(t, d, from, to);
    if (t.maxTimesSampled == 0) record(t, d, from, to);
    for (let i = from; t.maxTimesSampled != 0 && i < to && mayDraw(t, d); i++) {
      record(t, d, i, i + 1);
      retireExhausted(t, d, i);
    }
  }
  if (d.count < n && d.blocked == 0) d.block(BY_ITEMS, d.count, n);
}

/** Returns how many of n draws the limiter and the number of items allow. */
function allowed(t: Table, d: Draw, n: u32, flags: u32, among: u32): u32 {
  const ask = t.limiter().samplesAllowed(n, t.count);
  if (ask < n) noteLimiter(t, d, ask);
  return (flags & DISTINCT) == 0 ? ask : min(ask, among == 0 ? t.count : min(among, t.count));
}

function mayDraw(t: Table, d: Draw): bool {
  if (t.limiter().canSample(1, t.count)) return true;
  noteLimiter(t, d, 0);
  return false;
}

/** Records the state of the limiter in the draw. `more`: the number of samples that the limiter still allows. */
function noteLimiter(t: Table, d: Draw, more: u32): void {
  const limiter = t.limiter();
  if (<f64>t.count < limiter.options().minSize) d.block(BY_MIN_SIZE, t.count, limiter.options().minSize);
  else d.block(BY_CURSOR, limiter.cursor() - <f64>more - 1, limiter.options().minDiff);
}

/** Completes the entries `from` … `to` after the draw: raises the counts of their items and fills the columns for learners. */
export function record(t: Table, d: Draw, from: u32, to: u32): void {
  const slots = t.slots();
  const limiter = t.limiter();
  t.unique += d.single != 0 ? recordSingles(slots, d, from, to) : recordRuns(slots, d, from, to);
  // The loops are separate, because extra work or repeated look-ups inside a loop with cache misses cost time.
  fillWith<u32>(d.u32At(TABLE_SIZE, from), to - from, t.count);
  if (tracking() && d.ahead == 0) slots.trackDraws(d.u32At(SLOT, from), d.u32At(SLOT, to));
  if (from == 0) d.layout = slots.columns(d.slot(0));
  d.count = to;
  limiter.samples += to - from;
}

/** Writes the key, priority and count of each drawn item. Returns how many items were drawn for the first time. */
function recordRuns(slots: Slots, d: Draw, from: u32, to: u32): u32 {
  const drawn = d.column(SLOT);
  const times = d.column(TIMES_SAMPLED);
  const keys = d.column(KEY);
  const priorities = d.column(PRIORITY);
  let longest = <u32>d.longest;
  let unique: u32 = 0;
  for (let i = from; i < to; i++) {
    const at = (<usize>i) << 2;
    const slot = load<u32>(drawn + at);
    const item = slots.item(slot);
    unique += u32(item.timesSampled == 0);
    store<u32>(times + at, item.raise());
    longest = max(longest, item.length());
    store<f64>(keys + (at << 1), slots.key(slot));
    store<f64>(priorities + (at << 1), item.priority);
  }
  d.longest = longest;
  return unique;
}

/** Like `recordRuns`, for items of one step. Also fills in the results of `draw_rows`, because their rows are cached now. */
function recordSingles(slots: Slots, d: Draw, from: u32, to: u32): u32 {
  const items = <usize>slots.items;
  const scale = slots.scale;
  const base = slots.base;
  const drawn = d.column(SLOT);
  const times = d.column(TIMES_SAMPLED);
  const keys = d.column(KEY);
  const priorities = d.column(PRIORITY);
  const rows = <usize>d.rows;
  let unique: u32 = 0;
  for (let i = from; i < to; i++) {
    const at = (<usize>i) << 2;
    const slot = load<u32>(drawn + at);
    const item = changetype<Item>(Items.at(items, slot));
    unique += u32(item.timesSampled == 0);
    store<u32>(times + at, item.raise());
    store<u32>(rows + at, item.first);
    // This is Slots.key, computed from local variables.
    store<f64>(keys + (at << 1), <f64>item.generation * scale + (base + <f64>slot));
    store<f64>(priorities + (at << 1), item.priority);
  }
  fillWith<u32>(d.u32At(LENGTH, from), to - from, 1);
  d.longest = 1;
  return unique;
}

/** Reads one word of each item. */
export function prefetchItems(t: Table, d: Draw, from: u32, to: u32): void {
  Prefetch.touch(d.u32At(SLOT, from), d.u32At(SLOT, to), t.slots().items, ITEM_BYTES);
}

function retireExhausted(t: Table, d: Draw, i: u32): void {
  const slot = d.slot(i);
  if (t.maxTimesSampled != 0 && t.slots().item(slot).timesSampled >= t.maxTimesSampled) removeItem(t, slot);
}

/** Draws n slots and their probabilities from entry `at` on; returns the number of slots. */
function drawSlots(t: Table, d: Draw, at: u32, n: u32, flags: u32, among: u32): u32 {
  const sampler = t.sampler();
  const size = t.count;
  const k = among == 0 ? size : min(among, size);
  const newest = (flags & NEWEST) != 0;
  const items = <usize>t.slots().items;
  const high = t.slots().high;
  if (k < size) sampler.weighPart(t.remover(), k, size, newest, items, high, true);
  const probabilities = d.f64At(PROBABILITY, at);
  const first = newest ? size - k : 0;
  const slots = d.u32At(SLOT, at);
  const rests = d.column(REST);
  const drawn = sampler.drawMany(t.remover(), t.random(), size, first, k, n, flags, slots, probabilities, rests, d.column(SAVED), d.column(DRAWN));
  if (k < size) sampler.weighPart(t.remover(), k, size, newest, items, high, false);
  return drawn;
}
