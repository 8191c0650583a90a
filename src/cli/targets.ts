/** Chooses the options for the writer of each format, so that the target keeps as much of the source as the format allows. */
import { basename } from "node:path";
import {
  type LeRobotVersion,
  type LeRobotWriteOptions,
  type Loss,
  type RldsDataset,
  type RldsEpisode,
  RldsError,
  type RldsReader,
  type StepSpec,
  type WriteOptions,
  type WriteReport,
  writeCsv,
  writeHdf5,
  writeJsonl,
  writeLeRobot,
  writeMinari,
  writeNpz,
  writeParquet,
  writeTfds,
} from "../datasets/rlds/index.ts";
import { UsageError } from "./exit.ts";
import { countText } from "./text.ts";

export const FORMATS = ["tfds", "lerobot", "minari", "parquet", "jsonl", "npz", "hdf5", "csv"] as const;
export type Format = (typeof FORMATS)[number];

export interface FormatOptions {
  readonly name?: string;
  readonly version?: string;
  readonly split?: string;
  readonly shards?: number;
  readonly image?: readonly string[];
  readonly fps?: number;
  readonly task?: string;
  readonly taskLeaf?: string;
  readonly robotType?: string;
  readonly lerobotVersion?: LeRobotVersion;
  readonly id?: string;
}

/** The options that all writers take. */
export type CommonOptions = Pick<WriteOptions, "signal" | "overwrite" | "strict" | "onProgress">;

/** The options for the films of a LeRobot target: which image leaves to encode as films, the encoder, and the function that cuts existing films. */
export type FilmOptions = Pick<LeRobotWriteOptions, "videos" | "videoEncoder" | "cutFilm">;

/**
 * Writes a dataset in a format.
 * @param data the episodes to write
 * @param reader the source of the metadata and of existing films
 * @param films the options for LeRobot films. Other formats ignore them
 * @throws UsageError if the format is LeRobot, and neither the options nor the source state the steps per second
 */
export async function write(
  format: Format,
  data: RldsDataset,
  reader: RldsReader,
  to: string,
  options: FormatOptions,
  common: CommonOptions,
  films?: FilmOptions,
): Promise<WriteReport> {
  const about = aboutOf(reader, format);
  const all: WriteOptions = { ...common, ...(Object.keys(about).length > 0 && { about }) };
  switch (format) {
    case "parquet":
      return writeParquet(data, to, all);
    case "jsonl":
      return writeJsonl(data, to, all);
    case "npz":
      return writeNpz(data, to, all);
    case "hdf5":
      return writeHdf5(data, to, all);
    case "csv":
      return writeCsv(data, to, all);
    case "tfds":
      return asTfds(data, reader, to, options, all);
    case "lerobot":
      return asLeRobot(data, reader, to, options, { ...all, ...films });
    case "minari":
      return asMinari(data, reader, to, options, all);
  }
}

/**
 * The metadata keys that a reader takes from the files of a TFDS dataset. They are not stored as additional metadata in a TFDS target, because its own files
 * state them.
 */
const TFDS_KEYS = ["name", "version", "fileFormat", "file_format", "disableShuffling", "description"];

/** Returns the source's metadata for the target. The metadata of a journal or snapshot describes its tables, so it is left out. */
function aboutOf({ format, about }: RldsReader, target: Format): RldsReader["about"] {
  if (format === "journal" || format === "snapshot") return {};
  // The list of data that was not read from the source does not describe the target.
  const { unread: _, ...kept } = about;
  return target === "tfds" ? Object.fromEntries(Object.entries(kept).filter(([name]) => !TFDS_KEYS.includes(name))) : kept;
}

/** Returns a loss for each part of the source that the reader does not read. */
export function unreadLosses({ unread = [], about }: RldsReader): Loss[] {
  const named = unread.map(({ what, remedy }) => ({ what, reason: `not read from the source; ${remedyText(remedy)}` }));
  const others = unreadPaths(about).filter((path) => !unread.some(({ what }) => what === path));
  return [...named, ...others.map((what) => ({ what, reason: "not read from the source; no option reads it" }))];
}

/** Returns the paths of the data within the source files that the reader does not read. */
export function unreadPaths(about: RldsReader["about"]): string[] {
  return Array.isArray(about.unread) ? about.unread.map(String) : [];
}

/** Returns a remedy in which `--open NAME=…` replaces `the option NAME=…`. */
export function remedyText(remedy: string): string {
  return remedy.replace(/^the option (\w+=)/, "--open $1");
}

async function asLeRobot(data: RldsDataset, reader: RldsReader, to: string, options: FormatOptions, common: WriteOptions & FilmOptions): Promise<WriteReport> {
  const { fps = reader.about.fps, task, taskLeaf, robotType = reader.about.robot_type, image, lerobotVersion } = options;
  if (typeof fps !== "number") throw new UsageError("--fps is required for LeRobot, because the data does not specify the number of steps per second");
  const names = namesOf(reader);
  return writeLeRobot(data, to, {
    ...common,
    fps,
    ...(task !== undefined && { task }),
    ...(taskLeaf !== undefined && { taskLeaf }),
    ...(typeof robotType === "string" && { robotType }),
    ...(image !== undefined && { images: image }),
    ...(lerobotVersion !== undefined && { version: lerobotVersion }),
    ...(Object.keys(names).length > 0 && { names }),
    ...(reader.films && { films: reader.films }),
  });
}

