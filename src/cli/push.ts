/** `reprise push`: a dataset into the tables of a journal, which programs open with `Replay.open({ dir })`. */
import type { Command } from "commander";
import { ReverbAddEpisodeObserver, ReverbAddTrajectoryObserver } from "../agents/index.ts";
import { Replay, ReplayError, type Selector, type Spec, type TableOptions } from "../index.ts";
import { createTrajectoryDataSpec, type ImportedRlds, pushRldsToReverb, type RldsDataset } from "../rlds/index.ts";
import type { OpenReplay } from "../store/index.ts";
import type { Answer, Host } from "./answer.ts";
import { selector, several, whole } from "./arguments.ts";
import { addMode, addOpen, imported, type ModeOption, type OpenOptions, reportText, withDataset } from "./dataset.ts";
import { Interrupted, UsageError } from "./failure.ts";
import { hasOtherFiles, isJournal, tableOf } from "./journal.ts";
import { bytes, counted, table as tableText } from "./text.ts";
import { without } from "./without.ts";

const EXAMPLES = `
A new journal gets these tables; one that is there keeps its own, which must have the dataset's spec, and what is pushed is added.
Without --sequence-length or --episodes an item is two steps: a transition. No item spans two episodes.

Examples:
  $ npx reprise push tensorflow_datasets/half_cheetah --dir runs/a --table transitions
  $ npx reprise push cartpole.parquet --dir runs/b --table replay --sampler prioritized:0.6 --sequence-length 8 --stride 4
  $ npx reprise push half_cheetah.hdf5 --dir runs/c --table episodes --episodes --max-length 1001 --mode repair
`;

export function addPush(command: Command): Command {
  command
    .description("Pushes a dataset, as trajectories, into the tables of a journal: Replay.open({ dir }) has them then.")
    .argument("<path|url>", "a file or folder: TFDS, Minari, D4RL, LeRobot, Parquet, JSONL or NPZ")
    .requiredOption("--dir <journal>", "the journal's folder; made where it is not there")
    .requiredOption("--table <name>", "a table that gets every item; may be repeated", several)
    .option("--sequence-length <n>", "steps of an item", whole(1))
    .option("--stride <n>", "steps from one item's beginning to the next one's; 1 where it is left out", whole(1))
    .option("--episodes", "whether an item is a whole episode")
    .option("--max-length <n>", "with --episodes: steps that an episode has at most; 10000 where it is left out", whole(1))
    .option(
      "--sampler <sampler>",
      "of new tables: uniform, fifo, lifo, minHeap, maxHeap, prioritized or prioritized:EXPONENT; uniform where it is left out",
      selector,
    )
    .option(
      "--max-size <n>",
      "of new tables: items at most, then the oldest leave; 1000000, or the power of ten whose steps fit into 4 GiB, where it is left out",
      whole(1),
    )
    .option("--seed <n>", "of a new journal: what its draws depend on; 0 where it is left out", whole(0))
    .option("--without <leaf>", "a leaf of the steps that is left out, such as observation/instruction; may be repeated", several)
    .option("--split <split>", "which part of the dataset, as it names it");
  return addOpen(addMode(command)).addHelpText("after", EXAMPLES);
}

export interface PushVerbOptions extends ModeOption, OpenOptions {
  readonly dir: string;
  readonly table: readonly string[];
  readonly sequenceLength?: number;
  readonly stride?: number;
  readonly episodes?: true;
  readonly maxLength?: number;
  readonly sampler?: Selector;
  readonly maxSize?: number;
  readonly seed?: number;
  readonly without?: readonly string[];
}

const MAX_SIZE = 1_000_000;
const MOST_BYTES = 2 ** 32 - 2 ** 16;
const MAX_LENGTH = 10_000;

export function push(path: string, options: PushVerbOptions, host: Host): Promise<Answer> {
  checkUsage(options);
  return withDataset(path, options, host, async (reader) => {
    const judged = imported(reader, options, host);
    const data = without(judged, reader.stepSpec, options.without ?? []);
    const replay = await opened(data, options, host);
    try {
      const before = replay.stats().tables;
      const pushed = await pushedInto(replay, data, options, host, reader.steps);
      await replay.flush();
      const { tables } = replay.stats();
      const made = options.table.map((name) => ({
        name,
        inserted: (tables[name]?.inserts ?? 0) - (before[name]?.inserts ?? 0),
        size: tables[name]?.size ?? 0,
      }));
      return answer(options.dir, pushed, made, replay.journal.stats, judged);
    } finally {
      replay.dispose();
    }
  });
}

