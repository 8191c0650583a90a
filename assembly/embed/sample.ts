/**
 * Draws items from a view's table, and writes them as a batch to the batch region.
 *
 * batch │ OUTPUT × leaves │ i32: the steps that they show │ one column per leaf │ mask │ DRAW, with its columns │
 */
import { DISCOUNT, Draw, draw_bytes, draw_init, draw_narrow, KEY, LENGTH, RETURN, WEIGHT } from "../draw/draw";
import { LOOKS, SHUFFLED, table_epoch, table_epoch_begin, table_epoch_resume } from "../draw/epoch";
import { gather } from "../draw/gather";
import { draw_n_step, ENDS_BEHIND } from "../draw/n-step";
import { BOOTSTRAP, OUTPUT_BYTES, Output } from "../draw/output";
import { draw_rows, OF_ITEMS } from "../draw/row-matrix";
import { SIZED, table_close_draw, table_get, table_loose, table_peek, table_sample } from "../draw/sample";
import { draw_vector_returns } from "../draw/vector-returns";
import { draw_weights } from "../draw/weights";
import { E_KEYS_EXHAUSTED, E_OUT_OF_MEMORY, E_RATE_LIMITED, E_UNSUPPORTED } from "../memory/error";
import { header } from "../memory/layout";
import { DISTINCT, NEWEST } from "../selectors/selector";
import { table_sure } from "../tables/inspect";
import { MAX_LENGTH } from "../tables/slots";
import { checkKeys } from "./change";
import { Field } from "./field";
import { CLOSED, EMPTY, INVALID, NOT_FOUND, Refusal, TOO_FEW } from "./refusal";
import { BATCH, opened, outside, Root, WORK } from "./root";
import { ITEMS, MIXTURE, singleRow, TRANSITIONS, tooManySteps, View, viewOf } from "./view";
import { ALL, DRAWN, FIRST, LAST, MASKED, SUMMED, ViewColumn } from "./view-columns";
import { longestRule } from "./writer-options";

/** Refuses invalid arguments of a draw from a view. */
export function checkDraw(v: View, n: u32, beta: f64): i32 {
  if (n - 1 >= MAX_LENGTH) return Refusal.of(INVALID).put("n must be an integer from 1 to ").number(MAX_LENGTH).put(", got ").number(n).code;
  if (v.weighs != 0 && !Number.isFinite(beta)) return Refusal.of(INVALID).put("beta must be a finite number, got ").number(beta).code;
  return 0;
}

/** EPOCH, f64 × 6, which the host keeps: │ shuffle │ seed │ epoch │ position │ since │ slots │ */
const EPOCH_BYTES: f64 = 48;
const EPOCH_AT: usize = 16;
const POSITION_AT: usize = 24;
const SINCE_AT: usize = 32;
const SLOTS_AT: usize = 40;

/**
 * Returns the next items of an epoch as a batch of a view, at most n: each item that existed when the epoch began is returned once. Returns the number of
 * items; 0 if the epoch is over, in which case the next call begins another epoch. `state`: f64 × 6 in the input buffer, which the call changes: 1 for a random
 * order or 0 for slot order, the seed, the number of the epoch, the position, and two internal values. The initial values are 1, a seed, and zeros.
 */
