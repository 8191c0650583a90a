/**
 * Draws: n items of a view's table, and a batch of them in the region of batches.
 *
 * batch │ OUTPUT × leaves │ i32: the steps that they show │ a column a leaf │ mask │ DRAW, with its columns │
 */
import { DISCOUNT, Draw, draw_bytes, draw_init, draw_narrow, LENGTH, RETURN, WEIGHT } from "../draw/draw";
import { gather } from "../draw/gather";
import { draw_n_step, ENDS_BEHIND } from "../draw/n-step";
import { BOOTSTRAP, OUTPUT_BYTES, Output } from "../draw/output";
import { draw_rows, OF_ITEMS } from "../draw/row-matrix";
import { SIZED, table_close_draw, table_loose, table_peek, table_sample } from "../draw/sample";
import { draw_weights } from "../draw/weights";
import { E_OUT_OF_MEMORY, E_RATE_LIMITED, E_UNSUPPORTED } from "../memory/error";
import { header } from "../memory/layout";
import { DISTINCT } from "../selectors/selector";
import { table_sure } from "../tables/inspect";
import { MAX_LENGTH } from "../tables/slots";
import { Field } from "./field";
import { CLOSED, EMPTY, INVALID, NOT_FOUND, Refusal, TOO_FEW } from "./refusal";
import { BATCH, opened, Root, WORK } from "./root";
import { singleRow, TRANSITIONS, tooManySteps, View, viewOf } from "./view";
import { ALL, DRAWN, FIRST, LAST, MASKED, ViewColumn } from "./view-columns";
import { longestRule } from "./writer-options";

/** Draws up to n items of a view; how many. `beta`: of its weights, where it has some. Never waits. */
export function replay_sample(handle: u32, view: u32, n: u32, beta: f64): i32 {
  const root = opened(handle);
  if (root === null) return CLOSED;
  const v = viewOf(view);
  if (v === null) return NOT_FOUND;
  if (n - 1 >= MAX_LENGTH) return Refusal.of(INVALID).put("n must be an integer from 1 up to ").number(MAX_LENGTH).put(", got ").number(n).code;
  if (v.weighs != 0 && !Number.isFinite(beta)) return Refusal.of(INVALID).put("beta must be a finite number, got ").number(beta).code;
  const width = v.kind == TRANSITIONS ? transitionRows(root, v, n) : windowRows(root, v, n);
  if (width < 0) return <i32>width;
  const draw = plan(root, v, n, <u32>width);
  if (draw == 0) return Refusal.of(E_OUT_OF_MEMORY).put("there is no room for a batch of ").number(n).put(": ask for fewer, or raise bytes").code;
  root.shown = 0;
  const count = drawInto(root, v, draw, n, <u32>width, beta);
  if (count < 0) return refusedDraw();
  root.changes += 1;
  root.shown = view + 1;
  root.draw = <u32>draw;
  v.entries = count;
  return count;
}

/** Steps of the longest item that may come; or what is refused. */
function windowRows(root: Root, view: View, n: u32): i64 {
  if (view.n != 0) return view.n;
  const longest = view.tableOptions().table().longest;
  if (!table_loose(view.tableOptions().handle, n, longest, root.stagedBytes)) return longest;
  const draw = look(root, view, n);
  return draw === null ? <i64>Refusal.last() : <i64>draw.longest;
}

/** Rows of the longest transition that may come; or why there cannot be n of them. */
function transitionRows(root: Root, view: View, n: u32): i64 {
  const options = view.tableOptions();
  const t = options.table();
  const longest = t.longest;
  if (t.count == 0) return Refusal.of(EMPTY).put("table ").word(options.name, options.bytes).put(" is empty: append steps, or wait for its rate limiter").code;
  const most = max(longest, longestRule(view.table));
  if (view.n >= most) return tooManySteps(view, most);
  const width: i64 = view.n == 0 ? longest : min(view.n + 1, longest);
  const counts: usize = t.maxTimesSampled == 0 ? 1 : root.region(WORK, 4 * <u64>min(n, t.maxTimesSampled) + 4);
  if (counts == 0) return noRoomToLook(n);
  const sure = table_sure(options.handle, n, view.flags & DISTINCT, view.among, counts);
  if (sure < n) return notReady(view, n, sure);
  if (!table_loose(options.handle, n, <u32>width, root.stagedBytes) && t.shortest != 1) return width;
  const draw = look(root, view, n);
  if (draw === null) return Refusal.last();
  return draw.shortest == 1 ? singleRow(options) : min(width, <i64>draw.longest);
}

