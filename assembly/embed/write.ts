/** Writes values of a view's column back to the stored steps that the column shows. The steps are found by the keys of their items. */
import { Draw, draw_bytes, draw_init, KEY } from "../draw/draw";
import { draw_n_step, ENDS_BEHIND } from "../draw/n-step";
import { BOOTSTRAP, OUTPUT_BYTES, Output } from "../draw/output";
import { draw_rows, OF_ITEMS } from "../draw/row-matrix";
import { table_get } from "../draw/sample";
import { scatter } from "../draw/scatter";
import { E_OUT_OF_MEMORY, E_UNSUPPORTED } from "../memory/error";
import { NARROW, WIDE } from "../rows/leaf";
import { MAX_LENGTH } from "../tables/slots";
import { checkKeys } from "./change";
import { Field } from "./field";
import { CLOSED, INVALID, NOT_FOUND, Refusal } from "./refusal";
import { opened, outside, Root, WORK } from "./root";
import { rowsOf } from "./sample";
import { checkValue, copyValue } from "./step";
import { TRANSITIONS, View, viewOf } from "./view";
import { ALL, FIRST, ViewColumn } from "./view-columns";

/**
 * Writes values of a column of leaves, for n entries with the keys of their items (f64 each), in the format of the column: `width` steps per entry if the
 * column has such a dimension. Each value goes to the step that the same place in a batch of that view shows. Padding and entries whose items are gone are
 * skipped; if several values go to one step, the last one counts. Returns how many values were written, or a code if nothing changed. O(n × width + bytes)
 */
export function replay_write(handle: u32, view: u32, column: u32, keys: usize, n: u32, width: u32, values: usize): i32 {
  const root = opened(handle);
  if (root === null) return CLOSED;
  const v = viewOf(view);
  if (v === null) return NOT_FOUND;
  const refused = v.keeps();
  if (refused != 0) return refused;
  const c = columnOf(v, column);
  if (c === null) return Refusal.last();
  const code = checkKeys(root, keys, n);
  if (code != 0) return code;
  const steps: u32 = c.source == ALL ? width : 1;
  if (steps - 1 >= MAX_LENGTH) return Refusal.of(INVALID).put("width must be an integer from 1 to ").number(MAX_LENGTH).put(", got ").number(width).code;
  const field = Field.of(c.which);
  const bytes = <f64>n * <f64>steps * <f64>field.arrayBytes();
  if (n != 0 && !root.holds(values, bytes)) return outside("values", values, bytes);
  for (let i: u32 = 0; root.checked != 0 && i < n * steps; i++) {
    const wrong = checkValue(field, i, values + <usize>i * field.arrayBytes());
    if (wrong != 0) return wrong;
  }
  if (n == 0) return 0;
  const rows = v.kind == TRANSITIONS ? rowsOf(root, v, keys, n) : steps;
  return rows < 0 ? <i32>rows : writeTo(root, v, c, keys, n, <u32>rows, steps, values);
}

/** Returns a column that can be written; null, with a refusal, otherwise. */
function columnOf(view: View, column: u32): ViewColumn | null {
  if (column >= view.count) {
    Refusal.of(NOT_FOUND)
      .put("column must be the number of a column of the view, up to ")
      .number(view.count - 1)
      .put(", got ")
      .number(column);
    return null;
  }
  const c = ViewColumn.of(view, column);
  const isLeaf = c.isLeaf();
  const kind = isLeaf ? Root.the().rows().leaf(c.which).kind : NARROW;
  if (isLeaf && (kind == NARROW || kind == WIDE)) return c;
  const refusal = Refusal.of(E_UNSUPPORTED).put("column ").number(column).put(" cannot be written, because ");
  if (isLeaf) refusal.put("several steps share its values. Append new steps");
  else refusal.put("it is computed from leaves. Write the leaves");
  return null;
}

/** WORK │ OUTPUT, the list of steps │ values of the entries that were found │ DRAW │ */
function writeTo(root: Root, view: View, c: ViewColumn, keys: usize, n: u32, rows: u32, steps: u32, values: usize): i32 {
  const field = Field.of(c.which);
  const each = <usize>steps * field.valueBytes;
  const head = aligned(<u64>OUTPUT_BYTES + 4 * <u64>steps);
  const stored = aligned(<u64>n * <u64>each);
  const work = root.region(WORK, head + stored + <u64>draw_bytes(n) + 12 * <u64>n * <u64>rows);
  if (work == 0) return Refusal.of(E_OUT_OF_MEMORY).put("there is no room to write ").number(n).put(" entries. Write fewer at a time").code;
  const draw = work + <usize>(head + stored);
  const table = view.tableOptions().handle;
  const d = changetype<Draw>(draw);
  draw_init(draw, n, n * rows);
  memory.copy(d.column(KEY), keys, (<usize>n) << 3);
  const found = table_get(table, draw, n, 0);
  if (found == 0) return 0;
  const to = work + <usize>head;
  copyFound(d, field, keys, found, steps, to, values);
  draw_rows(draw, OF_ITEMS, table, found, rows, view.from);
  if (view.kind == TRANSITIONS)
    draw_n_step(draw, root.pool, table, view.reward, view.discount, view.terminated, view.n == 0 ? MAX_LENGTH : view.n, view.gamma, ENDS_BEHIND);
  const list = work + OUTPUT_BYTES;
  for (let k: u32 = 0; k < steps; k++) store<i32>(list + (k << 2), c.source == ALL ? <i32>k : c.source == FIRST ? 0 : BOOTSTRAP);
  const output = changetype<Output>(work);
  output.leaf = c.which;
  output.steps = <u32>list;
  output.count = steps;
  output.each = 0;
  output.to = <u32>to;
  root.changes += 1;
  return scatter(draw, root.pool, work, 1);
}

/** Copies the values of the entries that were found, in the order of their keys and in the format of rows. */
function copyFound(d: Draw, field: Field, keys: usize, found: u32, steps: u32, to: usize, values: usize): void {
  const each = <usize>steps * field.arrayBytes();
  for (let i: u32 = 0; i < found; keys += 8, values += each) {
    if (load<f64>(keys) != load<f64>(d.f64At(KEY, i))) continue;
    for (let k: u32 = 0; k < steps; k++, to += field.valueBytes) copyValue(field, to, values + <usize>(k * field.arrayBytes()));
    i += 1;
  }
}

function aligned(bytes: u64): u64 {
  return (bytes + 15) & ~15;
}
