/** Opens NumPy array archives (.npz) as datasets. */
import { integer, onlyKeys } from "../../../base/error.ts";
import { MAX_GROUP_DEPTH, MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import type { Fetch } from "../../../base/host.ts";
import { isText, sizeOf } from "../../../schema/leaf.ts";
import type { RldsStep, StepLeaf } from "../../model/dataset.ts";
import { FINAL_STEP, finalStepSpec, statedFinalStep } from "../../model/final-step.ts";
import { corruptFile, unsupportedFile, withRemedy } from "../../model/rlds-error.ts";
import type { ColumnData, StepColumns } from "../../model/step-columns.ts";
import { Column, type ColumnTree, columnsOf } from "../columns/column.ts";
import { checkFinalObservation, type FinalObservation } from "../columns/flat.ts";
import { fieldOf, fieldsOf } from "../columns/names.ts";
import { decompressedSource } from "../compression/decompressed-source.ts";
import { addDamage, type Damage, damageOf, withDamage } from "../damage.ts";
import { lazy } from "../lazy.ts";
import { checkLeafCount } from "../leaf-count.ts";
import { MemoryBudget } from "../memory-budget.ts";
import { READ_OPTIONS, type ReadEpisode, type ReadOptions, type RldsReader } from "../reader.ts";
import { Selection } from "../selection/selection.ts";
import type { Source } from "../sources/open-source.ts";
import type { SourceFile } from "../sources/source.ts";
import { type DreamerVersion, dreamerVersion, isObserved, withDreamerSteps } from "./dreamer.ts";
import { episodeMetadata, INDICES, metadataParts } from "./metadata.ts";
import { type NpyFile, npyArray } from "./npy.ts";
import { ElementTypeError } from "./npy-types.ts";
import { openNpzFolder } from "./npz-folder.ts";
import { isOwnName, ownArchive, ownFieldsOf } from "./own-archive.ts";
import { type Fields, planOf } from "./plan.ts";
import { storedColumn } from "./stored-column.ts";
import { isStored, zipEntries, zipPieces } from "./zip.ts";

export interface NpzOptions extends ReadOptions {
  /** The rule for the final step of flat columns with `terminals`, as in `openD4rl`. Default: `rlds`. */
  readonly finalObservation?: FinalObservation;
  /** A replacement for the runtime's `fetch`, for URLs. */
  readonly fetch?: Fetch;
}

/**
 * Opens an .npz archive of columns that contain the consecutive steps of all episodes. The columns are `observation` (or `obs`), `action`, `reward`, `discount`
 * and metadata. Names may be plural. Names with slashes are nested. A folder yields the episodes of all its .npz files, one file after the other.
 *
 * One of these sets of arrays determines the episodes:
 * - `lengths`, or `is_first` and `is_last`: the rows are RLDS steps, and `is_terminal` is required;
 * - `terminals` (or `terminated`, `done`) and `timeouts` (or `truncated`): the rows are transitions, as in openD4rl;
 * - `episode_starts` (Stable-Baselines);
 * - `indices` and `terminal`, with one additional observation per episode (imitation).
 *
 * Files of Dreamer have `is_first`, `is_last`, `is_terminal`, `reward` and `action`, and no array for the observation. Every other array is part of the
 * observation, such as `observation/image`. If the reward and the action in the first row are zeros, each row contains the reward and the action that led to
 * it, and both are moved to the previous row.
 *
 * An array of a different length is metadata. A single value belongs to all episodes. If an array has one value per episode, each value belongs to its episode.
 * `about` contains the shared values and all other arrays. `about.unread` lists the arrays that cannot be leaves, such as arrays of objects, which are never
 * loaded.
 *
 * Keeps the whole archive in memory, up to maxBytes. This limit is checked before any data is inflated. If the arrays exceed 16 MiB in total, uncompressed
 * arrays (`numpy.savez`) are read on access instead.
 * @throws RldsError NOT_FOUND if the file or folder does not exist
 * @throws RldsError CORRUPT if the archive is damaged
 * @throws RldsError UNSUPPORTED if the arrays cannot be recognized
 * @throws RldsError SPEC_MISMATCH if the files of a folder differ in form
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
  const losses = damageOf(salvage);
  integer("maxBytes", maxBytes, 1);
  checkFinalObservation(finalObservation);
  const { file, folder } = await decompressedSource(from, { signal, maxBytes, fetch, salvage });
  if (file === undefined) return (await openNpzFolder(folder, (one) => openNpz(one, options), { salvage, signal })) as RldsReader<unknown> as RldsReader<S>;
  let isFileKept = false;
  try {
    const budget = new MemoryBudget(file.name, maxBytes);
    const arrays = await arraysOf(file, budget, { maxBytes, selection, losses, signal });
    selection.check();
    const own = await ownArchive(arrays.columns, file.name);
    const namesOf = own === undefined ? fieldsOf : ownFieldsOf;
    const groups = groupArrays(arrays.columns, file.name, namesOf);
    const { fields, metadata } = arrays.dreamer === undefined ? groups : await withDreamerSteps(groups, arrays.dreamer);
    const tops = (paths: Iterable<string>) => [...paths].map((path) => path.split("/")[0] as string);
    const known = namesOf([...tops(arrays.columns.keys()), ...tops(arrays.unread.keys())]);
    for (const [name, error] of arrays.unread) if (known.has(name.split("/")[0] as string)) throw error;
    const rows = fields.action === undefined ? undefined : columnsOf(fields.action)[0]?.rows;
    const parts = metadataParts(metadata, rows);
    const plan = await planOf(fields, parts.steps, file.name, { finalObservation, maxBytes, signal, budget });
    const { stepSpec, episodes, steps } = plan;
    const {
      spec: metadataSpec,
      valuesAt,
      about,
    } = await episodeMetadata([...parts.others, ...(own?.metadata ?? [])], episodes ?? (await plan.lengths()).length);
    const unread = [...arrays.unread.keys()];
    const from = async function* (episode: number): AsyncGenerator<ReadEpisode<S>, void, undefined> {
      let number = episode;
      for await (const { steps, ...ended } of plan.run(episode)) {
        signal?.throwIfAborted();
        const values = valuesAt(number++);
        const stated = own && statedFinalStep(values as { readonly [name: string]: unknown });
        yield { ...values, ...ended, ...(stated && { [FINAL_STEP]: stated }), steps: steps as StepColumns<unknown> as StepColumns<S> };
      }
    };
    isFileKept = arrays.areNamed;
    return {
      ...{
        format: "npz",
        name: file.name.replace(/\.npz$/, ""),
        stepSpec,
        metadataSpec: finalStepSpec(metadataSpec),
        episodes,
        steps,
        about: { ...(own?.about ?? about), ...(unread.length > 0 && { unread }) },
        ...withDamage(losses),
      },
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

/** The maximum total size, in bytes, of arrays that are all read when the archive is opened. Above this size, uncompressed arrays are read on access. */
const MAX_LOADED_BYTES = 2 ** 24;

interface ArrayOptions {
  readonly maxBytes: number;
  readonly selection: Selection;
  readonly losses: Damage | undefined;
  readonly signal?: AbortSignal;
}

/**
 * Returns the arrays by path, the arrays that cannot be leaves (`unread`), the version of Dreamer, and whether uncompressed arrays are read on access
 * (`areNamed`).
 */
async function arraysOf(
  file: SourceFile,
  budget: MemoryBudget,
  { maxBytes, selection, losses, signal }: ArrayOptions,
): Promise<{
  readonly columns: Map<string, Column>;
  readonly areNamed: boolean;
  readonly dreamer: DreamerVersion | undefined;
  readonly unread: Map<string, unknown>;
}> {
  const all = await zipEntries(file, maxBytes);
  const arrays = all.filter(({ name }) => name.endsWith(".npy"));
  if (arrays.length === 0 && all.length > 0)
    throw unsupportedFile(
      { file: file.name },
      `the file is a zip archive without NumPy arrays (its first entry is ${all[0]?.name}). Unpack it, and open the resulting folder`,
    );
  const tops = [...new Set(arrays.map(({ name }) => name.slice(0, -".npy".length).split("/")[0] as string))];
  const dreamer = dreamerVersion(tops);
  const entries = arrays.flatMap((entry) => {
    const names = entry.name.slice(0, -".npy".length).split("/");
    const isObservation = dreamer !== undefined && isObserved(names[0] as string);
    const isMetadata = names[0] === "episode" && names.length > 1;
    const placed = isMetadata ? names.slice(1) : isObservation ? ["observation", ...names] : undefined;
    const isKept = isMetadata || names.join("/") === INDICES;
    const keys = isOwnName(names) ? names : isKept ? selection.metadataKeysOf(names, placed) : selection.keysOf(names, placed);
    return keys === undefined ? [] : [{ ...entry, names, path: keys.join("/") }];
  });
  checkLeafCount(entries.length, "the archive", { file: file.name });
  const bytesOf = (list: typeof entries) => list.reduce((sum, { size }) => sum + size, 0);
  const areNamed = bytesOf(entries) > MAX_LOADED_BYTES;
  const bytes = bytesOf(entries.filter((entry) => !(areNamed && isStored(entry))));
  if (bytes > maxBytes)
    throw corruptFile({ file: file.name }, `the arrays take ${bytes} bytes, more than the ${maxBytes} that maxBytes allows. Increase maxBytes`);
  const columns = new Map<string, Column>();
  const unread = new Map<string, unknown>();
  for (const entry of entries) {
    signal?.throwIfAborted();
    const { path } = entry;
    if (columns.has(path) || unread.has(path)) throw corruptFile({ file: file.name }, `the archive contains ${entry.name} twice`);
    const array = { file: file.name, name: entry.name, size: entry.size, budget };
    try {
      const stored = areNamed && isStored(entry) ? await storedColumn(file, entry, array, { path, maxBytes }) : undefined;
      columns.set(path, stored ?? (await loadedColumn(zipPieces(file, entry, signal), array, { path, maxBytes })));
    } catch (error) {
      const named = withRemedy(error, entry.names);
      // An array of objects does not prevent the other arrays from being read.
      if (error instanceof ElementTypeError) {
        unread.set(path, named);
        continue;
      }
      // Metadata of steps may be missing, but fields may not.
      if (fieldOf(entry.names[0] as string) !== undefined) throw named;
      addDamage(losses, named);
    }
  }
  return { columns, areNamed, dreamer, unread };
}

async function loadedColumn(
  pieces: AsyncIterable<Uint8Array>,
  array: NpyFile,
  { path, maxBytes }: { readonly path: string; readonly maxBytes: number },
): Promise<Column> {
  const { dtype, shape, data } = await npyArray(pieces, array);
  const leaf = { dtype, shape: shape.slice(1) } as StepLeaf;
  const size = sizeOf(leaf.shape);
  if (!(size <= maxBytes)) throw corruptFile({ file: array.file }, `a row of ${array.name} has ${size} elements, more than maxBytes allows. Increase maxBytes`);
  const read = async (from: number, to: number) =>
    (shape.length === 0 ? data : (isText(leaf) ? data : (data as Float32Array)).slice(from * size, to * size)) as ColumnData;
  return new Column({ path, leaf, rows: shape[0], rowBytes: isText(leaf) ? 16 * size : size * (data as Float32Array).BYTES_PER_ELEMENT, read });
}

/** Nests arrays whose names contain slashes. The first part of a name selects the field. */
function groupArrays(
  arrays: ReadonlyMap<string, Column>,
  file: string,
  namesOf: typeof fieldsOf,
): { fields: Fields; metadata: { readonly [name: string]: ColumnTree } } {
  const groups = new Map<string, ColumnTree>();
  const nameError = (path: string) => corruptFile({ file }, `the archive has ${path} both as an array and as a group of arrays`);
  for (const [path, column] of arrays) {
    const keys = path.split("/");
    if (keys.length > MAX_GROUP_DEPTH)
      throw unsupportedFile({ file }, `the archive is nested ${keys.length} levels deep, more than the maximum of ${MAX_GROUP_DEPTH}`);
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
  const known = namesOf([...groups.keys()]);
  for (const [name, tree] of groups) {
    const field = known.get(name);
    if (field === undefined) metadata.push([name, tree]);
    else if (fields[field] !== undefined) throw corruptFile({ file }, `the archive has two arrays for ${field}, one of them named ${name}`);
    else fields[field] = tree;
  }
  return { fields, metadata: Object.fromEntries(metadata) };
}
