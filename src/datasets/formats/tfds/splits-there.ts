/** The dataset that is in a folder already: another split may be written beside its own. */
import { parsedJson } from "../json.ts";
import type { SinkFolder } from "../sinks/sink-folder.ts";
import { datasetInfo, INFO } from "./dataset-info.ts";
import { FEATURES } from "./features.ts";
import { type Json, list, object } from "./json.ts";

export interface DatasetThere {
  /** dataset_info.json, as it is. */
  readonly info: Json;
  readonly features: Json;
  readonly splits: readonly string[];
}

/** Undefined where there is none of that name, or the sink cannot tell. */
export async function datasetThere(folder: SinkFolder, path: string, name: string, there: readonly string[]): Promise<DatasetThere | undefined> {
  if (folder.read === undefined || ![INFO, FEATURES].every((file) => there.includes(`${path}/${file}`))) return undefined;
  const parsed = async (file: string) => object(parsedJson(new TextDecoder().decode(await folder.read?.(`${path}/${file}`))), "the file", file);
  try {
    const [info, features] = [await parsed(INFO), await parsed(FEATURES)];
    const found = datasetInfo(info);
    return found.name === name ? { info, features, splits: found.splits.map((split) => split.name) } : undefined;
  } catch {
    // What nobody can read is no dataset: it is only replaced, where that is asked.
    return undefined;
  }
}

/** The same description with one split more, or another one in its place. */
export function withSplit({ info }: DatasetThere, split: Json, description: string | undefined): Json {
  const others = list(info.splits ?? [], "splits", INFO).filter((each) => object(each, "a split", INFO).name !== split.name);
  return { ...info, ...(description === undefined ? {} : { description }), splits: [...others, split] };
}

/** Whether two texts of JSON say the same, whatever the order of their keys. */
export function sameJson(one: unknown, other: unknown): boolean {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return one === other;
  const keys = Object.keys(one);
  return (
    Array.isArray(one) === Array.isArray(other) &&
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && sameJson((one as Json)[key], (other as Json)[key]))
  );
}
