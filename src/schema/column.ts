/** Implements the column of a batch: one flat array and its shape. */
import { described, integer, mustBe } from "../base/error.ts";
import { customInspect } from "../base/inspect.ts";
import type { ArrayOfDtype, Dtype } from "./dtype.ts";
import { sizeOf } from "./leaf.ts";

interface DataOf extends ArrayOfDtype {
  readonly string: string[];
}

type ElementName = keyof DataOf;
type Element<D extends ElementName> = DataOf[D][number];

/** The result of `at`: a number or text for a column of one dimension, otherwise a column with one dimension less. */
type ElementOf<D extends ElementName, Shape extends readonly number[]> = Shape extends readonly [number, ...infer Rest extends number[]]
  ? Rest extends readonly []
    ? Element<D>
    : Rest extends readonly [number, ...number[]]
      ? Column<D, Rest>
      : Column<D, Rest> | Element<D>
  : Column<D> | Element<D>;

/** Plain arrays, nested according to the shape. */
export type NestedArray<E, Shape extends readonly number[]> = Shape extends readonly [number, ...infer Rest extends number[]]
  ? NestedArray<E, Rest>[]
  : Shape extends readonly []
    ? E
    : // biome-ignore lint/suspicious/noExplicitAny: the shape is unknown
      any;

/** An object with the fields of a column. Callers may pass such an object instead of a `Column`. */
export interface ColumnLike<D extends ElementName = Dtype, Shape extends readonly number[] = readonly number[]> {
  readonly data: DataOf[D];
  readonly shape: Shape;
}

/**
 * A flat array and its shape. The dimensions are items, steps (unless the column is a single step), and the dimensions of the leaf. Numbers are in a typed
 * array, and text (`Column<"string">`) is in a plain array. The type of the shape is as specific as the spec: `[number, number, 84, 84]`.
 */
export class Column<D extends ElementName = Dtype, Shape extends readonly number[] = number[]> implements ColumnLike<D, Shape> {
  readonly data: DataOf[D];
  readonly shape: Shape;

  constructor(data: DataOf[D], shape: Shape) {
    this.data = data;
    this.shape = shape;
  }

  /**
   * Returns element i of the first dimension: a number or text, or a column of the remaining dimensions on the same memory. A negative i counts from the end.
   * Costs O(1), or O(elements) for text.
   * @throws RangeError if i is out of range
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

  /** Yields `at(0)`, `at(1)` …. */
  *[Symbol.iterator](): Generator<ElementOf<D, Shape>, void> {
    for (let i = 0; i < (this.shape[0] ?? 0); i++) yield this.at(i);
  }

  /** Returns a copy of the values as nested plain arrays. Costs O(elements). */
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

/** Creates a column. The function is outside the class, which must not name itself (see base/inspect.ts). */
function newColumn<D extends ElementName>(data: DataOf[D], shape: number[]): Column<D> {
  return new Column(data, shape);
}

/**
 * Returns whether a value is a column or has the form of a column. A nest of leaves may also have keys named `data` and `shape`, but its `shape` is not an
 * array of numbers.
 */
export function isColumn(value: unknown): value is ColumnLike {
  const { data, shape } = (value ?? {}) as Partial<ColumnLike>;
  return (ArrayBuffer.isView(data) || Array.isArray(data)) && Array.isArray(shape) && shape.every((n) => typeof n === "number");
}

/**
 * Returns a caller's list: the flat array of a column (such as `info.ids` of Reverb samples, which contains keys), or the value itself.
 * @throws RangeError if a column does not have as many elements as its shape
 */
export function dataOf<T>(subject: string, values: T | ColumnLike): T {
  const column = columnIn(values);
  if (column === undefined) return values as T;
  const { data, shape } = column;
  if (data.length !== sizeOf(shape) || !shape.every((size) => Number.isInteger(size) && size >= 0))
    throw mustBe(RangeError, subject, `a column whose number of elements matches its shape, ${shapeText(shape)}`, data);
  return data as T;
}

/**
 * Returns a caller's numbers, one per key, as `dataOf` does. A column must have one dimension, or the shape of the keys; dimensions of 1 are ignored.
 * @throws RangeError if a column has another shape, since its numbers would belong to other keys
 */
export function dataBeside<T>(subject: string, values: T | ColumnLike, keys: unknown): T {
  const column = columnIn(values);
  if (column === undefined) return values as T;
  const own = columnIn(keys)?.shape;
  const shape = wideSizes(column.shape);
  if (shape.length > 1 && shape.join() !== wideSizes(own ?? []).join()) {
    const rule =
      own === undefined || own.length < 2
        ? "a column of one dimension with one number per key"
        : `a column of the keys' shape ${shapeText(own)}, or of one dimension`;
    throw mustBe(RangeError, subject, rule, described(`a column of shape ${shapeText(column.shape)}`));
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

/** Returns a copy of a nest of columns, arrays and numbers, with separate memory per array. */
export function copyColumns<T>(value: T): T {
  if (isColumn(value)) return new Column(value.data.slice() as Column["data"], [...value.shape]) as T;
  if (ArrayBuffer.isView(value)) return (value as unknown as Uint8Array).slice() as T;
  if (Array.isArray(value)) return value.map(copyColumns) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, copyColumns(part)])) as T;
}

customInspect(Column, "Column", ({ data, shape }) => ({ data, shape }));
