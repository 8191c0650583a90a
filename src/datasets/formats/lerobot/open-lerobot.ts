/** Opens LeRobot datasets, which consist of frames in Parquet, videos, and tables of episodes and tasks. */
import { integer, mustBe, onlyKeys } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import type { Fetch } from "../../../base/host.ts";
import type { RldsStep } from "../../model/dataset.ts";
import { FINAL_STEP, FINAL_STEP_LEAF } from "../../model/final-step.ts";
import { corruptFile, RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import type { StepColumns } from "../../model/step-columns.ts";
import { addDamage, type Damage, damageOf, withDamage, withSalvageRemedy } from "../damage.ts";
import { imageHead } from "../images/image-head.ts";
import { imageDecoder } from "../images/images.ts";
import { parseJson } from "../json.ts";
import { readGenericEpisodes } from "../parquet/generic-episodes.ts";
import { type GenericSchema, readGenericSchema } from "../parquet/generic-schema.ts";
import { type ParquetFile, parquetFile } from "../parquet/parquet-file.ts";
import { READ_OPTIONS, type ReadEpisode, type ReadOptions, type RldsReader } from "../reader.ts";
import { nameSalvage } from "../reader-steps.ts";
import { Selection } from "../selection/selection.ts";
import { type Source, sourceOf } from "../sources/open-source.ts";
import type { SourceFolder } from "../sources/source.ts";
import { type EpisodeEntry, listEpisodes, tasksOf } from "./episode-list.ts";
import { nameFeatures } from "./feature-names.ts";
import { filmsOf } from "./film-source.ts";
import { frameMapping, frameSpec, type ImageLeaf, imageLeaves } from "./frame-schema.ts";
import { type FramesOptions, framesOf } from "./frames.ts";
import { INFO, type LeRobotInfo, leRobotInfo, readText } from "./info.ts";
import { type SalvagedList, type SalvageOptions, salvageEpisodes, salvageLists } from "./salvage.ts";

/** The options of `openLeRobot`. */
export interface LeRobotOptions extends ReadOptions {
  /** The form of image features: "decode" for pixels (u8 or u16), "bytes" for the PNG or JPEG bytes. Default: "decode". */
  readonly images?: "decode" | "bytes";
  /**
   * The column whose value in the last frame shows whether the environment ended the episode: "success" for `next.success`, "done" for `next.done`, or "never"
   * for no column. Default: `is_terminal`, which writeLeRobot writes, otherwise "success" if the column exists.
   */
  readonly terminal?: "success" | "done" | "never";
  /** A replacement for the runtime's `fetch`, for URLs. */
  readonly fetch?: Fetch;
}

const OPTIONS = `images, terminal, fetch, ${READ_OPTIONS}`;
const METADATA = { episode_index: { dtype: "i64", shape: [] }, [FINAL_STEP]: FINAL_STEP_LEAF } as const;

/**
 * Opens the folder of a LeRobot dataset, version 2.0, 2.1 or 3.0, on a disk or at a URL, for example on huggingface.co.
 *
 * Names with dots are nested, so `observation.images.top` becomes observation → images → top. `next.reward` is the reward. If it is missing, the reward is 0.
 * `timestamp`, `frame_index`, `index`, `next.done` and all other features are metadata of the step. `task`, the text that belongs to `task_index`, is also
 * metadata of the step. A video frame becomes a reference `{path, timestamp}`, whose time counts from the beginning of the file, in seconds. Videos are not
 * decoded.
 *
 * LeRobot has no final observation, so the last frame is the last step and keeps its action and reward. In LeRobot, `next.done` marks the end of an episode but
 * not its reason. The last frame is therefore terminal if `next.success` is true, unless the frames have `is_terminal` or the option `terminal` selects another
 * column. Unless the frames contain a discount, it is 1, or 0 in a terminal step.
 *
 * The columns `episode/…` of meta/episodes are metadata of an episode. Keeps one row group and one episode in memory.
 * @throws TypeError, RangeError if an option is invalid
 * @throws RldsError NOT_FOUND if a file does not exist
 * @throws RldsError CORRUPT if a file is damaged, or if a path leads out of the folder
 * @throws RldsError UNSUPPORTED if the version of the dataset is not supported, or if hyparquet is missing
 * @throws RldsError EMPTY if there are no episodes
 * @throws RldsError IO if a file cannot be read
 */
export async function openLeRobot<S = RldsStep>(from: Source, options: LeRobotOptions = {}): Promise<RldsReader<S>> {
  const { images: imageMode = "decode", terminal, salvage, fetch, signal, maxBytes = MAX_SOURCE_BYTES } = onlyKeys("options", options, OPTIONS);
  if (!["decode", "bytes"].includes(imageMode)) throw mustBe(RangeError, "images", '"decode" or "bytes"', imageMode);
  if (terminal !== undefined && !["success", "done", "never"].includes(terminal))
    throw mustBe(RangeError, "terminal", '"success", "done" or "never"', terminal);
  integer("maxBytes", maxBytes, 1);
  const { folder, file } = await sourceOf(from, { signal, fetch, maxBytes });
  if (folder === undefined) {
    await file.close();
    throw unsupportedFile({ file: file.name }, `a LeRobot dataset is a folder, got a file. Pass the folder that contains ${INFO}`);
  }
  const selection = new Selection(options);
  const losses = damageOf(salvage);
  const { info, hasTask } = nameFeatures(leRobotInfo(jsonOf(await readText(folder, INFO, maxBytes))), selection);
  selection.check();
  const videos = new Map([...info.features].flatMap(([name, { dtype, keys }]) => (dtype === "video" ? [[name, keys] as const] : [])));
  const lists = await (losses === undefined
    ? readLists(folder, info, [...videos.keys()], hasTask, maxBytes).catch((error) => {
        throw withSalvageRemedy(error);
      })
    : salvageLists(folder, info, [...videos.keys()], maxBytes, losses));
  const { episodes: entries, metadataSpec, tasks, paths } = lists;
  const decode = imageMode === "decode" && [...info.features.values()].some(({ dtype }) => dtype === "image") ? await imageDecoder() : undefined;
  const films = filmsOf(folder, info, entries, maxBytes);
  const { schema, images } = await withFirstTable(folder, paths, maxBytes, losses, async (first) => ({
    schema: await readGenericSchema(first, frameMapping(first, info, selection)),
    images: decode === undefined ? [] : await typedImages(first, imageLeaves(info)),
  }));
  const hasTerminal = terminal === undefined && schema.mapping.terminal !== undefined;
  const stepSpec = frameSpec(schema, info, images, hasTask);
  const column = terminal === "never" || hasTerminal ? undefined : `next/${terminal ?? "success"}`;
  const hasDiscount = schema.leaves.some(({ keys }) => keys.join("/") === "discount");
  const kept = { keepsTerminal: hasTerminal, keepsDiscount: hasDiscount };
  const frames: FramesOptions = { stepSpec, tasks, images, videos, hasTask, decode, terminal: column, ...kept, maxBytes, losses };
  // The metadata of a renamed feature are listed under its new name.
  const features = Object.fromEntries([...info.features.values()].flatMap(({ raw, keys, isHidden }) => (isHidden ? [] : [[keys.join("."), raw]])));
  const about = selection.isEmpty ? info.about : { ...info.about, features };
  const base = {
    ...{ format: "lerobot" as const, name: folder.name, stepSpec, metadataSpec: { ...metadataSpec, ...METADATA }, about },
    ...(films && { films }),
    async close() {},
  };
  if (losses !== undefined)
    return { ...base, ...withDamage(losses), [Symbol.asyncIterator]: () => salvaged<S>(folder, lists, schema, { maxBytes, signal, losses }, frames) };
  const startingAt = (episode: number) => {
    const { path } = entries[episode] ?? {};
    const first = path === undefined ? paths.length : paths.indexOf(path);
    // The number of rows before the episode in its file.
    const row = entries.slice(0, episode).reduce((sum, entry) => sum + (entry.path === path ? entry.length : 0), 0);
    const rows = readGenericEpisodes<unknown>(tables(folder, paths.slice(first), maxBytes), schema, { maxBytes, signal, row });
    return episodes<S>(entries, episode, rows, frames);
  };
  return nameSalvage<S>({
    ...base,
    episodes: info.episodes,
    steps: info.frames,
    [Symbol.asyncIterator]: () => startingAt(0),
    startingAt: (episode) => startingAt(integer("episode", episode, 0)),
    lengths: async () => entries.map(({ length }) => length),
  });
}

async function readLists(folder: SourceFolder, info: LeRobotInfo, videos: readonly string[], hasTask: boolean, maxBytes: number): Promise<SalvagedList> {
  const list = await listEpisodes(folder, info, videos, maxBytes);
  if (list.episodes.length === 0) throw new RldsError("EMPTY", "the dataset has no episodes", { file: INFO });
  const tasks = hasTask ? await tasksOf(folder, info, maxBytes) : new Map<number, string>();
  return { ...list, tasks, paths: [...new Set(list.episodes.map(({ path }) => path))] };
}

/** Returns the image leaves with the dtype that the first frame requires. For example, depth images have 16 bits per pixel. */
async function typedImages(file: ParquetFile, images: readonly ImageLeaf[]): Promise<ImageLeaf[]> {
  const group = file.groups.findIndex((rows) => rows > 0);
  const typed: ImageLeaf[] = [];
  for (const image of images) {
    const column = file.columns.find(({ keys }) => keys.join("\0") === image.column.join("\0"));
    const [chunk] = group < 0 || column === undefined ? [] : await file.read(group, [column]);
    typed.push({ ...image, type: depthOf(chunk?.values[0]) === 16 ? "u16" : "u8" });
  }
  return typed;
}

/** Returns the bit depth of an image. Returns undefined if the bytes are not an image, which the decoder reports later. */
function depthOf(bytes: unknown): number | undefined {
  try {
    return imageHead(bytes as Uint8Array).depth;
  } catch {
    return undefined;
  }
}

async function* salvaged<S>(
  folder: SourceFolder,
  lists: SalvagedList,
  schema: GenericSchema,
  options: SalvageOptions,
  frames: FramesOptions,
): AsyncGenerator<ReadEpisode<S>, void> {
  for await (const { steps, entry } of salvageEpisodes(folder, lists, schema, options)) {
    let whole: StepColumns<S> | undefined;
    try {
      whole = framesOf<S>(steps, entry, frames);
    } catch (error) {
      options.losses.add(error);
    }
    if (whole !== undefined) yield { ...entry.metadata, episode_index: BigInt(entry.index), [FINAL_STEP]: "transition", steps: whole };
  }
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    throw corruptFile({ file: INFO }, `the file is not JSON: ${(cause as Error).message}`, cause);
  }
}

