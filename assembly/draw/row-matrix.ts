/** Holds the rows of a draw: a matrix of row names, one line per entry, with 0 for padding. */
import { random_below } from "../memory/random";
import { Pool } from "../rows/pool";
import { PLACE } from "../rows/row";
import { NUMBERED, Run, SINGLE } from "../rows/run";
import { Stream } from "../rows/stream";
import { Items } from "../selectors/items";
import { Item } from "../tables/slots";
import { Table } from "../tables/table";
import { DRAWN, Draw, KEY, LENGTH, PROBABILITY, SLOT, START } from "./draw";
import { StreamSet } from "./windows/streams";

/** The source of an entry's run: an item, a stream of a set, or a single row that the host names. */
export const OF_ITEMS: u32 = 0;
export const OF_STREAMS: u32 = 1;
export const OF_ROWS: u32 = 2;

/** The place of the run in a longer item. The last value reads the place from START. */
export const FROM_END: u32 = 1;
export const FROM_ANY: u32 = 2;
const FROM_START: u32 = 3;
/** A flag that can be added to each of the values above: read past the end of an episode. */
export const CROSS: u32 = 4;

/**
 * Fills `width` rows for each of n entries, and the column LENGTH (rows that exist). `kind`: 0 items of a table (SLOT); 1 streams of a set (SLOT), from START
 * on; 2 rows named by the host, one per entry, of the stream `source` (all with equal probability) or of no stream (0). `from`, for items: 0 begins with the
 * first step, 1 ends with the last step, 2 picks uniformly among the starts that fit, 3 uses START; + 4 reads past the end of an episode. Returns n, or 0 if
 * the draw has no room for n, in which case nothing is written. O(n × width), and O(start) for an item whose rows are not adjacent
 */
export function draw_rows(draw: usize, kind: u32, source: usize, n: u32, width: u32, from: u32): u32 {
  const d = changetype<Draw>(draw);
  if (d.single != 0 && kind == OF_ITEMS && width == 1) return n;
  if (!d.fits(n, width)) return 0;
  d.count = n;
  d.width = width;
  if (kind == OF_ITEMS) fillItems(d, changetype<Table>(source), from & ~CROSS, (from & CROSS) != 0);
  else if (kind == OF_STREAMS) fillStreams(d, changetype<StreamSet>(source));
  else nameRows(d, source);
  return n;
}

/** Returns the address from which `draw_picked_rows` reads the steps to look up, i32 each. */
export function draw_picks(draw: usize): usize {
  return <usize>changetype<Draw>(draw).selected;
}

/**
 * Like `draw_rows` for n items of a table, but looks up only `picks` steps of each window. The steps are at `draw_picks`, counted from the start of the window,
 * or negative from its end. LENGTH is the length of the window. O(n × picks). The call reads more if rows are neither adjacent nor in whole blocks (all steps
 * up to the last one looked up), or if an episode ends inside an item (all steps up to that end).
 */
export function draw_picked_rows(draw: usize, table: usize, n: u32, width: u32, from: u32, picks: u32): u32 {
  const d = changetype<Draw>(draw);
  if (!d.fits(n, picks)) return 0;
  d.count = n;
  d.width = picks;
  d.picks = picks;
  const t = changetype<Table>(table);
  const isFromStart = (from & ~CROSS) == 0;
  const slots = d.column(SLOT);
  const lengths = d.column(LENGTH);
  const items = changetype<usize>(t.slots().item(0));
  const end = (<usize>n) << 2;
  const line = (<usize>picks) << 2;
  if (!isFromStart || picks == 0) {
    for (let i: u32 = 0; i < n; i++) pickSteps(d, t, i, width, from);
    return n;
  }
  // The other items are listed and follow at the end, because a branch in the loops would often be mispredicted.
  const others = d.column(DRAWN);
  let other = others;
  let to = <usize>d.rows;
  for (let at: usize = 0; at < end; at += 4, to += line) {
    const item = changetype<Item>(Items.at(items, load<u32>(slots + at)));
    store<u32>(lengths + at, min(width, item.length()));
    store<u32>(to, item.first);
    store<u32>(other, <u32>at >> 2);
    other += item.numbered() ? 0 : 4;
  }
  for (let k = picks; k > 0; k--) pickNumbered(d, t.rows(), k - 1);
  for (let at = others; at < other; at += 4) pickSteps(d, t, load<u32>(at), width, from);
  return n;
}

/**
 * Writes the k-th picked step of each item's window; the result has no meaning if the item is not numbered. The first place of each line contains the item's
 * first row until the first picked step, which is written last, replaces it. A loop per step has fewer instructions than a loop per item.
 */
function pickNumbered(d: Draw, pool: Pool, k: u32): void {
  const place = (<usize>k) << 2;
  const pick = load<i32>(<usize>d.selected + place);
  // A window begins with the first row.
  if (pick == 0 && k == 0) return;
  const lengths = d.column(LENGTH);
  // The fields are read once, because the compiler must assume that each store below changes them.
  const end = (<usize>d.count) << 2;
  const line = (<usize>d.picks) << 2;
  const rows = pool.rows;
  const reciprocal = pool.reciprocal;
  const directory = <usize>pool.directory;
  const last = pool.blocks - 1;
  let from = <usize>d.rows;
  for (let at: usize = 0; at < end; at += 4, from += line) {
    const first = load<u32>(from);
    const length = load<u32>(lengths + at);
    const step = Step.of(pick, length);
    const row = Pool.numbered(directory, rows, reciprocal, last, pool.blockNumber(first), (first & PLACE) + step);
    store<u32>(from + place, step < length ? row : 0);
  }
}

