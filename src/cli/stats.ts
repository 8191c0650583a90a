/** `reprise stats`: shows the tables of a journal or a snapshot, or the leaves of a dataset. */
import { statSync } from "node:fs";
import type { Command } from "commander";
import { MAX_LENGTH } from "../base/limits.ts";
import { damageOf } from "../datasets/formats/replay/open-journal.ts";
import { selectNest } from "../datasets/formats/selection/selected-nest.ts";
import { Selection } from "../datasets/formats/selection/selection.ts";
import { statistics } from "../datasets/rlds/index.ts";
import type { Replay, Spec, Table } from "../index.ts";
import { isLeaf } from "../schema/leaf.ts";
import { addOpen, addSalvage, lossesText, type OpenOptions, selectionOf, withDataset } from "./dataset.ts";
import { memoryKind } from "./edit/memory.ts";
import { UsageError } from "./exit.ts";
import { isJournal, openReadOnly, restoreFile } from "./journal.ts";
import { leavesIn, specText, statisticsText } from "./leaf-tables.ts";
import { isUrl } from "./program-parts.ts";
import type { Host, Result } from "./result.ts";
import { bytes, countText, escapeText, number, table as tableText } from "./text.ts";

const EXAMPLES = `
A folder with segments (00000001.rpr, …) is a journal, and a file that a Replay saved is a snapshot. Anything else is a dataset.

Examples:
  $ npx reprise stats runs/a
  $ npx reprise stats replay.snapshot
  $ npx reprise stats tensorflow_datasets/half_cheetah --json
`;

export function addStats(command: Command): Command {
  return addOpen(addSalvage(command))
    .addHelpText("before", "  $ npx reprise stats runs/a\n")
    .description(
      "Shows the sizes, counters and priorities of the tables of a journal or a snapshot, or the minimum, maximum, mean and standard deviation of every leaf of a dataset.",
    )
    .argument("<path|url>", "the folder of a journal, a snapshot, or a dataset")
    .option("--split <split>", "the split to read, for datasets")
    .addHelpText("after", EXAMPLES);
}

export function stats(path: string, options: OpenOptions, host: Host): Promise<Result> {
  const kind = isJournal(path) ? "journal" : isUrl(path) ? undefined : memoryKind(path);
  if (kind === undefined) return datasetStats(path, options, host);
  if ((options.split ?? options.open) !== undefined) throw new UsageError(`--split and --open work only with datasets, but ${path} is a ${kind}. Remove them`);
  return kind === "journal" ? journalStats(path, options, host) : snapshotStats(path, options, host);
}

function datasetStats(path: string, options: OpenOptions, host: Host): Promise<Result> {
  return withDataset(path, options, host, async (reader) => {
    const progress = host.progress("reading");
    const { leaves } = await statistics(reader, { signal: host.signal });
    progress.end();
    const { format, name } = reader;
    const { losses } = reader;
    return {
      value: { kind: "dataset", format, name, statistics: leaves, losses },
      text: `${escapeText(name)} (${format})\n${statisticsText(leaves)}${lossesText(losses)}`,
    };
  });
}

async function journalStats(dir: string, options: OpenOptions, { signal }: Host): Promise<Result> {
  const losses = damageOf(options.mode === "salvage");
  const replay = await openReadOnly(dir, signal, losses);
  try {
    const { bytes: size, liveBytes, segments } = replay.journal.stats;
    const { value, text, memory } = memoryStats(replay, options);
    const head = `${dir}: ${countText(value.steps, "step")}; ${bytes(size)} in ${countText(segments, "segment")}, ${bytes(liveBytes)} of them live; ${memory}`;
    return {
      value: { kind: "journal", dir, bytes: size, liveBytes, segments, ...value, losses: losses?.all },
      text: `${head}\n${text}${lossesText(losses?.all)}`,
    };
  } finally {
    replay.dispose();
  }
}

async function snapshotStats(path: string, options: OpenOptions, { signal }: Host): Promise<Result> {
  const replay = await restoreFile(path, signal);
  try {
    const { size } = statSync(path);
    const { value, text, memory } = memoryStats(replay, options);
    return { value: { kind: "snapshot", path, bytes: size, ...value }, text: `${path}: ${countText(value.steps, "step")}; ${bytes(size)}; ${memory}\n${text}` };
  } finally {
    replay.dispose();
  }
}

/**
 * Returns the statistics that both journals and snapshots have.
 * @throws RangeError if an option names a column that the steps do not have
 * @throws UsageError if a value of --rename or --null does not have the form COLUMN=VALUE
 */
function memoryStats(replay: Replay, options: OpenOptions) {
  const { steps, bytes: memory } = replay.stats();
  const { spec: wholeSpec } = replay.options;
  const selection = new Selection(selectionOf(options));
  const spec = selectNest(wholeSpec, isLeaf, selection) as Spec;
  selection.check();
  const openCount = replay.writers.length;
  const writers = replay.writers.map(({ options: { name = null, lanes }, episodeSteps }) => ({ name, lanes, episodeSteps }));
  const tables = Object.values(replay.tables).map((table) => ({
    ...table.stats(),
    sampler: table.options.sampler.kind,
    priorities: prioritiesOf(table, wholeSpec),
  }));
  const rows = tables.map(({ name, size: items, maxSize, inserts, samples, sampler, priorities }) => [
    name,
    items,
    maxSize,
    inserts,
    samples,
    sampler,
    priorities === undefined ? "" : `${number(priorities.min)} … ${number(priorities.max)}, mean ${number(priorities.mean)}`,
  ]);
  const columns = ["table", "items", "max", "inserted", "sampled", "sampler", "priorities"];
  const names = writers.flatMap(({ name }) => (name === null ? [] : [escapeText(name)])).join(", ");
  const openText = openCount === 0 ? "" : `${countText(openCount, "open writer")}${names && `: ${names}`}\n`;
  return {
    value: { memoryBytes: memory.used, steps, openWriters: openCount, writers, spec, tables },
    text: `${tableText([columns, ...rows])}${openText}\nEach step:\n${specText(spec)}`,
    memory: `${bytes(memory.used)} in memory`,
  };
}

/**
 * Returns statistics of the priorities of all items. Returns undefined if the table is empty or has more items than a batch can hold, if the steps have no
 * leaf, or if the rate limiter does not allow the draw. This function draws items, which changes the table, so the Replay must be a copy in memory.
 */
function prioritiesOf(table: Table, spec: Spec): { readonly min: number; readonly max: number; readonly mean: number } | undefined {
  const { size } = table;
  const [smallest] = leavesIn(spec).sort((a, b) => sizeOf(a) - sizeOf(b));
  if (size === 0 || size > MAX_LENGTH || smallest === undefined || !table.ready(size, { replacement: false })) return undefined;
  const columns = { one: { leaf: smallest.path.replaceAll("/", "."), at: 0 } };
  const { priorities } = table.sample(size, { replacement: false, columns, length: 1 }).info;
  const [min, max, sum] = priorities.reduce(([low, high, total], p) => [Math.min(low, p), Math.max(high, p), total + p], [Infinity, -Infinity, 0]);
  return { min, max, mean: sum / size };
}

function sizeOf({ shape }: { readonly shape: readonly number[] }): number {
  return shape.reduce((product, n) => product * n, 1);
}