function checkUsage({ table, episodes, sequenceLength, stride, maxLength }: PushVerbOptions): void {
  if (new Set(table).size < table.length) throw new UsageError("--table was given twice with the same name");
  if (episodes && (sequenceLength ?? stride) !== undefined)
    throw new UsageError("--episodes makes an item of a whole episode: leave --sequence-length and --stride out");
  if (!episodes && maxLength !== undefined) throw new UsageError("--max-length is for --episodes");
}

/** The journal that is there, or a new one. @throws ReplayError SPEC_MISMATCH where it has another spec or other tables */
async function opened(data: RldsDataset, options: PushVerbOptions, { signal }: Host): Promise<OpenReplay> {
  const { dir, table, sampler, maxSize, seed } = options;
  if (isJournal(dir)) {
    const replay = await Replay.open({ dir, signal });
    try {
      for (const name of table) mustBeAs(tableOf(replay, name).options, { sampler, maxSize }, name);
      if (seed !== undefined && String(seed) !== replay.options.seed)
        throw new ReplayError("SPEC_MISMATCH", `the journal in ${dir} has the seed ${replay.options.seed}: leave --seed out`);
      return replay;
    } catch (error) {
      replay.dispose();
      throw error;
    }
  }
  if (hasOtherFiles(dir)) throw new ReplayError("SPEC_MISMATCH", `${dir} has files that are no journal's: give a folder of its own`);
  const spec = await createTrajectoryDataSpec(data);
  const tablesOf = (most: number) => Object.fromEntries(table.map((name) => [name, { maxSize: most, ...(sampler && { sampler }) }]));
  const tables = tablesOf(maxSize ?? largest((most) => Replay.plan<Spec, string>({ spec, tables: tablesOf(most) }).bytes));
  // A TrajectoryDataSpec is a Spec; its Replay, to the types, no Replay of any spec.
  return Replay.open<Spec, string>({ dir, spec, tables, ...(seed !== undefined && { seed }), signal });
}

/** The largest power of ten, up to a million items, whose steps fit into the memory that there can be. */
function largest(bytesOf: (maxSize: number) => number): number {
  let most = MAX_SIZE;
  while (most > 1 && bytesOf(most) > MOST_BYTES) most /= 10;
  return most;
}

function mustBeAs(there: TableOptions, { sampler, maxSize }: Partial<TableOptions>, name: string): void {
  if (maxSize !== undefined && maxSize !== there.maxSize)
    throw new ReplayError("SPEC_MISMATCH", `table ${name} has a maxSize of ${there.maxSize}: leave --max-size out, or take another journal`);
  if (sampler !== undefined && (sampler.kind !== there.sampler?.kind || sampler.exponent !== there.sampler.exponent))
    throw new ReplayError("SPEC_MISMATCH", `table ${name} has the sampler ${there.sampler?.kind}: leave --sampler out, or take another journal`);
}

/** How many trajectories; the observer is closed, so that the journal has no writer in the middle of an episode. */
async function pushedInto(
  replay: OpenReplay,
  data: RldsDataset,
  options: PushVerbOptions,
  { signal, progress }: Host,
  of: number | undefined,
): Promise<number> {
  const { table, episodes, maxLength = MAX_LENGTH, sequenceLength = 2, stride = 1 } = options;
  const observer = episodes
    ? new ReverbAddEpisodeObserver(replay, { tableName: table, maxSequenceLength: maxLength })
    : new ReverbAddTrajectoryObserver(replay, { tableName: table, sequenceLength, strideLength: stride });
  const bar = progress("pushing");
  let pushed = 0;
  const onProgress = (count: number) => {
    pushed = count;
    bar.at(count, of);
  };
  try {
    // A table that is full may let nothing in for ever.
    return await Promise.race([pushRldsToReverb(data, observer, undefined, { signal, onProgress }), aborted(signal)]);
  } catch (error) {
    if (signal.aborted) throw new Interrupted(`${counted(pushed, "trajectory", "trajectories")} of whole episodes are in ${options.dir}`);
    throw error;
  } finally {
    bar.end();
    observer.close();
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}

interface Filled {
  readonly name: string;
  readonly inserted: number;
  readonly size: number;
}

function answer(dir: string, pushed: number, tables: readonly Filled[], journal: OpenReplay["journal"]["stats"], { report }: ImportedRlds): Answer {
  const { bytes: size, segments } = journal;
  const rows = tables.map(({ name, inserted, size: items }) => [name, inserted, items]);
  const text = `${dir}: ${counted(pushed, "trajectory", "trajectories")} of ${counted(report.kept.episodes, "episode")} pushed; ${bytes(size)} in ${counted(segments, "segment")}
${tableText([["table", "new items", "items"], ...rows])}${reportText(report)}`;
  return { value: { dir, pushed, tables, journal: { bytes: size, segments }, report }, text };
}
