/** Writes an RLDS dataset as a folder that tensorflow_datasets can open. */
import { totalLength } from "../../../base/bytes.ts";
import { flag, integer, mustBe, onlyKeys } from "../../../base/error.ts";
import { columnsOf } from "../../model/chunks.ts";
import { Collector } from "../../model/collector.ts";
import type { RldsDataset, StepSpec } from "../../model/dataset.ts";
import { columnsWithFinal } from "../../model/final-observation.ts";
import { finalStepOf, withoutFinalStep } from "../../model/final-step.ts";
import { leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { mustBeAbout } from "../about.ts";
import { addFilmLosses } from "../film-references.ts";
import { loadEncodePng } from "../images/png-encoder.ts";
import { Losses } from "../sinks/losses.ts";
import { type Sink, sinkOf } from "../sinks/sink.ts";
import type { SinkFolder } from "../sinks/sink-folder.ts";
import { type StagedFile, Staging } from "../sinks/staging.ts";
import { type WriteOptions, type WriteReport, withSchema } from "../sinks/writer.ts";
import { INFO, METADATA } from "./dataset-info.ts";
import { exampleOf } from "./example-writer.ts";
import { readExistingDataset, sameJson, withSplit } from "./existing-splits.ts";
import { featuresJson, listOutputLeaves, type OutputLeaf } from "./feature-config.ts";
import { FEATURES } from "./features.ts";
import type { Json } from "./json.ts";
import { OVERHEAD, recordOf } from "./tfrecord.ts";

export interface TfdsWriteOptions extends WriteOptions {
  /** The name of the dataset. It begins with a letter, and contains only letters, digits and underscores. */
  readonly name: string;
  /** The version of the dataset, in the form `major.minor.patch`. Default: "1.0.0". */
  readonly version?: string;
  /** The name of the split. Default: "train". */
  readonly split?: string;
  /**
   * The number of files. Each file has at least one episode, and all files have about the same number of episodes. The dataset must be an array or have the
   * property `episodes`. Default: `shardBytes` determines the number of files.
   */
  readonly shards?: number;
  /** The maximum size of a file in bytes, unless a single episode is larger. Default: 256 MiB. */
  readonly shardBytes?: number;
  readonly description?: string;
  /**
   * The paths of the step leaves that are stored as PNG, such as `observation/image`. They must be u8 of shape [height, width, channels] with 1, 3 or 4
   * channels.
   */
  readonly images?: readonly string[];
}

const OPTIONS = "name, version, split, shards, shardBytes, description, images, signal, onProgress, overwrite, about, strict";
const MAX_SHARDS = 99999;

/**
 * Writes a dataset of tensorflow_datasets to `<to>/<name>/<version>/`. The folder contains `<name>-<split>.tfrecord-00000-of-00003` …, features.json and
 * dataset_info.json. Open it with `tfds.builder_from_directory`. Each episode is one record.
 *
 * If the dataset already exists with other splits and the same features, this split is added. If an episode ends with a transition, its last observation is
 * repeated as the final observation, as RLDS requires. The report counts these episodes. f64 leaves are stored as raw bytes, which keeps their precision.
 * Arrays in a spec become dicts with the keys "0", "1" ….
 *
 * Files receive their final names after all files are written. The same data produces the same bytes. Keeps one episode in memory, plus the parts of its record
 * that have to be encoded, such as integers and images.
 * @throws TypeError, RangeError if an option is invalid
 * @throws RldsError SPEC_MISMATCH if a step does not match the spec. The error includes the episode, the step and the leaf
 * @throws RldsError EMPTY if there are no episodes
 * @throws RldsError UNSUPPORTED if two names are equal
 * @throws RldsError IO if the target cannot be written, or if this split or other files already exist
 */
export async function writeTfds(rlds: RldsDataset<unknown>, to: Sink, options: TfdsWriteOptions): Promise<WriteReport> {
  const all = parseOptions(rlds, options);
  const { folder } = await sinkOf(to);
  const path = `${all.name}/${all.version}`;
  return Staging.run(folder, path, undefined, (staging) => writeDataset(staging, rlds, { ...all, folder, path }));
}

interface Destination {
  readonly folder: SinkFolder;
  readonly path: string;
}

async function writeDataset(staging: Staging, rlds: RldsDataset<unknown>, all: ReturnType<typeof parseOptions> & Destination): Promise<WriteReport> {
  const { name, version, split, description, images, about, strict, signal, onProgress, overwrite, shardOf, folder, path } = all;
  const existing = await staging.list();
  const dataset = await readExistingDataset(folder, path, name, existing);
  const otherSplits = dataset?.splits.filter((splitName) => splitName !== split) ?? [];
  if (!overwrite && (dataset === undefined ? existing.length > 0 : dataset.splits.includes(split)))
    throw new RldsError(
      "IO",
      dataset === undefined
        ? "the folder is not empty. Pass overwrite: true to replace the dataset in it"
        : `split ${split} already exists. Pass overwrite: true to replace it`,
      { file: `${folder.name}/${path}` },
    );
  const { stepSpec, metadataSpec: wholeMetadataSpec, episodes, close } = await withSchema(rlds, signal);
  // `final_step` is not stored, because an RLDS episode always ends with a final observation.
  const metadataSpec = withoutFinalStep(wholeMetadataSpec);
  try {
    const losses = new Losses();
    addFilmLosses(losses, stepSpec);
    losses.check(strict);
    const stepLeaves = listOutputLeaves(stepSpec, "steps/", images);
    const isLastColumn = leavesOf(stepSpec).findIndex(({ path, size }) => path === "is_last" && size === 1);
    for (const image of images)
      if (!stepLeaves.some((leaf) => leaf.path === image)) {
        const known = stepLeaves.map((leaf) => leaf.path);
        throw mustBe(RangeError, "images", `paths of step leaves (${known.join(", ")})`, image, known);
      }
    const metadataLeaves = listOutputLeaves(metadataSpec as StepSpec, "", new Set());
    // In a record, the key of such a metadata value could equal the key of a step's leaf.
    const conflict = metadataLeaves.find((leaf) => leaf.path.startsWith("steps/"));
    if (conflict !== undefined)
      throw new RldsError("UNSUPPORTED", `the path of episode metadata must not begin with steps/, got ${conflict.path}. Rename it with mapEpisodes`);
    const features = featuresJson(stepSpec, metadataSpec, stepLeaves, metadataLeaves);
    if (otherSplits.length > 0 && !sameJson(JSON.parse(features), dataset?.features))
      throw new RldsError("SPEC_MISMATCH", `the split must have the same features as ${otherSplits.join(", ")} in this dataset. Use another name or version`, {
        file: `${folder.name}/${path}/features.json`,
      });
    const encodePng = await loadEncodePng(images.size > 0);
    const shards: { readonly file: StagedFile; episodes: number }[] = [];
    let [count, steps, bytes, repeated, last] = [0, 0, 0, 0, -1];
    for await (const { steps: episodeSteps, ...metadata } of episodes) {
      losses.addSplits(metadata);
      const chunk = await columnsOf(episodeSteps, stepSpec, { episode: count, signal });
      const isLast = (chunk.data[isLastColumn] as ArrayLike<unknown> | undefined)?.[chunk.length - 1] === 1;
      // If the last step does not have `is_last` set, the episode was cut off, and RLDS also uses the action of that step.
      const needsFinal = chunk.length > 0 && isLast && finalStepOf(metadata, isLast) === "transition";
      const length = chunk.length + Number(needsFinal);
      const data = needsFinal ? columnsWithFinal(stepSpec, chunk.data, chunk.length) : chunk.data;
      if (needsFinal) repeated++;
      const collector = new Collector(metadataSpec as StepSpec, 1);
      collector.add(withoutFinalStep(metadata), { episode: count }, "the episode's metadata");
      const columns = [
        ...stepLeaves.map((leaf, i) => ({ name: `steps/${leaf.path}`, leaf, data: data[i] as ColumnData, length })),
        ...collector
          .take()
          .data.map((column, i) => ({ name: metadataLeaves[i]?.path as string, leaf: metadataLeaves[i] as OutputLeaf, data: column, length: 1 })),
      ];
      const record = recordOf(exampleOf(columns, encodePng));
      const size = totalLength(record);
      const shard = shardOf(count, shards.at(-1)?.file.bytes ?? 0, size);
      if (shard !== last) {
        // The previous shard is closed, because the number of open files is limited.
        await shards.at(-1)?.file.close();
        shards.push({ file: await staging.create(), episodes: 0 });
      }
      last = shard;
      const open = shards.at(-1) as { readonly file: StagedFile; episodes: number };
      for (const part of record) await open.file.write(part);
      open.episodes++;
      count++;
      steps += length;
      bytes += size;
      onProgress?.({ episodes: count, steps, bytes });
    }
    if (count === 0) throw new RldsError("EMPTY", "the dataset must have at least one episode, because tensorflow_datasets cannot open an empty dataset");
    losses.check(strict);
    const counts = shards.map((shard) => shard.episodes);
    const entry = splitOf(split, bytes - count * OVERHEAD, counts);
    const isAddition = otherSplits.length > 0 && dataset !== undefined;
    const info = isAddition ? withSplit(dataset, entry, description) : infoOf(name, version, description, entry);
    const texts = [...(isAddition ? [] : [features]), ...(about === undefined ? [] : [JSON.stringify(about, null, 2)]), JSON.stringify(info, null, 2)];
    for (const text of texts) {
      const encoded = new TextEncoder().encode(text);
      bytes += encoded.length;
      await (await staging.create()).write(encoded);
    }
    const of = String(shards.length).padStart(5, "0");
    const names = shards.map((_, i) => `${name}-${split}.tfrecord-${String(i).padStart(5, "0")}-of-${of}`);
    signal?.throwIfAborted();
    const replaced = isAddition
      ? existing.filter((file) => file.startsWith(`${path}/${name}-${split}.tfrecord-`) || (about !== undefined && file === `${path}/${METADATA}`))
      : existing.filter(isDatasetFile);
    const files = await staging.commit([...names, ...(isAddition ? [] : [FEATURES]), ...(about === undefined ? [] : [METADATA]), INFO], replaced);
    return { episodes: count, steps, bytes, files, repeated, losses: losses.all };
  } finally {
    await close();
  }
}

/** Returns whether a file belongs to a dataset of tensorflow_datasets. Other files are not touched. */
function isDatasetFile(path: string): boolean {
  const file = path.slice(path.lastIndexOf("/") + 1);
  return file === "features.json" || file === "dataset_info.json" || file === METADATA || /\.tfrecord-\d+-of-\d+$/.test(file);
}

function splitOf(name: string, numBytes: number, shardLengths: readonly number[]): Json {
  return { filepathTemplate: "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}", name, numBytes: String(numBytes), shardLengths: shardLengths.map(String) };
}

function infoOf(name: string, version: string, description: string | undefined, split: Json): Json {
  return { ...(description === undefined ? {} : { description }), disableShuffling: true, fileFormat: "tfrecord", name, splits: [split], version };
}

/** Returns the checked options with their defaults, and `shardOf`, the function that assigns episodes to shards. */
function parseOptions(rlds: RldsDataset<unknown>, options: TfdsWriteOptions) {
  const known = onlyKeys("options", options, OPTIONS);
  const { name, version = "1.0.0", split = "train", shards, shardBytes, description, images = [], overwrite = false, about, strict = false, ...rest } = known;
  const checkText = (subject: string, value: unknown, rule: string, pattern: RegExp) => {
    if (typeof value !== "string") throw mustBe(TypeError, subject, rule, value);
    if (!pattern.test(value)) throw mustBe(RangeError, subject, rule, value);
  };
  checkText("name", name, "a string of letters, digits and underscores that begins with a letter", /^[a-zA-Z]\w*$/);
  checkText("version", version, "three numbers, such as 1.0.0", /^\d+\.\d+\.\d+$/);
  checkText("split", split, "a string of letters, digits and underscores that begins with a letter", /^[a-zA-Z]\w*$/);
  if (description !== undefined && typeof description !== "string") throw mustBe(TypeError, "description", "a string", description);
  if (!Array.isArray(images) || images.some((path) => typeof path !== "string")) throw mustBe(TypeError, "images", "an array of paths", images);
  flag("overwrite", overwrite);
  flag("strict", strict);
  if (shards !== undefined && shardBytes !== undefined) throw new RangeError("shards and shardBytes cannot be used together. Pass only one of them");
  const max = integer("shardBytes", shardBytes ?? 2 ** 28, 1);
  let shard = 0;
  let shardOf = (_episode: number, bytes: number, more: number) => (bytes > 0 && bytes + more > max ? ++shard : shard);
  if (shards !== undefined) {
    integer("shards", shards, 1, MAX_SHARDS);
    const episodes = (rlds as { readonly episodes?: unknown }).episodes ?? (Array.isArray(rlds) ? rlds.length : undefined);
    if (typeof episodes !== "number") throw new RangeError("shards requires a dataset with a known number of episodes. Set shardBytes instead");
    shardOf = (episode) => Math.min(Math.floor((episode * shards) / Math.max(episodes, 1)), shards - 1);
  }
  return {
    ...rest,
    name,
    version,
    split,
    description,
    images: new Set(images as readonly string[]),
    overwrite,
    about: about && mustBeAbout(about),
    strict,
    shardOf,
  };
}