/** Writes the length and the picked steps of the window of entry i, from any start and over any links. */
function pickSteps(d: Draw, t: Table, i: u32, width: u32, from: u32): void {
  const pool = t.rows();
  const item = t.slots().item(d.slot(i));
  const start = startOf(d, t, i, item.length(), width, from & ~CROSS);
  let length = start < item.length() ? min(width, item.length() - start) : 0;
  const kind = item.kind();
  const first = start == 0 || length == 0 ? item.first : Run.skip(pool, item.first, start, kind);
  if ((from & CROSS) == 0 && length != 0 && (kind & SINGLE) == 0) length = Run.reach(pool, first, length);
  store<u32>(d.u32At(LENGTH, i), length);
  let row = first;
  let at: u32 = 0;
  let to = <usize>d.rows + ((<usize>(i * d.picks)) << 2);
  const end = <usize>d.selected + ((<usize>d.picks) << 2);
  for (let pick = <usize>d.selected; pick < end; pick += 4, to += 4) {
    const step = Step.of(load<i32>(pick), length);
    if (step >= length) {
      store<u32>(to, 0);
      continue;
    }
    if ((kind & NUMBERED) != 0) {
      store<u32>(to, pool.rowBehind(first, step));
      continue;
    }
    // The walk continues from the previous step, unless that step is later.
    const back = step < at;
    row = Run.skip(pool, back ? first : row, back ? step : step - at, kind);
    at = step;
    store<u32>(to, row);
  }
}

@unmanaged
class Step {
  /**
   * Returns the place of a step in a window of `length`; a negative step counts from the end. A result of `length` or more means that the step does not exist.
   */
  @inline
  static of(pick: i32, length: u32): u32 {
    return <u32>pick + (pick < 0 ? length : 0);
  }
}

/** Fills START with the places at which windows of `width` steps begin: in longer items a random start, uniformly; in all other items 0. */
export function draw_starts(draw: usize, table: usize, width: u32): void {
  const t = changetype<Table>(table);
  const d = changetype<Draw>(draw);
  for (let i: u32 = 0; i < d.count; i++) store<u32>(d.u32At(START, i), anyStart(t, t.slots().item(d.slot(i)).length(), width));
}

function fillItems(d: Draw, t: Table, from: u32, cross: bool): void {
  const pool = t.rows();
  const width = d.width;
  // The count is read once, because the compiler must assume that each store below changes it.
  const count = d.count;
  const slots = d.column(SLOT);
  const lengths = d.column(LENGTH);
  const items = changetype<usize>(t.slots().item(0));
  let row = <usize>d.rows;
  for (let i: u32 = 0; i < count; i++) {
    const item = changetype<Item>(Items.at(items, load<u32>(slots + ((<usize>i) << 2))));
    const length = item.length();
    const start: u32 = from == 0 ? 0 : startOf(d, t, i, length, width, from);
    let filled = row;
    if (start < length) {
      const last = row + ((<usize>min(width, length - start)) << 2);
      if (item.plain()) filled = fillPlain(item.first + start, row, last);
      else filled = item.piecewise() ? Run.pieces(pool, item.first, start, row, last) : Run.rows(pool, item.first, start, row, last, cross);
    }
    row = close(lengths + ((<usize>i) << 2), width, row, filled);
  }
}

/** Returns the place in an item of `length` steps at which the window of entry i begins. */
function startOf(d: Draw, t: Table, i: u32, length: u32, width: u32, from: u32): u32 {
  if (from == FROM_START) return d.start(i);
  if (from == FROM_ANY) {
    const start = anyStart(t, length, width);
    store<u32>(d.u32At(START, i), start);
    return start;
  }
  return from == FROM_END && length > width ? length - width : 0;
}

function fillStreams(d: Draw, set: StreamSet): void {
  const width = d.width;
  let row = <usize>d.rows;
  for (let i: u32 = 0; i < d.count; i++) {
    const stream = d.slot(i);
    const start = d.start(i);
    // The host names the stream. A stream that does not exist has no steps.
    const recent = set.stream(min(stream, set.n - 1)).recent();
    const length = stream < set.n && start < recent.count ? min(width, recent.count - start) : 0;
    for (let k: u32 = 0; k < length; k++) store<u32>(row + ((<usize>k) << 2), recent.get(start + k));
    row = close(d.u32At(LENGTH, i), width, row, row + ((<usize>length) << 2));
  }
}

function nameRows(d: Draw, source: usize): void {
  const probability: f64 = source == 0 ? 0 : 1 / <f64>changetype<Stream>(source).recent().count;
  for (let i: u32 = 0; i < d.count; i++) {
    store<u32>(d.u32At(LENGTH, i), 1);
    store<f64>(d.f64At(KEY, i), 0);
    store<f64>(d.f64At(PROBABILITY, i), probability);
  }
}

function fillPlain(n: u32, at: usize, end: usize): usize {
  for (; at < end; at += 4) store<u32>(at, n++);
  return at;
}

/** Stores the number of rows of an entry, and fills the places after these rows with zeros. Returns the address at which the next entry begins. */
function close(length: usize, width: u32, row: usize, filled: usize): usize {
  store<u32>(length, <u32>(filled - row) >> 2);
  const end = row + ((<usize>width) << 2);
  for (; filled < end; filled += 4) store<u32>(filled, 0);
  return end;
}

function anyStart(t: Table, length: u32, width: u32): u32 {
  return length > width ? random_below(t.random(), length - width + 1) : 0;
}
