/** Splits and joins nests of columns along their first dimension. */
import { concatArrays } from "../base/bytes.ts";
import { described, mustBe } from "../base/error.ts";
import { Column, type ColumnLike, isColumn } from "../schema/column.ts";
import { dtypeOf } from "../schema/dtype.ts";
import { leafText } from "../schema/leaf.ts";
import { zip } from "../schema/nest.ts";

/** Applies `combine` to the columns at each place of several nests. The result is nested like the first nest. */
function zipColumns(nests: readonly unknown[], combine: (columns: readonly ColumnLike[], path: string) => unknown): unknown {
  const pathOf = (keys: readonly string[]) => ["items", ...keys].join(".");
  const isEnd = (node: unknown, keys: readonly string[]) => {
    if (typeof node === "object" && node !== null && !ArrayBuffer.isView(node)) return isColumn(node);
    throw mustBe("SPEC_MISMATCH", pathOf(keys), "a column {data, shape}, or a nest of them", node);
  };
  return zip(nests, isEnd, (columns, keys) => {
    const nonColumn = columns.find((column) => !isColumn(column));
    if (nonColumn !== undefined || columns.includes(undefined))
      throw mustBe("SPEC_MISMATCH", pathOf(keys), "a column in every item, as in the first item", nonColumn);
    return combine(columns as readonly ColumnLike[], pathOf(keys));
  });
}

/** Applies `change` to every column of a nest. */
export function mapColumns(nest: unknown, change: (column: ColumnLike, path: string) => unknown): unknown {
  return zipColumns([nest], ([column], path) => change(column as ColumnLike, path));
}

/** Returns item i of a batch, or step i of a sequence. */
export function at(nest: unknown, i: number): unknown {
  return mapColumns(slice(nest, i, i + 1), ({ data, shape }) => new Column(data, shape.slice(1)));
}

/** Returns the rows from `begin` to before `end`. */
export function slice(nest: unknown, begin: number, end: number): unknown {
  return mapColumns(nest, ({ data, shape }) => {
    const rowSize = data.length / (shape[0] as number);
    return new Column(data.slice(begin * rowSize, end * rowSize), [end - begin, ...shape.slice(1)]);
  });
}

/** Returns the only item of a batch of one. */
export function unbatch(nest: unknown): unknown {
  return mapColumns(nest, ({ data, shape }) => new Column(data, shape.slice(1)));
}

/** Returns an item as a batch of one. */
export function batchOfOne(nest: unknown): unknown {
  return mapColumns(nest, ({ data, shape }) => new Column(data, [1, ...shape]));
}

/** Stacks items of the same shape into a batch. */
export function stack(nests: readonly unknown[]): unknown {
  return concat(nests.map(batchOfOne));
}

/** Concatenates batches or sequences. */
export function concat(nests: readonly unknown[]): unknown {
  return zipColumns(nests, (columns, path) => {
    const [first] = columns as readonly [ColumnLike];
    const rest = first.shape.slice(1);
    let rows = 0;
    for (const column of columns) {
      if (column.shape.slice(1).join() !== rest.join() || column.data.constructor !== first.data.constructor)
        throw mustBe("SPEC_MISMATCH", path, `${elementText(first)} in every item`, described(elementText(column)));
      rows += column.shape[0] as number;
    }
    return new Column(concatArrays(columns.map((column) => column.data)), [rows, ...rest]);
  });
}

/** Returns the dtype and shape of a column's elements as messages show them. */
function elementText({ data, shape }: ColumnLike): string {
  return leafText(dtypeOf(data) ?? "string", shape.slice(1));
}

/** Returns the length of the first dimension of a nest's columns, such as the rows of a batch or the steps of a sequence. */
export function lengthOf(nest: unknown): number {
  let length: number | undefined;
  mapColumns(nest, ({ shape }, path) => {
    const [columnLength] = shape;
    length ??= columnLength;
    if (columnLength === undefined || columnLength !== length)
      throw mustBe("SPEC_MISMATCH", path, `a column of ${length ?? "some"} steps, like the first column`, described(`[${shape.join(", ")}]`));
    return undefined;
  });
  return length ?? 0;
}

/** Returns numbers as a column. Callers pass the shape [] for a single number outside a batch. */
export function numbers(values: ArrayLike<number>, shape: number[] = [values.length]): Column<"f64"> {
  // `Float64Array.from` would be slower, because it uses an iterator.
  return new Column<"f64">(values instanceof Float64Array ? (values as Float64Array<ArrayBuffer>) : new Float64Array(values), shape);
}
