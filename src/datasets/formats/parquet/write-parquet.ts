/** Writes an RLDS dataset as Parquet, with one row per step. */
import { flag, integer, mustBe, onlyKeys } from "../../../base/error.ts";
import { readChunks } from "../../model/chunks.ts";
import { Collector } from "../../model/collector.ts";
import type { RldsDataset, StepSpec } from "../../model/dataset.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { mustBeAbout } from "../about.ts";
import { addFilmLosses } from "../film-references.ts";
import { jsonRow } from "../jsonl/json-values.ts";
import { Losses } from "../sinks/losses.ts";
import { type Sink, sinkOf } from "../sinks/sink.ts";
import type { SinkFolder } from "../sinks/sink-folder.ts";
import { Staging } from "../sinks/staging.ts";
import { type WriteOptions, type WriteReport, withSchema } from "../sinks/writer.ts";
import { hyparquetWriter } from "./packages.ts";
import { PartWriter } from "./part-writer.ts";
import { type FileSchema, listOutputColumns, schemaOf } from "./schema.ts";

export interface ParquetWriteOptions extends WriteOptions {
  /**
   * The size in bytes after which the next episode begins a new file in the folder. A path that ends with .parquet is always a single file. Default: 256 MiB.
   */
  readonly fileBytes?: number;
  /** The maximum number of rows per row group. If rows are wide, groups have fewer rows, with about a million elements in total. Default: 10,000. */
  readonly groupRows?: number;
  /** The compression codec. Default: "snappy". */
  readonly compression?: "snappy" | "none";
}

const OPTIONS = "fileBytes, groupRows, compression, signal, onProgress, overwrite, about, strict";
/** The number of steps that are converted to columns together. */
const CHUNK_STEPS = 1024;
const PART_NAME = /^part-\d+\.parquet$/;

/**
 * Writes a Parquet file, or a folder of Parquet files. Each step is one row with `episode_index`, `step_index`, one column per leaf, and the episode's
 * metadata. The metadata are stored in columns `episode/…`, which repeat in all rows of the episode. Columns of leaves have names such as `observation/state`.
 * A value with dimensions is a list that is nested once per dimension.
 *
 * The key-value metadata of each file describe the data under `reprise.rlds`. From this description, `openParquet` restores the same data, including episodes
 * without steps. A folder has files `part-00000.parquet` … and must not contain other .parquet files. Files receive their final names after all files are
 * written. The same data produces the same bytes. Keeps one row group, with about 32 MiB of texts and bytes at most, and up to 1024 steps in memory.
 * @throws TypeError, RangeError if an option is invalid
 * @throws RldsError SPEC_MISMATCH if a step does not match the spec. The error includes the episode, the step and the leaf
 * @throws RldsError UNSUPPORTED if hyparquet-writer is missing
 * @throws RldsError EMPTY if the dataset has neither a spec nor a step from which to infer it
 * @throws RldsError IO if the target cannot be written or already exists
 */
export async function writeParquet(rlds: RldsDataset<unknown>, to: Sink, options: ParquetWriteOptions = {}): Promise<WriteReport> {
  const all = onlyKeys("options", options, OPTIONS);
  const { fileBytes = 2 ** 28, groupRows = 10_000, compression = "snappy", overwrite = false, strict = false, about, signal, onProgress } = all;
  integer("fileBytes", fileBytes, 1);
  integer("groupRows", groupRows, 1);
  flag("overwrite", overwrite);
  flag("strict", strict);
  if (compression !== "snappy" && compression !== "none") throw mustBe(RangeError, "compression", '"snappy" or "none"', compression);
  const packages = await hyparquetWriter();
  const { folder, file: single } = await sinkOf(to, [".parquet"]);
  const parsedOptions = {
    fileBytes,
    groupRows,
    compression,
    overwrite,
    strict,
    signal,
    onProgress,
    packages,
    folder,
    single,
    ...(about !== undefined && { about: mustBeAbout(about) }),
  };
  return Staging.run(folder, "", single, (staging) => writeDataset(staging, rlds, parsedOptions));
}

