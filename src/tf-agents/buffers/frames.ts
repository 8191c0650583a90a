/** Batches of items as they are given: checked against the spec, and as typed arrays, which is what a writer is fastest with. */

import { mustBe } from "../../base/error.ts";
import { Column } from "../../schema/column.ts";
import { type AnyArray, DTYPES, type Numbered } from "../../schema/dtype.ts";
import { isShaped, put, targetOf } from "../../schema/fit.ts";
import { blank, isLeaf, leafText, type RowLeaf, shapeOf, sizeOf } from "../../schema/leaf.ts";
import { flattener, leaves, packer, type Refuse, zip } from "../../schema/nest.ts";
import type { IsAny, Spec } from "../../schema/spec.ts";

type Nested = number | bigint | boolean | string | AnyArray | readonly Nested[];

/** Items as they may be given: each leaf with a leading dimension of batch or time, as a flat typed array, a nested array, or a column. */
export type ItemsOf<S> =
  IsAny<S> extends true ? unknown : S extends RowLeaf ? AnyArray | Column | readonly Nested[] : { readonly [K in keyof S]: ItemsOf<S[K]> };

/** A batch that fits the spec. */
export interface Batch {
  readonly rows: number;
  /** Nested as the spec, a flat typed array a leaf: what a writer takes. */
  readonly values: unknown;
}

/** A batch as columns, which carry their shape. */
export function columnsOf(spec: Spec, { rows, values }: Batch): unknown {
  return zip([spec, values], isLeaf, ([leaf, data]) => new Column(data as Column["data"], [rows, ...shapeOf(leaf as RowLeaf)]));
}

const refuse: Refuse = (code, keys, rule, value) => mustBe(code, keys.join(".") || "items", rule, value);

/**
 * What checks batches of a spec. A leaf is a typed array, flat; an array, nested as its shape says; or a column `{data, shape}`; each with a leading dimension. A
 * typed array of another dtype is converted as plain numbers are.
 */
export function batchForm(spec: Spec): (items: unknown, rows?: number) => Batch {
  const flatten = flattener(spec, refuse);
  const pack = packer(spec);
  const takers = leaves(spec).map(({ keys, leaf }) => taker(leaf, keys));
  const [first] = leaves(spec).map(({ leaf }) => sizeOf(shapeOf(leaf)));
  return (items, wanted) => {
    const values = flatten(items);
    let rows = wanted;
    for (let i = 0; i < takers.length; i++) {
      const taken = (takers[i] as Take)(values[i], rows);
      rows ??= taken.length / (first as number);
      values[i] = taken;
    }
    return { rows: rows as number, values: pack(values) };
  };
}

/** Takes one leaf's values: so many rows, or however many there are. */
type Take = (value: unknown, wanted: number | undefined) => ArrayLike<unknown>;

function taker(leaf: RowLeaf, keys: readonly string[]): Take {
  const { dtype } = leaf;
  const array = dtype === "string" ? Array : DTYPES[dtype].array;
  const shape = shapeOf(leaf);
  const size = sizeOf(shape);
  return (value, wanted) => {
    if (ArrayBuffer.isView(value) && value instanceof array && wanted !== undefined && value.length === wanted * size && dtype !== "bool") return value;
    const rows = rowCount(shape, size, value);
    if (rows === undefined || rows < 1 || (wanted !== undefined && rows !== wanted)) {
      const got = isShaped(value) ? `[${value.shape.join(", ")}]` : value;
      throw refuse("SPEC_MISMATCH", keys, leafText(dtype, [wanted ?? "rows", ...shape]), got);
    }
    const data = isShaped(value) ? value.data : value;
    const made = ArrayBuffer.isView(data) && data instanceof array ? data : blank(leaf, rows * size);
    // What is refused is refused before anything is written.
    const misfit = put(targetOf(dtype, [rows, ...shape]), made === data ? undefined : (made as unknown as Numbered), 0, data, { anyNumbers: true });
    if (misfit !== undefined) throw refuse(misfit.code, keys, misfit.rule, misfit.value);
    return made;
  };
}

/** The leading dimension of a value; undefined where it has none. */
function rowCount(shape: readonly number[], size: number, value: unknown): number | undefined {
  if (isShaped(value)) return value.shape.slice(1).join() === shape.join() && value.shape.length > shape.length ? value.shape[0] : undefined;
  if (Array.isArray(value)) return value.length;
  const rows = ArrayBuffer.isView(value) ? (value as Uint8Array).length / size : Number.NaN;
  return Number.isInteger(rows) ? rows : undefined;
}
