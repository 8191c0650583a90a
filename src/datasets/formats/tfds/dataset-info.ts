/** Reads dataset_info.json, which contains the dataset's name, its splits, and the names of their files. */
import { corruptFile, unsupportedFile } from "../../model/rlds-error.ts";
import { type Json, list, object, parseInteger, text } from "./json.ts";

export const INFO = "dataset_info.json";
/** The name of the file with additional metadata of a dataset, such as a `tfds.core.MetadataDict`. */
export const METADATA = "metadata.json";

export interface Split {
  readonly name: string;
  /** The number of records in each shard. */
  readonly shardLengths: readonly number[];
  /** Returns the path of a shard's file in the version's folder. */
  path(shard: number): string;
}

export interface DatasetInfo {
  readonly name: string;
  readonly splits: readonly Split[];
  /** All properties in the file except the splits. */
  readonly about: Json;
}

const TEMPLATE = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}";
const DIGITS = 5;

/** Parses dataset_info.json. @throws RldsError CORRUPT if a value is invalid · UNSUPPORTED if the files are not TFRecords */
export function datasetInfo(json: Json): DatasetInfo {
  const { splits, ...about } = json;
  const format = text(json.fileFormat ?? json.file_format ?? "tfrecord", "fileFormat", INFO);
  if (format !== "tfrecord") {
    throw unsupportedFile(
      { file: INFO },
      `Reprise reads only the file format "tfrecord", got ${JSON.stringify(format)}. Write the dataset again with file_format="tfrecord"`,
    );
  }
  const name = text(json.name, "name", INFO);
  const splitList = list(splits ?? [], "splits", INFO).map((split, i) => splitOf(object(split, `splits[${i}]`, INFO), name, format));
  return { name, splits: splitList, about };
}

function splitOf(json: Json, dataset: string, format: string): Split {
  const name = text(json.name, "a split's name", INFO);
  const stored = json.shardLengths ?? json.shard_lengths;
  if (stored === undefined)
    throw unsupportedFile({ file: INFO }, `split ${JSON.stringify(name)} has no shardLengths. Write it again with tensorflow_datasets 3 or newer`);
  const shardLengths = list(stored, "shardLengths", INFO).map((length) => parseInteger(length, "a shard's length", INFO));
  const total = shardLengths.reduce((sum, length) => sum + length, 0);
  if (!Number.isSafeInteger(total)) throw corruptFile({ file: INFO }, `shardLengths must add up to an integer, got ${total}`);
  const template = text(json.filepathTemplate ?? json.filepath_template ?? TEMPLATE, "filepathTemplate", INFO) || TEMPLATE;
  const shards = shardLengths.length;
  const digits = Math.max(DIGITS, String(shards).length);
  const padded = (n: number) => String(n).padStart(digits, "0");
  return {
    name,
    shardLengths,
    path(shard) {
      const values: Json = {
        DATASET: dataset,
        SPLIT: name,
        FILEFORMAT: format,
        SHARD_INDEX: padded(shard),
        NUM_SHARDS: padded(shards),
        SHARD_X_OF_Y: `${padded(shard)}-of-${padded(shards)}`,
      };
      return template.replaceAll(/\{([^{}]*)\}/g, (_, variable: string) => {
        if (Object.hasOwn(values, variable)) return values[variable] as string;
        throw corruptFile({ file: INFO }, `filepathTemplate contains the unknown variable {${variable}}`);
      });
    },
  };
}
