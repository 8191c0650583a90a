/**
 * Draws batches of mixtures: each source fills its rows of one batch in the batch region. All checks precede the first draw.
 *
 * batch │ OUTPUT × columns │ i32 × 2: the steps that they show │ a column each │ DRAW of one source after the other, with its columns │
 */
import { Draw, draw_bytes, draw_init, WEIGHT } from "../draw/draw";
import { Mixture, mixture_split } from "../draw/mixture";
import { BOOTSTRAP, OUTPUT_BYTES } from "../draw/output";
import { draw_rows, OF_ITEMS } from "../draw/row-matrix";
import { table_close_draw, table_sample } from "../draw/sample";
import { draw_weights } from "../draw/weights";
import { E_UNSUPPORTED } from "../memory/error";
import { dtypeBytes } from "../rows/leaf";
import { DISTINCT } from "../selectors/selector";
import { Field } from "./field";
import { Source } from "./mixture";
import { CLOSED, NOT_FOUND, Refusal } from "./refusal";
import { BATCH, opened, Root } from "./root";
import { checkDraw, drawBatch, gatherLeaves, look, noRoomForBatch, notReady, sureDraws, transitionRows, transitions } from "./sample";
import { FALLBACK, MIXTURE, RANDOM, View, viewOf } from "./view";
import { DRAWN, MIXED, SUMMED, ViewColumn } from "./view-columns";

/** The value of `weighs` if weights are divided by the largest weight of the batch. */
const BY_BATCH: u32 = 2;

/** Draws up to n items of a view, or n rows of a mixture. `beta`: the exponent of the weights, if any. Returns the number drawn, or a code. Never waits. */
export function replay_sample(handle: u32, view: u32, n: u32, beta: f64): i32 {
  const root = opened(handle);
  if (root === null) return CLOSED;
  const v = viewOf(view);
  if (v === null) return NOT_FOUND;
  const code = checkDraw(v, n, beta);
  if (code != 0) return code;
  return v.kind == MIXTURE ? sampleMixture(root, v, view, n, beta) : drawBatch(root, v, view, n, beta, 0);
}

function sampleMixture(root: Root, mixture: View, number: u32, n: u32, beta: f64): i32 {
  const k = mixture.nextCount;
  const m = split(mixture, n);
  if (m === null) return Refusal.last();
  let most: u32 = 0;
  let rows: f64 = 0;
  for (let i: u32 = 0; i < k; i++) {
    const count = rowsOf(m, i, k);
    if (count == 0) continue;
    const width = rowsIn(root, mixture, m, i);
    if (width < 0) return <i32>width;
    Source.of(mixture, i).width = <u32>width;
    most = max(most, count);
    rows = max(rows, <f64>count * <f64>width);
  }
  const draw = plan(root, mixture, n, most, rows);
  if (draw == 0) return noRoomForBatch(n);
  root.shown = 0;
  let first: u32 = 0;
  for (let i: u32 = 0; i < k; i++) {
    const count = rowsOf(m, i, k);
    if (count == 0) continue;
    fillPart(root, mixture, View.of(Source.of(mixture, i).view), i, draw, first, count, beta);
    first += count;
  }
  if (mixture.weighs != 0) finishWeights(mixture, n);
  // Only the random state and the carries are kept. The shares of `m` apply to this draw only, because it may omit a source.
  const bytes = <usize>Mixture.bytes(k);
  const own = <usize>mixture.mixture;
  memory.copy(own, own + bytes, 32);
  memory.copy(changetype<Mixture>(own).carry(0, k), m.carry(0, k), (<usize>k) << 3);
  root.changes += 1;
  root.shown = number + 1;
  root.draw = <u32>draw;
  mixture.entries = n;
  mixture.width = 1;
  return n;
}

/** Returns the number of rows that a source contributes. */
function rowsOf(m: Mixture, i: u32, k: u32): u32 {
  return load<u32>(m.rows(i, k));
}

/** Computes how many rows each source contributes, in the MIXTURE that holds the state after the draw; null, with a refusal, if no source has rows. */
function split(mixture: View, n: u32): Mixture | null {
  const k = mixture.nextCount;
  const own = <usize>mixture.mixture;
  const bytes = <usize>Mixture.bytes(k);
  memory.copy(own + bytes, own, bytes);
  const m = changetype<Mixture>(own + bytes);
  if ((mixture.flags & FALLBACK) != 0) {
    let missing: i32 = -1;
    let has = false;
    for (let i: u32 = 0; i < k; i++) {
      if (load<f64>(m.share(i)) == 0) continue;
      const t = View.of(Source.of(mixture, i).view).tableOptions().table();
      if (<f64>t.count >= t.limiter().options().minSize) has = true;
      else {
        store<f64>(m.share(i), 0);
        if (missing < 0) missing = i;
      }
    }
    if (!has) {
      const view = View.of(Source.of(mixture, missing).view);
      if (transitionRows(Root.the(), view, 1, 0, true) >= 0) unreachable();
      return null;
    }
  }
  mixture_split(changetype<usize>(m), k, n, u32((mixture.flags & RANDOM) == 0));
  return m;
}

