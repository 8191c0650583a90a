/** Opens Parquet as an RLDS dataset. Files that Reprise wrote restore the original data, and other files are mapped by the names of their columns. */
import { integer, mustBe, onlyKeys } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import type { Fetch } from "../../../base/host.ts";
import type { RldsStep } from "../../model/dataset.ts";
import { finalStepSpec } from "../../model/final-step.ts";
import { RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { nestedAbout } from "../about.ts";
import { decompressedSource } from "../compression/decompressed-source.ts";
import { addDamage, type Damage, damageOf, withDamage } from "../damage.ts";
import { emptyIterable, lazy, lazyIterable } from "../lazy.ts";
import { READ_OPTIONS, type ReadEpisode, type ReadOptions, type RldsReader } from "../reader.ts";
import { addAbsentFields, nameSalvage } from "../reader-steps.ts";
import { selectSpec } from "../selection/selected-spec.ts";
import { Selection } from "../selection/selection.ts";
import type { Source } from "../sources/open-source.ts";
import { type SourceFile, type SourceTarget, sortPaths } from "../sources/source.ts";
import type { ColumnNames } from "./columns.ts";
import { readGenericEpisodes } from "./generic-episodes.ts";
import { type GenericIndex, readGenericIndex } from "./generic-index.ts";
import { readGenericSchema } from "./generic-schema.ts";
import { readInterleavedEpisodes } from "./interleaved-episodes.ts";
import { mappingOf } from "./mapping.ts";
import { type ParquetFile, parquetFile } from "./parquet-file.ts";
import { readRepriseEpisodes, readRepriseLengths, salvageRepriseEpisodes } from "./reprise-episodes.ts";
import { findRepriseColumns, readRepriseSchema } from "./reprise-schema.ts";
import { ABOUT } from "./schema.ts";

export interface ParquetOptions extends ReadOptions {
  /**
   * The names of columns with unusual names, by RLDS path (`observation/state`) or by `episode`, `terminal`, `truncated` or `done`. Default: the usual names.
   */
  readonly columns?: ColumnNames;
  /** A replacement for the runtime's `fetch`, for URLs. */
  readonly fetch?: Fetch;
}

const OPTIONS = `columns, fetch, ${READ_OPTIONS}`;

/**
 * Opens a Parquet file, or all .parquet files of a folder. Files are sorted by name, and numbers in names are compared by value. Files of `writeParquet`
 * restore the original data.
 *
 * In other files, each row is a step. The columns are `observation` (or `obs`, `state`), `action`, `reward` and `discount`. Nested values use dots, slashes or
 * structs. All other columns are metadata of the step. All lists of a column must have the same length.
 *
 * An episode continues while `episode_index` (`episode_id`, `episode`) stays the same. If there is no such column, the episode ends with a flag (`is_last`,
 * `terminal`, `terminated`, `truncated`, `timeout`, `done`). If there are no flags, the episode ends with the file.
 *
 * The last row keeps its action and reward. It is a final observation only if the file has `is_first` or `is_last` and the last action and reward are zeros.
 * The last row is terminal if `is_terminal`, `terminal` or `terminated` is set, or if `done` is set without `truncated`. A missing reward is 0. A missing
 * discount is 1, or 0 in a terminal row. A missing float is NaN. Keeps one row group and one episode in memory.
 * @throws TypeError, RangeError if an option is invalid
 * @throws RldsError NOT_FOUND if there is no Parquet file
 * @throws RldsError CORRUPT if a file is damaged
 * @throws RldsError UNSUPPORTED if hyparquet is missing, if a type or an encoding cannot be read, or if no column is the observation or the action
 * @throws RldsError INVALID_DATA if a value is missing
 * @throws RldsError EMPTY if the file has no rows
 * @throws RldsError IO if a file cannot be read
 */
export async function openParquet<S = RldsStep>(from: Source, options: ParquetOptions = {}): Promise<RldsReader<S>> {
  const { columns = {}, salvage, fetch, signal, maxBytes = MAX_SOURCE_BYTES } = onlyKeys("options", options, OPTIONS);
  const selection = new Selection(options);
  const losses = damageOf(salvage);
  integer("maxBytes", maxBytes, 1);
  if (typeof columns !== "object" || columns === null) throw mustBe(TypeError, "columns", "an object of column names", columns);
  const source = await decompressedSource(from, { signal, fetch, maxBytes, salvage });
  try {
    return await readerOf<S>(source, { columns, selection, losses, signal, maxBytes });
  } catch (error) {
    await source.file?.close();
    throw error;
  }
}

interface OpenOptions {
  readonly columns: ColumnNames;
  readonly selection: Selection;
  readonly losses: Damage | undefined;
  readonly signal?: AbortSignal;
  readonly maxBytes: number;
}

async function readerOf<S>(source: SourceTarget, { columns, selection, losses, signal, maxBytes }: OpenOptions): Promise<RldsReader<S>> {
  const paths = await pathsOf(source);
  const name = source.folder?.name ?? (source.file as SourceFile).name;
  const files = (from = 0) => filesOf(source, paths.slice(from), maxBytes, losses);
  const first = await firstFile(source, paths, maxBytes, losses);
  try {
    const repriseSchema = readRepriseSchema(first.parquet);
    // The option `salvage` helps only if there are other row groups or files, which can still be read.
    const hasParts = paths.length > 1 || first.parquet.groups.length > 1;
    const about = Object.fromEntries([...first.parquet.about].filter(([key]) => !["ARROW:schema", "pandas", ABOUT].includes(key)));
    const close = async () => source.file?.close();
    if (repriseSchema !== undefined) {
      findRepriseColumns(first.parquet, repriseSchema);
      const selected = selectSpec(repriseSchema.stepSpec, selection);
      selection.check();
      const end = repriseSchema.last || losses !== undefined ? repriseSchema : await readLastSchema(source, paths.at(-1) as string, maxBytes);
      const read = { maxBytes, signal, selected };
      // The total number of episodes up to the end of each file.
      const episodeEnds = lazy(async () => {
        const counts: number[] = [];
        for await (const file of files()) counts.push(readRepriseSchema(file)?.episodes ?? 0);
        return counts;
      });
      const startingAt = (episode: number): AsyncIterable<ReadEpisode<S>> => {
        integer("episode", episode, 0);
        return lazyIterable(async () => {
          const part = (await episodeEnds()).findIndex((end) => episode < end);
          return part < 0 ? emptyIterable() : readRepriseEpisodes<S>(files(part), repriseSchema, { ...read, start: { part, episode } });
        });
      };
      const own = addAbsentFields({
        ...{
          format: "parquet" as const,
          name,
          stepSpec: selected.spec,
          metadataSpec: finalStepSpec(repriseSchema.metadataSpec),
          episodes: losses === undefined ? end?.episodes : undefined,
          steps: losses === undefined ? end?.steps : undefined,
          about: { ...nestedAbout(repriseSchema.about), ...about },
          close,
        },
        ...withDamage(losses),
        [Symbol.asyncIterator]: () =>
          losses === undefined ? readRepriseEpisodes<S>(files(), repriseSchema, read) : salvageRepriseEpisodes<S>(files(), repriseSchema, read, losses),
        ...(losses === undefined && { startingAt, lengths: lazy(() => readRepriseLengths(files(), repriseSchema, { signal })) }),
      });
      return hasParts ? nameSalvage(own) : own;
    }
    if (first.parquet.rows === 0) throw new RldsError("EMPTY", "the file has no rows", { file: first.parquet.name });
    const selected = first.parquet.select(selection);
    const schema = await readGenericSchema(selected, mappingOf(selected, columns));
    selection.check();
    const selectedFiles = (from = 0) => selectFiles(files(from), selection);
    const index = lazy(() => readGenericIndex(selectedFiles(), schema, { signal }));
    const read = { maxBytes, signal, losses };
    // Episodes can be interleaved only if they have numbers, and damaged data has no index.
    const isInterleaved = async () => schema.mapping.episode !== undefined && losses === undefined && (await index()).isInterleaved;
    const startingAt = (episode: number): AsyncIterable<ReadEpisode<S>> =>
      lazyIterable(async () => {
        if (await isInterleaved()) return skipEpisodes(readInterleavedEpisodes<S>(selectedFiles(), schema, read), episode);
        if (episode === 0) return readGenericEpisodes<S>(selectedFiles(), schema, read);
        const { files: numbers, rows } = await index();
        const [file, row] = [numbers[episode], rows[episode]];
        return file === undefined ? emptyIterable() : readGenericEpisodes<S>(selectedFiles(file), schema, { ...read, row: row as number });
      });
    const reader: RldsReader<S> = {
      ...{ format: "parquet" as const, name, stepSpec: schema.stepSpec, metadataSpec: finalStepSpec(), close },
      steps: paths.length === 1 && !schema.hasNext && losses === undefined ? first.parquet.rows : undefined,
      about: schema.mapping.unread.length === 0 ? about : { ...about, unread: schema.mapping.unread },
      unread: schema.mapping.unread.map((what) => ({ what, remedy: "name it in columns, if Reprise can read its type" })),
      [Symbol.asyncIterator]: () => startingAt(0)[Symbol.asyncIterator](),
      ...(losses === undefined
        ? { startingAt: (episode) => startingAt(integer("episode", episode, 0)), lengths: async () => lengthsOf(await index(), startingAt) }
        : withDamage(losses)),
    };
    return hasParts ? nameSalvage(reader) : reader;
  } finally {
    await first.close();
  }
}

async function* selectFiles(files: AsyncIterable<ParquetFile>, selection: Selection): AsyncGenerator<ParquetFile, void> {
  for await (const file of files) yield file.select(selection);
}

async function* skipEpisodes<S>(episodes: AsyncIterable<ReadEpisode<S>>, count: number): AsyncGenerator<ReadEpisode<S>, void> {
  let index = 0;
  for await (const episode of episodes) if (index++ >= count) yield episode;
}

/** Returns the lengths of the episodes. If episodes are interleaved, their lengths are known only after reading them. */
async function lengthsOf(
  { isInterleaved, lengths }: GenericIndex,
  startingAt: (episode: number) => AsyncIterable<ReadEpisode<unknown>>,
): Promise<readonly number[]> {
  if (!isInterleaved) return lengths;
  const counts: number[] = [];
  for await (const { steps } of startingAt(0)) counts.push(steps.length);
  return counts;
}

async function pathsOf({ folder, file }: SourceTarget): Promise<string[]> {
  if (file !== undefined) return [file.name];
  const all = await folder.list();
  if (all === undefined) throw unsupportedFile({ file: folder.name }, "the folder cannot be listed. Pass the URL of a .parquet file");
  const paths = all.filter((path) => path.endsWith(".parquet") && !path.split("/").some((part) => part.startsWith(".")));
  if (paths.length === 0) throw new RldsError("NOT_FOUND", "the folder has no .parquet file", { file: folder.name });
  return sortPaths(paths);
}

/** Opens one file of the source. Its `close` closes the file only if this function opened it. */
async function openFile({ folder, file }: SourceTarget, path: string, maxBytes: number): Promise<{ readonly parquet: ParquetFile; close(): Promise<void> }> {
  if (file !== undefined) return { parquet: await parquetFile(file, maxBytes), close: async () => {} };
  const parquetSource = await folder.open(path);
  try {
    return { parquet: await parquetFile(parquetSource, maxBytes), close: () => parquetSource.close() };
  } catch (error) {
    await parquetSource.close();
    throw error;
  }
}

/** Returns the first file that has rows or that Reprise wrote. If there is none, returns the last file. */
async function firstFile(source: SourceTarget, paths: readonly string[], maxBytes: number, losses: Damage | undefined): ReturnType<typeof openFile> {
  let damage: unknown;
  for (const [i, path] of paths.entries()) {
    try {
      const opened = await openFile(source, path, maxBytes);
      if (i === paths.length - 1 || opened.parquet.rows > 0 || readRepriseSchema(opened.parquet) !== undefined) return opened;
      await opened.close();
    } catch (error) {
      if (paths.length === 1) throw error;
      addDamage(losses, error);
      damage = error;
    }
  }
  throw damage;
}

async function* filesOf(source: SourceTarget, paths: readonly string[], maxBytes: number, losses: Damage | undefined): AsyncGenerator<ParquetFile, void> {
  for (const path of paths) {
    const opened = await openFile(source, path, maxBytes).catch((error) => {
      if (losses === undefined) throw error;
      losses.add(error);
    });
    if (opened === undefined) continue;
    const { parquet, close } = opened;
    try {
      yield parquet;
    } finally {
      await close();
    }
  }
}

async function readLastSchema(source: SourceTarget, path: string, maxBytes: number) {
  const { parquet, close } = await openFile(source, path, maxBytes);
  try {
    const schema = readRepriseSchema(parquet);
    return schema?.last ? schema : undefined;
  } finally {
    await close();
  }
}
