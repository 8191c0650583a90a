/** `reprise push`: pushes a dataset into the tables of a journal or of a Reverb server. Programs open the journal with `Replay.open({ dir })`. */
import type { Command } from "commander";
import { MAX_LENGTH, MAX_REPLAY_BYTES } from "../base/limits.ts";
import {
  createTrajectoryDataSpec,
  createTransitionSpec,
  type FinalStepCounts,
  type ImportedRlds,
  type ImportReport,
  type PushedEpisodes,
  type RldsDataset,
  type RldsReader,
  type SourceLoss,
  withFinalObservations,
} from "../datasets/rlds/index.ts";
import { type OpenReplay, Replay, ReplayError, SELECTORS, type Selector, type Spec, type TableOptions } from "../index.ts";
import { notNegative, repeatable, seed as seedOf, selector, WITH_EXPONENT, wholeNumber } from "./arguments.ts";
import {
  addFinalStep,
  addMode,
  addOpen,
  type FinalStepOption,
  finalStepsText,
  importFrom,
  lossesText,
  type ModeOption,
  type OpenOptions,
  reportText,
  SOURCES,
  withDataset,
} from "./dataset.ts";
import { UsageError } from "./exit.ts";
import { closeKilled, hasOtherFiles, isJournal, removeJournal, tableOf } from "./journal.ts";
import { pushToServer, type TableCounts } from "./push-server.ts";
import type { Host, Result } from "./result.ts";
import { bytes, countText, table as tableText } from "./text.ts";
import { pushTrajectories, type TrajectoryOptions } from "./trajectories.ts";
import { pushTransitions, transitionsText } from "./transitions.ts";

const EXAMPLES = `
A new journal is created with the named tables. An existing journal keeps its tables, which must have the dataset's spec; --append adds to tables that have items.
A failed push removes a new journal; an existing journal keeps the items before the fault.
Without --sequence-length or --episodes, an item is a trajectory of two steps. No item spans two episodes.
If the data has no final observation of an episode, the last observation is repeated as the final one; --final-step changes that.
With --n-step, every step except a final observation starts a transition of n steps, or of fewer if the episode ends earlier.
Programs draw these transitions with table.transitions({ gamma }).
With --server, items go into existing tables of a Reverb server (dm-reverb), which must have the dataset's signature or no signature. The server's rate limiters
apply: if a queue is full, the push waits until another program samples from it. After a fault, items that were already pushed stay.

Examples:
  $ npx reprise push tensorflow_datasets/half_cheetah --dir runs/a --table transitions
  $ npx reprise push cartpole.parquet --dir runs/b --table replay --sampler prioritized:0.6 --sequence-length 8 --stride 4
  $ npx reprise push half_cheetah.hdf5 --dir runs/c --table episodes --episodes --max-length 1001 --mode repair
  $ npx reprise push half_cheetah.hdf5 --dir runs/d --table memory --n-step 3 --sampler prioritized:0.6
  $ npx reprise push tensorflow_datasets/half_cheetah --server localhost:8000 --table uniform_table --sequence-length 2
`;

export function addPush(command: Command): Command {
  command
    .addHelpText("before", "  $ npx reprise push cartpole.parquet --dir runs/a --table transitions\n")
    .description(
      "Pushes a dataset, as trajectories or transitions, into the tables of a journal, which a program opens with Replay.open({ dir }), or of a Reverb server.",
    )
    .argument("<path|url>", `a file or folder: ${SOURCES}`)
    .option("--dir <journal>", "the folder of the journal; created if it does not exist")
    .option("--server <host:port>", "a Reverb server, instead of a journal")
    .requiredOption("--table <name>", "a table to push every item into; may be repeated", repeatable)
    .option("--sequence-length <n>", "number of steps in an item (default: 2)", wholeNumber(1))
    .option("--stride <n>", "number of steps between the starts of consecutive items (default: 1)", wholeNumber(1))
    .option("--episodes", "turn each whole episode into one item")
    .option("--n-step <n>", "create transitions of n steps, instead of trajectories", wholeNumber(1, MAX_LENGTH - 1))
    .option("--max-length <n>", "with --episodes: maximum number of steps in an episode (default: 10000)", wholeNumber(1))
    .option("--priority <p>", "priority of every item (default: 1)", notNegative)
    .option(
      "--sampler <sampler>",
      `for new tables: ${SELECTORS.join(", ")} or ${WITH_EXPONENT.map((kind) => `${kind}:EXPONENT`).join(", ")} (default: uniform)`,
      selector,
    )
    .option(
      "--max-size <n>",
      "for new tables: maximum number of items; the oldest items are removed first (default: 1000000, or the largest power of ten whose steps fit into 4 GiB)",
      wholeNumber(1),
    )
    .option(
      "--max-text-bytes <n>",
      "for a new journal, or a server: maximum number of bytes of a string in UTF-8; required if observations or actions contain text",
      wholeNumber(1),
    )
    .option("--seed <n>", "for a new journal: seed of its draws (default: 0)", seedOf)
    .option("--append", "add to tables that already have items")
    .option("--take-over", "after LOCKED: take the journal from an owner that has certainly ended, if Reprise cannot detect that")
    .option("--split <split>", "the split to read");
  return addOpen(addFinalStep(addMode(command))).addHelpText("after", EXAMPLES);
}

