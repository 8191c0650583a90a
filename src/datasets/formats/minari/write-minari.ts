/** Writes an RLDS dataset in Minari's Parquet form. */
import { flag, mustBe, onlyKeys } from "../../../base/error.ts";
import { pack } from "../../../schema/nest.ts";
import { columnsOf } from "../../model/chunks.ts";
import { Collector } from "../../model/collector.ts";
import type { RldsDataset, RldsEpisode, StepSpec } from "../../model/dataset.ts";
import { type FinalStep, finalStepOf, mustBeFinalStep, withoutFinalStep } from "../../model/final-step.ts";
import { leavesOf } from "../../model/leaves.ts";
import { RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { mustBeAbout } from "../about.ts";
import { addFilmLosses } from "../film-references.ts";
import { loadEncodePng } from "../images/png-encoder.ts";
import { pythonJson } from "../json.ts";
import { hyparquetWriter } from "../parquet/packages.ts";
import { type ParquetPackage, rowOf, TableWriter } from "../parquet/table-writer.ts";
import { Losses } from "../sinks/losses.ts";
import { type Sink, sinkOf } from "../sinks/sink.ts";
import type { SinkFolder } from "../sinks/sink-folder.ts";
import { Staging } from "../sinks/staging.ts";
import { type WriteOptions, type WriteReport, withSchema } from "../sinks/writer.ts";
import { minariAbout } from "./known-about.ts";
import { MinariSchema } from "./minari-schema.ts";

export interface MinariWriteOptions extends WriteOptions {
  /** The id of the dataset, such as `namespace/name-v0`, or `name-v0` without a namespace. */
  readonly id: string;
  /**
   * The treatment of each episode's last step. With "transition", the step has an action, and its observation is repeated as the final observation. With
   * "observation", the step is only the final observation. Default: the kind that the episode states in `final_step`, which all readers set. Without
   * `final_step`, the RLDS rule applies, under which a step with `is_last` is a final observation.
   */
  readonly finalStep?: FinalStep;
  readonly description?: string;
  readonly author?: string;
  readonly authorEmail?: string;
  readonly algorithmName?: string;
  readonly codePermalink?: string;
}

const OPTIONS = "id, finalStep, description, author, authorEmail, algorithmName, codePermalink, signal, onProgress, overwrite, about, strict";
/** The maximum number of rows per episode. PyArrow returns batches of this many rows, and Minari treats each batch as an episode. */
const MAX_ROWS = 131_072;
/** The version of Minari that is stored in the metadata, which is the latest version that writes this form. Minari checks it. */
const VERSION = "0.5.4";
const METADATA = "metadata.json";
/** Matches a part of an id. The last part must also match VERSIONED. Together, they express Minari's rule without backtracking. */
const NAME_PART = /^[-\w]+$/;
const VERSIONED = /.-v\d+$/;

/**
 * Writes a Minari dataset to `<to>/<id>/data`. The dataset contains metadata.json with the spaces, and one folder per episode with part-0.parquet and its
 * metadata. To open it with `minari.load_dataset(id)`, set the environment variable MINARI_DATASETS_PATH to the path of `to`.
 *
 * An action that is a single integer has a Discrete space from the smallest to the largest value in the data, and text has a Text space. All other values have
 * a Box space with the bounds of their dtype. Objects and arrays have Dict and Tuple spaces. Images (u8 of at least 32 × 32) are stored losslessly as PNG if
 * PNG supports the form of every image.
 *
 * Steps with `is_terminal` are terminations, and all other ends of episodes are truncations. Additional fields become infos. Those with more than one dimension
 * become flat lists, so their shapes are lost. Discounts are not stored. The keys of `about` that Minari knows (env_spec, author, requirements …) remain at the
 * top level. The spaces of a Minari source keep their bounds if they have the same kind of values.
 *
 * Files receive their final names after all files are written. The same data produces the same bytes. Keeps one episode and its columns in memory.
 * @throws TypeError, RangeError if an option is invalid
 * @throws RldsError SPEC_MISMATCH if a step does not match the spec. The error includes the episode, the step and the leaf
 * @throws RldsError UNSUPPORTED if Minari cannot store a leaf (bytes, lists of texts, no elements), if the observation or action is missing, if the reward is
 * not a single number, if an episode has more than 131,071 actions, or if hyparquet-writer is missing
 * @throws RldsError INVALID_DATA if an episode has no steps
 * @throws RldsError EMPTY if there are no episodes
 * @throws RldsError IO if the target cannot be written or already exists
 */
export async function writeMinari(rlds: RldsDataset<unknown>, to: Sink, options: MinariWriteOptions): Promise<WriteReport> {
  const all = parseOptions(options);
  const packages = await hyparquetWriter();
  const { folder } = await sinkOf(to);
  const path = `${all.id}/data`;
  return Staging.run(folder, path, undefined, (staging) => writeDataset(staging, rlds, { ...all, packages, folder, path }));
}

interface ParsedOptions extends MinariWriteOptions {
  readonly packages: ParquetPackage;
  readonly folder: SinkFolder;
  readonly path: string;
}

async function writeDataset(staging: Staging, rlds: RldsDataset<unknown>, all: ParsedOptions): Promise<WriteReport> {
  const { signal, onProgress, overwrite, strict, folder, path } = all;
  const existing = await listExistingFiles(staging, folder, path);
  if (existing.length > 0 && !overwrite)
    throw new RldsError("IO", "the folder is not empty. Pass overwrite: true to replace the dataset in it", { file: `${folder.name}/${path}` });
  const { stepSpec, metadataSpec, episodes, close } = await withSchema(rlds, signal);
  try {
    const schema = new MinariSchema(stepSpec, await loadEncodePng(true));
    const losses = new Losses();
    schema.addLosses(losses);
    addFilmLosses(losses, stepSpec);
    losses.addEmptyGroups(stepSpec, metadataSpec);
    for (const { path, leaf } of leavesOf(metadataSpec as StepSpec))
      if (leaf.dtype === "bytes") losses.add(path, "Minari stores metadata of episodes as JSON, which cannot contain bytes");
    losses.check(strict);
    const isLastColumn = leavesOf(stepSpec).findIndex(({ path, size }) => path === "is_last" && size === 1);
    const episodeSchema = { stepSpec, metadataSpec: withoutFinalStep(metadataSpec) as StepSpec, isLastColumn, finalStep: all.finalStep, signal };
    const names: string[] = [];
    let [count, steps, rows, repeated, bytes] = [0, 0, 0, 0, 0];
    for await (const episode of episodes) {
      losses.addSplits(episode);
      const episodeData = await episodeOf(episode, count, episodeSchema);
      const { actions, metadata } = episodeData;
      const table = new TableWriter(await staging.create(String(count)), schema.schema, "SNAPPY", all.packages);
      await table.write(schema.rows(episodeData));
      await table.finish();
      const about = await staging.create(String(count));
      await about.write(new TextEncoder().encode(pythonJson({ ...metadata, id: count, total_steps: actions })));
      await about.close();
      names.push(`${count}/part-0.parquet`, `${count}/${METADATA}`);
      count++;
      steps += actions;
      rows += episodeData.length;
      if (actions === episodeData.length) repeated++;
      if (!schema.keepsDiscounts(episodeData)) losses.addEpisode("discount", "Minari does not store discounts, and readers derive them from terminations");
      bytes += table.file.bytes + about.bytes;
      onProgress?.({ episodes: count, steps: rows, bytes });
    }
    if (count === 0) throw new RldsError("EMPTY", "the dataset must have at least one episode, because Minari cannot open an empty dataset");
    const text = await staging.create();
    await text.write(new TextEncoder().encode(pythonJson(createMetadata(all, schema, { count, steps, bytes, losses }))));
    losses.check(strict);
    signal?.throwIfAborted();
    bytes += text.bytes;
    return { episodes: count, steps: rows, bytes, files: await staging.commit([...names, METADATA], existing), repeated, losses: losses.all };
  } finally {
    await close();
  }
}

/** Lists the files that a new dataset replaces, in HDF5 or Parquet. Episode folders are found only as far as their numbers are consecutive. */
async function listExistingFiles(staging: Staging, folder: SinkFolder, path: string): Promise<string[]> {
  const top = await staging.list();
  const episodes: string[] = [];
  for (let i = 0; ; i++) {
    const episodeFiles = await staging.list(String(i));
    if (episodeFiles.length === 0) break;
    episodes.push(...episodeFiles);
  }
  const datasetFiles = top.filter((file) => file === `${path}/${METADATA}` || file.endsWith(".hdf5"));
  const foreign = top.find((file) => !datasetFiles.includes(file));
  if (foreign !== undefined)
    throw new RldsError("IO", "the folder has a file that is not part of a Minari dataset. Use another id", { file: `${folder.name}/${foreign}` });
  return [...episodes, ...datasetFiles];
}

function createMetadata(
  all: ParsedOptions,
  schema: MinariSchema,
  { count, steps, bytes, losses }: { readonly count: number; readonly steps: number; readonly bytes: number; readonly losses: Losses },
): object {
  const { id, description, author, authorEmail, algorithmName, codePermalink, about } = all;
  const ownTexts = {
    ...{ description, algorithm_name: algorithmName, code_permalink: codePermalink },
    ...{ author: author === undefined ? undefined : [author], author_email: authorEmail === undefined ? undefined : [authorEmail] },
  };
  return {
    ...{ total_episodes: count, total_steps: steps, data_format: "parquet", jpeg_encoding: schema.encodes },
    ...schema.spaces(about, losses),
    ...{ dataset_id: id, minari_version: VERSION, dataset_size: Math.round(bytes / 1e5) / 10 },
    ...minariAbout(about),
    ...Object.fromEntries(Object.entries(ownTexts).filter(([, value]) => value !== undefined)),
  };
}

interface EpisodeSchema {
  readonly stepSpec: StepSpec;
  readonly metadataSpec: StepSpec;
  /** The index of `is_last` among the columns of a step, or -1. */
  readonly isLastColumn: number;
  readonly finalStep: FinalStep | undefined;
  readonly signal?: AbortSignal;
}

async function episodeOf(
  { steps, ...metadata }: RldsEpisode<unknown>,
  episode: number,
  { stepSpec, metadataSpec, isLastColumn, finalStep, signal }: EpisodeSchema,
) {
  const collector = new Collector(metadataSpec, 1);
  // `final_step` is not stored, because a Minari episode always has a final observation.
  collector.add(withoutFinalStep(metadata), { episode }, "the episode's metadata");
  const { data, length } = await columnsOf(steps, stepSpec, { episode, signal });
  if (length === 0)
    throw new RldsError("INVALID_DATA", "an episode must have at least one step, as Minari requires. Leave it out with filterEpisodes", { episode });
  // If steps do not have `is_last`, the last step follows RLDS as if the flag were set.
  const isLast = isLastColumn < 0 || (data[isLastColumn] as ArrayLike<unknown>)[length - 1] === 1;
  const actions = finalStepOf(metadata, isLast, finalStep) === "transition" ? length : length - 1;
  if (actions >= MAX_ROWS) throw unsupportedFile({ episode }, `an episode must have fewer than ${MAX_ROWS} actions, as Minari requires, got ${actions}`);
  return { data, length, actions, metadata: metadataOf(metadataSpec, collector.take().data) };
}

/** Returns the metadata as JSON values, without bytes, which JSON does not have. */
function metadataOf(spec: StepSpec, data: readonly ColumnData[]): object {
  const row = leavesOf(spec).map(({ leaf }, k) => (leaf.dtype === "bytes" ? undefined : rowOf(leaf, data[k] as ColumnData, 0)));
  return pack(spec, row) as object;
}

/** Returns the options with their defaults. @throws TypeError, RangeError if an option is invalid */
function parseOptions(options: MinariWriteOptions): MinariWriteOptions {
  const { id, finalStep, overwrite = false, strict = false, about, signal, onProgress, ...texts } = onlyKeys("options", options, OPTIONS);
  if (typeof id !== "string") throw mustBe(TypeError, "id", "a string such as namespace/name-v0", id);
  const parts = id.split("/");
  if (!parts.every((part) => NAME_PART.test(part)) || !VERSIONED.test(parts.at(-1) as string))
    throw mustBe(
      RangeError,
      "id",
      "a name that ends with a version, such as name-v0 or namespace/name-v0, in which each part consists of letters, digits, _ and -",
      id,
    );
  for (const [subject, text] of Object.entries(texts)) if (text !== undefined && typeof text !== "string") throw mustBe(TypeError, subject, "a string", text);
  flag("overwrite", overwrite);
  flag("strict", strict);
  return {
    id,
    ...(finalStep !== undefined && { finalStep: mustBeFinalStep(finalStep) }),
    overwrite,
    strict,
    ...(about !== undefined && { about: mustBeAbout(about) }),
    signal,
    onProgress,
    ...texts,
  };
}
