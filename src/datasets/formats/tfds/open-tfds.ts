/** Opens RLDS datasets of tensorflow_datasets, which consist of TFRecord shards, dataset_info.json and features.json. */
import { integer, mustBe, mustBeOneOf, onlyKeys } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import type { Fetch } from "../../../base/host.ts";
import type { RldsStep } from "../../model/dataset.ts";
import { finalStepSpec } from "../../model/final-step.ts";
import { corruptFile, RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { type Damage, damageOf, withDamage } from "../damage.ts";
import { imageDecoder } from "../images/images.ts";
import { READ_OPTIONS, type ReadEpisode, type ReadOptions, type RldsReader } from "../reader.ts";
import { addAbsentFields, nameSalvage } from "../reader-steps.ts";
import { selectReader } from "../selection/select-reader.ts";
import { Selection } from "../selection/selection.ts";
import { type Source, sourceOf } from "../sources/open-source.ts";
import { checkInside, type SourceFolder } from "../sources/source.ts";
import { datasetInfo, INFO, METADATA } from "./dataset-info.ts";
import { EpisodeSchema } from "./episodes.ts";
import { FEATURES, type Feature, featuresOf } from "./features.ts";
import { readJson } from "./json.ts";
import { defaultSplit, partsOf, type SplitPart } from "./split.ts";
import { TfRecords } from "./tfrecord.ts";

export interface TfdsOptions extends ReadOptions {
  /**
   * The split to read, in the notation of tensorflow_datasets, such as `train`, `train[:10]`, `train[10%:20%]`, `train+test` or `all`. Default: the only split,
   * or `train`.
   */
  readonly split?: string;
  /** The form of text: "string" (decoded from UTF-8) or "bytes". Default: "string". */
  readonly text?: "string" | "bytes";
  /** The form of PNG and JPEG images: "decode" for pixels, "bytes" for the encoded bytes. Default: "decode". */
  readonly images?: "decode" | "bytes";
  /** A replacement for the runtime's `fetch`, for URLs. */
  readonly fetch?: Fetch;
}

const OPTIONS = `split, text, images, fetch, ${READ_OPTIONS}`;

/**
 * Opens a dataset of tensorflow_datasets. The source is the folder of a version, or the folder of a dataset, whose newest version is opened. Opening reads only
 * the two JSON files, and the first episode if the features leave a shape open. The checksum of every record is verified. Keeps one episode and two blocks of a
 * file in memory.
 * @throws TypeError, RangeError if an option is invalid
 * @throws RldsError NOT_FOUND if a file does not exist
 * @throws RldsError CORRUPT if a file is damaged
 * @throws RldsError UNSUPPORTED if a feature cannot be read. The error includes the path of the feature
 * @throws RldsError EMPTY if there are no splits
 * @throws RldsError IO if a file cannot be read
 */
export async function openTfds<S = RldsStep>(from: Source, options: TfdsOptions = {}): Promise<RldsReader<S>> {
  const { split, text = "string", images = "decode", salvage, fetch, signal, maxBytes = MAX_SOURCE_BYTES } = onlyKeys("options", options, OPTIONS);
  const selection = new Selection(options);
  const losses = damageOf(salvage);
  checkWord("text", text, ["string", "bytes"]);
  checkWord("images", images, ["decode", "bytes"]);
  integer("maxBytes", maxBytes, 1);
  const { folder: sourceFolder, file } = await sourceOf(from, { signal, fetch, maxBytes });
  if (sourceFolder === undefined) {
    await file.close();
    throw unsupportedFile({ file: file.name }, "a tensorflow_datasets dataset is a folder, got a file. Pass the folder that contains dataset_info.json");
  }
  const folder = await versionFolder(sourceFolder);
  const info = datasetInfo(await readJson(folder, INFO, maxBytes));
  // If the folder cannot be listed, the file is not requested, because few datasets have it.
  const metadata = (await folder.list())?.includes(METADATA) ? await readJson(folder, METADATA, maxBytes) : {};
  const features = selectFeatures(featuresOf(await readJson(folder, FEATURES, maxBytes)), selection);
  if (split !== undefined && typeof split !== "string") throw mustBe(TypeError, "split", "a string", split);
  const parts = split === undefined ? [defaultSplit(info.splits)] : partsOf(split, info.splits);
  const decodes = images === "decode" && hasImages(features);
  const schema = new EpisodeSchema(features, { text, images: decodes ? await imageDecoder() : undefined }, maxBytes);
  const records = (selectedParts: readonly SplitPart[]) => recordsOf(folder, selectedParts, { signal, maxBytes, losses });
  if (!schema.isKnown) {
    for await (const { bytes, offset, file: name } of records(parts)) {
      try {
        schema.learn(bytes, { file: name, offset, episode: 0 });
      } catch (error) {
        if (losses === undefined) throw error;
      }
      if (schema.isKnown) break;
    }
  }
  const { stepSpec, metadataSpec } = schema;
  let closed = false;
  const reader: RldsReader<S> = {
    format: "tfds",
    name: info.name,
    stepSpec,
    metadataSpec: finalStepSpec(metadataSpec),
    // With `salvage`, the number of episodes is known only after reading the data.
    episodes: losses === undefined ? parts.reduce((sum, part) => sum + Math.max(0, part.to - part.from), 0) : undefined,
    ...withDamage(losses),
    splits: info.splits.map(({ name }) => name),
    split: split ?? parts[0]?.split.name,
    about: { ...metadata, ...info.about },
    async *[Symbol.asyncIterator](): AsyncGenerator<ReadEpisode<S>, void, undefined> {
      let episode = 0;
      for await (const { bytes, offset, file: name } of records(parts)) {
        if (closed) throw new RldsError("CLOSED", "the reader is closed. Open the dataset again", { episode });
        const place = { file: name, offset, episode: episode++ };
        if (losses === undefined) {
          yield schema.episode<S>(bytes, place, stepSpec);
          continue;
        }
        let whole: ReadEpisode<S> | undefined;
        try {
          whole = schema.episode<S>(bytes, place, stepSpec);
        } catch (error) {
          losses.add(error);
        }
        if (whole !== undefined) yield whole;
      }
    },
    async close() {
      closed = true;
    },
  };
  return nameSalvage(addAbsentFields(await selectReader(reader, selection)));
}

/** Returns the features with only the selected features of the steps. All features of the episode are kept. */
function selectFeatures(root: Feature, selection: Selection): Feature {
  if (selection.isEmpty || root.kind !== "dict") return root;
  const visit = (feature: Feature, keys: readonly string[]): Feature | undefined => {
    if (feature.kind === "sequence") {
      const inner = visit(feature.feature, keys);
      return inner && { ...feature, feature: inner };
    }
    if (feature.kind !== "dict") return selection.keysOf(keys) === undefined ? undefined : feature;
    const features = Object.entries(feature.features).flatMap(([name, part]) => {
      const kept = visit(part, [...keys, name]);
      return kept === undefined ? [] : [[name, kept] as const];
    });
    return features.length === 0 && keys.length > 0 ? undefined : { ...feature, features: Object.fromEntries(features) };
  };
  const { steps } = root.features;
  const selected = steps && visit(steps, []);
  return selected === undefined ? root : { ...root, features: { ...root.features, steps: selected } };
}

interface SourceRecord {
  readonly bytes: Uint8Array;
  readonly offset: number;
  readonly file: string;
}

/** Yields the records of the parts in order, shard by shard. @throws RldsError if a shard cannot be read and `losses` is undefined */
async function* recordsOf(
  folder: SourceFolder,
  parts: readonly SplitPart[],
  options: { signal?: AbortSignal; maxBytes: number; losses: Damage | undefined },
): AsyncGenerator<SourceRecord, void, undefined> {
  for (const { split, from, to } of parts) {
    let first = 0;
    for (const [shard, length] of split.shardLengths.entries()) {
      const [begin, end] = [Math.max(from - first, 0), Math.min(to - first, length)];
      first += length;
      if (begin >= end) continue;
      const { losses } = options;
      const records = shardOf(folder, split.path(shard), { length, begin, end, ...options });
      if (losses === undefined) {
        yield* records;
        continue;
      }
      try {
        yield* records;
      } catch (error) {
        // The other shards are still read.
        losses.add(error);
      }
    }
  }
}

interface ShardOptions {
  readonly length: number;
  readonly begin: number;
  readonly end: number;
  readonly signal?: AbortSignal;
  readonly maxBytes: number;
  readonly losses: Damage | undefined;
}

async function* shardOf(
  folder: SourceFolder,
  path: string,
  { length, begin, end, signal, maxBytes, losses }: ShardOptions,
): AsyncGenerator<SourceRecord, void, undefined> {
  const file = await folder.open(path);
  const records = new TfRecords(file, { signal, maxBytes });
  try {
    for (let i = 0; i < end; i++) {
      signal?.throwIfAborted();
      if (records.atEnd) {
        throw corruptFile({ file: file.name, offset: records.position }, `the file must have ${length} records, as ${INFO} declares, got ${i}`);
      }
      if (i < begin) {
        await records.skip();
        continue;
      }
      const bytes = await records.next().catch((error) => {
        // After a record with damaged bytes, reading continues at the next record.
        if (losses === undefined || !records.isPast) throw error;
        losses.add(error);
      });
      if (bytes !== undefined) yield { bytes, offset: records.offset, file: file.name };
    }
    if (end === length && !records.atEnd) {
      throw corruptFile({ file: file.name, offset: records.position }, `the file must have ${length} records, as ${INFO} declares, got more`);
    }
  } finally {
    await records.close();
  }
}

function hasImages(feature: Feature): boolean {
  if (feature.kind === "dict") return Object.values(feature.features).some(hasImages);
  return feature.kind === "sequence" ? hasImages(feature.feature) : feature.kind === "image";
}

function checkWord(subject: string, value: unknown, words: readonly string[]): void {
  if (!words.includes(value as string)) throw mustBeOneOf(typeof value === "string" ? RangeError : TypeError, subject, words, value);
}

const VERSION = /^(?:(.*)\/)?(\d+)\.(\d+)\.(\d+)$/;

/** Returns the folder itself, or the newest version of the single dataset below it. @throws RldsError NOT_FOUND · UNSUPPORTED if there are several datasets */
async function versionFolder(folder: SourceFolder): Promise<SourceFolder> {
  const paths = await folder.list();
  // A URL cannot be listed, so it must be the folder itself.
  if (paths === undefined || paths.includes(INFO)) return folder;
  const versions = paths.flatMap((path) => {
    if (!path.endsWith(`/${INFO}`)) return [];
    const below = path.slice(0, -INFO.length - 1);
    const [, name, ...version] = VERSION.exec(below) ?? [];
    return version.length === 0 ? [] : [{ path: below, name: name ?? "", version: version.map(Number) }];
  });
  const names = [...new Set(versions.map(({ name }) => name))];
  if (names.length > 1)
    throw unsupportedFile(
      { file: folder.name },
      `the folder has ${names.length} datasets (${names.map((name) => name || "its own versions").join(", ")}). Open one of them`,
    );
  const [newest] = versions.sort((a, b) => compareVersions(b.version, a.version));
  if (newest === undefined)
    throw new RldsError("NOT_FOUND", `neither the folder nor a subfolder named after a version, such as 1.0.0, contains ${INFO}`, { file: folder.name });
  return below(folder, newest.path);
}

function compareVersions(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((part, i) => part !== b[i]);
  return at === -1 ? 0 : (a[at] as number) - (b[at] as number);
}

function below(folder: SourceFolder, path: string): SourceFolder {
  const name = `${folder.name}/${path}`;
  return {
    name,
    open: (file) => folder.open(`${path}/${checkInside(file, name)}`),
    async list() {
      const paths = await folder.list();
      return paths?.filter((file) => file.startsWith(`${path}/`)).map((file) => file.slice(path.length + 1));
    },
  };
}