/** What a draw of a view would give; null, with a refusal, where it cannot be made. */
function look(root: Root, view: View, n: u32): Draw | null {
  const draw = root.region(WORK, draw_bytes(n));
  if (draw == 0) {
    noRoomToLook(n);
    return null;
  }
  draw_init(draw, n, 0);
  if (table_peek(view.tableOptions().handle, draw, n, view.flags + SIZED, view.among) >= 0) return changetype<Draw>(draw);
  refusedDraw();
  return null;
}

function noRoomToLook(n: u32): i32 {
  return Refusal.of(E_OUT_OF_MEMORY).put("there is no room to draw ").number(n).put(": ask for fewer, or raise bytes").code;
}

/** Why n draws do not pass now. */
function notReady(view: View, n: u32, sure: u32): i32 {
  const options = view.tableOptions();
  const t = options.table();
  if (t.limiter().canSample(n, t.count)) {
    const refusal = Refusal.of(TOO_FEW).put("table ").word(options.name, options.bytes).put(" has ").number(t.count);
    if ((view.flags & DISTINCT) != 0 && sure < t.count) refusal.put(" items, of which ").number(sure).put(" can be drawn,");
    else refusal.put(" items,");
    return refusal.put(" which are too few for ").number(n).put(" draws: sample fewer, or without distinct").code;
  }
  const refusal = Refusal.of(E_RATE_LIMITED).put("table ").word(options.name, options.bytes).put(" has ").number(t.count);
  return refusal.put(" items, and its rate limiter does not allow ").number(n).put(" draws now: append first").code;
}

/** Why the core refused a draw. */
function refusedDraw(): i32 {
  const refusal = Refusal.of(E_UNSUPPORTED);
  if (header().errorArgument == 3) return refusal.put("stratified needs a uniform or prioritized sampler, no distinct and no timesSampled").code;
  return refusal.put("among needs a sampler that knows ages: fifo, uniform, or prioritized with a fifo or lifo remover").code;
}

/** Room for a batch, with its OUTPUTs; where its DRAW is. 0: there is no memory. */
function plan(root: Root, view: View, n: u32, width: u32): usize {
  const steps = max(width, 2);
  const head = OUTPUT_BYTES * view.count + 4 * steps;
  // As fractions, which do not wrap: a batch may come to more than 64 bits count.
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

/** Bytes of a column of n entries, of those that are not the draw's own. */
function columnBytes(column: ViewColumn, n: u32, width: u32): f64 {
  if (column.source == DRAWN) return 0;
  const each = column.isLeaf() ? Field.of(column.which).valueBytes : 1;
  return aligned(<f64>n * <f64>(column.source == FIRST || column.source == LAST ? 1 : width) * <f64>each);
}

function aligned(bytes: f64): f64 {
  return Math.ceil(bytes / 16) * 16;
}

/** Draws, and gathers what was drawn; how many, or a code, and then nothing was. */
function drawInto(root: Root, view: View, draw: usize, n: u32, width: u32, beta: f64): i32 {
  const d = changetype<Draw>(draw);
  const table = view.tableOptions().handle;
  const count = table_sample(table, draw, n, view.flags, view.among);
  if (count < 0) return count;
  const shows = view.kind == TRANSITIONS || view.n != 0 ? width : <u32>d.longest;
  if (view.weighs != 0) draw_weights(draw, table, beta, view.weighs - 1);
  draw_rows(draw, OF_ITEMS, table, count, shows, view.from);
  if (view.kind == TRANSITIONS) transitions(root, view, draw, table);
  gatherLeaves(root, view, draw, shows);
  for (let k: u32 = 0; k < view.count; k++) {
    const column = ViewColumn.of(view, k);
    if (column.source == MASKED) fillMask(d, column.at, count, shows);
    else if (!column.isLeaf()) column.at = <u32>d.column(column.which);
  }
  table_close_draw(table);
  view.width = shows;
  return count;
}

function transitions(root: Root, view: View, draw: usize, table: u32): void {
  const n = view.n == 0 ? MAX_LENGTH : view.n;
  draw_n_step(draw, root.pool, table, view.reward, view.discount, view.terminated, n, view.gamma, ENDS_BEHIND);
  if (view.double != 0) return;
  draw_narrow(draw, RETURN);
  draw_narrow(draw, DISCOUNT);
  if (view.weighs != 0) draw_narrow(draw, WEIGHT);
}

/** The columns of leaves: `width` steps each, or one of the first and the bootstrap. */
function gatherLeaves(root: Root, view: View, draw: usize, width: u32): void {
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
    output.to = column.at;
    outputs += 1;
  }
  gather(draw, root.pool, base, outputs);
}

/** 1 for a step, 0 for padding. */
function fillMask(d: Draw, at: u32, count: u32, width: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const length = load<u32>(d.u32At(LENGTH, i));
    for (let k: u32 = 0; k < width; k++) store<u8>(at++, u8(k < length));
  }
}
