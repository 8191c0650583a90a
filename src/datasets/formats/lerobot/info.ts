/** Parses the meta/info.json of a LeRobot dataset, which declares the features of a frame and the paths of files. */
import { isRequired } from "../../../base/error.ts";
import { corruptFile, unsupportedFile } from "../../model/rlds-error.ts";
import { nestedAbout } from "../about.ts";
import { parseJson } from "../json.ts";
import { checkInside, type SourceFolder } from "../sources/source.ts";

/** A feature that meta/info.json declares. */
export interface Feature {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly names?: unknown;
  /** The whole entry in meta/info.json. */
  readonly raw: { readonly [key: string]: unknown };
  /** The keys of the feature's leaf in a step. */
  readonly keys: readonly string[];
  /** Whether the feature is read only to compute other values and is not part of the steps. */
  readonly isHidden?: boolean;
  /** Whether the caller renamed the feature. */
  readonly isRenamed?: boolean;
}

/** The content of meta/info.json. */
export interface LeRobotInfo {
  /** The major version. Versions 2.0 and 2.1 have one file per episode. Version 3.0 stores several episodes per file. */
  readonly version: 2 | 3;
  readonly episodes: number;
  readonly frames: number;
  readonly chunkSize: number;
  readonly dataPath: string;
  readonly videoPath: string | undefined;
  readonly features: ReadonlyMap<string, Feature>;
  readonly about: { readonly [key: string]: unknown };
}

/** The path of the file that describes a dataset. */
export const INFO = "meta/info.json";

/** Returns the checked content of meta/info.json. @throws RldsError CORRUPT if a field is invalid · UNSUPPORTED if the major version is neither 2 nor 3 */
export function leRobotInfo(json: unknown): LeRobotInfo {
  const where = { file: INFO };
  if (typeof json !== "object" || json === null) throw corruptFile(where, "the file must contain a JSON object");
  const {
    codebase_version,
    total_episodes,
    total_frames,
    chunks_size = 1000,
    data_path,
    video_path,
    features,
    about,
    ...rest
  } = json as { [key: string]: unknown };
  const version = /^v?([23])\./.exec(String(codebase_version))?.[1];
  if (version === undefined)
    throw unsupportedFile(
      { file: INFO },
      `${ruleText("codebase_version", "v2.0, v2.1 or v3.0", codebase_version)}. Convert the dataset with LeRobot's scripts`,
    );
  const count = (name: string, value: unknown) => {
    if (!Number.isSafeInteger(value) || (value as number) < 0) throw corruptFile(where, ruleText(name, "a whole number", value));
    return value as number;
  };
  if (typeof data_path !== "string") throw corruptFile(where, ruleText("data_path", "a path template", data_path));
  if (typeof features !== "object" || features === null) throw corruptFile(where, "features must be an object");
  const checked = new Map<string, Feature>();
  for (const [name, feature] of Object.entries(features)) {
    const { dtype, shape, names } = (feature ?? {}) as { [key: string]: unknown };
    const isShape = Array.isArray(shape) && shape.length <= 8 && shape.every((length) => Number.isSafeInteger(length) && length >= 0);
    if (typeof dtype !== "string" || !isShape) throw corruptFile(where, `feature ${name} must have a dtype and a shape`);
    checked.set(name, { dtype, shape, names, raw: feature as { readonly [key: string]: unknown }, keys: name.split(".") });
  }
  return {
    version: version === "2" ? 2 : 3,
    episodes: count("total_episodes", total_episodes),
    frames: count("total_frames", total_frames),
    chunkSize: Math.max(count("chunks_size", chunks_size), 1),
    dataPath: data_path,
    videoPath: typeof video_path === "string" ? video_path : undefined,
    features: checked,
    about: { ...nestedAbout(about), codebase_version, ...rest, features },
  };
}

/**
 * Fills in a template such as `data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet` like Python's str.format. @throws RldsError CORRUPT if the
 * path leads out of the folder or the template contains an unknown variable
 */
export function fillTemplate(template: string, values: { readonly [name: string]: number | string }): string {
  const path = template.replace(/\{(\w+)(?::0(\d+)d)?\}/g, (all, name: string, digits: string | undefined) => {
    if (!Object.hasOwn(values, name)) throw corruptFile({ file: INFO }, `the template ${JSON.stringify(template)} contains the unknown variable ${all}`);
    return String(values[name]).padStart(Math.min(Number(digits ?? 0), 20), "0");
  });
  return checkInside(path, INFO);
}

/** Reads a whole text file. @throws RldsError NOT_FOUND · CORRUPT if the file is larger than maxBytes or not valid UTF-8 */
export async function readText(folder: SourceFolder, path: string, maxBytes: number): Promise<string> {
  const file = await folder.open(path);
  try {
    if (file.size > maxBytes)
      throw corruptFile({ file: path }, `the file has ${file.size} bytes, more than the ${maxBytes} that maxBytes allows. Increase maxBytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.read(0, file.size));
  } catch (cause) {
    if (cause instanceof TypeError) throw corruptFile({ file: path }, "the file is not valid UTF-8", cause);
    throw cause;
  } finally {
    await file.close();
  }
}

/** Parses one JSON object per line, and skips blank lines. @throws RldsError CORRUPT with the offset of the line, in UTF-16 code units */
export function jsonLines(text: string, file: string): { readonly [key: string]: unknown }[] {
  let offset = 0;
  return text.split("\n").flatMap((line) => {
    const at = offset;
    offset += line.length + 1;
    if (line.trim() === "") return [];
    try {
      const json = parseJson(line);
      if (typeof json === "object" && json !== null) return [json as { readonly [key: string]: unknown }];
    } catch {
      // The code below reports this fault, as it does for JSON that is not an object.
    }
    throw corruptFile({ file, offset: at }, "a line must be a JSON object");
  });
}

function ruleText(name: string, rule: string, value: unknown): string {
  return value === undefined ? isRequired(name, rule) : `${name} must be ${rule}, got ${JSON.stringify(value)}`;
}
