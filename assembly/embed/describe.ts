/**
 * Writes descriptions for hosts: the addresses of columns, and counters.
 *
 * COLUMNS, 24 bytes, then COLUMN × columns:
 *    0 │ columns u32 │ entries u32 │  a packed step has 1 entry
 *    8 │ width u32   │ bytes u32   │  steps of a window · of a packed step
 *   16 │ blocked u32 │ … u32       │  why the batch has fewer entries than requested: 0 the batch is complete, 1 below minSize, 2 the rate limiter, 3 no more distinct items
 *
 * COLUMN, 40 bytes:
 *    0 │ name u32  │ nameBytes u32 │  UTF-8
 *    8 │ dtype u32 │ maxBytes u32  │  as in rows/leaf.ts, half floats as f32 · of text, whose elements are a length u32, UTF-8, and zeros up to a multiple of 4
 *   16 │ dims u32  │ rank u32      │  address of u32 × rank: the shape of a value
 *   24 │ steps u32 │ drawn u32     │  steps per entry if the column has that dimension, else 0 · 1 if the column belongs to the draw, and not to a leaf
 *   32 │ at u32    │ bytes u32     │  address of the column, or its offset in a packed step · bytes per entry
 *
 * NUMBERS, 104 bytes: f64 × 13
 */
import { Draw } from "../draw/draw";
import { arena_used } from "../memory/arena";
import { E_OUT_OF_MEMORY } from "../memory/error";
import { dtypeBytes } from "../rows/leaf";
import { table_counter } from "../tables/inspect";
import { table_newest } from "../tables/keys";
import { Field } from "./field";
import { OUT_OF_TURN, Refusal } from "./refusal";
import { DESCRIPTION, opened, Root } from "./root";
import { tableOf } from "./table-options";
import { View, viewOf } from "./view";
import { ALL, capital, headName, MASKED, NEXT, SUMMED, ViewColumn } from "./view-columns";

const COLUMNS_BYTES: u32 = 24;
const COLUMN_BYTES: u32 = 40;
const NUMBERS_BYTES: u32 = 104;
/** The number of bytes reserved for the word with which a name begins. The longest such word has 15 bytes. */
const HEAD_BYTES: u32 = 16;
/** The view number with which a host requests the description of a packed step. */
const STEP: u32 = u32.MAX_VALUE;
/** The number of counters with which NUMBERS begins, as `table_counter` returns them. */
const COUNTERS: u32 = 10;

@unmanaged
class Columns {
  columns: u32;
  entries: u32;
  width: u32;
  bytes: u32;
  blocked: u32;
  unused: u32;
}
if (offsetof<Columns>() != COLUMNS_BYTES) ERROR("COLUMNS is 24 bytes");

@unmanaged
class Column {
  name: u32;
  nameBytes: u32;
  dtype: u32;
  maxBytes: u32;
  dims: u32;
  rank: u32;
  steps: u32;
  drawn: u32;
  at: u32;
  bytes: u32;

  /** Copies the dtype and the shape of a leaf. */
  likeLeaf(field: Field): void {
    this.dtype = field.dtype;
    this.maxBytes = field.maxBytes;
    this.dims = <u32>Root.the().dims().get(field.dims);
    this.rank = field.rank;
    this.bytes = field.arrayBytes();
  }
}
if (offsetof<Column>() != COLUMN_BYTES) ERROR("COLUMN is 40 bytes");

@unmanaged
class Numbers {
  size: f64;
  steps: f64;
  pending: f64;
  inserts: f64;
  samples: f64;
  deletes: f64;
  uniqueSamples: f64;
  episodes: f64;
  deletedEpisodes: f64;
  retiredSlots: f64;
  newest: f64;
  live: f64;
  used: f64;
}
if (offsetof<Numbers>() != NUMBERS_BYTES || offsetof<Numbers>("newest") != COUNTERS << 3) ERROR("NUMBERS is 104 bytes, counters first");

/**
 * Returns COLUMNS of a view's batch, which must be the last one drawn, or of a packed step for view -1. The result is valid until the next call that describes
 * something. Returns 0 if the call is refused.
 */
