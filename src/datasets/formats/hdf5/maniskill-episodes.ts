/**
 * Reads the JSON file that ManiSkill writes next to its trajectories. The file describes the environment, and the seed, the control mode and the success of
 * each episode.
 */
import { MAX_METADATA_BYTES } from "../../../base/file-limits.ts";
import { isLeaf } from "../../../schema/leaf.ts";
import { Collector } from "../../model/collector.ts";
import type { StepSpec } from "../../model/dataset.ts";
import { corruptFile, RldsError } from "../../model/rlds-error.ts";
import { StepColumns } from "../../model/step-columns.ts";
import { parseExactJson } from "../json.ts";
import { valuesOfJson } from "../jsonl/json-values.ts";
import { ValueTypes, withMissing } from "../jsonl/value-types.ts";
import { checkLeaves } from "../leaf-count.ts";
import type { SourceFile } from "../sources/source.ts";

type Values = { readonly [name: string]: unknown };

/** The metadata that ManiSkill stores for its trajectories. */
export interface ManiskillEpisodes {
  /** The spec of an episode's metadata. */
  readonly spec: { readonly [name: string]: StepSpec };
  /** The metadata that applies to all episodes. */
  readonly about: Values;
  /** Returns the metadata of the trajectory with the number. Missing values are NaN, 0, "" or false, depending on their dtype. */
  valuesAt(number: number): object;
}

/** The names in the file that cannot be metadata, because an episode uses them for other purposes. */
const OTHER_NAMES = ["steps", "episode_id"];

/**
 * Reads the file, but does not close it. Returns undefined if it is another kind of JSON file.
 * @throws RldsError CORRUPT if the file is not JSON or is too large
 * @throws RldsError UNSUPPORTED if the metadata has too many leaves
 */
export async function maniskillEpisodes(file: SourceFile): Promise<ManiskillEpisodes | undefined> {
  const place = { file: file.name };
  if (file.size > MAX_METADATA_BYTES) throw corruptFile(place, `the file has ${file.size} bytes, more than the maximum of ${MAX_METADATA_BYTES}`);
  let value: unknown;
  try {
    value = parseExactJson(new TextDecoder().decode(await file.read(0, file.size)));
  } catch (cause) {
    if (cause instanceof RldsError) throw cause;
    throw corruptFile(place, `the file is not JSON: ${(cause as Error).message}`, cause);
  }
  const { episodes, ...about } = valuesOf(value);
  const environment = valuesOf(about.env_info).env_id;
  if (!Array.isArray(episodes) || environment === undefined) return undefined;
  const types = new ValueTypes(true);
  const byNumber = new Map<number, object>();
  for (const [i, episode] of episodes.entries()) {
    const { episode_id: number = i, ...others } = valuesOf(episode);
    const metadata = withoutNulls({ ...(typeof environment === "string" && { env_id: environment }), ...others });
    types.add(metadata);
    byNumber.set(Number(number), metadata);
  }
  const spec = Object.fromEntries(Object.entries(types.spec(false) ?? {}).filter(([name]) => !OTHER_NAMES.includes(name)));
  checkLeaves(spec, "the metadata of the episodes", place);
  return {
    spec,
    about,
    valuesAt(number) {
      const collector = new Collector(spec, 1);
      const metadata = byNumber.get(number) ?? {};
      const named = Object.fromEntries(Object.entries(metadata).filter(([name]) => Object.hasOwn(spec, name)));
      collector.add(fitting(spec, valuesOfJson(spec, withMissing(spec, named))), place, "the episode's metadata");
      return new StepColumns<object>(spec, collector.take().data, 1).at(0);
    },
  };
}

function valuesOf(value: unknown): Values {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Values) : {};
}

/** Removes nulls, which represent missing values. */
function withoutNulls(value: Values): Values {
  const entries = Object.entries(value).filter(([, part]) => part !== null);
  return Object.fromEntries(entries.map(([name, part]) => [name, typeof part === "object" && !Array.isArray(part) ? withoutNulls(part as Values) : part]));
}

/** Removes the names of nested values that the spec does not contain. */
function fitting(spec: StepSpec, value: unknown): unknown {
  if (isLeaf(spec) || Array.isArray(spec) || typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => Object.hasOwn(spec, name));
  return Object.fromEntries(entries.map(([name, part]) => [name, fitting((spec as { readonly [name: string]: StepSpec })[name] as StepSpec, part)]));
}
