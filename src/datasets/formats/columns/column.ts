/** Defines the columns of a file before they are split into episodes. Rows are read on demand. */

import { blank, isText, sizeOf } from "../../../schema/leaf.ts";
import { leaves, type Nest, zip } from "../../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import type { ColumnData } from "../../model/step-columns.ts";

/** The values of one leaf in all rows. */
export class Column {
  /** The name of the column in messages. */
  readonly path: string;
  /** The leaf of one row. */
  readonly leaf: StepLeaf;
  /** The number of rows. Undefined for a single value without rows. */
  readonly rows: number | undefined;
  /** The number of bytes per row, which is an estimate for text without a fixed width. */
  readonly rowBytes: number;
  /** The number of rows in a chunk, which the file stores as a unit. If fewer rows are read at a time, the same chunk is read repeatedly. */
  readonly chunkRows: number;
  /**
   * Reads the rows from `from` to `to` - 1. If the column is a single value, returns that value for any range.
   * @param target an array of the right length, which the column may fill and return instead of a new array
   */
  readonly read: (from: number, to: number, target?: ColumnData) => Promise<ColumnData>;

  constructor({ path, leaf, rows, rowBytes, chunkRows, read }: Omit<Column, "chunkRows"> & { chunkRows?: number }) {
    this.path = path;
    this.leaf = leaf;
    this.rows = rows;
    this.rowBytes = rowBytes;
    this.chunkRows = chunkRows ?? 1;
    this.read = read;
  }
}

/** Returns a column with one f32 zero per row, in place of numbers that a file lacks. */
export function zeroColumn(path: string, rows: number): Column {
  return new Column({ path, leaf: { dtype: "f32", shape: [] }, rows, rowBytes: 4, read: async (from, to) => new Float32Array(to - from) });
}

/** Columns nested like a spec. */
export type ColumnTree = Nest<Column>;

const isColumn = (node: unknown) => node instanceof Column;

/** Returns a spec in which the result of `toLeaf` replaces each column. */
export function mapColumns(tree: ColumnTree, toLeaf: (column: Column) => StepLeaf): StepSpec {
  return zip([tree], isColumn, ([column]) => toLeaf(column as Column));
}

/** Returns the spec of a row. */
export function rowSpec(tree: ColumnTree): StepSpec {
  return mapColumns(tree, ({ leaf }) => leaf);
}

/** Returns the columns in the order of the spec's leaves. */
export function columnsOf(tree: ColumnTree): Column[] {
  return leaves(tree, isColumn).map(({ leaf }) => leaf);
}

/** Joins the pieces of a column, and adds blank rows up to a total of `rows`. If the only piece is already complete, returns that piece itself. */
export function joined(leaf: StepLeaf, chunks: readonly ColumnData[], rows: number): ColumnData {
  const [first] = chunks;
  const length = rows * sizeOf(leaf.shape);
  if (chunks.length === 1 && first?.length === length) return first;
  const all = blank(leaf, length);
  let at = 0;
  for (const chunk of chunks) {
    copyColumn(leaf, all, at, chunk);
    at += chunk.length;
  }
  return all;
}

/** Copies elements into a column. @param at the index in `to` of the first copied element */
export function copyColumn(leaf: StepLeaf, to: ColumnData, at: number, elements: ColumnData): void {
  if (isText(leaf)) for (let i = 0; i < elements.length; i++) (to as (string | Uint8Array)[])[at + i] = (elements as readonly string[])[i] as string;
  else (to as Float32Array).set(elements as Float32Array, at);
}