interface ParsedOptions extends Required<Pick<ParquetWriteOptions, "fileBytes" | "groupRows" | "compression">>, WriteOptions {
  readonly packages: Awaited<ReturnType<typeof hyparquetWriter>>;
  readonly folder: SinkFolder;
  readonly single: string | undefined;
}

async function writeDataset(staging: Staging, rlds: RldsDataset<unknown>, parsedOptions: ParsedOptions): Promise<WriteReport> {
  const { fileBytes, groupRows, compression, overwrite, about, strict, signal, onProgress, packages, folder, single } = parsedOptions;
  const existing = (await staging.list()).filter((path) => single === undefined || path === single);
  const foreign = single === undefined ? existing.find((path) => path.endsWith(".parquet") && !PART_NAME.test(path)) : undefined;
  if (foreign !== undefined)
    throw new RldsError("IO", "the folder contains another .parquet file, which would be read as part of the dataset. Use another folder", {
      file: `${folder.name}/${foreign}`,
    });
  if (existing.length > 0 && !overwrite) {
    const problem =
      single === undefined
        ? "the folder is not empty. Pass overwrite: true to replace the parts in it"
        : "the file already exists. Pass overwrite: true to replace it";
    throw new RldsError("IO", problem, { file: single === undefined ? folder.name : `${folder.name}/${single}` });
  }
  const { stepSpec, metadataSpec, episodes, close } = await withSchema(rlds, signal);
  try {
    const losses = new Losses();
    addFilmLosses(losses, stepSpec);
    losses.check(strict);
    const columns = listOutputColumns(stepSpec, metadataSpec);
    const schema = schemaOf(columns);
    const parts: PartWriter[] = [];
    let empty: [number, unknown][] = [];
    let finished = 0;
    let [count, steps] = [0, 0];
    const begin = async () => {
      const part = new PartWriter(await staging.create(), schema, columns, groupRows, compression === "snappy" ? "SNAPPY" : "UNCOMPRESSED", packages);
      parts.push(part);
      return part;
    };
    // Whether a part is the last one is known only when no other part begins after it.
    const finish = async (last: boolean) => {
      const schema: FileSchema = { version: 1, stepSpec, metadataSpec, part: parts.length - 1, last, episodes: count, steps, empty, ...(about && { about }) };
      const part = parts.at(-1) as PartWriter;
      await part.finish(schema);
      finished += part.file.bytes;
      empty = [];
    };
    let part = await begin();
    for await (const { steps: episodeSteps, ...metadata } of episodes) {
      losses.addSplits(metadata);
      if (single === undefined && part.file.bytes >= fileBytes) {
        await finish(false);
        part = await begin();
      }
      const collector = new Collector(metadataSpec as StepSpec, 1);
      collector.add(metadata, { episode: count }, "the episode's metadata");
      const { data } = collector.take();
      let length = 0;
      for await (const chunk of readChunks(episodeSteps, stepSpec, { episode: count, max: CHUNK_STEPS, signal })) {
        await part.add({ episode: count, from: chunk.from, length: chunk.length, steps: chunk.data, metadata: data });
        length += chunk.length;
      }
      if (length === 0) empty.push([count, jsonRow(metadataSpec as StepSpec, data, 0)]);
      count++;
      steps += length;
      onProgress?.({ episodes: count, steps, bytes: finished + part.file.bytes });
    }
    await finish(true);
    losses.check(strict);
    signal?.throwIfAborted();
    const names = single === undefined ? parts.map((_, i) => `part-${String(i).padStart(5, "0")}.parquet`) : [single];
    const replaced = existing.filter((path) => path === single || PART_NAME.test(path));
    const files = await staging.commit(names, replaced);
    return { episodes: count, steps, bytes: finished, files, repeated: 0, losses: losses.all };
  } finally {
    await close();
  }
}