/** Returns the number of rows of the longest transition that a source may contribute, or the code of a refusal if the source cannot contribute now. */
function rowsIn(root: Root, mixture: View, m: Mixture, i: u32): i64 {
  const k = mixture.nextCount;
  const view = View.of(Source.of(mixture, i).view);
  let n: u32 = 0;
  let sources: u32 = 0;
  let flags: u32 = 0;
  for (let j: u32 = 0; j < k; j++) {
    const other = View.of(Source.of(mixture, j).view);
    if (other.table != view.table || rowsOf(m, j, k) == 0) continue;
    n += rowsOf(m, j, k);
    sources += 1;
    if (view.tableOptions().table().maxTimesSampled != 0) flags |= other.flags & DISTINCT;
  }
  const width = transitionRows(root, view, rowsOf(m, i, k), 0, sources < 2);
  if (width < 0) return width;
  // A preview detects draws that the sampler does not support.
  if ((view.amongNow() != 0 || view.flags != 0) && look(root, view, 1, 0) === null) return Refusal.last();
  if (sources < 2) return width;
  if (view.amongNow() != 0 && view.tableOptions().table().maxTimesSampled != 0)
    return Refusal.of(E_UNSUPPORTED).put("among needs a table without timesSampled if another source draws from the same table").code;
  // The first check covers draws of any items, the second one draws of distinct items.
  let sure = sureDraws(root, view, n, 0, 0);
  if (sure >= <i64>n && flags != 0) sure = sureDraws(root, view, n, flags, 0);
  return sure < <i64>n ? (sure < 0 ? sure : notReady(view, n, <u32>sure)) : width;
}

/** Makes room for a batch with its OUTPUTs. Returns the address of the DRAWs, or 0 if there is no memory. */
function plan(root: Root, mixture: View, n: u32, most: u32, rows: f64): usize {
  const head = OUTPUT_BYTES * mixture.count + 8;
  let bytes = aligned(head);
  for (let k: u32 = 0; k < mixture.count; k++) bytes += columnBytes(ViewColumn.of(mixture, k), n);
  const whole = bytes + <f64>draw_bytes(most) + 12 * rows;
  const base: usize = whole > <f64>u32.MAX_VALUE ? 0 : root.region(BATCH, <u64>whole);
  if (base == 0) return 0;
  const list = base + <usize>(mixture.count * <u32>OUTPUT_BYTES);
  store<i32>(list, 0);
  store<i32>(list + 4, BOOTSTRAP);
  let at = base + <usize>aligned(head);
  for (let k: u32 = 0; k < mixture.count; k++) {
    const column = ViewColumn.of(mixture, k);
    column.at = <u32>at;
    at += <usize>columnBytes(column, n);
  }
  return at;
}

function aligned(bytes: f64): f64 {
  return Math.ceil(bytes / 16) * 16;
}

/** Returns the number of bytes of a column of n rows. Drawn values take 8 bytes each, because weights are f64 until they are divided. */
function columnBytes(column: ViewColumn, n: u32): f64 {
  if (column.source == SUMMED) return aligned(<f64>n * <f64>column.returnBytes());
  return aligned(<f64>n * (column.isLeaf() ? <f64>Field.of(column.which).arrayBytes() : 8));
}

/** Fills the rows of one source, starting with row `first`. */
function fillPart(root: Root, mixture: View, view: View, number: u32, draw: usize, first: u32, count: u32, beta: f64): void {
  const d = changetype<Draw>(draw);
  const table = view.tableOptions().handle;
  const width = Source.of(mixture, number).width;
  draw_init(draw, count, count * width);
  if (<u32>table_sample(table, draw, count, view.flags, view.amongNow()) != count) unreachable();
  draw_rows(draw, OF_ITEMS, table, count, width, view.from);
  transitions(root, view, mixture, draw, table, first);
  if (view.weighs != 0) draw_weights(draw, table, beta, view.weighs == BY_BATCH ? 0 : view.weighs - 1);
  gatherLeaves(root, mixture, draw, 1, first);
  for (let k: u32 = 0; k < mixture.count; k++) {
    const column = ViewColumn.of(mixture, k);
    if (column.source == MIXED) memory.fill(column.at + first, <u8>number, count);
    if (column.source != DRAWN) continue;
    const each: u32 = column.which == WEIGHT ? 8 : dtypeBytes(column.dtype);
    memory.copy(column.at + first * each, d.column(column.which), count * each);
  }
  table_close_draw(table);
}

/** Divides weights by the largest of the batch if requested, and converts them to f32 if the batch uses f32. */
function finishWeights(mixture: View, n: u32): void {
  let at: usize = 0;
  for (let k: u32 = 0; k < mixture.count; k++) {
    const column = ViewColumn.of(mixture, k);
    if (column.source == DRAWN && column.which == WEIGHT) at = column.at;
  }
  let largest: f64 = mixture.weighs == BY_BATCH ? 0 : 1;
  for (let i: usize = 0; mixture.weighs == BY_BATCH && i < n; i++) largest = max(largest, load<f64>(at + (i << 3)));
  for (let i: usize = 0; i < n; i++) {
    const weight = load<f64>(at + (i << 3)) / largest;
    if (mixture.double != 0) store<f64>(at + (i << 3), weight);
    else store<f32>(at + (i << 2), <f32>weight);
  }
}