export interface PushVerbOptions extends Omit<OpenOptions, "mode">, ModeOption, FinalStepOption, TrajectoryOptions {
  readonly dir?: string;
  readonly server?: string;
  readonly nStep?: number;
  readonly sampler?: Selector;
  readonly maxSize?: number;
  readonly maxTextBytes?: number;
  readonly seed?: bigint;
  readonly append?: true;
  readonly takeOver?: true;
}

const MAX_SIZE = 1_000_000;

/** The options of a push into a journal. */
type JournalOptions = PushVerbOptions & { readonly dir: string };

export function push(path: string, options: PushVerbOptions, host: Host): Promise<Result> {
  checkUsage(options);
  return withDataset(path, options, host, async (reader) => {
    const source = importFrom(reader, options, host);
    const { server } = options;
    if (server === undefined) return await pushToJournal(reader, options as JournalOptions, host, source);
    const finals = withFinalObservations(source, finalStepOf(options));
    const { pushed, tables } = await pushToServer(server, finals, options, host, reader.steps);
    if (tables.every(({ inserted }) => inserted === 0)) throw noItemsError(options, source.report);
    return serverResult(server, { pushed, finalSteps: finals.finalSteps, losses: reader.losses }, tables, source.report);
  });
}

async function pushToJournal({ steps, losses }: RldsReader, options: JournalOptions, host: Host, data: ImportedRlds): Promise<Result> {
  const isNew = !isJournal(options.dir);
  const replay = await openJournal(data, options, host);
  try {
    const tablesBefore = replay.stats().tables;
    const { nStep } = options;
    const transitions = nStep === undefined ? nStep : await pushTransitions(replay, data, { ...options, nStep }, host, steps);
    const finals = withFinalObservations(data, finalStepOf(options));
    const interruptMessage = (pushed: number) => `${countText(pushed, "trajectory", "trajectories")} of whole episodes are in ${options.dir}`;
    const pushed = transitions?.steps ?? (await pushTrajectories(replay, finals, options, host, steps, interruptMessage));
    await replay.flush();
    const { tables } = replay.stats();
    const counts = options.table.map((name) => ({
      name,
      inserted: (tables[name]?.inserts ?? 0) - (tablesBefore[name]?.inserts ?? 0),
      size: tables[name]?.size ?? 0,
    }));
    if (counts.every(({ inserted }) => inserted === 0)) throw noItemsError(options, data.report);
    return resultOf(options.dir, { pushed, transitions, finalSteps: transitions ?? finals.finalSteps, losses }, counts, replay.journal.stats, data.report);
  } catch (error) {
    replay.dispose();
    // A new journal is removed after a failure, because the corrected call may need other tables or another spec, and would push the same items again. After
    // Ctrl-C, the journal is kept.
    if (isNew && !host.signal.aborted) removeJournal(options.dir);
    throw error;
  } finally {
    replay.dispose();
  }
}

