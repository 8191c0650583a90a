/**
 * Sampling: n draws, the limiter asked before each, every item's count raised, exhausted items taken out.
 * What leaves during a draw keeps its rows until `table_close_draw`, so that they can be gathered.
 */
import { fillWith } from "../memory/bytes";
import { E_UNLIKE, E_UNSUPPORTED, fail } from "../memory/error";
import { Prefetch } from "../memory/prefetch";
import { tracking } from "../rows/changes";
import { ITEM_BYTES, Items } from "../selectors/items";
import { DETERMINISTIC } from "../selectors/kinds";
import { DISTINCT, STRATIFIED } from "../selectors/selector";
import { Item, Slots } from "../tables/slots";
import { admitPending, discard, removeItem, Table } from "../tables/table";
import { DRAWN, Draw, KEY, LENGTH, PIECE, PRIORITY, PROBABILITY, REST, SAVED, SLOT, TABLE_SIZE, TIMES_SAMPLED, WEIGHT } from "./draw";

/** A flag beside the selectors' own: items of one column layout only: that of the first. */
const SAME_COLUMNS: u32 = 8;
/** Of a look ahead: the longest and the shortest item that may come, at the price of O(slots) where items leave between two draws. */
export const SIZED: u32 = 16;
/** Of a draw ahead: only the random state changes, and `table_count_draw` counts the draw when its batch is passed on. Of a table without maxTimesSampled, in which nothing waits. */
export const AHEAD: u32 = 32;

/** A number of a column layout: the form above, which steps below (src/memory/column-layouts.ts). */
const FORM_BITS: u32 = 16;

/** Why a draw is shorter than asked. */
const BY_MIN_SIZE: f64 = 1;
const BY_CURSOR: f64 = 2;
const BY_ITEMS: f64 = 3;
const BY_COLUMNS: f64 = 4;

/**
 * Up to n items into the draw; how many. `flags`: a sum of 1 without replacement, 2 stratified, 8 of the same columns: where items leave between two draws, ends before one
 * that has other columns; else ask `table_peek` first; 32 ahead. `among`: only the k oldest, 0 for all. O(n log size) for uniform and prioritized, O(n) for orders. Opens the draw: `table_close_draw` closes it.
 */
export function table_sample(table: usize, draw: usize, n: u32, flags: u32, among: u32): i32 {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  const alike = (flags & SAME_COLUMNS) != 0;
  const ahead = (flags & AHEAD) != 0;
  flags &= DISTINCT | STRATIFIED;
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
  if (singly(t, flags)) drawSingly(t, d, n, among, alike);
  else drawBatch(t, d, n, flags, among);
  if (ahead) takeBack(t, d);
  return d.count;
}

/** Takes back what a draw counted. Its columns say what it would have counted. */
function takeBack(t: Table, d: Draw): void {
  const slots = t.slots();
  // From the last one on: what was drawn more than once counts from its first draw.
  for (let i = d.count; i > 0; i--) {
    const item = slots.item(d.slot(i - 1));
    item.timesSampled = load<u32>(d.u32At(TIMES_SAMPLED, i - 1)) - 1;
    t.unique -= u32(item.timesSampled == 0);
  }
  t.limiter().samples -= d.count;
}

/** Counts a draw that was made ahead, by the keys of its items: those that are still there. `times`, u32 each, becomes their counts; of the others it stays. O(n) */
export function table_count_draw(table: usize, keys: usize, n: u32, times: usize): void {
  const t = changetype<Table>(table);
  const slots = t.slots();
  for (let i: usize = 0; i < <usize>n; i++) {
    const slot = slots.find(load<f64>(keys + (i << 3)));
    if (slot == 0) continue;
    const item = slots.item(slot);
    t.unique += u32(item.timesSampled == 0);
    store<u32>(times + (i << 2), item.raise());
    if (tracking()) slots.track(slot);
  }
  t.limiter().samples += n;
}

