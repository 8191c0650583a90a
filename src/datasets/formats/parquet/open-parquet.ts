/** Parquet as an RLDS dataset: our own files as they were, and those of others by the names of their columns. */
import { integer, mustBe, onlyKeys } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import type { Fetch } from "../../../base/host.ts";
import type { RldsStep } from "../../model/dataset.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { later, none, once } from "../once.ts";
import type { ReadOptions, RldsReader } from "../reader.ts";
import { type Source, sourceOf } from "../sources/open-source.ts";
import { type FoundSource, inOrder, type SourceFile } from "../sources/source.ts";
import type { ColumnNames } from "./columns.ts";
import { mappingOf } from "./mapping.ts";
import { ownEpisodes, ownLengths } from "./own-episodes.ts";
import { ownColumns, ownForm } from "./own-form.ts";
import { type ParquetFile, parquetFile } from "./parquet-file.ts";
import { plainEpisodes } from "./plain-episodes.ts";
import { plainForm } from "./plain-form.ts";
import { plainIndex } from "./plain-index.ts";
import { ABOUT } from "./schema.ts";

export interface ParquetOptions extends ReadOptions {
  /** Columns of files that are not ours whose names say nothing: of an RLDS path (`observation/state`), or of `episode`, `truncated`, `done`, the column. */
  readonly columns?: ColumnNames;
  /** Instead of the runtime's own, for URLs. */
  readonly fetch?: Fetch;
}

const OPTIONS = "columns, fetch, signal, maxBytes";

/**
 * Opens a file, or all .parquet files of a folder in the order of their names and the numbers in them. Files that writeParquet wrote give back what was written. In others a row is a step:
 * `observation`, `obs` or `state`, `action`, `reward`, `discount`, with dots or slashes or structs for what is nested, and whatever else there is as metadata of the step. An episode goes on as long as
 * `episode_index` (`episode_id`, `episode`) stays; where there is none it ends with a flag (`is_last`, `terminal`, `terminated`, `truncated`, `timeout`, `done`), and where there
 * is none either with the file. The last row is the last step and keeps its action and reward: such files have no final observation. It is terminal by `is_terminal`, `terminal`,
 * `terminated`, or by `done` without `truncated`. Reward is 0 and discount 1 (0 where terminal) where they are missing; a missing float is NaN. Lists must be of one length. Memory: a row group and an episode.
 * @throws TypeError, RangeError for an option · RldsError NOT_FOUND · CORRUPT · UNSUPPORTED without hyparquet, for types and encodings that are not read, where no column is the
 * observation or the action · INVALID_DATA for values that are missing · EMPTY · IO
 */
export async function openParquet<S = RldsStep>(from: Source, options: ParquetOptions = {}): Promise<RldsReader<S>> {
  const { columns = {}, fetch, signal, maxBytes = MAX_SOURCE_BYTES } = onlyKeys("options", options, OPTIONS);
  integer("maxBytes", maxBytes, 1);
  if (typeof columns !== "object" || columns === null) throw mustBe(TypeError, "columns", "an object of names", columns);
  const source = await sourceOf(from, { signal, fetch, maxBytes });
  try {
    return await readerOf<S>(source, { columns, signal, maxBytes });
  } catch (error) {
    await source.file?.close();
    throw error;
  }
}

interface Asked {
  readonly columns: ColumnNames;
  readonly signal?: AbortSignal;
  readonly maxBytes: number;
}

async function readerOf<S>(source: FoundSource, { columns, signal, maxBytes }: Asked): Promise<RldsReader<S>> {
  const paths = await pathsOf(source);
  const name = source.folder?.name ?? (source.file as SourceFile).name;
  const files = (from = 0) => filesOf(source, paths.slice(from), maxBytes);
  const first = await one(source, paths[0] as string, maxBytes);
  try {
    const own = ownForm(first.parquet);
    const about = Object.fromEntries([...first.parquet.about].filter(([key]) => !["ARROW:schema", "pandas", ABOUT].includes(key)));
    const close = async () => source.file?.close();
    if (own !== undefined) {
      ownColumns(first.parquet, own);
      const end = own.last ? own : await lastForm(source, paths.at(-1) as string, maxBytes);
      // How many episodes there are up to the end of each file.
      const ends = once(async () => {
        const counts: number[] = [];
        for await (const file of files()) counts.push(ownForm(file)?.episodes ?? 0);
        return counts;
      });
      return {
        ...{
          format: "parquet" as const,
          name,
          stepSpec: own.stepSpec,
          metadataSpec: own.metadataSpec,
          episodes: end?.episodes,
          steps: end?.steps,
          about,
          close,
        },
        [Symbol.asyncIterator]: () => ownEpisodes<S>(files(), own, { maxBytes, signal }),
        startingAt(episode) {
          integer("episode", episode, 0);
          return later(async () => {
            const part = (await ends()).findIndex((end) => episode < end);
            return part < 0 ? none() : ownEpisodes<S>(files(part), own, { maxBytes, signal, start: { part, episode } });
          });
        },
        lengths: once(() => ownLengths(files(), own, { signal })),
      };
    }
    const form = await plainForm(first.parquet, mappingOf(first.parquet, columns));
    const index = once(() => plainIndex(files(), form, { signal }));
    return {
      ...{ format: "parquet" as const, name, stepSpec: form.stepSpec, metadataSpec: {}, close },
      steps: paths.length === 1 ? first.parquet.rows : undefined,
      about: form.mapping.unread.length === 0 ? about : { ...about, unread: form.mapping.unread },
      [Symbol.asyncIterator]: () => plainEpisodes<S>(files(), form, { maxBytes, signal }),
      startingAt(episode) {
        integer("episode", episode, 0);
        return later(async () => {
          const { files: numbers, rows } = await index();
          const [file, row] = [numbers[episode], rows[episode]];
          return file === undefined ? none() : plainEpisodes<S>(files(file), form, { maxBytes, signal, row: row as number });
        });
      },
      lengths: async () => (await index()).lengths,
    };
  } finally {
    await first.close();
  }
}

async function pathsOf({ folder, file }: FoundSource): Promise<string[]> {
  if (file !== undefined) return [file.name];
  const all = await folder.list();
  if (all === undefined)
    throw new RldsError("UNSUPPORTED", "a folder that cannot be listed has no known files: give the URL of a .parquet file", { file: folder.name });
  const paths = all.filter((path) => path.endsWith(".parquet") && !path.split("/").some((part) => part.startsWith(".")));
  if (paths.length === 0) throw new RldsError("NOT_FOUND", "there is no .parquet file in the folder", { file: folder.name });
  return inOrder(paths);
}

/** One file; it is closed only where it was opened here. */
async function one({ folder, file }: FoundSource, path: string, maxBytes: number): Promise<{ readonly parquet: ParquetFile; close(): Promise<void> }> {
  if (file !== undefined) return { parquet: await parquetFile(file, maxBytes), close: async () => {} };
  const opened = await folder.open(path);
  try {
    return { parquet: await parquetFile(opened, maxBytes), close: () => opened.close() };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function* filesOf(source: FoundSource, paths: readonly string[], maxBytes: number): AsyncGenerator<ParquetFile, void> {
  for (const path of paths) {
    const { parquet, close } = await one(source, path, maxBytes);
    try {
      yield parquet;
    } finally {
      await close();
    }
  }
}

async function lastForm(source: FoundSource, path: string, maxBytes: number) {
  const { parquet, close } = await one(source, path, maxBytes);
  try {
    const form = ownForm(parquet);
    return form?.last ? form : undefined;
  } finally {
    await close();
  }
}
