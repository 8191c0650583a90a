/** Writes values back to the steps that a batch shows. Finds drawn items again by key, and scatters the columns to their rows. */

import { CROSS, FROM_ANY, FROM_START, KEY, OUTPUT_BYTES } from "../base/abi.ts";
import { described, didYouMean, integer, mustBe, ReplayError, show } from "../base/error.ts";
import { placeColumn } from "../memory/block.ts";
import type { Core } from "../memory/core.ts";
import type { Engine } from "../memory/engine.ts";
import { type HasSelections, stepLists } from "../schema/columns.ts";
import { isList, listLength } from "../schema/copy-numbers.ts";
import { isShaped } from "../schema/copy-values.ts";
import { alignUp, NARROW, type PlacedLeaf, WIDE } from "../schema/layout.ts";
import { pathText, valueAt } from "../schema/nest.ts";
import { type ItemLayout, leaseOf } from "./batch.ts";
import type { BatchBuffer } from "./buffer.ts";
import { Draw, refusedDraw } from "./draw.ts";
import { type BatchLayout, type Field, type Output, SOURCE, type Windows } from "./layout.ts";
import type { SampledTable } from "./sampler.ts";

/** The result of `writeSteps`. */
export interface WrittenSteps {
  /** The number of values written, over all columns. Each step that a column shows counts as one value, without padding. */
  readonly written: number;
  /** The number of items of the batch that no longer exist. Their values were skipped. */
  readonly skipped: number;
}

/** The contents of a batch, and the batch's items. */
interface BatchParts {
  readonly count: number;
  readonly keys: Float64Array;
  readonly layout: BatchLayout;
  readonly windows: Windows;
  readonly itemLayouts: readonly HasSelections[] | undefined;
}

/** A column to write. */
interface Column {
  readonly output: Output;
  readonly field: Field;
  readonly value: unknown;
  /** The offset in scratch of the column's OUTPUT, lists and values. */
  readonly at: number;
}

/**
 * Writes values to the stored steps that a batch shows.
 * @param buffer the buffer of a batch that was not made by Reprise
 * @throws TypeError if `batch` is not a batch · ReplayError NOT_FOUND if the batch has no such column, UNSUPPORTED if a leaf is stored once for several steps,
 * if a column is computed or relabelled, or if the batch belongs to a mixture, SPEC_MISMATCH or INVALID_DATA if the values do not fit the columns. Nothing is
 * written if the call throws
 */
export function writeSteps(table: SampledTable, batch: object, buffer: BatchBuffer | undefined, values: object): WrittenSteps {
  const { engine } = table;
  // A getter of the values may call the Replay.
  engine.locked = true;
  try {
    return write(table, batch, buffer, values);
  } finally {
    engine.locked = false;
    engine.changed();
  }
}

function write(table: SampledTable, batch: object, buffer: BatchBuffer | undefined, values: object): WrittenSteps {
  const { engine, core: coreTable } = table;
  const parts = partsOf(table, batch, buffer);
  const { count, keys, layout, windows } = parts;
  const columns = columnsOf(parts, values);
  if (columns.length === 0 || count === 0) return { written: 0, skipped: 0 };
  const { core, pool } = engine;
  const draw = new Draw(engine);
  const last = columns.at(-1) as Column;
  const base = draw.prepare(last.at + roomOf(last.output, layout.n), count, Math.max(count * windows.width, layout.rows));
  for (const { output, field, value, at } of columns) placeValues(engine, output, field, value, base + at + headOf(output, layout.n), count, layout.n);
  const found = draw.get(coreTable.handle, keys, 0);
  if (found < 0) throw refusedDraw(engine, found);
  if (found === 0) return { written: 0, skipped: count };
  const live = survivors(keys, draw, core, found);
  const { from, starts, nStep, nStepTable } = windows;
  const isAny = (from & ~CROSS) === FROM_ANY;
  if (isAny) draw.starts(found).set(live.map((i) => (starts as Uint32Array)[i] as number));
  draw.runs(coreTable.handle, found, windows.width, isAny ? FROM_START + (from & CROSS) : from);
  if (nStep !== undefined) draw.nStep(nStep, nStepTable);
  const { itemLayouts } = parts;
  const lists =
    itemLayouts &&
    stepLists(
      (layout as ItemLayout).selections,
      live.map((i) => itemLayouts[i] as HasSelections),
      windows.width,
    );
  let written = 0;
  for (const { output, at } of columns) {
    const address = base + at;
    const listAt = address + OUTPUT_BYTES;
    const valuesAt = address + headOf(output, layout.n);
    const own = lists?.[output.index];
    core.i32.set(own ?? output.steps, listAt / 4);
    core.u32.set([output.leaf.index, listAt, output.steps.length, own === undefined ? 0 : output.steps.length, valuesAt], address / 4);
    const each = output.steps.length * output.leaf.bytes;
    // Values of remaining items move up over the values of removed items.
    for (let k = 0; found < count && k < found; k++)
      core.u8.copyWithin(valuesAt + k * each, valuesAt + (live[k] as number) * each, valuesAt + ((live[k] as number) + 1) * each);
    written += core.x.scatter(draw.handle, pool, address, 1);
  }
  return { written, skipped: count - found };
}

