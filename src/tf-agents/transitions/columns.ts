/** Reads, checks and cuts columns whose first dimensions are batch, time, or both. */

import { described, mustBe } from "../../base/error.ts";
import { kindOf, typedLength } from "../../base/typed-arrays.ts";
import { Column, type ColumnLike, isColumn } from "../../schema/column.ts";
import { isOverflow } from "../../schema/copy-values.ts";
import { type AnyArray, DTYPES, type Dtype } from "../../schema/dtype.ts";
import { sizeOf } from "../../schema/leaf.ts";
import { type Nest, zip } from "../../schema/nest.ts";

type Nested = number | readonly Nested[];

/** Numbers of a known dtype: a column, a one-dimensional typed array, or plain numbers nested like their shape. */
export type Numbers = ColumnLike | ArrayLike<number> | Nested;

/** A nest of columns. Columns keep their types, and a flat typed array becomes a column. */
export type ColumnsIn<N> = N extends ColumnLike ? N : N extends AnyArray ? Column : { readonly [K in keyof N]: ColumnsIn<N[K]> };

/** The columns of a nest without the time dimension. */
export type WithoutTime<N> =
  N extends ColumnLike<infer D, infer Shape>
    ? Column<D, Shape extends readonly [infer B extends number, number, ...infer Rest extends number[]] ? [B, ...Rest] : number[]>
    : N extends AnyArray
      ? Column
      : { readonly [K in keyof N]: WithoutTime<N[K]> };

/** The dimensions that precede the dimensions of a leaf. */
export type OuterShape = readonly number[];

/**
 * Returns numbers as a column that has their shape. @throws TypeError if the value does not consist of numbers · ReplayError SPEC_MISMATCH if it does not match
 * its shape, INVALID_DATA if a number does not fit the dtype
 */
export function numbersIn(subject: string, value: unknown, dtype: Dtype): Column {
  if (isColumn(value)) return checkColumn(subject, value);
  if (kindOf(value) !== undefined) return new Column(value as Column["data"], [typedLength(value as Uint8Array)]);
  const shape: number[] = [];
  for (let part = value; Array.isArray(part); part = part[0]) shape.push(part.length);
  const data = new DTYPES[dtype].array(sizeOf(shape)) as Float32Array<ArrayBuffer>;
  let next = 0;
  const fill = (part: unknown, depth: number): void => {
    if (depth === shape.length) {
      if (typeof part !== "number") throw mustBe(TypeError, subject, "a column {data, shape}, a typed array, or numbers", part);
      if (isOverflow(dtype, part)) throw mustBe("INVALID_DATA", subject, `numbers that fit in ${dtype}`, part);
      data[next++] = part;
      return;
    }
    if (!Array.isArray(part) || part.length !== shape[depth]) throw mustBe("SPEC_MISMATCH", subject, `nested arrays of shape [${shape.join(", ")}]`, part);
    for (const element of part) fill(element, depth + 1);
  };
  fill(value, 0);
  return new Column(data, shape) as Column;
}

/**
 * Maps every array of a nest, as a column with these first dimensions. @throws TypeError if an end of the nest is not an array · ReplayError SPEC_MISMATCH if
 * an array has other first dimensions
 */
export function eachColumn<T>(subject: string, nest: unknown, outerShape: OuterShape, change: (column: Column) => T, dtype?: Dtype): Nest<T> {
  const isEnd = (node: unknown, keys: readonly string[]): boolean => {
    if (isColumn(node) || kindOf(node) !== undefined || (dtype !== undefined && isNumbers(node))) return true;
    if (typeof node === "object" && node !== null) return false;
    throw mustBe(TypeError, [subject, ...keys].join("."), "a column {data, shape}, a typed array, or a nest of them", node);
  };
  return zip([nest], isEnd, ([value], keys) => change(leading([subject, ...keys].join("."), value, outerShape, dtype)));
}

/** Returns an array as a column with these first dimensions. Additional elements of a flat typed array become one more dimension. */
export function leading(subject: string, value: unknown, outerShape: OuterShape, dtype: Dtype = "f32"): Column {
  if (kindOf(value) !== undefined) {
    const data = value as Uint8Array<ArrayBuffer>;
    const rowSize = typedLength(data) / sizeOf(outerShape);
    if (Number.isInteger(rowSize)) return new Column(data, rowSize === 1 ? [...outerShape] : [...outerShape, rowSize]);
    if (typedLength(data) === 0) return new Column(data, [...outerShape]);
  }
  const column = numbersIn(subject, value, dtype);
  if (outerShape.some((n, i) => column.shape[i] !== n))
    throw mustBe("SPEC_MISMATCH", subject, `of shape [${[...outerShape, "…"].join(", ")}], like the discount`, described(`[${column.shape.join(", ")}]`));
  return column;
}

/** Returns steps [from, to) of a column [B, T, …] as a column [B, to - from, …], or [B, …] if `isSqueezed`. One allocation. O(bytes) */
export function stepsOf(column: ColumnLike, from: number, to: number, isSqueezed = false): Column {
  const [rows = 0, steps = 0, ...rest] = column.shape;
  const size = sizeOf(rest);
  const rowSize = (to - from) * size;
  const data = blankLike(column.data, rows * rowSize);
  copyRows(column.data, data, { rows, from: from * size, stride: steps * size, to: 0, rowSize });
  return new Column(data, isSqueezed ? [rows, ...rest] : [rows, to - from, ...rest]);
}

/** The positions of rows to copy. Each row is copied from `from` + row × `stride` to `to` + row × `toStride`. */
interface Rows {
  readonly rows: number;
  readonly from: number;
  readonly stride: number;
  readonly to: number;
  readonly toStride?: number;
  readonly rowSize: number;
}

/** The number of elements from which a call to `set` is faster than a loop. */
const LONG = 64;

export function copyRows(from: Column["data"], to: Column["data"], { rows, from: first, stride, to: start, toStride, rowSize }: Rows): void {
  const step = toStride ?? rowSize;
  if (rowSize >= LONG && !Array.isArray(from)) {
    for (let row = 0; row < rows; row++) {
      const at = first + row * stride;
      (to as Float32Array).set((from as Float32Array).subarray(at, at + rowSize), start + row * step);
    }
    return;
  }
  for (let row = 0; row < rows; row++) {
    const at = first + row * stride;
    const into = start + row * step;
    for (let i = 0; i < rowSize; i++) (to as Float32Array)[into + i] = (from as Float32Array)[at + i] as number;
  }
}

/** Returns an array of the same class, filled with zeros or empty texts. */
export function blankLike(data: Column["data"], length: number): Column["data"] {
  if (Array.isArray(data)) return new Array<string>(length).fill("") as never;
  return new (data.constructor as new (length: number) => Float32Array<ArrayBuffer>)(length) as Column["data"];
}

/** Returns a column of zeros with the same shape and dtype. */
export function zerosLike({ data, shape }: ColumnLike): Column {
  return new Column(blankLike(data, data.length), [...shape]);
}

function isNumbers(node: unknown): boolean {
  let part = node;
  while (Array.isArray(part)) part = part[0];
  return typeof part === "number" || (Array.isArray(node) && part === undefined);
}

/** Returns a column as a `Column`. @throws ReplayError SPEC_MISMATCH if the number of elements does not match the shape */
function checkColumn(subject: string, column: ColumnLike): Column {
  const size = sizeOf(column.shape);
  if (column.data.length !== size)
    throw mustBe("SPEC_MISMATCH", subject, `a column of ${size} elements, to match its shape [${column.shape.join(", ")}]`, column.data);
  return column instanceof Column ? column : new Column(column.data, [...column.shape]);
}
