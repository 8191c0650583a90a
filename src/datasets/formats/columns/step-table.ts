/** Reads RLDS steps from a table of columns in which each episode is a range of rows. Missing columns are computed from the other columns. */

import { isText } from "../../../schema/leaf.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { leavesOf } from "../../model/leaves.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import { yieldToEventLoop } from "../../model/traversal.ts";
import { ABSENT, discountsOf } from "./absent-fields.ts";
import { type Column, type ColumnTree, columnsOf, rowSpec } from "./column.ts";
import { squeezeColumn } from "./flat.ts";

/** The rows from `from` to `to` - 1. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** The number of flags that are read before other tasks can run. */
const SLICE_ROWS = 1 << 22;
const FLAG = { dtype: "bool", shape: [] } as const;

/**
 * The row ranges of episodes. An episode begins at `is_first` or after `is_last`. The ranges are computed during iteration, because a list of them would be too
 * large if every row were an episode.
 */
export class FlaggedRanges implements Iterable<Range> {
  readonly #rows: number;
  readonly #isFirst: Uint8Array | undefined;
  readonly #isLast: Uint8Array | undefined;

  constructor(rows: number, isFirst: Uint8Array | undefined, isLast: Uint8Array | undefined) {
    this.#rows = rows;
    this.#isFirst = isFirst;
    this.#isLast = isLast;
  }

  get length(): number {
    let count = 0;
    for (let to = 0; to < this.#rows; count++) to = this.#end(to);
    return count;
  }

  *[Symbol.iterator](): Generator<Range, void, undefined> {
    for (let from = 0, to = 0; from < this.#rows; from = to) {
      to = this.#end(from);
      yield { from, to };
    }
  }

  #end(from: number): number {
    let to = from + 1;
    while (to < this.#rows && this.#isFirst?.[to] !== 1 && this.#isLast?.[to - 1] !== 1) to++;
    return to;
  }
}

/** Reads a column of flags, and returns 0 or 1 per row. @throws RldsError CORRUPT if a value is not a flag */
export async function flagsOf(column: Column, file: string, signal?: AbortSignal): Promise<Uint8Array> {
  const { leaf, rows = 0, read, path } = squeezeColumn(column);
  const flagError = () => corruptFile({ file }, `${path} must have one flag per row, 0 or 1`);
  if (leaf.shape.length > 0 || isText(leaf)) throw flagError();
  const flags = new Uint8Array(rows);
  for (let from = 0; from < rows; from += SLICE_ROWS) {
    if (from > 0) await yieldToEventLoop(signal);
    const data = await read(from, Math.min(from + SLICE_ROWS, rows));
    for (let i = 0; i < data.length; i++) {
      const value = Number(data[i]);
      if (value !== 0 && value !== 1) throw flagError();
      flags[from + i] = value;
    }
  }
  return flags;
}

/** The columns and flags of the steps in all episodes. */
export interface StepTable {
  /** The columns that are used unchanged: the observation, the action, the reward, metadata, and optionally the discount. */
  readonly tree: { readonly [name: string]: ColumnTree };
  readonly isFirst?: Uint8Array;
  readonly isLast?: Uint8Array;
  readonly isTerminal: Uint8Array;
}

/** Returns the spec of a step, including flags and a discount. */
export function stepTableSpec({ tree }: StepTable): StepSpec {
  return { discount: ABSENT, ...(rowSpec(tree) as { readonly [name: string]: StepSpec }), is_first: FLAG, is_last: FLAG, is_terminal: FLAG };
}

/**
 * Returns a copy of the steps in a range of rows. If the table lacks `isFirst`, `isLast` or discounts, they are derived from the ends of the range and the
 * other flags.
 */
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
  if (!data.has(discount)) data.set(discount, discountsOf(flags.is_last, flags.is_terminal));
  const stepData = leavesOf(spec).map(({ keys }) => data.get(JSON.stringify(keys)) as ColumnData);
  return new StepColumns<RldsStep>(spec, stepData, length);
}