/** Combines the episodes of the tables with their entries in the list. @throws RldsError CORRUPT if the lengths or the numbers of episodes differ */
async function* episodes<S>(
  entries: readonly EpisodeEntry[],
  first: number,
  tables: AsyncIterable<ReadEpisode<unknown>>,
  frames: FramesOptions,
): AsyncGenerator<ReadEpisode<S>, void> {
  let next = first;
  for await (const { steps } of tables) {
    const about = entries[next];
    if (about?.length !== steps.length)
      throw corruptFile(
        { file: about?.path, episode: next },
        `the episode must have ${about?.length ?? 0} frames, as in the dataset's list of episodes, got ${steps.length}`,
      );
    yield { ...about.metadata, episode_index: BigInt(next), [FINAL_STEP]: "transition", steps: framesOf<S>(steps, about, frames) };
    next++;
  }
  if (next < entries.length)
    throw corruptFile({ file: entries[next]?.path, episode: next }, `the data files contain only ${next} of ${entries.length} episodes`);
}

async function* tables(folder: SourceFolder, paths: readonly string[], maxBytes: number): AsyncGenerator<ParquetFile, void> {
  for (const path of paths) {
    const file = await folder.open(path);
    try {
      yield await parquetFile(file, maxBytes);
    } finally {
      await file.close();
    }
  }
}

/** Passes the first table of frames to `use`, or the first table that can be read if losses are allowed. Returns the result. */
async function withFirstTable<T>(
  folder: SourceFolder,
  paths: readonly string[],
  maxBytes: number,
  losses: Damage | undefined,
  use: (file: ParquetFile) => Promise<T>,
): Promise<T> {
  let damage: unknown = new RldsError("EMPTY", "the dataset has no frames", { file: folder.name });
  for (const path of paths) {
    try {
      const file = await folder.open(path);
      try {
        return await use(await parquetFile(file, maxBytes));
      } finally {
        await file.close();
      }
    } catch (error) {
      if (paths.length === 1) throw error;
      addDamage(losses, error);
      damage = error;
    }
  }
  throw damage;
}