/** Returns the contents of a batch. @throws TypeError if `batch` is not a batch of this Replay */
function partsOf(table: SampledTable, batch: object, buffer: BatchBuffer | undefined): BatchParts {
  const lease = leaseOf(batch);
  const layout = lease?.layout ?? buffer?.layout;
  const windows = lease?.windows ?? buffer?.windows;
  const { leaves } = table.engine.layout;
  if (layout !== undefined && layout.holds & SOURCE)
    throw new ReplayError(
      "UNSUPPORTED",
      `batch belongs to a mixture, so its rows come from several tables. Call get(keys) for the rows of table ${show(table.name)}, and write to that batch`,
    );
  const isOwn = layout !== undefined && outputsOf(layout).every(({ leaf }) => leaves[leaf.index] === leaf);
  if (!isOwn || windows === undefined) throw mustBe(TypeError, "batch", `a batch of table ${show(table.name)}, or of a view of it`, batch);
  if (lease?.isReleased) throw mustBe("SPEC_MISMATCH", "batch", "a batch that has not been released", described("a released batch"));
  const { count, keys, info } = batch as { readonly count: number; readonly keys?: Float64Array; readonly info?: { readonly keys: Float64Array } };
  const all = (info?.keys ?? keys) as Float64Array;
  integer("batch.count", count, 0, Math.min(layout.n, all.length));
  return { count, keys: all.subarray(0, count), layout, windows, itemLayouts: lease?.itemLayouts };
}

const outputsOf = ({ outputs, straight, texts }: BatchLayout): readonly Output[] => [...outputs, ...straight, ...texts];

/** Returns the columns to write. @throws ReplayError NOT_FOUND if the batch has no such column, UNSUPPORTED if the values of a leaf cannot be written */
function columnsOf({ layout, keys }: BatchParts, values: object): Column[] {
  const byField = new Map(outputsOf(layout).map((output) => [output.field, output]));
  // In batches of items, the columns are properties of `steps`.
  const isItems = layout.columns[0]?.name === "steps";
  const pathOf = (field: Field): readonly string[] => (isItems ? field.keys.slice(1) : field.keys);
  const columns: Column[] = [];
  const paths: string[] = [];
  let at = 0;
  for (const [i, field] of layout.fields.entries()) {
    const output = byField.get(i);
    if (isItems && output === undefined) continue;
    const path = pathOf(field);
    const value = path.length === 0 ? values : valueAt(values, path);
    if (output !== undefined) paths.push(pathText(path));
    if (value === undefined) continue;
    if (output === undefined)
      throw new ReplayError("UNSUPPORTED", `values.${pathText(path)} cannot be written, because it is computed from other leaves. Write those leaves instead`);
    checkLeaf(output.leaf, path);
    if (output.leaf === layout.relabelled)
      throw new ReplayError(
        "UNSUPPORTED",
        `values.${pathText(path)} cannot be written, because some of its values are goals of other steps. Draw without relabel`,
      );
    columns.push({ output, field, value, at });
    at += roomOf(output, layout.n);
  }
  const known = layout.fields.map((field) => pathOf(field));
  const unknown = paths.includes("") ? undefined : unknownIn(values, known, []);
  if (unknown !== undefined)
    throw new ReplayError(
      "NOT_FOUND",
      `values.${pathText(unknown)} is not a column of the batch.${didYouMean(pathText(unknown), paths)} Columns of leaves: ${paths.join(", ")}`,
    );
  return keys.length === 0 ? [] : columns;
}

