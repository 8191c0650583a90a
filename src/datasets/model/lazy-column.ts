/** A column whose values stay where they are stored, and are read as they are asked for. */
import type { AnyArray, NumberArray } from "../../schema/dtype.ts";
import type { ColumnData } from "./column-data.ts";

export interface LazyValues {
  /** Values, as many as the column has. */
  readonly rows: number;
  /** Elements of a value. */
  readonly size: number;
  /** The values from … to - 1, in an array that nobody else changes. */
  read(from: number, to: number): AnyArray;
  /** Called before all of it is read. @throws where that would be too much */
  check(): void;
}

/** Takes the place of an array where pieces of it are asked for alone. */
export class LazyColumn {
  readonly #values: LazyValues;
  /** Elements before it, and of it. */
  readonly #from: number;
  readonly length: number;
  #all: AnyArray | undefined;

  constructor(values: LazyValues, from = 0, to = values.rows * values.size) {
    this.#values = values;
    this.#from = from;
    this.length = to - from;
  }

  /** A column of spec's leaf, by its type; who needs all of it asks for `all`. */
  static of(values: LazyValues): ColumnData {
    return new LazyColumn(values) as unknown as ColumnData;
  }

  /** Elements from … to - 1: read now, where they are one value, and else lazy again. */
  subarray(from: number, to: number): AnyArray {
    if (this.#all !== undefined) return (this.#all as NumberArray).subarray(from, to) as AnyArray;
    const { size } = this.#values;
    if (to - from > size) return new LazyColumn(this.#values, this.#from + from, this.#from + to) as unknown as AnyArray;
    return this.#values.read((this.#from + from) / size, (this.#from + to) / size);
  }

  /** All of it in memory, read once. */
  get all(): AnyArray {
    if (this.#all !== undefined) return this.#all;
    const { size } = this.#values;
    this.#values.check();
    this.#all = this.#values.read(this.#from / size, (this.#from + this.length) / size);
    return this.#all;
  }

  /** The same, not kept: for a piece that somebody copies at once. */
  read(): AnyArray {
    const { size } = this.#values;
    return this.#all ?? this.#values.read(this.#from / size, (this.#from + this.length) / size);
  }

  /** The same with each piece changed as it is read. @param change gets the values of a piece and the number of its first one, and returns as many elements */
  map(change: (values: AnyArray, from: number) => AnyArray): LazyColumn {
    const values = this.#values;
    const first = this.#from / values.size;
    const read = (from: number, to: number) => change(values.read(first + from, first + to), from);
    return new LazyColumn({ rows: this.length / values.size, size: values.size, check: () => values.check(), read });
  }

  /** The values with these numbers. */
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

  /** The same with the last value once more. */
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

/** A column as an array. */
export function wholeColumn(column: ColumnData): ColumnData {
  return isLazy(column) ? column.all : column;
}

export function isLazy(column: unknown): column is LazyColumn {
  return column instanceof LazyColumn;
}