/**
 * Looks at what `table_sample` would give, and changes nothing: how many, the first one's column layout, rows of the longest and the shortest. Where items leave between two
 * draws only the first one is looked at; with the flag 16 lengths are then those of all items. E_UNLIKE for different columns, with the flag 8.
 */
export function table_peek(table: usize, draw: usize, n: u32, flags: u32, among: u32): i32 {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  const how = flags & (DISTINCT | STRATIFIED);
  const refused = supports(t, how, among);
  if (refused != 0) return refused;
  d.blocked = 0;
  const first = singly(t, how);
  const ask = allowed(t, d, first ? min(n, 1) : n, how, among);
  const random = t.random();
  // As far as it reaches, nothing is drawn into.
  const saved = d.column(WEIGHT);
  memory.copy(saved, random, 32);
  const drawn = drawSlots(t, d, 0, ask, how, among);
  memory.copy(random, saved, 32);
  const slots = t.slots();
  d.layout = drawn == 0 ? 0 : slots.layout(d.slot(0));
  d.longest = 0;
  d.shortest = u32.MAX_VALUE;
  for (let i: u32 = 0; i < drawn; i++) {
    see(t, d, d.slot(i));
    if ((flags & SAME_COLUMNS) != 0 && !fitsWith(d, slots.layout(d.slot(i)))) return fail(E_UNLIKE, i, <f64>slots.layout(d.slot(i)));
  }
  if (first && (flags & SIZED) != 0) for (let slot: u32 = 1; slot <= slots.high; slot++) if (slots.isUsed(slot)) see(t, d, slot);
  return drawn;
}

/** Bytes of a batch from which on it is worth a look how long its items really are, before there is room for it. */
const LARGE: f64 = 16777216;
/** Bytes of room for each slot that a look reads from which on it is worth that, where a longer item may have left. */
const LOOSE: f64 = 512;

/**
 * Whether it is worth a look (`table_peek` with the flag 16) how long the items of a draw really are, before there is room for n of `longest` steps of so many bytes: the
 * longest item that ever was here may have left long ago. Where most items are at least half as long, nothing is looked at.
 */
export function table_loose(table: usize, n: u32, longest: u32, stepBytes: f64): bool {
  const t = changetype<Table>(table);
  const bytes = <f64>n * <f64>longest * stepBytes;
  if (bytes > LARGE) return true;
  if (bytes <= <f64>n * LOOSE || <f64>longest * <f64>t.count <= 2 * t.steps) return false;
  // Where items may leave between two draws, a look reads every slot.
  return bytes > LOOSE * <f64>(t.maxTimesSampled == 0 && t.pending == 0 ? n : t.slots().high);
}

/** Whether an item's columns have the form of the first one's: the upper half of their numbers. */
function fitsWith(d: Draw, layout: u32): bool {
  return layout >> FORM_BITS == <u32>d.layout >> FORM_BITS;
}

function see(t: Table, d: Draw, slot: u32): void {
  const item = t.slots().item(slot);
  d.longest = max(d.longest, item.length());
  d.shortest = min(d.shortest, t.transitionRows(item));
}

/** Closes the draw: what left is released, what waits is let in. */
export function table_close_draw(table: usize): void {
  const t = changetype<Table>(table);
  t.drawing = 0;
  while (t.doomed != 0) {
    const slot = t.doomed;
    t.doomed = t.slots().item(slot).nextInChain;
    discard(t, slot);
  }
  admitPending(t);
}

function supports(t: Table, flags: u32, among: u32): i32 {
  // Strata mean nothing in an order, nor where an item may have to leave between two draws.
  if ((flags & STRATIFIED) != 0 && (flags != STRATIFIED || t.maxTimesSampled != 0 || t.sampler().has(DETERMINISTIC))) return fail(E_UNSUPPORTED, 3, flags);
  return among == 0 || t.sampler().reaches(among, t.remover()) ? 0 : fail(E_UNSUPPORTED, 4, among);
}

