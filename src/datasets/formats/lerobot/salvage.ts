/**
 * Recovers the intact parts of a LeRobot dataset whose files contradict each other, for example after a crash. If the frames and the metadata differ, the
 * frames take precedence.
 */
import { corruptFile, RldsError } from "../../model/rlds-error.ts";
import type { StepColumns } from "../../model/step-columns.ts";
import type { Damage } from "../damage.ts";
import { readGenericEpisodes } from "../parquet/generic-episodes.ts";
import type { GenericSchema } from "../parquet/generic-schema.ts";
import { type ParquetFile, parquetFile } from "../parquet/parquet-file.ts";
import { type SourceFolder, sortPaths } from "../sources/source.ts";
import { type EpisodeEntry, type EpisodeList, readEpisodeList, tasksOf } from "./episode-list.ts";
import { INFO, type LeRobotInfo } from "./info.ts";

/** The list of episodes, with the tasks and all data files. */
export interface SalvagedList extends EpisodeList {
  /** The paths of data files, including files that are not in the list of episodes. */
  readonly paths: readonly string[];
  readonly tasks: ReadonlyMap<number, string>;
}

/** Reads the lists of episodes, tasks and data files as far as possible. Records contradictions and missing or damaged files as losses. */
export async function salvageLists(
  folder: SourceFolder,
  info: LeRobotInfo,
  videos: readonly string[],
  maxBytes: number,
  losses: Damage,
): Promise<SalvagedList> {
  const attempt = async <T>(read: () => Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await read();
    } catch (error) {
      losses.add(error);
      return otherwise;
    }
  };
  const { episodes, metadataSpec } = await attempt(() => readEpisodeList(folder, info, videos, maxBytes), { episodes: [], metadataSpec: {} });
  if (episodes.length !== info.episodes)
    losses.add(corruptFile({ file: INFO }, `the file declares ${info.episodes} episodes, but the list of episodes has ${episodes.length}`));
  const tasks = info.features.has("task_index") ? await attempt(() => tasksOf(folder, info, maxBytes), new Map<number, string>()) : new Map<number, string>();
  const files = await folder.list();
  const missing = (path: string) => files !== undefined && !files.includes(path);
  for (const { videos: films } of episodes)
    for (const { path } of films.values()) if (missing(path)) losses.add(new RldsError("NOT_FOUND", "the film does not exist", { file: path }));
  const listed = (files ?? []).filter((path) => path.startsWith("data/") && path.endsWith(".parquet"));
  const paths = sortPaths([...new Set([...episodes.map(({ path }) => path), ...listed])]);
  return { episodes, metadataSpec, paths, tasks };
}

/** The options for recovering episodes. */
export interface SalvageOptions {
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  readonly losses: Damage;
}

/** Yields the episodes whose frames are complete, with their known metadata. */
export async function* salvageEpisodes(
  folder: SourceFolder,
  { episodes, paths }: SalvagedList,
  schema: GenericSchema,
  { maxBytes, signal, losses }: SalvageOptions,
): AsyncGenerator<{ readonly steps: StepColumns<unknown>; readonly entry: EpisodeEntry }, void> {
  const byIndex = new Map(episodes.map((entry) => [entry.index, entry]));
  const found = new Set<number>();
  for (const path of paths) {
    const file = await openTable(folder, path, maxBytes, losses);
    if (file === undefined) continue;
    try {
      const only = (async function* () {
        yield file.table;
      })();
      for await (const { steps } of readGenericEpisodes<unknown>(only, schema, { maxBytes, signal, losses })) {
        const { episode_index, frame_index } = steps.columns as { readonly [name: string]: { readonly data: ArrayLike<number | bigint> } | undefined };
        const index = Number(episode_index?.data[0]);
        const entry = byIndex.get(index);
        const isWhole = frame_index === undefined || Array.from(frame_index.data).every((frame, i) => Number(frame) === i);
        const lose = (what: string) => losses.add(corruptFile({ file: path, episode: index }, what));
        if (found.has(index)) lose(`episode ${index} occurs twice`);
        else if (entry !== undefined && entry.length !== steps.length)
          lose(`the episode must have ${entry.length} frames, as in the dataset's list of episodes, got ${steps.length}`);
        else if (!isWhole) lose("the frames of the episode are not consecutive");
        else {
          if (entry === undefined) lose("the list of episodes does not contain this episode. Its frames were read anyway");
          yield { steps, entry: entry ?? { index, length: steps.length, path, videos: new Map() } };
          found.add(index);
        }
      }
    } catch (error) {
      losses.add(error);
    } finally {
      await file.close();
    }
  }
  for (const { index, path } of episodes)
    if (!found.has(index)) losses.add(new RldsError("NOT_FOUND", `the frames of episode ${index} are missing or incomplete`, { file: path, episode: index }));
}

/** Opens a table. If the table is damaged, records a loss and returns undefined. */
export async function openTable(
  folder: SourceFolder,
  path: string,
  maxBytes: number,
  losses: Damage,
): Promise<{ readonly table: ParquetFile; close(): Promise<void> } | undefined> {
  try {
    const file = await folder.open(path);
    try {
      return { table: await parquetFile(file, maxBytes), close: () => file.close() };
    } catch (error) {
      await file.close();
      throw error;
    }
  } catch (error) {
    losses.add(error);
    return undefined;
  }
}
