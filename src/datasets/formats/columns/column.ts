/** Columns of a file before they are episodes: rows that are read when they are asked for. */

import { blank, isText, sizeOf } from "../../../schema/leaf.ts";
import { leaves, type Nest, zip } from "../../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import type { ColumnData } from "../../model/step-columns.ts";

/** One leaf, over rows. */
export class Column {
  /** As messages call it. */
  readonly path: string;
  /** What a row is. */
  readonly leaf: StepLeaf;
  /** Undefined for a single value that is over no rows. */
  readonly rows: number | undefined;
  /** Bytes of a row; of text that has no fixed width a guess. */
  readonly rowBytes: number;
  /** Rows that the file keeps together: fewer at a time are read more than once. */
  readonly chunkRows: number;
  /** Rows from … to - 1, in an array of their own; of a single value it, whatever is asked. */
  readonly read: (from: number, to: number) => Promise<ColumnData>;

  constructor({ path, leaf, rows, rowBytes, chunkRows, read }: Omit<Column, "chunkRows"> & { chunkRows?: number }) {
    this.path = path;
    this.leaf = leaf;
    this.rows = rows;
    this.rowBytes = rowBytes;
    this.chunkRows = chunkRows ?? 1;
    this.read = read;
  }
}

/** Numbers that a file does not have: zeros. */
export function zeroColumn(path: string, rows: number): Column {
  return new Column({ path, leaf: { dtype: "f32", shape: [] }, rows, rowBytes: 4, read: async (from, to) => new Float32Array(to - from) });
}

/** Columns nested as a spec is. */
export type ColumnTree = Nest<Column>;

const isColumn = (node: unknown) => node instanceof Column;

/** Returns the spec that `toLeaf` makes of each column. */
export function mapColumns(tree: ColumnTree, toLeaf: (column: Column) => StepLeaf): StepSpec {
  return zip([tree], isColumn, ([column]) => toLeaf(column as Column));
}

/** What a row of the columns is. */
export function rowSpec(tree: ColumnTree): StepSpec {
  return mapColumns(tree, ({ leaf }) => leaf);
}

/** The columns in the order of the spec's leaves. */
export function columnsOf(tree: ColumnTree): Column[] {
  return leaves(tree, isColumn).map(({ leaf }) => leaf);
}

/** Pieces of a column one behind the other, and blank rows up to `rows`. */
export function joined(leaf: StepLeaf, chunks: readonly ColumnData[], rows: number): ColumnData {
  const [first] = chunks;
  const length = rows * sizeOf(leaf.shape);
  if (chunks.length === 1 && first?.length === length) return first;
  const all = blank(leaf, length);
  let at = 0;
  for (const chunk of chunks) {
    if (isText(leaf)) for (let i = 0; i < chunk.length; i++) (all as (string | Uint8Array)[])[at + i] = (chunk as readonly string[])[i] as string;
    else (all as Float32Array).set(chunk as Float32Array, at);
    at += chunk.length;
  }
  return all;
}