/** One by one where an item may leave or come in between two draws; else the whole batch at once: the same distribution. */
function singly(t: Table, flags: u32): bool {
  return flags == 0 && (t.maxTimesSampled != 0 || t.pending != 0);
}

/** Each draw sees what the one before left. Where what comes in may move the oldest out of their places, it comes in when all are drawn. */
function drawSingly(t: Table, d: Draw, n: u32, among: u32, alike: bool): void {
  const random = t.random();
  const admits = among == 0 || t.sampler().keepsReach(t.remover());
  for (let i: u32 = 0; i < n && mayDraw(t, d); i++) {
    if (alike) memory.copy(d.column(WEIGHT), random, 32);
    drawSlots(t, d, i, 1, 0, among);
    if (alike && i > 0 && !fitsWith(d, t.slots().layout(d.slot(i)))) {
      // It is the first of the next draw.
      memory.copy(random, d.column(WEIGHT), 32);
      d.block(BY_COLUMNS, i, n);
      return;
    }
    record(t, d, i, i + 1);
    retireExhausted(t, d, i);
    if (admits) admitPending(t);
  }
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

/** How many of n draws may be made at once. */
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

/** `more`: samples that will still pass. */
function noteLimiter(t: Table, d: Draw, more: u32): void {
  const limiter = t.limiter();
  if (<f64>t.count < limiter.options().minSize) d.block(BY_MIN_SIZE, t.count, limiter.options().minSize);
  else d.block(BY_CURSOR, limiter.cursor() - <f64>more - 1, limiter.options().minDiff);
}

/** Entries `from` … `to` are drawn: raises their counts and writes what a learner wants to know of them. */
function record(t: Table, d: Draw, from: u32, to: u32): void {
  const slots = t.slots();
  const limiter = t.limiter();
  t.unique += d.single != 0 ? recordSingles(slots, d, from, to) : recordRuns(slots, d, from, to);
  // By loops of their own: what is done beside a miss is felt, and so is what is looked up again for each.
  fillWith<u32>(d.u32At(TABLE_SIZE, from), to - from, t.count);
  if (tracking() && d.ahead == 0) for (let i = from; i < to; i++) slots.track(d.slot(i));
  if (from == 0) d.layout = slots.layout(d.slot(0));
  d.count = to;
  limiter.samples += to - from;
}

/** What is each item's own; how many were drawn for the first time. */
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

/** The same for items of one step, and what `draw_rows` would say of them: their rows are near now. */
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
    // Slots.key, of what is in locals.
    store<f64>(keys + (at << 1), <f64>item.generation * scale + (base + <f64>slot));
    store<f64>(priorities + (at << 1), item.priority);
  }
  fillWith<u32>(d.u32At(LENGTH, from), to - from, 1);
  d.longest = 1;
  return unique;
}

/** Reads one word of each item. */
function prefetchItems(t: Table, d: Draw, from: u32, to: u32): void {
  Prefetch.touch(d.u32At(SLOT, from), d.u32At(SLOT, to), t.slots().items, ITEM_BYTES);
}

function retireExhausted(t: Table, d: Draw, i: u32): void {
  const slot = d.slot(i);
  if (t.maxTimesSampled != 0 && t.slots().item(slot).timesSampled >= t.maxTimesSampled) removeItem(t, slot);
}

/** n slots and their probabilities from entry `at` on; how many. */
function drawSlots(t: Table, d: Draw, at: u32, n: u32, flags: u32, among: u32): u32 {
  const sampler = t.sampler();
  const oldest = among == 0 ? t.count : min(among, t.count);
  const items = <usize>t.slots().items;
  if (oldest < t.count) sampler.weighYoungest(t.remover(), t.count - oldest, items, true);
  const probabilities = d.f64At(PROBABILITY, at);
  const drawn = sampler.drawMany(t.random(), oldest, n, flags, d.u32At(SLOT, at), probabilities, d.column(REST), d.column(SAVED), d.column(DRAWN));
  if (oldest < t.count) sampler.weighYoungest(t.remover(), t.count - oldest, items, false);
  return drawn;
}