/**
 * Returns the names of the elements of each leaf, such as the names of joints, as a LeRobot source states them. Leaves without names that fit their shape are
 * left out.
 */
function namesOf({ about, stepSpec }: RldsReader): NonNullable<LeRobotWriteOptions["names"]> {
  const features = (about.features ?? {}) as { readonly [name: string]: { readonly names?: unknown } | null };
  const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every((text) => typeof text === "string");
  return Object.fromEntries(
    Object.entries(features).flatMap(([name, feature]) => {
      const keys = name.split(".");
      const leaf = keys.reduce<unknown>((at, key) => (at as { readonly [key: string]: unknown } | undefined)?.[key], stepSpec);
      const { shape } = (leaf ?? {}) as { readonly shape?: readonly number[] };
      const names = feature?.names;
      const lists = isTexts(names) ? [names] : typeof names === "object" && names !== null && !Array.isArray(names) ? Object.values(names) : [];
      const fits = shape?.length === 1 && lists.every(isTexts) && lists.flat().length === shape[0];
      return fits ? [[keys.join("/"), names as readonly string[]]] : [];
    }),
  );
}

/**
 * Returns the names of the subfolders that lead from the folder that is passed to a writer to the folder of the dataset. Returns an empty list if the writer
 * creates no subfolders.
 */
export function datasetFolders(
  format: Format,
  reader: RldsReader,
  { name, version = "1.0.0", id }: Pick<FormatOptions, "name" | "version" | "id">,
): readonly string[] {
  if (format === "tfds") return [name ?? nameOf(reader.name), version];
  return format === "minari" ? (id ?? idOf(reader)).split("/") : [];
}

function idOf({ about, name }: RldsReader): string {
  return typeof about.dataset_id === "string" ? about.dataset_id : `${nameOf(name)}-v0`;
}

async function asMinari(data: RldsDataset, reader: RldsReader, to: string, options: FormatOptions, common: WriteOptions): Promise<WriteReport> {
  const { description } = reader.about;
  const { id = idOf(reader) } = options;
  return writeMinari(data, to, { ...common, id, ...(typeof description === "string" && { description }) });
}

async function asTfds(data: RldsDataset, reader: RldsReader, to: string, options: FormatOptions, common: WriteOptions): Promise<WriteReport> {
  const { name = nameOf(reader.name), version, split, shards, image } = options;
  const { description } = reader.about;
  // The writer needs the number of episodes to choose the shard of each episode.
  const episodes = shards === undefined ? undefined : await countOf(data);
  const dataset = episodes === undefined ? data : withEpisodes(data, () => iterate(data), episodes);
  return writeTfds(dataset, to, {
    ...common,
    name,
    ...(version !== undefined && { version }),
    ...(split !== undefined && { split }),
    ...(shards !== undefined && { shards }),
    ...(image !== undefined && { images: image }),
    ...(typeof description === "string" && { description }),
  });
}

async function countOf(data: RldsDataset): Promise<number> {
  let count = 0;
  for await (const _ of iterate(data)) count++;
  return count;
}

async function* iterate(data: RldsDataset): AsyncGenerator<RldsEpisode, void, undefined> {
  yield* data as AsyncIterable<RldsEpisode>;
}

/**
 * Returns the same dataset, but its iteration ends with an error if no episode has a step. The writer then has not replaced any files yet.
 * @param remedy returns the end of the error message
 * @throws RldsError EMPTY during iteration if there are no steps
 */
export function nonEmpty(data: RldsDataset, remedy: () => string): RldsDataset {
  const episodes = async function* (): AsyncGenerator<RldsEpisode, void, undefined> {
    let hasSteps = false;
    for await (const episode of iterate(data)) {
      hasSteps ||= (episode.steps as { readonly length?: number }).length !== 0;
      yield episode;
    }
    if (!hasSteps) throw new RldsError("EMPTY", `no step is left to write${remedy()}`);
  };
  return withEpisodes(data, episodes);
}

/** Returns the same dataset with other episodes. @param count the number of episodes, if known */
function withEpisodes(data: RldsDataset, episodes: () => AsyncIterator<RldsEpisode>, count?: number): RldsDataset {
  return {
    get stepSpec() {
      return data.stepSpec as StepSpec;
    },
    get metadataSpec() {
      return data.metadataSpec as NonNullable<RldsDataset["metadataSpec"]>;
    },
    ...(count !== undefined && { episodes: count }),
    [Symbol.asyncIterator]: episodes,
  };
}

/** Returns a loss as text, such as `discount: Minari has none (3 episodes)`. */
export function lossText({ what, reason, episodes }: Loss): string {
  return `${what}: ${reason}${episodes === undefined ? "" : ` (${countText(episodes, "episode")})`}`;
}

/** Converts the name of a source, which may be a path, to a name that TFDS and Minari accept. */
function nameOf(name: string): string {
  let word = basename(name)
    .replace(/\.[a-z0-9]+$/i, "")
    .replace(/\W+/g, "_")
    .replace(/^[\d_]+/, "");
  while (word.endsWith("_")) word = word.slice(0, -1);
  return word === "" ? "dataset" : word;
}
