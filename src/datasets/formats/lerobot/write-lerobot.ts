/** An RLDS dataset as a folder that LeRobot opens. */
import { flag, integer, mustBe, onlyKeys } from "../../../base/error.ts";
import type { RldsDataset } from "../../model/dataset.ts";
import { type FinalStep, mustBeFinalStep, withoutFinalStep } from "../../model/final-step.ts";
import { leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { mustBeAbout } from "../about.ts";
import { type Camera, type Films, filmReferences } from "../film-references.ts";
import { parseJson } from "../json.ts";
import { hyparquetWriter } from "../parquet/packages.ts";
import { Losses } from "../sinks/losses.ts";
import { type Sink, sinkOf } from "../sinks/sink.ts";
import type { SinkFolder } from "../sinks/sink-folder.ts";
import { Staging } from "../sinks/staging.ts";
import { type WriteOptions, type WriteReport, withSchema } from "../sinks/writer.ts";
import { DatasetWriter, type LeRobotSettings } from "./dataset-writer.ts";
import type { EncodePng } from "./episode-frames.ts";
import { createFrameSchema } from "./features.ts";
import { CHUNK_FILES, chunkOf } from "./file-paths.ts";
import { checkFilmRate } from "./film-copies.ts";
import type { CutFilm } from "./film-cut.ts";
import { INFO } from "./info.ts";
import type { FeatureNames } from "./joint-names.ts";
import { LEROBOT_VERSIONS, type LeRobotVersion } from "./layout.ts";
import type { MakeVideoEncoder } from "./video.ts";

export interface LeRobotWriteOptions extends WriteOptions {
  /** Frames a second. */
  readonly fps: number;
  /** What is done in all episodes. Default: what the data says, or "" */
  readonly task?: string;
  /** The path of the text that says what is done, in a step or in an episode's metadata. Default: the first that is not empty of `task`, `language_instruction` and `instruction`, in a step, its observation or the metadata */
  readonly taskLeaf?: string;
  readonly robotType?: string;
  /** Names of a vector's elements, by the leaf's path: `{ action: ["left", "right"] }`. */
  readonly names?: { readonly [path: string]: FeatureNames };
  /** Paths of leaves that are stored as PNG: u8 of shape [height, width, 1, 3 or 4]. Default: all of shape [height, width, 3] that are no `videos` */
  readonly images?: readonly string[];
  /** Paths of leaves that become films: u8 of shape [height, width, 3]. They lose what the encoder loses. */
  readonly videos?: readonly string[];
  /** Films that leaves `{path, timestamp}` of the steps refer to, as `films` of a reader: they are copied as they are. */
  readonly films?: Films;
  /** Cuts films of which episodes are not written. Default: such a film is copied whole, with the frames of these episodes; version 2.1 refuses it */
  readonly cutFilm?: CutFilm;
  /** Makes the films; needed for `videos`. */
  readonly videoEncoder?: MakeVideoEncoder;
  /** "observation" leaves the last step of each episode out, "transition" makes it a frame. Default: what each episode states by `final_step`, as all readers do, or else what RLDS has: an is_last step is a final observation */
  readonly finalStep?: FinalStep;
  /** A new file begins with the next episode once one has so many bytes. Default: 100 MiB, of films 200 MiB */
  readonly fileBytes?: number;
  /** The version of the format. "2.1" has a table and a film per episode, and lists of JSON lines. Default: "3.0" */
  readonly version?: LeRobotVersion;
}

const OPTIONS =
  "fps, task, taskLeaf, robotType, names, images, videos, videoEncoder, films, cutFilm, finalStep, fileBytes, version, signal, onProgress, overwrite, about, strict";

/**
 * Writes a dataset of version 3.0 or 2.1, that `LeRobotDataset(repo_id, root=…)` opens: meta/info.json, stats.json, tasks.parquet and episodes, data with one row group an episode (longer ones have a group for each 8,192 frames), and films. A step is a frame, but for final observations, which LeRobot does not have.
 * Names have dots: `observation.images.top`; reward is `next.reward`, is_last is `next.done`, an observation that is one value is `observation.state` or `observation.image`; a leaf `timestamp` gives the
 * frame's time, where there are no films, else it is its number / fps; times that f32 cannot hold, such as those since 1970, are counted from the episode's first step. An episode's metadata are columns `episode/…` of meta/episodes. Files have their names once all are written. The same data gives the same
 * bytes, but for films. Statistics are LeRobot's, of all pixels. Memory: an episode as it is stored, images as PNG, films as their encoder has it.
 * @throws TypeError, RangeError for an option · RldsError SPEC_MISMATCH for a step of another form, with episode, step and leaf · UNSUPPORTED for leaves that LeRobot cannot have (bytes, lists of texts, no
 * elements, more than five dimensions), without hyparquet-writer · INVALID_DATA for an episode without frames, a u64 of 2^63 or more · EMPTY for no episodes · IO where it cannot be written, or is there already
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
    throw new RldsError("IO", "the folder has a dataset of LeRobot already: overwrite: true replaces it", { file: `${folder.name}/${existing[0]}` });
  const { stepSpec, metadataSpec, episodes, close } = await withSchema(rlds, signal);
  let writer: DatasetWriter | undefined;
  try {
    // The number of an episode is told anyway.
    const { episode_index: _, ...about } = withoutFinalStep(metadataSpec);
    const cameras = films?.cameras ?? new Map<string, Camera>();
    const references = filmReferences(stepSpec).map((keys) => keys.join("/"));
    const film = existing.find((path) => path.startsWith("videos/"));
    if (film !== undefined && references.some((path) => !cameras.has(path)))
      throw new RldsError("IO", "steps refer to films, and the films in this folder would be deleted: pass films, or write into another folder", {
        file: `${folder.name}/${film}`,
      });
    const schema = createFrameSchema(stepSpec, about, { images, videos, cameras, taskLeaf });
    const losses = new Losses();
    losses.addEmptyGroups(stepSpec, metadataSpec);
    for (const path of references) if (!cameras.has(path)) losses.add(path, "films are not copied, and steps refer to them by their paths in the source");
    if (schema.timestamp === undefined && videos.length === 0 && leavesOf(stepSpec).some(({ path }) => path === "timestamp"))
      losses.add("timestamp", "LeRobot has seconds of a float, and counts frames where there are none: castLeaves makes them");
    losses.check(all.strict);
    const encodePng: EncodePng = schema.features.some(({ kind }) => kind === "image")
      ? (await import("../images/encode-png.ts")).encodePng
      : throwUnexpectedImage;
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

function throwUnexpectedImage(): never {
  throw new Error("no image was to be stored");
}

/** Files of a dataset that is there: what a new one replaces. */
async function listExistingFiles(staging: Staging, folder: SinkFolder): Promise<string[]> {
  const [meta, data, episodes] = [await staging.list("meta"), await chunksIn(staging, "data"), await chunksIn(staging, "meta/episodes")];
  const films: string[] = [];
  for (const name of meta.includes(INFO) ? await filmsOf(folder) : [])
    films.push(...(await chunksIn(staging, `videos/${name}`)), ...(await chunksIn(staging, "videos", name)));
  return [...films, ...data, ...episodes, ...meta];
}

/** The names of its films; none where its info.json is damaged. */
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

/** @param below the folder in each chunk that has the files; version 2.1 has films so */
async function chunksIn(staging: Staging, folder: string, below = ""): Promise<string[]> {
  const paths: string[] = [];
  for (let file = 0; ; file += CHUNK_FILES) {
    const chunk = await staging.list(`${folder}/${chunkOf(file)}${below === "" ? "" : `/${below}`}`);
    if (chunk.length === 0) return paths;
    paths.push(...chunk);
  }
}

/** The options, checked. */
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
  if (typeof fps !== "number") throw mustBe(TypeError, "fps", "frames a second", fps);
  if (!(fps > 0 && fps < 1e6)) throw mustBe(RangeError, "fps", "more than 0, and less than a million", fps);
  for (const [subject, text] of Object.entries({ task, taskLeaf, robotType }))
    if (text !== undefined && typeof text !== "string") throw mustBe(TypeError, subject, "a string", text);
  if (options.task !== undefined && taskLeaf !== undefined) throw new RangeError("task and taskLeaf exclude each other");
  const isTexts = (value: unknown) => Array.isArray(value) && value.every((path) => typeof path === "string");
  const isNames = (value: unknown) => isTexts(value) || (typeof value === "object" && value !== null && Object.values(value).every(isTexts));
  for (const [subject, paths] of Object.entries({ images: images ?? [], videos }))
    if (!isTexts(paths)) throw mustBe(TypeError, subject, "an array of paths", paths);
  if (typeof names !== "object" || names === null) throw mustBe(TypeError, "names", "an object of arrays of names", names);
  for (const [path, leafNames] of Object.entries(names)) if (!isNames(leafNames)) throw mustBe(TypeError, `names: ${path}`, "an array of names", leafNames);
  if (videos.length > 0 && typeof videoEncoder !== "function")
    throw mustBe(TypeError, "videoEncoder", "a function that makes films, as videos are wanted", videoEncoder);
  if (!LEROBOT_VERSIONS.includes(version)) throw mustBe(RangeError, "version", '"2.1" or "3.0"', version);
  if (fileBytes !== undefined) integer("fileBytes", fileBytes, 1);
  flag("overwrite", overwrite);
  flag("strict", strict);
  if (films !== undefined && typeof films?.open !== "function") throw mustBe(TypeError, "films", "the films of a reader of LeRobot", films);
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
