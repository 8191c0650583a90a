/** Defines columns whose values remain in storage until they are read. */
import type { AnyArray, NumberArray } from "../../schema/dtype.ts";
import type { ColumnData } from "./column-data.ts";

export interface LazyValues {
  /** The number of values. */
  readonly rows: number;
  /** The number of elements per value. */
  readonly size: number;
  /** Reads the values from index `from` up to, but not including, `to`. The resulting array may be a view of memory that the source keeps. */
  read(from: number, to: number): AnyArray;
  /** Called before the whole column is read. @throws if the column takes too much memory */
  check(): void;
}

/** A column that is used instead of an array and is usually read in pieces. */
export class LazyColumn {
  readonly #values: LazyValues;
  /** The index of the column's first element among the elements of the source. */
  readonly #from: number;
  readonly length: number;
  #all: AnyArray | undefined;

  constructor(values: LazyValues, from = 0, to = values.rows * values.size) {
    this.#values = values;
    this.#from = from;
    this.length = to - from;
  }

  /** Returns a lazy column with the type ColumnData, for code that accepts any column. Code that needs the whole column reads `all`. */
  static of(values: LazyValues): ColumnData {
    return new LazyColumn(values) as unknown as ColumnData;
  }

  /**
   * Returns the elements from index `from` up to, but not including, `to`: as an array if the whole column is cached or if they form a single value, otherwise
   * as a lazy column.
   */
  subarray(from: number, to: number): AnyArray {
    if (this.#all !== undefined) return (this.#all as NumberArray).subarray(from, to) as AnyArray;
    const { size } = this.#values;
    if (to - from > size) return new LazyColumn(this.#values, this.#from + from, this.#from + to) as unknown as AnyArray;
    return this.#values.read((this.#from + from) / size, (this.#from + to) / size);
  }

  /** The whole column as an array. It is read once and then cached. */
  get all(): AnyArray {
    if (this.#all !== undefined) return this.#all;
    const { size } = this.#values;
    this.#values.check();
    this.#all = this.#values.read(this.#from / size, (this.#from + this.length) / size);
    return this.#all;
  }

  /** Reads the column without caching it, for callers that copy it immediately. */
  read(): AnyArray {
    const { size } = this.#values;
    return this.#all ?? this.#values.read(this.#from / size, (this.#from + this.length) / size);
  }

  /**
   * Returns a column whose pieces are changed when they are read. @param change receives the values of a piece and the index of the first value, and returns an
   * array of the same length
   */
  map(change: (values: AnyArray, from: number) => AnyArray): LazyColumn {
    const values = this.#values;
    const first = this.#from / values.size;
    const read = (from: number, to: number) => change(values.read(first + from, first + to), from);
    return new LazyColumn({ rows: this.length / values.size, size: values.size, check: () => values.check(), read });
  }

  /** Returns a lazy column of the values with the indices `rows`. */
  pick(rows: ArrayLike<number>): LazyColumn {
    const values = this.#values;
    const { size } = values;
    const first = this.#from / size;
    const read = (from: number, to: number): AnyArray => {
      const parts = Array.from(
        { length: to - from },
        (_, i) => values.read(first + (rows[from + i] as number), first + (rows[from + i] as number) + 1) as NumberArray,
      );
      const [head] = parts;
      if (head === undefined) return values.read(first, first);
      const all = new (head.constructor as Float64ArrayConstructor)(parts.length * size);
      parts.forEach((part, i) => {
        all.set(part, i * size);
      });
      return all as unknown as AnyArray;
    };
    return new LazyColumn({ rows: rows.length, size, check: () => values.check(), read });
  }

  /** Returns the column with its last value repeated once. */
  withLastAgain(): LazyColumn {
    const { size, check } = this.#values;
    const rows = this.length / size;
    const first = this.#from / size;
    const values: LazyValues = {
      rows: rows + 1,
      size,
      check,
      read: (from, to) => {
        const part = this.#values.read(first + Math.min(from, rows - 1), first + Math.min(to, rows)) as NumberArray;
        if (to <= rows || from >= rows) return part as AnyArray;
        const whole = new (part.constructor as Uint8ArrayConstructor)((to - from) * size) as unknown as NumberArray;
        whole.set(part);
        whole.set(part.subarray(part.length - size), part.length);
        return whole as AnyArray;
      },
    };
    return new LazyColumn(values);
  }
}

/** Returns a column as an array. */
export function wholeColumn(column: ColumnData): ColumnData {
  return isLazy(column) ? column.all : column;
}

export function isLazy(column: unknown): column is LazyColumn {
  return column instanceof LazyColumn;
}
