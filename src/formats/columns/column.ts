/** Columns of a file before they are episodes: rows that are read when they are asked for. */
import type { StepSpec } from "../../rlds/dataset/dataset.ts";
import { type AnyLeaf, isText, sizeOf, zeros } from "../../rlds/dataset/leaves.ts";
import type { ColumnData } from "../../rlds/dataset/step-columns.ts";

/** One leaf, over rows. */
export class Column {
  /** As messages call it. */
  readonly path: string;
  /** What a row is. */
  readonly leaf: AnyLeaf;
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

/** Columns nested as a spec is. */
export type ColumnTree = Column | readonly ColumnTree[] | { readonly [name: string]: ColumnTree };

export function specOf(tree: ColumnTree): StepSpec {
  if (tree instanceof Column) return tree.leaf;
  if (Array.isArray(tree)) return tree.map(specOf);
  return Object.fromEntries(Object.entries(tree).map(([name, node]) => [name, specOf(node)]));
}

/** The columns in the order of the spec's leaves. */
export function columnsOf(tree: ColumnTree): Column[] {
  if (tree instanceof Column) return [tree];
  if (Array.isArray(tree)) return tree.flatMap(columnsOf);
  const nodes = tree as { readonly [name: string]: ColumnTree };
  return Object.keys(nodes)
    .sort()
    .flatMap((name) => columnsOf(nodes[name] as ColumnTree));
}

/** A column of so many zeros, empty texts or no bytes. */
export function blank(leaf: AnyLeaf, rows: number): ColumnData {
  const length = rows * sizeOf(leaf.shape);
  if (!isText(leaf)) return zeros(leaf.dtype, length);
  return new Array<string | Uint8Array>(length).fill(leaf.dtype === "string" ? "" : new Uint8Array(0));
}

/** Pieces of a column one behind the other, and blank rows up to `rows`. */
export function joined(leaf: AnyLeaf, pieces: readonly ColumnData[], rows: number): ColumnData {
  const [first] = pieces;
  if (pieces.length === 1 && first?.length === rows * sizeOf(leaf.shape)) return first;
  const all = blank(leaf, rows);
  let at = 0;
  for (const piece of pieces) {
    if (isText(leaf)) for (let i = 0; i < piece.length; i++) (all as (string | Uint8Array)[])[at + i] = (piece as readonly string[])[i] as string;
    else (all as Float32Array).set(piece as Float32Array, at);
    at += piece.length;
  }
  return all;
}