function noItemsError({ episodes, sequenceLength = 2, nStep }: PushVerbOptions, { kept }: ImportReport): ReplayError {
  const minLength = nStep !== undefined ? 2 : episodes ? 1 : sequenceLength;
  const remedy = sequenceLength > 2 && nStep === undefined && !episodes ? ". Pass a smaller --sequence-length" : "";
  const of = `${countText(kept.episodes, "episode")} with ${countText(kept.steps, "step")}`;
  return new ReplayError("EMPTY", `no item can be created from ${of}, because an item requires ${countText(minLength, "step")} of one episode${remedy}`);
}

/** The flags that work only with a journal. */
const JOURNAL_FLAGS = {
  nStep: "--n-step",
  sampler: "--sampler",
  maxSize: "--max-size",
  seed: "--seed",
  append: "--append",
  takeOver: "--take-over",
} as const;

function checkUsage(options: PushVerbOptions): void {
  const { dir, server, table, episodes, sequenceLength, stride, maxLength, nStep, priority } = options;
  if ((dir === undefined) === (server === undefined)) throw new UsageError("push requires either --dir (a journal) or --server (a Reverb server)");
  const journalOption =
    server === undefined ? undefined : (Object.keys(JOURNAL_FLAGS) as (keyof typeof JOURNAL_FLAGS)[]).find((name) => options[name] !== undefined);
  if (journalOption !== undefined) throw new UsageError(`${JOURNAL_FLAGS[journalOption]} requires --dir, because a server already has its tables. Remove it`);
  if (nStep !== undefined && priority !== undefined) throw new UsageError("--priority is not supported with --n-step. Remove one of them");
  if (new Set(table).size < table.length) throw new UsageError("--table has the same value twice. Pass each table once");
  if (nStep !== undefined && (episodes ?? sequenceLength ?? stride) !== undefined)
    throw new UsageError("--n-step turns each step into one transition. Remove --sequence-length, --stride and --episodes");
  if (episodes && (sequenceLength ?? stride) !== undefined)
    throw new UsageError("--episodes turns each whole episode into one item. Remove --sequence-length and --stride");
  if (!episodes && maxLength !== undefined) throw new UsageError("--max-length requires --episodes. Pass --episodes, or remove --max-length");
}

/**
 * Opens the existing journal, or creates a new journal.
 * @throws UsageError if a table of the existing journal already has items and --append is not set
 * @throws ReplayError NOT_FOUND if the existing journal lacks a table
 * @throws ReplayError SPEC_MISMATCH if the existing journal contains transitions instead of trajectories, or vice versa
 * @throws ReplayError SPEC_MISMATCH if the existing journal has another seed, or if a table has another size or sampler
 * @throws ReplayError SPEC_MISMATCH if the folder contains files that do not belong to a journal
 * @throws the errors of `createTrajectoryDataSpec`, `createTransitionSpec` and `Replay.open`
 */
async function openJournal(data: RldsDataset, options: JournalOptions, { signal }: Host): Promise<OpenReplay> {
  const { dir, table, sampler, maxSize, maxTextBytes, seed, nStep, takeOver = false, append = false } = options;
  if (isJournal(dir)) {
    const replay = await Replay.open({ dir, takeOver, logger: null, signal });
    try {
      checkContents(replay, dir, nStep === undefined);
      for (const name of table) checkTable(tableOf(replay, name).options, { sampler, maxSize }, name);
      const nonEmpty = append ? undefined : table.find((name) => tableOf(replay, name).stats().inserts > 0);
      if (nonEmpty !== undefined)
        throw new UsageError(
          `table ${nonEmpty} in ${dir} already has ${countText(tableOf(replay, nonEmpty).size, "item")}. Pass --append to add to the table, or use another table or journal`,
        );
      if (seed !== undefined && String(seed) !== replay.options.seed)
        throw new ReplayError("SPEC_MISMATCH", `the journal in ${dir} has the seed ${replay.options.seed}, not ${seed}. Remove --seed`);
      closeKilled(replay);
      return replay;
    } catch (error) {
      replay.dispose();
      throw error;
    }
  }
  if (hasOtherFiles(dir)) throw new ReplayError("SPEC_MISMATCH", `${dir} contains files that do not belong to a journal. Use another folder`);
  const limit = { ...(maxTextBytes !== undefined && { maxTextBytes }) };
  const spec: Spec = await (nStep === undefined ? createTrajectoryDataSpec(data, undefined, limit) : createTransitionSpec(data, limit));
  const tablesOf = (size: number) => Object.fromEntries(table.map((name) => [name, { maxSize: size, ...(sampler && { sampler }) }]));
  const tables = tablesOf(maxSize ?? largest((size) => Replay.plan<Spec, string>({ spec, tables: tablesOf(size) }).bytes));
  return Replay.open<Spec, string>({ dir, spec, tables, ...(seed !== undefined && { seed }), takeOver, logger: null, signal });
}

