/** The dataset that a folder contains already: another split can be added to it. */
import { parseJson } from "../json.ts";
import type { SinkFolder } from "../sinks/sink-folder.ts";
import { datasetInfo, INFO } from "./dataset-info.ts";
import { FEATURES } from "./features.ts";
import { type Json, list, object } from "./json.ts";

export interface ExistingDataset {
  /** dataset_info.json, as it is. */
  readonly info: Json;
  readonly features: Json;
  readonly splits: readonly string[];
}

/** Undefined where there is none of that name, or the sink cannot tell. */
export async function readExistingDataset(folder: SinkFolder, path: string, name: string, existing: readonly string[]): Promise<ExistingDataset | undefined> {
  if (folder.read === undefined || ![INFO, FEATURES].every((file) => existing.includes(`${path}/${file}`))) return undefined;
  const parseFile = async (file: string) => object(parseJson(new TextDecoder().decode(await folder.read?.(`${path}/${file}`))), "the file", file);
  try {
    const [info, features] = [await parseFile(INFO), await parseFile(FEATURES)];
    const existingInfo = datasetInfo(info);
    return existingInfo.name === name ? { info, features, splits: existingInfo.splits.map((split) => split.name) } : undefined;
  } catch {
    // What nobody can read is no dataset: it is only replaced, where that is asked.
    return undefined;
  }
}

/** The same description with one split more, or another one in its place. */
export function withSplit({ info }: ExistingDataset, split: Json, description: string | undefined): Json {
  const otherSplits = list(info.splits ?? [], "splits", INFO).filter((entry) => object(entry, "a split", INFO).name !== split.name);
  return { ...info, ...(description === undefined ? {} : { description }), splits: [...otherSplits, split] };
}

/** Whether two texts of JSON say the same, whatever the order of their keys. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  const keys = Object.keys(a);
  return (
    Array.isArray(a) === Array.isArray(b) &&
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameJson((a as Json)[key], (b as Json)[key]))
  );
}
