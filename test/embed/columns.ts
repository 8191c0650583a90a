/** Compares the columns of a batch in TypeScript with the columns that embed.wasm reports. */

import type { AnyTransitions } from "../../src/batch/transitions/transition-batch.ts";
import type { Batch } from "../../src/index.ts";
import { type ColumnLike, isColumn } from "../../src/schema/column.ts";
import { DTYPES, type Dtype } from "../../src/schema/dtype.ts";
import { valueAt } from "../../src/schema/nest.ts";
import type { FoundLeaf } from "../../src/schema/spec.ts";
import { type ToldColumn, type ToldColumns, textBytes } from "./host.ts";
import { bytesIn, join } from "./values.ts";

/** A column of the public API: its array, and the shape of one entry. If an entry has several steps, the first dimension is the number of steps. */
interface OwnColumn {
  readonly data: ArrayLike<unknown>;
  readonly shape: readonly number[];
}
/** Columns by the names that `nameOf` returns. */
export type OwnColumns = ReadonlyMap<string, OwnColumn>;

const NUMBERS = Object.keys(DTYPES) as Dtype[];
/** The code of the dtype `text` (assembly/rows/leaf.ts). */
const TEXT = 13;
/** The members of a batch of transitions that are not columns, and the columns that belong to the draw. */
const OTHERS = ["count", "detached", "release", "toArray"];
const DRAWN = ["returns", "discounts", "steps", "terminated", "truncated", "weights", "keys"];
/** Returns the name of a column. Leaves may have the same names as columns of the draw, so columns of the draw get another name. */
const nameOf = (name: string, drawn: boolean) => (drawn ? `${name} of the draw` : name);

/** Returns the columns that embed.wasm must report for a packed step: its leaves in order. */
export function leafColumns(leaves: readonly FoundLeaf[]): Pick<ToldColumn, "name" | "dtype" | "maxBytes" | "shape">[] {
  return leaves.map(({ path, leaf, shape }) =>
    leaf.dtype === "string" ? { name: path, dtype: TEXT, maxBytes: leaf.maxBytes, shape } : { name: path, dtype: DTYPES[leaf.dtype].code, maxBytes: 0, shape },
  );
}

/** Returns the columns of a batch of items. */
export function itemColumns(batch: Batch, leaves: readonly FoundLeaf[]): OwnColumns {
  const columns = new Map<string, OwnColumn>();
  for (const { path, keys } of leaves) columns.set(path, ofEntries(valueAt(batch.steps, keys) as ColumnLike));
  const [{ shape }] = columns.values() as unknown as [OwnColumn];
  const { lengths, mask, info } = batch;
  for (const [name, data] of Object.entries({ lengths, mask, ...info }))
    if (data !== undefined) columns.set(nameOf(name, true), { data, shape: name === "mask" ? shape.slice(0, 1) : [] });
  return columns;
}

/** Returns the columns of a batch of transitions. */
export function transitionColumns(batch: AnyTransitions): OwnColumns {
  const columns = new Map<string, OwnColumn>();
  const add = (name: string, value: unknown): void => {
    if (ArrayBuffer.isView(value)) columns.set(name, { data: value as Float64Array, shape: [] });
    else if (isColumn(value)) columns.set(name, ofEntries(value));
    else for (const [key, part] of Object.entries(value as object)) add(`${name}.${key}`, part);
  };
  // The columns of a batch are inherited getters, which Object.keys does not list.
  for (const name in batch) if (!OTHERS.includes(name)) add(nameOf(name, DRAWN.includes(name)), batch[name]);
  return columns;
}

/** Returns the difference between the columns that embed.wasm reports and ours, or undefined if they are identical. */
export function difference(told: ToldColumns, ours: OwnColumns, memory: Uint8Array): string | undefined {
  const names = told.columns.map(({ name, drawn }) => nameOf(name, drawn)).sort();
  const wanted = [...ours.keys()].sort();
  if (names.join("\n") !== wanted.join("\n")) return `TypeScript has the columns ${wanted}, embed ${names}`;
  for (const column of told.columns) {
    const own = ownOf(column, ours);
    const shape = column.steps === 0 ? column.shape : [column.steps, ...column.shape];
    if (told.entries > 0 && shape.join() !== own.shape.join()) return `${column.name}: TypeScript has shape ${own.shape}, embed ${shape}`;
    if (!isOf(column, own.data)) return `${column.name}: TypeScript has ${own.data.constructor.name}, embed dtype ${column.dtype}`;
    const [a, b] = [bytesOf(column, ours, told.entries), memory.subarray(column.at, column.at + column.bytes * told.entries)];
    if (Buffer.compare(a, b) !== 0) return `${column.name}: TypeScript has ${Buffer.from(a).toString("hex")}, embed ${Buffer.from(b).toString("hex")}`;
  }
  return undefined;
}

/** Returns the bytes of a TypeScript column in the layout that embed.wasm reports. */
export function bytesOf(column: ToldColumn, ours: OwnColumns, entries: number): Uint8Array {
  const { bytes, maxBytes } = column;
  const { data } = ownOf(column, ours);
  if (!Array.isArray(data)) return bytesIn(data as Float64Array).subarray(0, bytes * entries);
  return join(data.slice(0, (bytes * entries) / textBytes("", maxBytes).length).map((text) => textBytes(text as string, maxBytes)));
}

function ownOf({ name, drawn }: ToldColumn, ours: OwnColumns): OwnColumn {
  return ours.get(nameOf(name, drawn)) as OwnColumn;
}

function ofEntries({ data, shape }: ColumnLike): OwnColumn {
  return { data, shape: shape.slice(1) };
}

function isOf({ dtype, maxBytes }: ToldColumn, data: ArrayLike<unknown>): boolean {
  if (dtype === TEXT) return Array.isArray(data) && maxBytes > 0;
  const name = NUMBERS.find((number) => DTYPES[number].code === dtype);
  return name !== undefined && data.constructor === DTYPES[name].array;
}
