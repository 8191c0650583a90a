/** `reprise sample`: prints the items that a table would draw next. */
import type { Command } from "commander";
import { damageOf } from "../datasets/formats/replay/open-journal.ts";
import { selectNest } from "../datasets/formats/selection/selected-nest.ts";
import { Selection } from "../datasets/formats/selection/selection.ts";
import { type Column, flatten, ReplayError, type Spec, type Table } from "../index.ts";
import { isColumn } from "../schema/column.ts";
import { isLeaf, sizeOf } from "../schema/leaf.ts";
import { zip } from "../schema/nest.ts";
import { wholeNumber } from "./arguments.ts";
import { addSalvage, addSelect, lossesText, type SelectOptions, selectionOf } from "./dataset.ts";
import { UsageError } from "./exit.ts";
import { openReadOnly, tableOf } from "./journal.ts";
import { leavesIn } from "./leaf-tables.ts";
import type { Host, Result } from "./result.ts";
import { number, shapeText, table as tableText } from "./text.ts";

const EXAMPLES = `
The items are those that the journal's program would draw next. The journal does not change, and the program can keep running.

Examples:
  $ npx reprise sample runs/a --table transitions
  $ npx reprise sample runs/a --table transitions -n 100 --json > items.json
`;

export function addSample(command: Command): Command {
  return addSelect(addSalvage(command))
    .addHelpText("before", "  $ npx reprise sample runs/a --table transitions\n")
    .description("Draws items from a table of a journal and shows their steps.")
    .argument("<journal>", "the folder of the journal")
    .requiredOption("--table <name>", "the table to draw from")
    .option("-n, --number <n>", "number of items", wholeNumber(1), 5)
    .addHelpText("after", EXAMPLES);
}

export interface SampleVerbOptions extends SelectOptions {
  readonly mode?: string;
  readonly table: string;
  readonly number: number;
}

/** The maximum number of values to print. More values would not fit into memory as objects and text. */
const MAX_PRINTED = 2 ** 24;

interface Item {
  readonly key: number;
  readonly priority: number;
  readonly probability: number;
  readonly timesSampled: number;
  readonly length: number;
  readonly steps: unknown;
}

export async function sample(dir: string, { table: name, number: n, mode, ...select }: SampleVerbOptions, { signal, width }: Host): Promise<Result> {
  const losses = damageOf(mode === "salvage");
  const replay = await openReadOnly(dir, signal, losses);
  const selection = new Selection(selectionOf(select));
  try {
    const spec = selectNest(replay.options.spec, isLeaf, selection) as Spec;
    selection.check();
    const table = tableOf(replay, name);
    const items: Item[] = [];
    let values = 0;
    // Items are drawn one at a time, because they may have different lengths.
    while (items.length < n) {
      signal.throwIfAborted();
      const whole = drawItem(table);
      const item = whole && { ...whole, steps: selectNest(whole.steps, isColumn, selection) };
      if (item === undefined) break;
      values += valuesIn(spec, item.length);
      // The limit also applies to n items of this length, so an excessive -n usually fails at the first item.
      if (Math.max(values, valuesIn(spec, item.length) * n) > MAX_PRINTED)
        throw new UsageError(`-n ${n} would print more than ${MAX_PRINTED} values, ${valuesIn(spec, item.length)} per item. Pass a smaller -n`);
      items.push(item);
    }
    if (items.length === 0) throw noItemsError(table);
    const text = items.map((item, i) => itemText(item, i, spec, width)).join("\n");
    const itemValues = items.map(({ steps, ...item }) => ({ ...item, steps: nestedSteps(steps) }));
    return { value: { dir, table: name, items: itemValues, losses: losses?.all }, text: `${text}${lossesText(losses?.all)}` };
  } finally {
    replay.dispose();
  }
}

/**
 * Returns the approximate number of values that are printed for an item. The properties of the item itself, such as its key and priority, count as 8 values.
 */
function valuesIn(spec: Spec, length: number): number {
  return 8 + length * leavesIn(spec).reduce((sum, { shape }) => sum + sizeOf(shape), 0);
}

function drawItem(table: Table): Item | undefined {
  const { count, info, lengths, steps } = table.sample(1);
  if (count === 0) return undefined;
  const [key, priority, probability] = [info.keys, info.priorities, info.probabilities].map((column) => column[0] as number) as [number, number, number];
  return { key, priority, probability, timesSampled: info.timesSampled[0] as number, length: lengths[0] as number, steps };
}

function noItemsError(table: Table): ReplayError {
  const { size } = table;
  const { minSize } = table.options.rateLimiter;
  if (size === 0) return new ReplayError("EMPTY", `table ${table.name} has no items`);
  return new ReplayError(
    "RATE_LIMITED",
    `the rate limiter of table ${table.name} allows no draw: the table needs at least ${minSize} items and enough inserts, but has ${size} items. Append more steps`,
  );
}

/** Returns the columns of one item as nested arrays. The first dimension is time. */
function nestedSteps(steps: unknown): unknown {
  return zip([steps], isColumn, ([column]) => {
    const { data, shape } = column as Column;
    return nestArrays(data, shape.slice(1));
  });
}

function nestArrays(data: ArrayLike<unknown>, shape: readonly number[], from = 0): unknown {
  const [length, ...rest] = shape;
  if (length === undefined) return data[from];
  return Array.from({ length }, (_, i) => nestArrays(data, rest, from + i * sizeOf(rest)));
}

/** Returns a heading and one line per leaf. The lines are cut to the width of the terminal. */
function itemText({ key, priority, probability, timesSampled, length, steps }: Item, index: number, spec: Spec, width: number): string {
  const head = `Item ${index + 1}: key ${key}, priority ${number(priority)}, probability ${number(probability)}, sampled ${timesSampled}×, ${length} steps`;
  const columns = columnsOf(spec, steps);
  const rows = columns.map(({ path, dtype, column }) => [path, dtype, shapeText(column.shape.slice(1)), valuesText(column)]);
  const lines = tableText([["leaf", "dtype", "shape", "values"], ...rows]).split("\n");
  return `${head}\n${lines.map((line) => (line.length > width ? `${line.slice(0, width - 1)}…` : line)).join("\n")}`;
}

/** Returns the columns of an item. If the table has named columns instead of the leaves of the spec, the names are the paths, and the dtypes are empty. */
function columnsOf(spec: Spec, steps: unknown): { path: string; dtype: string; column: Column }[] {
  try {
    const columns = flatten(spec, steps) as Column[];
    return leavesIn(spec).map(({ path, dtype }, i) => ({ path, dtype, column: columns[i] as Column }));
  } catch (error) {
    if (!(error instanceof ReplayError)) throw error;
    return Object.entries(steps as { readonly [name: string]: Column }).map(([path, column]) => ({ path, dtype: "", column }));
  }
}

/** The maximum number of values to print per leaf as text. */
const MAX_VALUES = 64;

function valuesText({ data }: Column): string {
  const texts = Array.from<unknown, string>(data.slice(0, MAX_VALUES) as ArrayLike<unknown>, (value) =>
    typeof value === "string" ? JSON.stringify(value) : number(Number(value)).replaceAll(",", ""),
  );
  return texts.join(" ") + (data.length > MAX_VALUES ? " …" : "");
}
