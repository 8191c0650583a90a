/** NumPy's archives of arrays (.npz) as datasets. */
import { integer, mustBe, onlyKeys } from "../../../base/error.ts";
import { MAX_GROUP_DEPTH, MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import type { Fetch } from "../../../base/host.ts";
import { isText, sizeOf } from "../../../schema/leaf.ts";
import type { RldsStep, StepLeaf, StepSpec } from "../../model/dataset.ts";
import { lastFlagOf } from "../../model/final-observation.ts";
import { FINAL_STEP, finalStepOf, finalStepSpec } from "../../model/final-step.ts";
import { corruptFile, unsupportedFile, withRemedy } from "../../model/rlds-error.ts";
import type { ColumnData, StepColumns } from "../../model/step-columns.ts";
import { Column, type ColumnTree, columnsOf, rowSpec } from "../columns/column.ts";
import { type FinalObservation, flatEpisodes, flatIndex, rowsOf, squeezeColumn } from "../columns/flat.ts";
import { type Field, fieldOf, fieldsOf } from "../columns/names.ts";
import { specDifference } from "../columns/spec-difference.ts";
import { FlaggedRanges, flagsOf, type Range, type StepTable, stepsOfRange, stepTableSpec } from "../columns/step-table.ts";
import { type EndedSteps, stepSpecOf, type TransitionSpec } from "../columns/transitions.ts";
import { emptyIterable, lazy, lazyIterable } from "../lazy.ts";
import { checkLeafCount } from "../leaf-count.ts";
import { type Losses, lossesOf, withLosses } from "../losses.ts";
import { MemoryBudget } from "../memory-budget.ts";
import { READ_OPTIONS, type ReadEpisode, type ReadOptions, type RldsReader } from "../reader.ts";
import { Selection } from "../selection/selection.ts";
import { type Source, sourceOf } from "../sources/open-source.ts";
import type { SourceFile } from "../sources/source.ts";
import { npyArray } from "./npy.ts";
import { storedColumn } from "./stored-column.ts";
import { isStored, zipEntries, zipPieces } from "./zip.ts";

export interface NpzOptions extends ReadOptions {
  /** Of flat columns with `terminals`, as openD4rl has it; `rlds` where it is left out. */
  readonly finalObservation?: FinalObservation;
  /** Instead of the runtime's own, for URLs. */
  readonly fetch?: Fetch;
}

type Fields = { -readonly [F in Field]?: ColumnTree };

/** Goes through the episodes; how depends on what is there. */
interface Plan {
  readonly stepSpec: StepSpec;
  readonly episodes?: number;
  readonly steps?: number;
  lengths(): Promise<readonly number[]>;
  /** From an episode on. */
  run(episode: number): AsyncIterable<EndedSteps>;
}

/**
 * Columns over the steps of all episodes, one behind the other: `observation`, `action`, `reward` (also in plural, and as `obs`), nested by slashes, with `discount` and metadata. Where episodes
 * begin is said by `lengths`, or by `is_first` and `is_last`: then the rows are RLDS's steps, and need `is_terminal`. Or by `terminals` (or `terminated`, `done`) and `timeouts` (or `truncated`):
 * then they are transitions, as in openD4rl. Objects are refused, not loaded. All of it is in memory: at most maxBytes, which is checked before anything is inflated. Of arrays of more than 16 MiB together those that are stored (`numpy.savez`) are read as they are asked for instead.
 * @throws RldsError NOT_FOUND, CORRUPT, UNSUPPORTED
 */
export async function openNpz<S = RldsStep>(from: Source, options: NpzOptions = {}): Promise<RldsReader<S>> {
  const {
    finalObservation = "rlds",
    salvage,
    maxBytes = MAX_SOURCE_BYTES,
    signal,
    fetch,
  } = onlyKeys("options", options, `finalObservation, fetch, ${READ_OPTIONS}`);
  const selection = new Selection(options);
  const losses = lossesOf(salvage);
  integer("maxBytes", maxBytes, 1);
  if (!["rlds", "next", "none"].includes(finalObservation)) throw mustBe(RangeError, "finalObservation", "one of rlds, next, none", finalObservation);
  const { file, folder } = await sourceOf(from, { signal, maxBytes, fetch });
  if (file === undefined) throw unsupportedFile({ file: folder.name }, "a folder is not a .npz file: name the file");
  let isFileKept = false;
  try {
    const budget = new MemoryBudget(file.name, maxBytes);
    const arrays = await arraysOf(file, budget, { maxBytes, selection, losses, signal });
    selection.check();
    const { fields, metadata } = groupArrays(arrays.columns, file.name);
    const plan = await planOf(fields, metadata, file.name, { finalObservation, maxBytes, signal, budget });
    const { stepSpec, episodes, steps } = plan;
    const from = async function* (episode: number): AsyncGenerator<ReadEpisode<S>, void, undefined> {
      for await (const { steps, ...ended } of plan.run(episode)) {
        signal?.throwIfAborted();
        yield { ...ended, steps: steps as StepColumns<unknown> as StepColumns<S> };
      }
    };
    isFileKept = arrays.areNamed;
    return {
      ...{ format: "npz", name: file.name.replace(/\.npz$/, ""), stepSpec, metadataSpec: finalStepSpec(), episodes, steps, about: {}, ...withLosses(losses) },
      [Symbol.asyncIterator]: () => from(0),
      startingAt: (episode) => from(integer("episode", episode, 0)),
      lengths: lazy(() => plan.lengths()),
      async close() {
        if (isFileKept) await file.close();
      },
    };
  } finally {
    if (!isFileKept) await file.close();
  }
}

/** Arrays of so many bytes together are read at once, and their checksums with them. */
const MAX_LOADED_BYTES = 2 ** 24;

interface ArrayOptions {
  readonly maxBytes: number;
  readonly selection: Selection;
  readonly losses: Losses | undefined;
  readonly signal?: AbortSignal;
}

/** Every array, by its name without `.npy`; and whether some of them are read when they are asked for. */
async function arraysOf(
  file: SourceFile,
  budget: MemoryBudget,
  { maxBytes, selection, losses, signal }: ArrayOptions,
): Promise<{ readonly columns: Map<string, Column>; readonly areNamed: boolean }> {
  const entries = (await zipEntries(file, maxBytes)).flatMap((entry) => {
    if (!entry.name.endsWith(".npy")) return [];
    const names = entry.name.slice(0, -".npy".length).split("/");
    const keys = selection.keysOf(names);
    return keys === undefined ? [] : [{ ...entry, names, path: keys.join("/") }];
  });
  checkLeafCount(entries.length, "the archive", { file: file.name });
  const bytesOf = (list: typeof entries) => list.reduce((sum, { size }) => sum + size, 0);
  const areNamed = bytesOf(entries) > MAX_LOADED_BYTES;
  const bytes = bytesOf(entries.filter((entry) => !(areNamed && isStored(entry))));
  if (bytes > maxBytes) throw corruptFile({ file: file.name }, `the arrays take ${bytes} bytes, more than the ${maxBytes} that maxBytes allows`);
  const columns = new Map<string, Column>();
  const columnOf = async (entry: (typeof entries)[number], path: string): Promise<Column> => {
    const array = { file: file.name, name: entry.name, size: entry.size, budget };
    const stored = areNamed && isStored(entry) ? await storedColumn(file, entry, array, { path, maxBytes }) : undefined;
    if (stored !== undefined) return stored;
    const { dtype, shape, data } = await npyArray(zipPieces(file, entry, signal), array);
    const leaf = { dtype, shape: shape.slice(1) } as StepLeaf;
    const size = sizeOf(leaf.shape);
    const rows = shape[0];
    if (!(size <= maxBytes)) throw corruptFile({ file: file.name }, `a row of ${entry.name} has ${size} elements, more than maxBytes allows`);
    const read = async (from: number, to: number) => (isText(leaf) ? data : (data as Float32Array)).slice(from * size, to * size) as ColumnData;
    return new Column({ path, leaf, rows, rowBytes: isText(leaf) ? 16 * size : size * (data as Float32Array).BYTES_PER_ELEMENT, read });
  };
  for (const entry of entries) {
    signal?.throwIfAborted();
    const { path } = entry;
    if (columns.has(path)) throw corruptFile({ file: file.name }, `the archive has ${entry.name} twice`);
    try {
      columns.set(path, await columnOf(entry, path));
    } catch (error) {
      const named = withRemedy(error, entry.names);
      // Without metadata of steps there are steps all the same.
      if (losses === undefined || fieldOf(entry.names[0] as string) !== undefined) throw named;
      losses.add(named);
    }
  }
  return { columns, areNamed };
}

/** Names with slashes nest; the first part says what it is. */
function groupArrays(arrays: ReadonlyMap<string, Column>, file: string): { fields: Fields; metadata: { readonly [name: string]: ColumnTree } } {
  const groups = new Map<string, ColumnTree>();
  const nameError = (path: string) => corruptFile({ file }, `the archive has ${path} as an array and as a group of them`);
  for (const [path, column] of arrays) {
    const keys = path.split("/");
    if (keys.length > MAX_GROUP_DEPTH) throw unsupportedFile({ file }, `the archive nests ${keys.length} deep`);
    const node = (at: ColumnTree | undefined, rest: readonly string[]): ColumnTree => {
      const [key, ...deeper] = rest;
      if (key === undefined) {
        if (at !== undefined) throw nameError(path);
        return column;
      }
      if (at instanceof Column) throw nameError(path);
      const nodes = new Map(Object.entries(at ?? {}) as [string, ColumnTree][]);
      return Object.fromEntries([...nodes, [key, node(nodes.get(key), deeper)]]);
    };
    const [top = "", ...rest] = keys;
    groups.set(top, node(groups.get(top), rest));
  }
  const fields: Fields = {};
  const metadata: [string, ColumnTree][] = [];
  const known = fieldsOf([...groups.keys()]);
  for (const [name, tree] of groups) {
    const field = known.get(name);
    if (field === undefined) metadata.push([name, tree]);
    else if (fields[field] !== undefined) throw corruptFile({ file }, `the archive has two arrays for ${field}: one is called ${name}`);
    else fields[field] = tree;
  }
  return { fields, metadata: Object.fromEntries(metadata) };
}

async function planOf(
  fields: Fields,
  metadata: { readonly [name: string]: ColumnTree },
  file: string,
  { budget, ...options }: { finalObservation: FinalObservation; maxBytes: number; signal?: AbortSignal; budget: MemoryBudget },
): Promise<Plan> {
  const { observation, action, reward } = fields;
  const flags = (column: Column) => {
    budget.reserve(column.rows ?? 0, column.path);
    return flagsOf(column, file, options.signal);
  };
  if (observation === undefined || action === undefined || reward === undefined)
    throw unsupportedFile({ file }, "the archive must have arrays called observation, action and reward (or observations, actions, rewards)");
  const single = (field: Field) => {
    const column = fields[field];
    if (column !== undefined && !(column instanceof Column)) throw corruptFile({ file }, `${field} must be one array`);
    return column;
  };
  const [first, last, terminal, terminated, truncated, lengths] = (["is_first", "is_last", "is_terminal", "terminated", "truncated", "lengths"] as const).map(
    single,
  );
  const terminations = terminated ?? single("done");
  const main = {
    observation,
    action,
    reward: reward instanceof Column ? squeezeColumn(reward) : reward,
    ...(fields.discount === undefined ? {} : { discount: fields.discount }),
    ...metadata,
  };
  if (lengths === undefined && first === undefined && last === undefined && terminations !== undefined) {
    const transition = main;
    const different = fields.next_observation === undefined ? undefined : specDifference(rowSpec(observation), rowSpec(fields.next_observation));
    if (different !== undefined) throw corruptFile({ file }, `the next observations do not have the form of observations: ${different}`);
    if (options.finalObservation === "next" && fields.next_observation === undefined)
      throw unsupportedFile({ file }, "the archive has no next_observations, which finalObservation needs");
    const rows = rowsOf([...columnsOf(transition), terminations], file);
    const memory = (bytes: Uint8Array, path: string) =>
      new Column({ path, leaf: { dtype: "bool", shape: [] }, rows: bytes.length, rowBytes: 1, read: async (a, b) => bytes.slice(a, b) });
    const terminals = memory(await flags(terminations), terminations.path);
    const timeouts = truncated && memory(await flags(truncated), truncated.path);
    const table = { file, transition, terminals, timeouts, nextObservation: fields.next_observation };
    rowsOf([terminals, ...(timeouts === undefined ? [] : [timeouts])], file);
    if (terminals.rows !== rows) throw corruptFile({ file }, `${terminals.path} does not have one flag per row`);
    const index = lazy(() => flatIndex(table, options));
    return {
      stepSpec: stepSpecOf(rowSpec(transition) as unknown as TransitionSpec),
      lengths: async () => (await index()).lengths,
      run(episode) {
        if (episode === 0) return flatEpisodes(table, options);
        return lazyIterable(async () => {
          const row = (await index()).rows[episode];
          return row === undefined ? emptyIterable() : flatEpisodes(table, options, row);
        });
      },
    };
  }
  const isTerminal = terminal ?? terminations;
  if (isTerminal === undefined || (lengths === undefined && first === undefined && last === undefined))
    throw unsupportedFile(
      { file },
      "nothing in the archive says where episodes end: lengths or is_first or is_last with is_terminal, or terminals with timeouts",
    );
  const flagColumns = [first, last, isTerminal].filter((column) => column !== undefined);
  const rows = rowsOf([...columnsOf(main), ...flagColumns], file);
  const table: StepTable = { tree: main, isFirst: first && (await flags(first)), isLast: last && (await flags(last)), isTerminal: await flags(isTerminal) };
  const ranges = lengths === undefined ? new FlaggedRanges(rows, table.isFirst, table.isLast) : await rangesByLengths(lengths, rows, file, budget);
  const stepSpec = stepTableSpec(table);
  const hasRldsFlags = (first ?? last ?? terminal) !== undefined;
  const rowBytes = columnsOf(main).reduce((sum, column) => sum + column.rowBytes, 0);
  return {
    stepSpec,
    episodes: ranges.length,
    steps: rows,
    lengths: async () => Array.from(ranges, ({ from, to }) => to - from),
    async *run(episode) {
      let remaining = episode;
      for (const range of ranges) {
        if (remaining-- > 0) continue;
        const bytes = (range.to - range.from) * rowBytes;
        if (bytes > options.maxBytes) throw corruptFile({ file }, `an episode takes ${bytes} bytes, more than the ${options.maxBytes} that maxBytes allows`);
        const steps = await stepsOfRange(table, stepSpec, range);
        yield { steps, [FINAL_STEP]: finalStepOf({}, hasRldsFlags && lastFlagOf(steps) === true) };
      }
    },
  };
}

/** Where the episodes are, one behind the other. */
async function rangesByLengths(
  { leaf, rows = 0, read, path }: Column,
  steps: number,
  file: string,
  budget: MemoryBudget,
): Promise<Iterable<Range> & { readonly length: number }> {
  const isNumber = leaf.shape.length === 0 && !isText(leaf);
  if (isNumber) budget.reserve(16 * rows, path);
  const lengths = Float64Array.from(isNumber ? ((await read(0, rows)) as Float64Array) : [Number.NaN], Number);
  const sum = lengths.reduce((all, length) => all + (Number.isInteger(length) && length >= 0 ? length : Number.NaN), 0);
  if (sum !== steps) throw corruptFile({ file }, `the lengths of the episodes must add up to the ${steps} rows of the file, but add up to ${sum}`);
  return {
    length: lengths.length,
    *[Symbol.iterator]() {
      let to = 0;
      for (const length of lengths) {
        to += length;
        yield { from: to - length, to };
      }
    },
  };
}