export function replay_epoch(handle: u32, view: u32, n: u32, state: usize): i32 {
  const root = opened(handle);
  if (root === null) return CLOSED;
  const v = viewOf(view);
  if (v === null) return NOT_FOUND;
  if (n - 1 >= MAX_LENGTH) return Refusal.of(INVALID).put("n must be an integer from 1 to ").number(MAX_LENGTH).put(", got ").number(n).code;
  if (!root.holds(state, EPOCH_BYTES)) return outside("state", state, EPOCH_BYTES);
  if (v.kind == MIXTURE) return Refusal.of(E_UNSUPPORTED).put("a mixture has no epochs. Use the view of one of its sources").code;
  const options = v.tableOptions();
  const t = options.table();
  if (v.weighs != 0 || v.flags != 0 || v.among != 0 || v.share != 0)
    return Refusal.of(E_UNSUPPORTED).put("an epoch draws every item once. Use a view without the options weights, among, distinct and stratified").code;
  if (t.maxTimesSampled != 0) return Refusal.of(E_UNSUPPORTED).put("an epoch needs a table without timesSampled").code;
  for (let i: u32 = 0; i < 6; i++) {
    const value = load<f64>(state + (i << 3));
    if (value >= 0 && value <= (i == 0 ? 1 : <f64>u32.MAX_VALUE) && Math.floor(value) == value) continue;
    return Refusal.of(INVALID)
      .put("state")
      .index(i)
      .put(i == 0 ? " must be 0 or 1, got " : " must be a whole number below 2^32, got ")
      .number(value).code;
  }
  if (t.count == 0) return Refusal.of(EMPTY).put("table ").word(options.name, options.bytes).put(" is empty. Append steps first").code;
  if (load<f64>(state, SINCE_AT) == 0) {
    if (!t.limiter().canSample(min(n, t.count), t.count)) return notReady(v, min(n, t.count), 0);
    const since = table_epoch_begin(options.handle);
    if (since == 0)
      return Refusal.of(E_KEYS_EXHAUSTED).put("the table has no keys left to distinguish the items of this epoch from newer items. Create a new Replay").code;
    store<f64>(state, 0, POSITION_AT);
    store<f64>(state, since, SINCE_AT);
    store<f64>(state, t.slots().high, SLOTS_AT);
    root.changes += 1;
  } else if (!resumes(options.handle, state)) return Refusal.of(INVALID).put("state must belong to an epoch of this table").code;
  const found = look(root, v, n, state);
  if (found === null) return Refusal.last();
  n = found.count;
  if (n == 0) {
    store<f64>(state, (load<f64>(state, EPOCH_AT) + 1) % 4294967296, EPOCH_AT);
    for (let at = POSITION_AT; at <= SLOTS_AT; at += 8) store<f64>(state + at, 0);
    return 0;
  }
  if (!t.limiter().canSample(n, t.count)) return notReady(v, n, 0);
  const count = drawBatch(root, v, view, n, NaN, state);
  if (count >= 0) store<f64>(state, changetype<Draw>(<usize>root.draw).position, POSITION_AT);
  return count;
}

/** Whether the numbers of a state are possible for an epoch of the table. */
function resumes(table: u32, state: usize): bool {
  const flags = load<f64>(state) != 0 ? SHUFFLED : 0;
  return table_epoch_resume(table, <u32>load<f64>(state, SINCE_AT), <u32>load<f64>(state, SLOTS_AT), <u32>load<f64>(state, POSITION_AT), flags);
}

/** Draws the items of an epoch from its position on: `table_epoch` with the numbers of its state. */
function epochOf(table: u32, draw: usize, n: u32, flags: u32, state: usize): i32 {
  if (load<f64>(state) != 0) flags |= SHUFFLED;
  const position = <u32>load<f64>(state, POSITION_AT);
  return table_epoch(
    table,
    draw,
    n,
    flags,
    <u32>load<f64>(state, 8),
    <u32>load<f64>(state, EPOCH_AT),
    <u32>load<f64>(state, SINCE_AT),
    <u32>load<f64>(state, SLOTS_AT),
    position,
  );
}

/**
 * Draws n items of a view with the number `index`, or the next n items of an epoch if `state` is not 0, and gathers them. Returns the number of items, or a
 * code.
 */
export function drawBatch(root: Root, v: View, index: u32, n: u32, beta: f64, state: usize): i32 {
  const width = v.kind == TRANSITIONS ? transitionRows(root, v, n, state, true) : windowRows(root, v, n, state);
  if (width < 0) return <i32>width;
  const draw = plan(root, v, n, <u32>width);
  if (draw == 0) return noRoomForBatch(n);
  root.shown = 0;
  const count = drawInto(root, v, draw, n, <u32>width, beta, state);
  if (count < 0) return refusedDraw();
  root.changes += 1;
  root.shown = index + 1;
  root.draw = <u32>draw;
  v.entries = count;
  return count;
}

/**
 * Reads the items of n keys (f64 each) that still exist, in the order of the keys, and returns the number of items. The call is not a draw: it increments no
 * counter, takes no random number and checks no rate limiter. The columns are those of `replay_sample`.
 */
