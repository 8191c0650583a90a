/** Reads the lists of episodes and tasks of a LeRobot dataset. */
import type { StepSpec } from "../../model/dataset.ts";
import { corruptFile, RldsError } from "../../model/rlds-error.ts";
import type { FileColumn } from "../parquet/columns.ts";
import { type ParquetFile, parquetFile } from "../parquet/parquet-file.ts";
import { columnOf, findColumn } from "../parquet/table.ts";
import { openIfExists, type SourceFolder, sortPaths } from "../sources/source.ts";
import { metadataOf } from "./episode-metadata.ts";
import { fillTemplate, jsonLines, type LeRobotInfo, readText } from "./info.ts";

/** The place in a video at which an episode begins. */
export interface VideoPosition {
  readonly path: string;
  /** The time in the video at which the episode begins, in seconds. */
  readonly from: number;
}

/** An entry in the list of episodes. */
export interface EpisodeEntry {
  readonly index: number;
  readonly length: number;
  /** The path of the data file. */
  readonly path: string;
  /** The place in each video at which the episode begins, by feature name. */
  readonly videos: ReadonlyMap<string, VideoPosition>;
  /** The metadata of the episode. */
  readonly metadata?: object;
}

/** The list of all episodes, with the spec of their metadata. */
export interface EpisodeList {
  readonly episodes: readonly EpisodeEntry[];
  readonly metadataSpec: { readonly [name: string]: StepSpec };
}

/** The folder with the tables of episodes in version 3. */
const EPISODES = "meta/episodes";

/** Reads the list of episodes, and checks that it is complete and in order. @throws RldsError CORRUPT, NOT_FOUND */
export async function listEpisodes(folder: SourceFolder, info: LeRobotInfo, videos: readonly string[], maxBytes: number): Promise<EpisodeList> {
  const { episodes: entries, metadataSpec } = await readEpisodeList(folder, info, videos, maxBytes);
  const file = info.version === 2 ? "meta/episodes.jsonl" : EPISODES;
  const invalidIndex = entries.findIndex(({ index, length }, i) => index !== i || !Number.isSafeInteger(length) || length < 0);
  if (invalidIndex >= 0)
    throw corruptFile(
      { file, episode: invalidIndex },
      `row ${invalidIndex} must contain episode ${invalidIndex} and its length, got episode ${entries[invalidIndex]?.index} with length ${entries[invalidIndex]?.length}`,
    );
  if (entries.length !== info.episodes) throw corruptFile({ file }, `the list has ${entries.length} episodes, but meta/info.json declares ${info.episodes}`);
  return { episodes: entries, metadataSpec };
}

/** Reads the list of episodes without checking the order, lengths and number of its entries. */
export function readEpisodeList(folder: SourceFolder, info: LeRobotInfo, videos: readonly string[], maxBytes: number): Promise<EpisodeList> {
  return (info.version === 2 ? fromLines : fromTables)(folder, info, videos, maxBytes);
}

async function fromLines(folder: SourceFolder, info: LeRobotInfo, videos: readonly string[], maxBytes: number): Promise<EpisodeList> {
  const path = "meta/episodes.jsonl";
  const episodes = jsonLines(await readText(folder, path, maxBytes), path).map(({ episode_index, length }) => {
    const values = { episode_chunk: Math.floor((episode_index as number) / info.chunkSize), episode_index: episode_index as number };
    const videoPositions = videos.map((video_key) => [video_key, { path: fillTemplate(info.videoPath ?? "", { ...values, video_key }), from: 0 }] as const);
    return { index: episode_index as number, length: length as number, path: fillTemplate(info.dataPath, values), videos: new Map(videoPositions) };
  });
  return { episodes, metadataSpec: {} };
}

