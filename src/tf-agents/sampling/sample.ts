/** Samples: items as a client gives them, whole or step by step. Reverb's `ReplaySample`. */

import { mustBe } from "../../base/error.ts";
import { Column } from "../../schema/column.ts";
import type { RowLeaf } from "../../schema/leaf.ts";
import { leaves, type Nest, pack } from "../../schema/nest.ts";
import { matchesColumn, type Signature, signatureText } from "../signature.ts";

/** What names an item for ever: a number in this process, a bigint on a server. */
export type ItemKey = number | bigint;

/** What is known of a sample. */
export interface SampleInfo {
  /** Of the item, for `mutatePriorities`. */
  readonly key: ItemKey;
  /** Of the item in this draw. */
  readonly probability: number;
  /** Items in the table at the draw. */
  readonly tableSize: number;
  readonly priority: number;
  /** How often the item has been drawn, including this time. */
  readonly timesSampled: number;
}

/** An item, or a step of one. `data` is columns {data, shape}: flat, in the order of their names, or nested as a signature. */
// biome-ignore lint/suspicious/noExplicitAny: of any table
export interface ReplaySample<Data = any> {
  readonly info: SampleInfo;
  readonly data: Data;
}

/** An item as a sampler gives it. */
export interface DrawnItem {
  readonly info: SampleInfo;
  /** In the order of their names. */
  readonly columns: readonly DrawnColumn[];
}

export interface DrawnColumn {
  readonly dtype: RowLeaf["dtype"];
  /** Steps, unless it is squeezed; then the shape of the leaf. */
  readonly column: Column;
  /** Whether it is a single step, without a dimension of time. */
  readonly isSqueezed: boolean;
}

/** The columns as they are. */
export function wholeColumns({ columns }: DrawnItem): readonly Column[] {
  return columns.map(({ column }) => column);
}

/**
 * How many steps the columns have, all the same number. @param allowsSqueezed whether a column without a dimension of time is one step
 * @throws ReplayError SPEC_MISMATCH where they have not
 */
export function stepsOf(table: string, { columns }: DrawnItem, allowsSqueezed: boolean): number {
  const lengths = columns.map(({ column, isSqueezed }) => (isSqueezed ? (allowsSqueezed ? 1 : -1) : (column.shape[0] as number)));
  const [length = 0] = lengths;
  if (length >= 0 && lengths.every((candidate) => candidate === length)) return length;
  const rule = "one whose columns have a dimension of time and the same number of steps, where it is taken apart into steps";
  const shapes = columns.map(({ column }) => `[${column.shape.join(", ")}]`).join(" ");
  throw mustBe("SPEC_MISMATCH", `an item of table ${table}`, rule, `columns of shapes ${shapes}`);
}

/** Step t of every column, on the same memory. */
export function stepColumns({ columns }: DrawnItem, t: number): readonly Column[] {
  return columns.map(({ column: { data, shape }, isSqueezed }) => {
    if (isSqueezed) return new Column(data, shape);
    const rest = shape.slice(1);
    const stepSize = data.length / (shape[0] as number);
    const part = Array.isArray(data) ? data.slice(t * stepSize, (t + 1) * stepSize) : data.subarray(t * stepSize, (t + 1) * stepSize);
    return new Column(part as Column["data"], rest);
  });
}

/** Columns nested as a signature, one by one in order. @throws ReplayError SPEC_MISMATCH where they are more or fewer */
export function nestColumns(table: string, signature: Signature, columns: readonly Column[]): unknown {
  mustHave(table, leaves(signature).length, columns.length);
  return pack(signature as Nest<RowLeaf>, columns);
}

/** @throws ReplayError SPEC_MISMATCH where columns are not those of a spec; their names do not count */
export function mustBeAs(table: string, spec: Signature, item: DrawnItem, columns: readonly Column[]): void {
  const specLeaves = leaves(spec);
  mustHave(table, specLeaves.length, columns.length);
  specLeaves.forEach(({ keys, leaf }, i) => {
    const { dtype } = item.columns[i] as DrawnColumn;
    const { shape } = columns[i] as Column;
    if (!matchesColumn(leaf, { dtype, shape }))
      throw mustBe(
        "SPEC_MISMATCH",
        `column ${i} of table ${table}`,
        `as ${keys.join(".") || "the only one"} of spec, ${signatureText(leaf)}`,
        signatureText({ dtype, shape }),
      );
  });
}

function mustHave(table: string, expected: number, columns: number): void {
  if (columns !== expected) throw mustBe("SPEC_MISMATCH", `an item of table ${table}`, `one of ${expected} columns, as the spec has`, `${columns} columns`);
}
