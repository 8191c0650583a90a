/** Writes an RLDS dataset as a folder that LeRobot can open. */
import { flag, integer, mustBe, onlyKeys } from "../../../base/error.ts";
import type { RldsDataset } from "../../model/dataset.ts";
import { type FinalStep, mustBeFinalStep, withoutFinalStep } from "../../model/final-step.ts";
import { leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { mustBeAbout } from "../about.ts";
import { type Camera, type Films, filmReferences } from "../film-references.ts";
import { loadEncodePng } from "../images/png-encoder.ts";
import { parseJson } from "../json.ts";
import { hyparquetWriter } from "../parquet/packages.ts";
import { Losses } from "../sinks/losses.ts";
import { type Sink, sinkOf } from "../sinks/sink.ts";
import type { SinkFolder } from "../sinks/sink-folder.ts";
import { Staging } from "../sinks/staging.ts";
import { type WriteOptions, type WriteReport, withSchema } from "../sinks/writer.ts";
import { DatasetWriter, type LeRobotSettings } from "./dataset-writer.ts";
import { createFrameSchema } from "./features.ts";
import { CHUNK_FILES, chunkOf } from "./file-paths.ts";
import { checkFilmRate } from "./film-copies.ts";
import type { CutFilm } from "./film-cut.ts";
import { INFO } from "./info.ts";
import type { FeatureNames } from "./joint-names.ts";
import { LEROBOT_VERSIONS, type LeRobotVersion } from "./layout.ts";
import type { MakeVideoEncoder } from "./video.ts";

/** The options of `writeLeRobot`. */
export interface LeRobotWriteOptions extends WriteOptions {
  /** The frame rate, in frames per second. */
  readonly fps: number;
  /** The task of all episodes. Default: the task in the data, otherwise "". */
  readonly task?: string;
  /**
   * The path of the task's text in a step or in an episode's metadata. Default: the first of `task`, `language_instruction` and `instruction` that has text, in
   * a step, in its observation or in the metadata.
   */
  readonly taskLeaf?: string;
  /** The type of the robot in meta/info.json. Default: null. */
  readonly robotType?: string;
  /** The names of a vector's elements, by the path of the leaf, such as `{ action: ["left", "right"] }`. */
  readonly names?: { readonly [path: string]: FeatureNames };
  /**
   * The paths of leaves that are stored as PNG. They must be u8 of shape [height, width, channels] with 1, 3 or 4 channels. Default: all u8 leaves of shape
   * [height, width, 3] that are not in `videos`.
   */
  readonly images?: readonly string[];
  /** The paths of leaves that become videos. They must be u8 of shape [height, width, 3]. Encoding may be lossy. */
  readonly videos?: readonly string[];
  /**
   * The videos to which leaves `{path, timestamp}` of the steps refer. Pass the `films` of a reader. The videos are copied unchanged, unless `cutFilm` cuts
   * them.
   */
  readonly films?: Films;
  /**
   * Cuts a video if some of its episodes are not written. Default: the video is copied whole, including the frames of these episodes. In version 2.1, this is
   * an error.
   */
  readonly cutFilm?: CutFilm;
  /** Creates an encoder for each video. Required with `videos`. */
  readonly videoEncoder?: MakeVideoEncoder;
  /**
   * The treatment of each episode's last step. "observation" leaves the step out, and "transition" makes it a frame. Default: the kind that the episode states
   * in `final_step`, which all readers set. Without `final_step`, the RLDS rule applies, under which a step with `is_last` is a final observation.
   */
  readonly finalStep?: FinalStep;
  /** The size in bytes after which the next episode begins a new file. Default: 100 MiB, or 200 MiB for videos. */
  readonly fileBytes?: number;
  /** The version of the format. Version "2.1" has one table and one video per episode, and stores its lists as JSON lines. Default: "3.0". */
  readonly version?: LeRobotVersion;
}

const OPTIONS =
  "fps, task, taskLeaf, robotType, names, images, videos, videoEncoder, films, cutFilm, finalStep, fileBytes, version, signal, onProgress, overwrite, about, strict";

/**
 * Writes a LeRobot dataset of version 3.0 or 2.1, which `LeRobotDataset(repo_id, root=…)` opens. The dataset contains meta/info.json, stats.json,
 * tasks.parquet, tables of episodes, data, and videos. The data has one row group per episode, or one per 8,192 frames of a longer episode.
 *
 * Each step becomes a frame, except final observations, which LeRobot does not have. The parts of a name are joined with dots, as in `observation.images.top`.
 * The reward becomes `next.reward`, and is_last becomes `next.done`. An observation that is a single leaf becomes `observation.state` or `observation.image`.
 * Metadata of an episode become columns `episode/…` of meta/episodes.
 *
 * Unless the option `videos` is used, a leaf `timestamp` determines the time of a frame. In all other cases, the time is the frame's index / fps. Times that
 * f32 cannot represent, such as seconds since 1970, are counted from the episode's first step.
 *
 * Files receive their final names after all files are written. The same data produces the same bytes, except for videos. The statistics are those of LeRobot,
 * but over all pixels. Keeps one episode in memory, with images as PNG, plus the data that the video encoder keeps.
 * @throws TypeError, RangeError if an option is invalid
 * @throws RldsError SPEC_MISMATCH if a step does not match the spec. The error includes the episode, the step and the leaf
 * @throws RldsError UNSUPPORTED if LeRobot cannot store a leaf (bytes, lists of texts, no elements, more than five dimensions), or if hyparquet-writer is
 * missing
 * @throws RldsError INVALID_DATA if an episode has no frames, or if a u64 is 2^63 or more
 * @throws RldsError EMPTY if there are no episodes
 * @throws RldsError IO if the target cannot be written or already exists
 */
export async function writeLeRobot(rlds: RldsDataset<unknown>, to: Sink, options: LeRobotWriteOptions): Promise<WriteReport> {
  const all = parseOptions(options);
  await hyparquetWriter();
  const { folder } = await sinkOf(to);
  return Staging.run(folder, "", undefined, (staging) => writeDataset(staging, rlds, folder, all));
}

async function writeDataset(staging: Staging, rlds: RldsDataset<unknown>, folder: SinkFolder, all: LeRobotSettings): Promise<WriteReport> {
  const { overwrite, signal, images, videos, films, taskLeaf } = all;
  const existing = await listExistingFiles(staging, folder);
  if (existing.length > 0 && !overwrite)
    throw new RldsError("IO", "the folder already contains a LeRobot dataset. Pass overwrite: true to replace it", { file: `${folder.name}/${existing[0]}` });
  const { stepSpec, metadataSpec, episodes, close } = await withSchema(rlds, signal);
  let writer: DatasetWriter | undefined;
  try {
    // `episode_index` is left out, because LeRobot stores the number of each episode itself.
    const { episode_index: _, ...about } = withoutFinalStep(metadataSpec);
    const cameras = films?.cameras ?? new Map<string, Camera>();
    const references = filmReferences(stepSpec).map((keys) => keys.join("/"));
    const film = existing.find((path) => path.startsWith("videos/"));
    if (film !== undefined && references.some((path) => !cameras.has(path)))
      throw new RldsError("IO", "the steps refer to films, but the films in this folder would be deleted. Pass the option films, or write to another folder", {
        file: `${folder.name}/${film}`,
      });
    const schema = createFrameSchema(stepSpec, about, { images, videos, cameras, taskLeaf });
    const losses = new Losses();
    losses.addEmptyGroups(stepSpec, metadataSpec);
    for (const path of references) if (!cameras.has(path)) losses.add(path, "films are not copied, and steps refer to them by their paths in the source");
    if (schema.timestamp === undefined && videos.length === 0 && leavesOf(stepSpec).some(({ path }) => path === "timestamp"))
      losses.add("timestamp", "LeRobot requires float seconds. The times are computed from fps instead. Convert the leaf with castLeaves");
    losses.check(all.strict);
    const encodePng = await loadEncodePng(schema.features.some(({ kind }) => kind === "image"));
    writer = await DatasetWriter.of(staging, { ...all, stepSpec, metadataSpec: about, sourceMetadata: metadataSpec, schema, encodePng, losses });
    for await (const episode of episodes) await writer.add(episode);
    return await writer.finish(existing);
  } catch (error) {
    await writer?.cancel();
    throw error;
  } finally {
    await close();
  }
}

/** Lists the files of an existing dataset, which a new dataset replaces. */
async function listExistingFiles(staging: Staging, folder: SinkFolder): Promise<string[]> {
  const [meta, data, episodes] = [await staging.list("meta"), await chunksIn(staging, "data"), await chunksIn(staging, "meta/episodes")];
  const films: string[] = [];
  for (const name of meta.includes(INFO) ? await filmsOf(folder) : [])
    films.push(...(await chunksIn(staging, `videos/${name}`)), ...(await chunksIn(staging, "videos", name)));
  return [...films, ...data, ...episodes, ...meta];
}

/** Returns the names of the video features of the existing dataset, or none if its info.json cannot be read. */
async function filmsOf(folder: SinkFolder): Promise<string[]> {
  if (folder.read === undefined) return [];
  try {
    const { features } = parseJson(new TextDecoder().decode(await folder.read(INFO))) as {
      readonly features: { readonly [name: string]: { readonly dtype?: unknown } };
    };
    return Object.keys(features).filter((name) => features[name]?.dtype === "video" && !/[\\/]|^\.*$/.test(name));
  } catch {
    return [];
  }
}

/** Lists the files in all chunks of a folder. @param below the folder in each chunk that contains the files, which only videos of version 2.1 have */
async function chunksIn(staging: Staging, folder: string, below = ""): Promise<string[]> {
  const paths: string[] = [];
  for (let file = 0; ; file += CHUNK_FILES) {
    const chunk = await staging.list(`${folder}/${chunkOf(file)}${below === "" ? "" : `/${below}`}`);
    if (chunk.length === 0) return paths;
    paths.push(...chunk);
  }
}

/** Checks the options, and adds the defaults of omitted options. */
function parseOptions(options: LeRobotWriteOptions): LeRobotSettings {
  const known = onlyKeys("options", options, OPTIONS);
  const {
    fps,
    task = "",
    taskLeaf,
    robotType,
    names = {},
    images,
    videos = [],
    videoEncoder,
    films,
    cutFilm,
    finalStep,
    fileBytes,
    version = "3.0",
    ...rest
  } = known;
  const { overwrite = false, strict = false, about, signal, onProgress } = rest;
  if (typeof fps !== "number") throw mustBe(TypeError, "fps", "a number of frames per second", fps);
  if (!(fps > 0 && fps < 1e6)) throw mustBe(RangeError, "fps", "above 0 and below a million", fps);
  for (const [subject, text] of Object.entries({ task, taskLeaf, robotType }))
    if (text !== undefined && typeof text !== "string") throw mustBe(TypeError, subject, "a string", text);
  if (options.task !== undefined && taskLeaf !== undefined) throw new RangeError("task and taskLeaf cannot be used together. Pass only one of them");
  const isTexts = (value: unknown) => Array.isArray(value) && value.every((path) => typeof path === "string");
  const isNames = (value: unknown) => isTexts(value) || (typeof value === "object" && value !== null && Object.values(value).every(isTexts));
  for (const [subject, paths] of Object.entries({ images: images ?? [], videos }))
    if (!isTexts(paths)) throw mustBe(TypeError, subject, "an array of paths", paths);
  if (typeof names !== "object" || names === null) throw mustBe(TypeError, "names", "an object with an array of names per leaf", names);
  for (const [path, leafNames] of Object.entries(names)) if (!isNames(leafNames)) throw mustBe(TypeError, `names: ${path}`, "an array of names", leafNames);
  if (videos.length > 0 && typeof videoEncoder !== "function")
    throw mustBe(TypeError, "videoEncoder", "a function that encodes films, because the option videos is set", videoEncoder);
  if (!LEROBOT_VERSIONS.includes(version)) throw mustBe(RangeError, "version", '"2.1" or "3.0"', version);
  if (fileBytes !== undefined) integer("fileBytes", fileBytes, 1);
  flag("overwrite", overwrite);
  flag("strict", strict);
  if (films !== undefined && typeof films?.open !== "function") throw mustBe(TypeError, "films", "the films of a LeRobot reader", films);
  if (cutFilm !== undefined && typeof cutFilm !== "function") throw mustBe(TypeError, "cutFilm", "a function that cuts films", cutFilm);
  if (films !== undefined) checkFilmRate(films, fps);
  return {
    fps,
    task: options.task,
    taskLeaf,
    robotType,
    names,
    images,
    videos,
    videoEncoder,
    finalStep: finalStep === undefined ? undefined : mustBeFinalStep(finalStep),
    films,
    cutFilm,
    fileBytes,
    version,
    overwrite,
    strict,
    about: about === undefined ? undefined : mustBeAbout(about),
    signal,
    onProgress,
  };
}