export function replay_columns(handle: u32, view: u32): u32 {
  const root = opened(handle);
  if (root === null) return 0;
  if (view == STEP) return stepColumns(root);
  const v = viewOf(view);
  if (v === null) return 0;
  if (root.shown == view + 1) return batchColumns(root, v);
  Refusal.of(OUT_OF_TURN).put("view must be the view of the newest batch, got ").number(view).put(". Call replay_sample with it first");
  return 0;
}

/** Returns NUMBERS of a table: its ten counters, the key of its newest item, the steps in use, and the bytes in use. Returns 0 if the call is refused. */
export function replay_stats(handle: u32, table: u32): u32 {
  const root = opened(handle);
  if (root === null) return 0;
  const options = tableOf(table);
  if (options === null) return 0;
  const at = root.region(DESCRIPTION, NUMBERS_BYTES);
  if (at == 0) return noRoomToTell();
  for (let i: u32 = 0; i < COUNTERS; i++) store<f64>(at + (i << 3), table_counter(options.handle, i));
  const numbers = changetype<Numbers>(at);
  numbers.newest = table_newest(options.handle);
  numbers.live = root.rows().live();
  numbers.used = arena_used();
  return <u32>at;
}

export function noRoomToTell(): u32 {
  Refusal.of(E_OUT_OF_MEMORY).put("there is no room for the result. Increase bytes");
  return 0;
}

function stepColumns(root: Root): u32 {
  const count = root.fields().count;
  const columns = tell(root, count, 0);
  if (columns === null) return noRoomToTell();
  columns.entries = 1;
  for (let i: u32 = 0; i < count; i++) {
    const field = Field.of(i);
    const column = columnAt(columns, i);
    column.likeLeaf(field);
    column.name = field.path;
    column.nameBytes = field.bytes;
    column.at = field.array;
  }
  return <u32>changetype<usize>(columns);
}

function batchColumns(root: Root, view: View): u32 {
  let names: u32 = 0;
  for (let k: u32 = 0; k < view.count; k++) names += HEAD_BYTES + ViewColumn.of(view, k).bytes;
  const columns = tell(root, view.count, names);
  if (columns === null) return noRoomToTell();
  columns.entries = view.entries;
  columns.width = view.width;
  columns.blocked = <u32>changetype<Draw>(root.draw).blocked;
  let name = <u32>changetype<usize>(columnAt(columns, view.count));
  for (let k: u32 = 0; k < view.count; k++) {
    const shown = ViewColumn.of(view, k);
    const column = columnAt(columns, k);
    column.at = shown.at;
    column.dtype = shown.dtype;
    column.drawn = u32(!shown.isLeaf());
    if (shown.isLeaf()) column.likeLeaf(Field.of(shown.which));
    else column.bytes = dtypeBytes(shown.dtype);
    if (shown.source == SUMMED) {
      column.likeLeaf(Field.of(shown.which));
      column.dtype = shown.dtype;
      column.bytes = shown.returnBytes();
    }
    if (shown.source == ALL || shown.source == MASKED) {
      column.steps = view.width;
      column.bytes *= view.width;
    }
    column.name = name;
    name = writeName(shown, name);
    column.nameBytes = name - column.name;
  }
  return <u32>changetype<usize>(columns);
}

/** Returns zeroed COLUMNS with room for `columns` columns and `names` bytes of names; null if there is no memory. */
function tell(root: Root, columns: u32, names: u32): Columns | null {
  const bytes = COLUMNS_BYTES + columns * COLUMN_BYTES + names;
  const at = root.region(DESCRIPTION, bytes);
  if (at == 0) return null;
  memory.fill(at, 0, bytes);
  const made = changetype<Columns>(at);
  made.columns = columns;
  made.bytes = root.stepBytes;
  return made;
}

function columnAt(columns: Columns, i: u32): Column {
  return changetype<Column>(changetype<usize>(columns) + <usize>(COLUMNS_BYTES + i * COLUMN_BYTES));
}

/** Writes a column's name, and returns the address of its end. */
function writeName(shown: ViewColumn, at: u32): u32 {
  const head = headName(shown.head);
  for (let i = 0; i < head.length; i++) store<u8>(at++, <u8>head.charCodeAt(i));
  memory.copy(at, shown.rest, shown.bytes);
  if (shown.head == NEXT && shown.bytes != 0) store<u8>(at, <u8>capital(load<u8>(at)));
  return at + shown.bytes;
}