async function fromTables(folder: SourceFolder, info: LeRobotInfo, videos: readonly string[], maxBytes: number): Promise<EpisodeList> {
  const entries: EpisodeEntry[] = [];
  let metadataSpec: StepSpec | undefined;
  for await (const table of episodeTables(folder, maxBytes)) {
    const numbers = async (name: string): Promise<ArrayLike<number | bigint>> => {
      const column = findColumn(table, name);
      if (column === undefined || column.listDepth > 0 || column.dtype === undefined || column.dtype === "string" || column.dtype === "bytes")
        throw corruptFile({ file: table.name }, `the file must have a numeric column ${name}`);
      return wholeColumn(table, column) as Promise<ArrayLike<number>>;
    };
    const [indices, lengths, chunks, files] = [
      await numbers("episode_index"),
      await numbers("length"),
      await numbers("data/chunk_index"),
      await numbers("data/file_index"),
    ];
    const videoColumns = new Map<string, readonly ArrayLike<number | bigint>[]>();
    for (const video of videos)
      videoColumns.set(video, [
        await numbers(`videos/${video}/chunk_index`),
        await numbers(`videos/${video}/file_index`),
        await numbers(`videos/${video}/from_timestamp`),
      ]);
    const metadata = await metadataOf(table, metadataSpec);
    metadataSpec ??= metadata?.spec;
    for (let i = 0; i < table.rows; i++) {
      const at = (column: ArrayLike<number | bigint> | undefined) => Number(column?.[i]);
      const entryVideos = [...videoColumns].map(([video_key, [chunk, file, from]]) => {
        const values = { video_key, chunk_index: at(chunk), file_index: at(file) };
        return [video_key, { path: fillTemplate(info.videoPath ?? "", values), from: at(from) }] as const;
      });
      const path = fillTemplate(info.dataPath, { chunk_index: at(chunks), file_index: at(files) });
      entries.push({ index: at(indices), length: at(lengths), path, videos: new Map(entryVideos), metadata: metadata?.at(i) });
    }
  }
  return { episodes: entries, metadataSpec: (metadataSpec ?? {}) as { readonly [name: string]: StepSpec } };
}

/** Opens the tables of episodes in order. If the folder cannot be listed, tries consecutive file numbers in each chunk, until a chunk has no files. */
export async function* episodeTables(folder: SourceFolder, maxBytes: number): AsyncGenerator<ParquetFile, void> {
  const all = (await folder.list())?.filter((path) => path.startsWith(`${EPISODES}/`) && path.endsWith(".parquet"));
  const sortedPaths = all && sortPaths(all);
  for (let chunk = 0, file = 0, k = 0; sortedPaths === undefined || k < sortedPaths.length; k++) {
    const tablePath = () => `${EPISODES}/chunk-${String(chunk).padStart(3, "0")}/file-${String(file).padStart(3, "0")}.parquet`;
    const path = sortedPaths?.[k];
    let tableFile = path === undefined ? await openIfExists(folder, tablePath()) : await folder.open(path);
    if (tableFile === undefined && file > 0) {
      [chunk, file] = [chunk + 1, 0];
      tableFile = await openIfExists(folder, tablePath());
    }
    if (tableFile === undefined) {
      if (k === 0) throw new RldsError("NOT_FOUND", "the table of episodes does not exist", { file: tablePath() });
      return;
    }
    file++;
    try {
      yield await parquetFile(tableFile, maxBytes);
    } finally {
      await tableFile.close();
    }
  }
}

/** Reads all rows of a column. */
async function wholeColumn(table: ParquetFile, column: FileColumn): Promise<ArrayLike<unknown>> {
  const chunks: unknown[] = [];
  for (const [group, rows] of table.groups.entries()) {
    const [chunk] = await table.read(group, [column]);
    const data = columnOf(chunk as never, { dtype: column.dtype as "f32", shape: [] }, rows, { file: table.name, column });
    for (const value of data) chunks.push(value);
  }
  return chunks;
}

/** Returns the texts of the tasks by number. @throws RldsError CORRUPT, NOT_FOUND */
export async function tasksOf(folder: SourceFolder, { version }: LeRobotInfo, maxBytes: number): Promise<ReadonlyMap<number, string>> {
  const path = version === 2 ? "meta/tasks.jsonl" : "meta/tasks.parquet";
  const corrupt = () => corruptFile({ file: path }, "every row of the file must have a task and a task_index");
  if (version === 2) {
    const lines = jsonLines(await readText(folder, path, maxBytes), path);
    if (!lines.every(({ task_index, task }) => Number.isSafeInteger(task_index) && typeof task === "string")) throw corrupt();
    return new Map(lines.map(({ task_index, task }) => [task_index as number, task as string]));
  }
  const file = await folder.open(path);
  try {
    const table = await parquetFile(file, maxBytes);
    // The task is the index of a pandas table, and the name of its column varies.
    const [index, text] = [findColumn(table, "task_index"), table.columns.find(({ dtype, listDepth: lists }) => dtype === "string" && lists === 0)];
    if (index?.dtype !== "i64" || index.listDepth > 0 || text === undefined) throw corrupt();
    const [indices, texts] = [await wholeColumn(table, index), await wholeColumn(table, text)];
    return new Map(Array.from(indices, (number, i) => [Number(number), texts[i] as string]));
  } finally {
    await file.close();
  }
}
