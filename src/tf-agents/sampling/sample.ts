/** Defines the samples that a client returns, whole or step by step. Corresponds to `ReplaySample` of Reverb. */

import { countText, described, mustBe } from "../../base/error.ts";
import { Column } from "../../schema/column.ts";
import type { RowLeaf } from "../../schema/leaf.ts";
import { leaves, type Nest, pack } from "../../schema/nest.ts";
import { matchesColumn, type Signature, signatureText } from "../signature.ts";

/** The permanent key of an item. Keys are numbers in this process, and bigints on a server. */
export type ItemKey = number | bigint;

/** Information about a sample. */
export interface SampleInfo {
  /** The key of the item, for `mutatePriorities`. */
  readonly key: ItemKey;
  /** The probability of the item in this draw. */
  readonly probability: number;
  /** The number of items in the table at the time of the draw. */
  readonly tableSize: number;
  readonly priority: number;
  /** The number of times that the item has been drawn, including this draw. */
  readonly timesSampled: number;
}

/** An item, or a step of an item. `data` consists of columns {data, shape}, either flat and sorted by their names, or nested like a signature. */
// biome-ignore lint/suspicious/noExplicitAny: of any table
export interface ReplaySample<Data = any> {
  readonly info: SampleInfo;
  readonly data: Data;
}

/** An item as a sampler returns it. */
export interface DrawnItem {
  readonly info: SampleInfo;
  /** The columns, sorted by their names. */
  readonly columns: readonly DrawnColumn[];
}

export interface DrawnColumn {
  readonly dtype: RowLeaf["dtype"];
  /** The values, [steps, …]. A squeezed column has only the shape of the leaf. */
  readonly column: Column;
  /** Whether the column is a single step, without a time dimension. */
  readonly isSqueezed: boolean;
}

/** Returns the columns unchanged. */
export function wholeColumns({ columns }: DrawnItem): readonly Column[] {
  return columns.map(({ column }) => column);
}

/**
 * Returns the number of steps, which must be the same for all columns. @param allowsSqueezed whether a column without a time dimension counts as one step
 * @throws ReplayError SPEC_MISMATCH if the numbers differ
 */
export function stepsOf(table: string, { columns }: DrawnItem, allowsSqueezed: boolean): number {
  const lengths = columns.map(({ column, isSqueezed }) => (isSqueezed ? (allowsSqueezed ? 1 : -1) : (column.shape[0] as number)));
  const [length = 0] = lengths;
  if (length >= 0 && lengths.every((candidate) => candidate === length)) return length;
  const rule = "a list of columns with a time dimension and the same number of steps";
  const shapes = columns.map(({ column }) => `[${column.shape.join(", ")}]`).join(" ");
  throw mustBe("SPEC_MISMATCH", `an item of table ${table}`, rule, described(`columns of shapes ${shapes}`));
}

/** Returns views of step t of every column. */
export function stepColumns({ columns }: DrawnItem, t: number): readonly Column[] {
  return columns.map(({ column: { data, shape }, isSqueezed }) => {
    if (isSqueezed) return new Column(data, shape);
    const rest = shape.slice(1);
    const stepSize = data.length / (shape[0] as number);
    const part = Array.isArray(data) ? data.slice(t * stepSize, (t + 1) * stepSize) : data.subarray(t * stepSize, (t + 1) * stepSize);
    return new Column(part as Column["data"], rest);
  });
}

/** Nests columns like a signature, in order. @throws ReplayError SPEC_MISMATCH if the number of columns differs */
export function nestColumns(table: string, signature: Signature, columns: readonly Column[]): unknown {
  mustHave(table, leaves(signature).length, columns.length);
  return pack(signature as Nest<RowLeaf>, columns);
}

/**
 * Checks that the columns of an item fit a spec, regardless of their names. @throws ReplayError SPEC_MISMATCH if the number of columns, a dtype or a shape
 * differs
 */
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
        `${signatureText(leaf)}, as spec states for ${keys.join(".") || "its only leaf"}`,
        described(signatureText({ dtype, shape })),
      );
  });
}

function mustHave(table: string, expected: number, columns: number): void {
  if (columns !== expected)
    throw mustBe(
      "SPEC_MISMATCH",
      `an item of table ${table}`,
      `a list of ${countText(expected, "column")}, as in the spec`,
      described(countText(columns, "column")),
    );
}
