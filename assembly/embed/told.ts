/**
 * What a host is told: where columns are, and counters.
 *
 * COLUMNS, 24 bytes, then COLUMN × columns:
 *    0 │ columns u32 │ entries u32 │  of a packed step 1 entry
 *    8 │ width u32   │ bytes u32   │  steps of a window · of a packed step
 *   16 │ blocked u32 │ … u32       │  why there are fewer than were asked for: 0 there are not, 1 below minSize, 2 the rate limiter, 3 no more distinct items
 *
 * COLUMN, 40 bytes:
 *    0 │ name u32  │ nameBytes u32 │  UTF-8
 *    8 │ dtype u32 │ maxBytes u32  │  as in rows/leaf.ts · of text, whose elements are a length u32, UTF-8, and zeros up to a multiple of 4
 *   16 │ dims u32  │ rank u32      │  where u32 × rank are: the shape of a value
 *   24 │ steps u32 │ drawn u32     │  steps an entry, where it has such a dimension; else 0 · 1: it is the draw's, and not a leaf's
 *   32 │ at u32    │ bytes u32     │  where it lies; of a packed step its offset there · bytes an entry
 */
import { Draw } from "../draw/draw";
import { arena_used } from "../memory/arena";
import { E_OUT_OF_MEMORY } from "../memory/error";
import { dtypeBytes } from "../rows/leaf";
import { table_counter } from "../tables/inspect";
import { table_newest } from "../tables/keys";
import { Field } from "./field";
import { ALL, capital, headName, MASKED, NEXT, Pick } from "./pick";
import { NOT_FOUND, OUT_OF_TURN, Refusal } from "./refusal";
import { opened, Root, TOLD } from "./root";
import { viewOf } from "./sample";
import { Shelf } from "./shelf";
import { View } from "./view";

const COLUMNS_BYTES: u32 = 24;
const COLUMN_BYTES: u32 = 40;
/** The longest word that a name begins with. */
const HEAD_BYTES: u32 = 16;
/** In the place of a view: a packed step. */
const STEP: u32 = u32.MAX_VALUE;
/** What `table_counter` tells of items. */
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

  /** The dtype and the shape of a leaf. */
  likeLeaf(field: Field): void {
    this.dtype = field.dtype;
    this.maxBytes = field.maxBytes;
    this.dims = <u32>Root.the().dims().get(field.dims);
    this.rank = field.rank;
    this.bytes = field.valueBytes;
  }
}
if (offsetof<Column>() != COLUMN_BYTES) ERROR("COLUMN is 40 bytes");

/** COLUMNS of a view's batch, which must be the last one that was drawn; view -1: of a packed step. Good until the next call that tells something. 0: refused. */
export function replay_columns(handle: u32, view: u32): u32 {
  const root = opened(handle);
  if (root === null) return 0;
  if (view == STEP) return stepColumns(root);
  const v = viewOf(view);
  if (v === null) return 0;
  if (root.shown == view + 1) return batchColumns(root, v);
  Refusal.of(OUT_OF_TURN).put("view must be the one that was drawn last, got ").number(view).put(": call replay_sample for it first");
  return 0;
}

/** Of a table: its ten counters, the key of its newest item, steps that something holds, and bytes in use (f64 each). 0: refused. */
export function replay_stats(handle: u32, table: u32): u32 {
  const root = opened(handle);
  if (root === null) return 0;
  const shelf = shelfOf(table);
  if (shelf === null) return 0;
  const at = root.region(TOLD, 8 * (COUNTERS + 3));
  if (at == 0) return noRoomToTell();
  for (let i: u32 = 0; i < COUNTERS; i++) store<f64>(at + (i << 3), table_counter(shelf.handle, i));
  const more = at + (COUNTERS << 3);
  store<f64>(more, table_newest(shelf.handle));
  store<f64>(more, root.rows().live(), 8);
  store<f64>(more, arena_used(), 16);
  return <u32>at;
}

/** The table of a number that a call names; null, with a refusal, where there is none. */
export function shelfOf(i: u32): Shelf | null {
  const count = Root.the().tables().count;
  if (i < count) return Shelf.of(i);
  const refusal = Refusal.of(NOT_FOUND).put("table must be the number of a line of the text that begins with table");
  if (count != 0) refusal.put(", up to ").number(count - 1);
  refusal.put(", got ").number(i);
  return null;
}

function noRoomToTell(): u32 {
  Refusal.of(E_OUT_OF_MEMORY).put("there is no room for an answer: raise bytes");
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
    column.at = field.staged;
  }
  return <u32>changetype<usize>(columns);
}

function batchColumns(root: Root, view: View): u32 {
  let names: u32 = 0;
  for (let k: u32 = 0; k < view.count; k++) names += HEAD_BYTES + Pick.of(view, k).bytes;
  const columns = tell(root, view.count, names);
  if (columns === null) return noRoomToTell();
  columns.entries = view.entries;
  columns.width = view.width;
  columns.blocked = <u32>changetype<Draw>(root.draw).blocked;
  let name = <u32>changetype<usize>(columnAt(columns, view.count));
  for (let k: u32 = 0; k < view.count; k++) {
    const pick = Pick.of(view, k);
    const column = columnAt(columns, k);
    column.at = pick.at;
    column.dtype = pick.dtype;
    column.drawn = u32(!pick.isLeaf());
    if (pick.isLeaf()) column.likeLeaf(Field.of(pick.which));
    else column.bytes = dtypeBytes(pick.dtype);
    if (pick.source == ALL || pick.source == MASKED) {
      column.steps = view.width;
      column.bytes *= view.width;
    }
    column.name = name;
    name = writeName(pick, name);
    column.nameBytes = name - column.name;
  }
  return <u32>changetype<usize>(columns);
}

/** COLUMNS of zeros, with room for so many, and bytes of names; null: there is no memory. */
function tell(root: Root, columns: u32, names: u32): Columns | null {
  const bytes = COLUMNS_BYTES + columns * COLUMN_BYTES + names;
  const at = root.region(TOLD, bytes);
  if (at == 0) return null;
  memory.fill(at, 0, bytes);
  const made = changetype<Columns>(at);
  made.columns = columns;
  made.bytes = <u32>root.stagedBytes;
  return made;
}

function columnAt(columns: Columns, i: u32): Column {
  return changetype<Column>(changetype<usize>(columns) + <usize>(COLUMNS_BYTES + i * COLUMN_BYTES));
}

/** Writes a column's name; where it ends. */
function writeName(pick: Pick, at: u32): u32 {
  const head = headName(pick.head);
  for (let i = 0; i < head.length; i++) store<u8>(at++, <u8>head.charCodeAt(i));
  memory.copy(at, pick.rest, pick.bytes);
  if (pick.head == NEXT && pick.bytes != 0) store<u8>(at, <u8>capital(load<u8>(at)));
  return at + pick.bytes;
}