export function replay_get(handle: u32, view: u32, keys: usize, n: u32): i32 {
  const root = opened(handle);
  if (root === null) return CLOSED;
  const v = viewOf(view);
  if (v === null) return NOT_FOUND;
  const code = checkKeys(root, keys, n);
  if (code != 0) return code;
  if (n == 0) return Refusal.of(INVALID).put("n must be an integer from 1 to ").number(MAX_LENGTH).put(", got 0").code;
  const refused = v.keeps();
  if (refused != 0) return refused;
  const width = rowsOf(root, v, keys, n);
  if (width < 0) return <i32>width;
  const draw = plan(root, v, n, <u32>width);
  if (draw == 0) return noRoomForBatch(n);
  root.shown = 0;
  copyKeys(draw, keys, n);
  const count = table_get(v.tableOptions().handle, draw, n, 0);
  fill(root, v, draw, count, <u32>width, 0);
  root.shown = view + 1;
  root.draw = <u32>draw;
  v.entries = count;
  return count;
}

function copyKeys(draw: usize, keys: usize, n: u32): void {
  memory.copy(changetype<Draw>(draw).column(KEY), keys, (<usize>n) << 3);
}

/** Returns the maximum number of rows that the items of some keys show, or the code of a refusal if the items cannot be shown. */
export function rowsOf(root: Root, view: View, keys: usize, n: u32): i64 {
  if (view.kind == ITEMS && view.n != 0) return view.n;
  const draw = root.region(WORK, draw_bytes(n));
  if (draw == 0) return noRoomToLook(n);
  draw_init(draw, n, 0);
  copyKeys(draw, keys, n);
  table_get(view.tableOptions().handle, draw, n, 0);
  const d = changetype<Draw>(draw);
  const longest = max(<u32>d.longest, 1);
  if (view.kind == ITEMS) return longest;
  if (d.shortest == 1) return singleRow(view.tableOptions());
  return view.n == 0 ? longest : min(view.n + 1, longest);
}

/** Returns the number of steps of the view's windows, or, if it shows whole items, of the longest item that may be drawn; or the code of a refusal. */
function windowRows(root: Root, view: View, n: u32, state: usize): i64 {
  if (view.n != 0) return view.n;
  const longest = view.tableOptions().table().longest;
  if (!table_loose(view.tableOptions().handle, n, longest, root.stagedBytes)) return longest;
  const draw = look(root, view, n, state);
  return draw === null ? <i64>Refusal.last() : <i64>draw.longest;
}

/**
 * Returns the number of rows of the longest transition that may be drawn, or the code of a refusal if n transitions cannot be drawn. `sure`: whether nothing
 * else is drawn from the table before, so that a preview is exact.
 */
export function transitionRows(root: Root, view: View, n: u32, state: usize, sure: bool): i64 {
  const options = view.tableOptions();
  const t = options.table();
  const longest = t.longest;
  if (t.count == 0) return Refusal.of(EMPTY).put("table ").word(options.name, options.bytes).put(" is empty. Append steps first").code;
  const most = max(longest, longestRule(view.table));
  if (view.n >= most) return tooManySteps(view, most);
  const width: i64 = view.n == 0 ? longest : min(view.n + 1, longest);
  const passing = sureDraws(root, view, n, view.flags & (DISTINCT | NEWEST), view.amongNow());
  if (passing < <i64>n) return passing < 0 ? passing : notReady(view, n, <u32>passing);
  if (!sure) return t.shortest == 1 ? singleRow(options) : width;
  if (!table_loose(options.handle, n, <u32>width, root.stagedBytes) && t.shortest != 1) return width;
  const draw = look(root, view, n, state);
  if (draw === null) return Refusal.last();
  return draw.shortest == 1 ? singleRow(options) : min(width, <i64>draw.longest);
}

/** Returns how many of n draws from a view's table are possible now, or the code of a refusal. */
export function sureDraws(root: Root, view: View, n: u32, flags: u32, among: u32): i64 {
  const options = view.tableOptions();
  const uses = options.table().maxTimesSampled;
  const counts: usize = uses == 0 ? 1 : root.region(WORK, 4 * <u64>min(n, uses) + 4);
  return counts == 0 ? noRoomToLook(n) : table_sure(options.handle, n, flags, among, counts);
}

