/** RLDS's steps as a table of columns, that rows of which are episodes: what is missing is made of what is there. */
import type { RldsStep, StepSpec } from "../../rlds/dataset/dataset.ts";
import { leavesOf } from "../../rlds/dataset/leaves.ts";
import { RldsError } from "../../rlds/dataset/rlds-error.ts";
import { type ColumnData, StepColumns } from "../../rlds/dataset/step-columns.ts";
import { type Column, type ColumnTree, columnsOf, rowSpec } from "./column.ts";
import { squeezed } from "./flat.ts";

export interface Range {
  readonly from: number;
  readonly to: number;
}

const FLAG = { dtype: "bool", shape: [] } as const;
const DISCOUNT = { dtype: "f32", shape: [] } as const;

/** Rows that begin with is_first, or follow on is_last. */
export function rangesOf(rows: number, isFirst: ColumnData | undefined, isLast: ColumnData | undefined): Range[] {
  const ranges: Range[] = [];
  let from = 0;
  for (let i = 1; i <= rows; i++) {
    if (i < rows && !(isFirst !== undefined && isFirst[i] === 1) && !(isLast !== undefined && isLast[i - 1] === 1)) continue;
    ranges.push({ from, to: i });
    from = i;
  }
  return ranges;
}

/** A flag a row, as a bool. @throws RldsError CORRUPT for what is no flag */
export async function flagsOf(column: Column, file: string): Promise<Uint8Array> {
  const { leaf, rows = 0, read, path } = squeezed(column);
  const data = leaf.shape.length === 0 && leaf.dtype !== "string" && leaf.dtype !== "bytes" ? Array.from(await read(0, rows), Number) : undefined;
  if (data === undefined || data.some((value) => value !== 0 && value !== 1))
    throw new RldsError("CORRUPT", `${path} must have a flag a row, 0 or 1`, { file });
  return Uint8Array.from(data);
}

export interface StepTable {
  /** Columns that stay as they are: observation, action, reward, perhaps discount, metadata. */
  readonly tree: { readonly [name: string]: ColumnTree };
  readonly isFirst?: Uint8Array;
  readonly isLast?: Uint8Array;
  readonly isTerminal: Uint8Array;
}

export function stepTableSpec({ tree }: StepTable): StepSpec {
  return { discount: DISCOUNT, ...(rowSpec(tree) as { readonly [name: string]: StepSpec }), is_first: FLAG, is_last: FLAG, is_terminal: FLAG };
}

/** The steps of some rows, copied. */
export async function stepsOfRange(table: StepTable, spec: StepSpec, { from, to }: Range): Promise<StepColumns<RldsStep>> {
  const { tree, isTerminal } = table;
  const length = to - from;
  const edge = (flags: Uint8Array | undefined, at: number) => flags?.slice(from, to) ?? Uint8Array.from({ length }, (_, i) => (i === at ? 1 : 0));
  const data = new Map<string, ColumnData>();
  const columns = columnsOf(tree);
  for (const [i, { keys }] of leavesOf(rowSpec(tree)).entries()) data.set(JSON.stringify(keys), await (columns[i] as Column).read(from, to));
  const flags = { is_first: edge(table.isFirst, 0), is_last: edge(table.isLast, length - 1), is_terminal: isTerminal.slice(from, to) };
  for (const [name, column] of Object.entries(flags)) data.set(JSON.stringify([name]), column);
  const discount = JSON.stringify(["discount"]);
  // The step before a terminal one has the reward that led there.
  if (!data.has(discount))
    data.set(
      discount,
      Float32Array.from({ length }, (_, i) =>
        flags.is_last[i] === 1 || flags.is_terminal[i] === 1 || (i + 1 < length && flags.is_terminal[i + 1] === 1) ? 0 : 1,
      ),
    );
  return new StepColumns<RldsStep>(
    spec,
    leavesOf(spec).map(({ keys }) => data.get(JSON.stringify(keys)) as ColumnData),
    length,
  );
}
