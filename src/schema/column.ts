/** A column of a batch: one flat array and its shape. */
import { integer, mustBe } from "../base/error.ts";
import { customInspect } from "../base/inspect.ts";
import type { ArrayOfDtype, Dtype } from "./dtype.ts";
import { sizeOf } from "./leaf.ts";

interface DataOf extends ArrayOfDtype {
  readonly string: string[];
}

type ElementName = keyof DataOf;
type Element<D extends ElementName> = DataOf[D][number];

/** What `at` gives: one number or text less than a column of one dimension, and else a column of one dimension less. */
type ElementOf<D extends ElementName, Shape extends readonly number[]> = Shape extends readonly [number, ...infer Rest extends number[]]
  ? Rest extends readonly []
    ? Element<D>
    : Rest extends readonly [number, ...number[]]
      ? Column<D, Rest>
      : Column<D, Rest> | Element<D>
  : Column<D> | Element<D>;

/** Plain arrays, nested as the shape says. */
export type NestedArray<E, Shape extends readonly number[]> = Shape extends readonly [number, ...infer Rest extends number[]]
  ? NestedArray<E, Rest>[]
  : Shape extends readonly []
    ? E
    : // biome-ignore lint/suspicious/noExplicitAny: as deep as a shape that is not known
      any;

/** What a column is made of: what callers may give in the place of one. */
export interface ColumnLike<D extends ElementName = Dtype, Shape extends readonly number[] = readonly number[]> {
  readonly data: DataOf[D];
  readonly shape: Shape;
}

/**
 * One flat array and its shape: items, steps (unless the column is a single step), then the shape of the leaf. Numbers are in a typed array, text
 * (`Column<"string">`) is in a plain one. The type of the shape is as concrete as the spec: `[number, number, 84, 84]`.
 */
export class Column<D extends ElementName = Dtype, Shape extends readonly number[] = number[]> implements ColumnLike<D, Shape> {
  readonly data: DataOf[D];
  readonly shape: Shape;

  constructor(data: DataOf[D], shape: Shape) {
    this.data = data;
    this.shape = shape;
  }

  /**
   * The i-th along the first dimension: a number or text, or a column of the rest of the shape on the same memory. Negative i count from the end. O(1), for
   * text O(elements)
   * @throws RangeError for an i that is not there
   */
  at(i: number): ElementOf<D, Shape> {
    const { data, shape } = this;
    const [n = 0, ...rest] = shape;
    const index = integer("i", i, -n, n - 1) < 0 ? i + n : i;
    if (rest.length === 0) return data[index] as ElementOf<D, Shape>;
    const stride = sizeOf(rest);
    const from = index * stride;
    const part = Array.isArray(data) ? data.slice(from, from + stride) : data.subarray(from, from + stride);
    return newColumn(part as DataOf[D], rest) as unknown as ElementOf<D, Shape>;
  }

  /** `at` 0, 1, … */
  *[Symbol.iterator](): Generator<ElementOf<D, Shape>, void> {
    for (let i = 0; i < (this.shape[0] ?? 0); i++) yield this.at(i);
  }

  /** A copy, as plain arrays in each other. O(elements) */
  toArray(): NestedArray<Element<D>, Shape> {
    const { data, shape } = this;
    let elements: unknown[] = Array.from(data as ArrayLike<unknown>).slice(0, sizeOf(shape));
    for (let k = shape.length - 1; k > 0; k--) {
      const length = shape[k] as number;
      const parts = elements;
      elements = Array.from({ length: sizeOf(shape.slice(0, k)) }, (_, i) => parts.slice(i * length, (i + 1) * length));
    }
    return (shape.length === 0 ? elements[0] : elements) as NestedArray<Element<D>, Shape>;
  }
}

/** Out of the class, which does not name itself: see base/inspect.ts. */
function newColumn<D extends ElementName>(data: DataOf[D], shape: number[]): Column<D> {
  return new Column(data, shape);
}

/** Whether a value is a column, or has its form. A nest may have these names, too; its `shape` has no numbers. */
export function isColumn(value: unknown): value is ColumnLike {
  const { data, shape } = (value ?? {}) as Partial<ColumnLike>;
  return (ArrayBuffer.isView(data) || Array.isArray(data)) && Array.isArray(shape) && shape.every((n) => typeof n === "number");
}

/**
 * A list of a caller: of a column its flat array, as `info.ids` of Reverb's samples have the keys; anything else as it is.
 * @throws RangeError for a column that has not as many elements as its shape
 */
export function dataOf<T>(subject: string, values: T | ColumnLike): T {
  const column = columnIn(values);
  if (column === undefined) return values as T;
  const { data, shape } = column;
  if (data.length !== sizeOf(shape) || !shape.every((size) => Number.isInteger(size) && size >= 0))
    throw mustBe(RangeError, subject, `a column with as many elements as its shape, ${shapeText(shape)}`, data);
  return data as T;
}

/**
 * Numbers of a caller that belong to keys one by one: as `dataOf`, of a column that has one dimension, or the shape of the keys. Dimensions of 1 do not count.
 * @throws RangeError for a column of another shape: its numbers would belong to other keys
 */
export function dataBeside<T>(subject: string, values: T | ColumnLike, keys: unknown): T {
  const column = columnIn(values);
  // An array costs nothing.
  if (column === undefined) return values as T;
  const own = columnIn(keys)?.shape;
  const shape = wideSizes(column.shape);
  if (shape.length > 1 && shape.join() !== wideSizes(own ?? []).join()) {
    const rule =
      own === undefined || own.length < 2
        ? "a column of one dimension, one number per key"
        : `a column of the keys' shape ${shapeText(own)}, or of one dimension`;
    throw mustBe(RangeError, subject, rule, `a column of shape ${shapeText(column.shape)}`);
  }
  return dataOf(subject, values);
}

function columnIn(values: unknown): ColumnLike | undefined {
  if (typeof values !== "object" || values === null || ArrayBuffer.isView(values) || Array.isArray(values)) return undefined;
  return isColumn(values) ? values : undefined;
}

function wideSizes(shape: readonly number[]): number[] {
  return shape.filter((size) => size !== 1);
}

function shapeText(shape: readonly number[]): string {
  return `[${shape.join(", ")}]`;
}

/** A copy of a nest of columns, arrays and numbers, with memory of its own for each array. */
export function copyColumns<T>(value: T): T {
  if (isColumn(value)) return new Column(value.data.slice() as Column["data"], [...value.shape]) as T;
  if (ArrayBuffer.isView(value)) return (value as unknown as Uint8Array).slice() as T;
  if (Array.isArray(value)) return value.map(copyColumns) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, copyColumns(part)])) as T;
}

customInspect(Column, "Column", ({ data, shape }) => ({ data, shape }));