/** Returns the largest table size whose steps fit into the largest possible Replay. The size is a power of ten, from 1 to one million items. */
function largest(bytesOf: (maxSize: number) => number): number {
  let size = MAX_SIZE;
  while (size > 1 && bytesOf(size) > MAX_REPLAY_BYTES) size /= 10;
  return size;
}

function checkContents({ options: { spec } }: OpenReplay, dir: string, trajectories: boolean): void {
  if ("nextStepType" in spec === trajectories) return;
  const contents = trajectories ? "no trajectories. Push transitions with --n-step" : "trajectories. Remove --n-step";
  throw new ReplayError("SPEC_MISMATCH", `the journal in ${dir} has ${contents}, or use another folder`);
}

function checkTable(existing: TableOptions, { sampler, maxSize }: Partial<TableOptions>, name: string): void {
  if (maxSize !== undefined && maxSize !== existing.maxSize)
    throw new ReplayError("SPEC_MISMATCH", `table ${name} has a maxSize of ${existing.maxSize}, not ${maxSize}. Remove --max-size, or use another journal`);
  if (sampler !== undefined && (sampler.kind !== existing.sampler?.kind || sampler.exponent !== existing.sampler.exponent))
    throw new ReplayError("SPEC_MISMATCH", `table ${name} has the sampler ${existing.sampler?.kind}. Remove --sampler, or use another journal`);
}

interface PushCounts {
  /** The number of pushed trajectories or transitions. */
  readonly pushed: number;
  readonly transitions: PushedEpisodes | undefined;
  readonly finalSteps: FinalStepCounts;
  readonly losses: readonly SourceLoss[] | undefined;
}

function finalStepOf({ finalStep }: FinalStepOption): FinalStepOption {
  return finalStep === undefined ? {} : { finalStep };
}

function resultOf(dir: string, counts: PushCounts, tables: readonly TableCounts[], journal: OpenReplay["journal"]["stats"], report: ImportReport): Result {
  const { pushed, transitions } = counts;
  const finalSteps = countsOf(counts.finalSteps);
  const trajectories = () => `${countText(pushed, "trajectory", "trajectories")} of ${countText(report.kept.episodes, "episode")} pushed`;
  const { bytes: size, segments } = journal;
  const rows = tables.map(({ name, inserted, size: items }) => [name, inserted, items]);
  const text = `${dir}: ${transitions ? transitionsText(transitions, report) : trajectories()}; ${bytes(size)} in ${countText(segments, "segment")}
${tableText([["table", "new items", "items"], ...rows])}${finalStepsText(finalSteps)}${reportText(report)}${lossesText(counts.losses)}`;
  return { value: { dir, pushed, transitions, finalSteps, tables, journal: { bytes: size, segments }, losses: counts.losses, report }, text };
}

/** Returns only the counts of final steps, because the argument may be a `PushedEpisodes`, whose other counts are reported separately. */
function countsOf({ repeated, dropped }: FinalStepCounts): FinalStepCounts {
  return { repeated, dropped };
}

function serverResult(
  server: string,
  { pushed, finalSteps, losses }: Omit<PushCounts, "transitions">,
  tables: readonly TableCounts[],
  report: ImportReport,
): Result {
  const rows = tables.map(({ name, inserted, size }) => [name, inserted, size]);
  const text = `${server}: ${countText(pushed, "trajectory", "trajectories")} of ${countText(report.kept.episodes, "episode")} pushed
${tableText([["table", "new items", "items"], ...rows])}${finalStepsText(finalSteps)}${reportText(report)}${lossesText(losses)}`;
  return { value: { server, pushed, finalSteps, tables, losses, report }, text };
}