/** Returns the first path of a nest that is neither a known path nor a prefix of a known path. */
function unknownIn(values: object, known: readonly (readonly string[])[], keys: readonly string[]): readonly string[] | undefined {
  if (typeof values !== "object" || values === null) throw mustBe(TypeError, "values", "an object of columns", values);
  for (const [key, value] of Object.entries(values)) {
    const path = [...keys, key];
    const below = known.filter((other) => path.every((name, i) => other[i] === name));
    if (below.length === 0) return path;
    const found = below.some((other) => other.length === path.length) ? undefined : unknownIn(value as object, below, path);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Checks that the values of a leaf can be written. @throws ReplayError UNSUPPORTED if a leaf is shared or packed */
function checkLeaf({ kind, leaf }: PlacedLeaf, path: readonly string[]): void {
  if (kind === NARROW || kind === WIDE) return;
  const how = leaf.packed === undefined ? "shared" : "packed";
  throw new ReplayError(
    "UNSUPPORTED",
    `values.${pathText(path)} cannot be written, because ${how} values are stored once for several steps. Append new steps instead`,
  );
}

/** Returns the number of bytes before a column's values: the OUTPUT, and lists of steps for n items. */
function headOf({ steps }: Output, n: number): number {
  return alignUp(OUTPUT_BYTES + 4 * steps.length * n, 16);
}

/** Returns the number of bytes of a column: `headOf` and the values. */
function roomOf(output: Output, n: number): number {
  return headOf(output, n) + alignUp(output.steps.length * output.leaf.arrayBytes * n, 16);
}

/**
 * Checks the values of a column (one per item of the batch, or one per row of its arrays), and copies the values into scratch. @throws ReplayError
 * SPEC_MISMATCH, INVALID_DATA
 */
function placeValues(
  { core, reportNaN }: Engine,
  { leaf }: Output,
  { shape = [], each, keys }: Field,
  value: unknown,
  at: number,
  count: number,
  n: number,
): void {
  const rows = rowsOf(value, each) === n ? n : count;
  const path = keys.slice(keys[0] === "steps" ? 1 : 0);
  const full = [rows, ...shape.slice(1)];
  if (isShaped(value) && value.shape.join() !== full.join())
    throw mustBe("SPEC_MISMATCH", `values.${pathText(path)}`, `a column of shape [${full.join(", ")}]`, value);
  const lead = full.slice(0, full.length - leaf.shape.length);
  placeColumn(core, { ...leaf, keys: path }, at, lead, isShaped(value) ? value.data : value, "values.", reportNaN);
}

/** Returns the number of items that the values are for, according to their length; -1 if they are not a list. It is a fraction if the length is wrong. */
function rowsOf(value: unknown, each: number): number {
  if (isShaped(value)) return value.shape[0] as number;
  if (!isList(value)) return -1;
  const length = listLength(value);
  return length > 0 && isList(value[0]) ? length : length / each;
}

/** Returns the batch indices of the items found. The found items are in the order of the batch. */
function survivors(keys: Float64Array, draw: Draw, { f64 }: Core, found: number): number[] {
  const first = draw.address(KEY) / 8;
  const live: number[] = [];
  for (let i = 0; i < keys.length && live.length < found; i++) if (keys[i] === f64[first + live.length]) live.push(i);
  return live;
}
