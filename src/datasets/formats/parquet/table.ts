/** Converts the values of a column to a leaf of a step. */
import { setAll, totalLength } from "../../../base/bytes.ts";
import { type AnyArray, type Dtype, zeros } from "../../../schema/dtype.ts";
import { isText, sizeOf } from "../../../schema/leaf.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import { columnRemedy, RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { FileColumn } from "./columns.ts";
import type { ChunkValues } from "./pages.ts";
import type { ParquetFile } from "./parquet-file.ts";

/** The file and the column of values, for messages. */
export interface ColumnLocation {
  readonly file: string;
  readonly column: FileColumn;
}

/** Returns the leaf for a column's values. A list gets its shape from the first row. Returns undefined for a type that cannot be read. */
export function leafOfColumn({ dtype, listDepth }: FileColumn, first: ChunkValues | undefined): StepLeaf | undefined {
  if (dtype === undefined) return undefined;
  return { dtype, shape: listDepth === 0 ? [] : shapeOf(listDepth, first) } as StepLeaf;
}

/** Computes the shape of the lists in the first row by counting the elements between the beginnings of lists. */
function shapeOf(listDepth: number, first: ChunkValues | undefined): number[] {
  const count = first?.counts?.[0] ?? 0;
  if (listDepth === 1 || count === 0) return [count, ...new Array<number>(listDepth - 1).fill(0)];
  const levels = (first as ChunkValues & { readonly levels: Uint8Array }).levels.subarray(0, count);
  // The number of lists that begin at each level or at a level above it.
  const listSizes = Array.from({ length: listDepth }, (_, level) => levels.filter((entry) => entry <= level).length);
  const sizes = [...listSizes, count];
  return Array.from({ length: listDepth }, (_, level) => Math.floor((sizes[level + 1] as number) / (sizes[level] as number)));
}

/** Checks all rows of a row group and returns them as a column. @throws RldsError INVALID_DATA if a value is missing · UNSUPPORTED if lists differ in length */
export function columnOf(chunk: ChunkValues, leaf: StepLeaf, rows: number, { file, column }: ColumnLocation): ColumnData {
  const { values, counts, levels, missing } = chunk;
  const subject = `column ${column.keys.join("/")}`;
  const remedy = columnRemedy(column.keys);
  if (missing >= 0)
    throw new RldsError(
      "INVALID_DATA",
      `${subject} must have a value in every row, got none in row ${missing} of a row group${columnRemedy(column.keys, true)}`,
      { file },
    );
  const size = sizeOf(leaf.shape);
  const mismatch = counts?.findIndex((count) => count !== size) ?? -1;
  if (mismatch >= 0) throw raggedError(subject, leaf, `${counts?.[mismatch]} elements in row ${mismatch} of a row group${remedy}`, file);
  if (levels !== undefined && size > 0) checkLevels(levels, leaf.shape, () => raggedError(subject, leaf, `lists of different lengths${remedy}`, file));
  if (values.length !== rows * size) throw raggedError(subject, leaf, `${values.length} elements in ${rows} rows${remedy}`, file);
  return values as ColumnData;
}

function checkLevels(levels: Uint8Array, shape: readonly number[], error: () => RldsError): void {
  const size = sizeOf(shape);
  const below = shape.map((_, depth) => sizeOf(shape.slice(depth)));
  const pattern = Uint8Array.from({ length: size }, (_, i) => below.findIndex((elements) => i % elements === 0));
  for (let i = 0; i < size; i++) if (pattern[i] === 255) pattern[i] = shape.length;
  for (let i = 0, k = 0; i < levels.length; i++, k = k + 1 === size ? 0 : k + 1) if (levels[i] !== pattern[k]) throw error();
}

function raggedError(subject: string, { shape }: StepLeaf, actual: string, file: string): RldsError {
  return unsupportedFile({ file }, `${subject} must be of shape [${shape.join(", ")}] in every row, as in the first, got ${actual}`);
}

/** Returns the rows `from` … `to - 1` without copying numbers. */
export function slice(data: ColumnData, size: number, from: number, to: number): ColumnData {
  return Array.isArray(data) ? data.slice(from * size, to * size) : (data as Float32Array).subarray(from * size, to * size);
}

/** Joins consecutive pieces into a new array. */
export function joined(leaf: StepLeaf, chunks: readonly ColumnData[]): ColumnData {
  if (isText(leaf)) return chunks.flat() as ColumnData;
  return setAll(zeros(leaf.dtype as Dtype, totalLength(chunks)) as AnyArray, chunks);
}

/** Returns the approximate number of bytes of some rows. */
export function bytesOf(data: readonly ColumnData[]): number {
  return data.reduce((sum, column) => {
    if (!Array.isArray(column)) return sum + (column as Float32Array).byteLength;
    return sum + column.reduce((all, value) => all + value.length + 16, 0);
  }, 0);
}

/** Returns the column with a path, which is its names joined with slashes or dots. */
export function findColumn(file: ParquetFile, name: string): FileColumn | undefined {
  return file.columns.find(({ keys }) => keys.join("/") === name || keys.join(".") === name);
}