/** Previews a draw of a view; null, with a refusal, if the draw is not possible. */
export function look(root: Root, view: View, n: u32, state: usize): Draw | null {
  const draw = root.region(WORK, draw_bytes(n));
  if (draw == 0) {
    noRoomToLook(n);
    return null;
  }
  draw_init(draw, n, 0);
  const table = view.tableOptions().handle;
  const count = state == 0 ? table_peek(table, draw, n, view.flags + SIZED, view.amongNow()) : epochOf(table, draw, n, LOOKS, state);
  changetype<Draw>(draw).count = max(count, 0);
  if (count >= 0) return changetype<Draw>(draw);
  refusedDraw();
  return null;
}

export function noRoomForBatch(n: u32): i32 {
  return Refusal.of(E_OUT_OF_MEMORY).put("there is no room for a batch of ").number(n).put(" entries. Draw fewer, or increase bytes").code;
}

function noRoomToLook(n: u32): i32 {
  return Refusal.of(E_OUT_OF_MEMORY).put("there is no room to draw ").number(n).put(" items. Draw fewer, or increase bytes").code;
}

/** Refuses with the reason why n draws are not possible now. */
export function notReady(view: View, n: u32, sure: u32): i32 {
  const options = view.tableOptions();
  const t = options.table();
  if (t.limiter().canSample(n, t.count)) {
    const refusal = Refusal.of(TOO_FEW).put("table ").word(options.name, options.bytes).put(" has ").number(t.count);
    refusal.put(" items");
    if ((view.flags & DISTINCT) != 0 && sure < t.count) refusal.put(" (").number(sure).put(" of them can be drawn)");
    return refusal.put(", too few for ").number(n).put(" draws. Draw fewer, or remove distinct from the view").code;
  }
  const refusal = Refusal.of(E_RATE_LIMITED).put("table ").word(options.name, options.bytes).put(" has ").number(t.count);
  return refusal.put(" items, but its rate limiter does not allow ").number(n).put(" draws now. Append steps first").code;
}

/** Refuses with the reason why the core rejected a draw. */
function refusedDraw(): i32 {
  const refusal = Refusal.of(E_UNSUPPORTED);
  if (header().errorArgument == 3) return refusal.put("stratified needs a uniform or prioritized sampler, without distinct and timesSampled").code;
  if (header().errorArgument == 4)
    return refusal.put("among needs a fifo, recency or uniform sampler, or a prioritized sampler with a fifo or lifo remover").code;
  return refusal.put("among newest needs a lifo, fifo or recency sampler, or a uniform or prioritized sampler with a fifo or lifo remover").code;
}

/** Makes room for a batch with its OUTPUTs. Returns the address of its DRAW, or 0 if there is no memory. */
function plan(root: Root, view: View, n: u32, width: u32): usize {
  const steps = max(width, 2);
  const head = OUTPUT_BYTES * view.count + 4 * steps;
  // The sum is f64, which does not wrap around, because the number of bytes of a batch may not fit in 64 bits.
  let bytes = aligned(head);
  for (let k: u32 = 0; k < view.count; k++) bytes += columnBytes(ViewColumn.of(view, k), n, width);
  const rows = <f64>n * <f64>width;
  const whole = bytes + <f64>draw_bytes(n) + 12 * rows;
  const base: usize = whole > <f64>u32.MAX_VALUE ? 0 : root.region(BATCH, <u64>whole);
  if (base == 0) return 0;
  const list = base + <usize>(view.count * <u32>OUTPUT_BYTES);
  for (let k: u32 = 0; k < steps; k++) store<i32>(list + (k << 2), view.kind == TRANSITIONS ? (k == 0 ? 0 : BOOTSTRAP) : k);
  let at = base + <usize>aligned(head);
  for (let k: u32 = 0; k < view.count; k++) {
    const column = ViewColumn.of(view, k);
    column.at = <u32>at;
    at += <usize>columnBytes(column, n, width);
  }
  draw_init(at, n, <u32>rows);
  return at;
}

