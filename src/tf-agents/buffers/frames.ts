/** Checks batches of items against the spec and converts them to typed arrays, the form that writers append fastest. */

import { mustBe } from "../../base/error.ts";
import { Column } from "../../schema/column.ts";
import { isShaped, put, targetOf } from "../../schema/copy-values.ts";
import { type AnyArray, DTYPES, type NumberArray } from "../../schema/dtype.ts";
import { isHalf } from "../../schema/half.ts";
import { blank, isLeaf, leafText, type RowLeaf, shapeOf, sizeOf } from "../../schema/leaf.ts";
import { flattener, leaves, type MakeError, packer, zip } from "../../schema/nest.ts";
import type { IsAny, Spec } from "../../schema/spec.ts";

type Nested = number | bigint | boolean | string | AnyArray | readonly Nested[];

/** The accepted forms of items. Each leaf has a leading batch or time dimension, and is a flat typed array, a nested array or a column. */
export type ItemsOf<S> =
  IsAny<S> extends true ? unknown : S extends RowLeaf ? AnyArray | Column | readonly Nested[] : { readonly [K in keyof S]: ItemsOf<S[K]> };

/** A batch that fits the spec. */
export interface Batch {
  readonly rows: number;
  /** The values, nested like the spec, with a flat typed array per leaf. Writers accept this form. */
  readonly values: unknown;
}

/** Returns a batch as columns, which carry their shape. */
export function columnsOf(spec: Spec, { rows, values }: Batch): unknown {
  return zip([spec, values], isLeaf, ([leaf, data]) => new Column(data as Column["data"], [rows, ...shapeOf(leaf as RowLeaf)]));
}

const refuse: MakeError = (code, keys, rule, value) => mustBe(code, keys.join(".") || "items", rule, value);

/**
 * Returns a function that checks batches of a spec. Each leaf has a leading dimension, and is a flat typed array, an array nested like its shape, or a column
 * `{data, shape}`. A typed array of another dtype is converted like plain numbers.
 */
export function createBatchReader(spec: Spec): (items: unknown, rows?: number) => Batch {
  const flatten = flattener(spec, refuse);
  const pack = packer(spec);
  const takers = leaves(spec).map(({ keys, leaf }) => createLeafReader(leaf, keys));
  const [first] = leaves(spec).map(({ leaf }) => sizeOf(shapeOf(leaf)));
  return (items, expectedRows) => {
    const values = flatten(items);
    let rows = expectedRows;
    for (let i = 0; i < takers.length; i++) {
      const leafValues = (takers[i] as ReadLeaf)(values[i], rows);
      rows ??= leafValues.length / (first as number);
      values[i] = leafValues;
    }
    return { rows: rows as number, values: pack(values) };
  };
}

/** Reads the values of one leaf. If `expectedRows` is undefined, any number of rows is accepted. */
type ReadLeaf = (value: unknown, expectedRows: number | undefined) => ArrayLike<unknown>;

function createLeafReader(leaf: RowLeaf, keys: readonly string[]): ReadLeaf {
  const { dtype } = leaf;
  const array = dtype === "string" ? Array : DTYPES[dtype].array;
  const shape = shapeOf(leaf);
  const size = sizeOf(shape);
  // Half floats are rounded into a new array.
  const isKept = (data: unknown): data is AnyArray => ArrayBuffer.isView(data) && data instanceof array && !isHalf(dtype);
  return (value, expectedRows) => {
    if (isKept(value) && expectedRows !== undefined && value.length === expectedRows * size && dtype !== "bool") return value;
    const rows = rowCount(shape, size, value);
    if (rows === undefined || rows < 1 || (expectedRows !== undefined && rows !== expectedRows)) {
      const actual = isShaped(value) ? `[${value.shape.join(", ")}]` : value;
      throw refuse("SPEC_MISMATCH", keys, leafText(dtype, [expectedRows ?? "rows", ...shape]), actual);
    }
    const data = isShaped(value) ? value.data : value;
    const output = isKept(data) ? data : blank(leaf, rows * size);
    // Invalid values throw here, before anything is written.
    const mismatch = put(targetOf(dtype, [rows, ...shape]), output === data ? undefined : (output as unknown as NumberArray), 0, data, { anyNumbers: true });
    if (mismatch !== undefined) throw refuse(mismatch.code, keys, mismatch.rule, mismatch.value);
    return output;
  };
}

/** Returns the leading dimension of a value, or undefined if the value has no leading dimension. */
function rowCount(shape: readonly number[], size: number, value: unknown): number | undefined {
  if (isShaped(value)) return value.shape.slice(1).join() === shape.join() && value.shape.length > shape.length ? value.shape[0] : undefined;
  if (Array.isArray(value)) return value.length;
  const rows = ArrayBuffer.isView(value) ? (value as Uint8Array).length / size : Number.NaN;
  return Number.isInteger(rows) ? rows : undefined;
}
