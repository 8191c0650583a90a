/** Reads the dataset that a folder already contains, so that another split can be added. */
import { parseJson } from "../json.ts";
import type { SinkFolder } from "../sinks/sink-folder.ts";
import { datasetInfo, INFO } from "./dataset-info.ts";
import { FEATURES } from "./features.ts";
import { type Json, list, object } from "./json.ts";

export interface ExistingDataset {
  /** The content of dataset_info.json. */
  readonly info: Json;
  readonly features: Json;
  readonly splits: readonly string[];
}

/** Returns the existing dataset of this name, or undefined if there is none or if its files cannot be read. */
export async function readExistingDataset(folder: SinkFolder, path: string, name: string, existing: readonly string[]): Promise<ExistingDataset | undefined> {
  if (folder.read === undefined || ![INFO, FEATURES].every((file) => existing.includes(`${path}/${file}`))) return undefined;
  const parseFile = async (file: string) => object(parseJson(new TextDecoder().decode(await folder.read?.(`${path}/${file}`))), "the file", file);
  try {
    const [info, features] = [await parseFile(INFO), await parseFile(FEATURES)];
    const existingInfo = datasetInfo(info);
    return existingInfo.name === name ? { info, features, splits: existingInfo.splits.map((split) => split.name) } : undefined;
  } catch {
    // Files that cannot be read do not count as a dataset. They are replaced only if `overwrite` is set.
    return undefined;
  }
}

/** Returns the content of dataset_info.json with a split added or replaced. */
export function withSplit({ info }: ExistingDataset, split: Json, description: string | undefined): Json {
  const otherSplits = list(info.splits ?? [], "splits", INFO).filter((entry) => object(entry, "a split", INFO).name !== split.name);
  return { ...info, ...(description === undefined ? {} : { description }), splits: [...otherSplits, split] };
}

/** Returns whether two JSON values are equal. The order of keys does not matter. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  const keys = Object.keys(a);
  return (
    Array.isArray(a) === Array.isArray(b) &&
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameJson((a as Json)[key], (b as Json)[key]))
  );
}