/** Returns the number of bytes of a column of n entries; 0 if the column belongs to the draw. */
function columnBytes(column: ViewColumn, n: u32, width: u32): f64 {
  if (column.source == DRAWN) return 0;
  if (column.source == SUMMED) return aligned(<f64>n * <f64>column.returnBytes());
  const each = column.isLeaf() ? Field.of(column.which).arrayBytes() : 1;
  return aligned(<f64>n * <f64>(column.source == FIRST || column.source == LAST ? 1 : width) * <f64>each);
}

function aligned(bytes: f64): f64 {
  return Math.ceil(bytes / 16) * 16;
}

/** Draws, and gathers the drawn items. Returns the number of items, or a code if nothing was drawn. */
function drawInto(root: Root, view: View, draw: usize, n: u32, width: u32, beta: f64, state: usize): i32 {
  const d = changetype<Draw>(draw);
  const table = view.tableOptions().handle;
  const count = state == 0 ? table_sample(table, draw, n, view.flags, view.amongNow()) : epochOf(table, draw, n, 0, state);
  if (count < 0) return count;
  fill(root, view, draw, count, view.kind == TRANSITIONS || view.n != 0 ? width : <u32>d.longest, beta);
  table_close_draw(table);
  return count;
}

/** Gathers the drawn items, `shows` rows per entry. */
function fill(root: Root, view: View, draw: usize, count: u32, shows: u32, beta: f64): void {
  const d = changetype<Draw>(draw);
  const table = view.tableOptions().handle;
  if (view.weighs != 0) draw_weights(draw, table, beta, view.weighs - 1);
  draw_rows(draw, OF_ITEMS, table, count, shows, view.from);
  if (view.kind == TRANSITIONS) transitions(root, view, view, draw, table, 0);
  gatherLeaves(root, view, draw, shows, 0);
  for (let k: u32 = 0; k < view.count; k++) {
    const column = ViewColumn.of(view, k);
    if (column.source == MASKED) fillMask(d, column.at, count, shows);
    else if (column.source == DRAWN) column.at = <u32>d.column(column.which);
  }
  view.width = shows;
}

/** Fills the columns of transitions. `shown`: the view or mixture whose columns are filled, from the entry `first` on. */
export function transitions(root: Root, view: View, shown: View, draw: usize, table: u32, first: u32): void {
  const n = view.n == 0 ? MAX_LENGTH : view.n;
  draw_n_step(draw, root.pool, table, view.reward, view.discount, view.terminated, n, view.gamma, ENDS_BEHIND);
  for (let k: u32 = 0; k < shown.count; k++) {
    const column = ViewColumn.of(shown, k);
    if (column.source != SUMMED) continue;
    const out = <usize>(column.at + first * column.returnBytes());
    const components = Field.of(view.reward).size;
    draw_vector_returns(draw, root.pool, view.reward, components, view.discount, view.terminated, view.gamma, u32(view.double == 0), out);
  }
  if (view.double != 0) return;
  draw_narrow(draw, RETURN);
  draw_narrow(draw, DISCOUNT);
  if (view.weighs != 0) draw_narrow(draw, WEIGHT);
}

/**
 * Gathers the columns of leaves: `width` steps each, or the first step and the bootstrap. `first`: the row of the columns at which the first entry is stored.
 */
export function gatherLeaves(root: Root, view: View, draw: usize, width: u32, first: u32): void {
  const base = <usize>root.batch;
  const list = <u32>base + view.count * <u32>OUTPUT_BYTES;
  let outputs: u32 = 0;
  for (let k: u32 = 0; k < view.count; k++) {
    const column = ViewColumn.of(view, k);
    if (!column.isLeaf()) continue;
    const output = changetype<Output>(base + <usize>outputs * OUTPUT_BYTES);
    output.leaf = column.which;
    output.steps = column.source == ALL || column.source == FIRST ? list : list + 4;
    output.count = column.source == ALL ? width : 1;
    output.each = 0;
    output.to = column.at + first * Field.of(column.which).arrayBytes();
    outputs += 1;
  }
  gather(draw, root.pool, base, outputs);
}

/** Writes 1 for each step and 0 for padding. */
function fillMask(d: Draw, at: u32, count: u32, width: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const length = load<u32>(d.u32At(LENGTH, i));
    for (let k: u32 = 0; k < width; k++) store<u8>(at++, u8(k < length));
  }
}
