/** Maps a LeRobot frame to a step. */

import { sizeOf } from "../../../schema/leaf.ts";
import { setPart } from "../../../schema/nest.ts";
import type { StepSpec } from "../../model/dataset.ts";
import { columnRemedy, corruptFile, unsupportedFile } from "../../model/rlds-error.ts";
import { type FileColumn, nullFor } from "../parquet/columns.ts";
import type { GenericSchema } from "../parquet/generic-schema.ts";
import { type ColumnMapping, checkNesting, type Mapping } from "../parquet/mapping.ts";
import type { ParquetFile } from "../parquet/parquet-file.ts";
import type { Selection } from "../selection/selection.ts";
import { type Feature, INFO, type LeRobotInfo } from "./info.ts";

/** A leaf whose values are decoded images. */
export interface ImageLeaf {
  readonly path: string;
  /** The height, width and number of channels. */
  readonly shape: readonly [number, number, number];
  /** The dtype of the pixels. */
  readonly type: "u8" | "u16";
  /** The keys of the column in the file. */
  readonly column: readonly string[];
}

/** Maps the file's columns to leaves. Images remain bytes. @throws RldsError CORRUPT if a feature or `episode_index` has no suitable column */
export function frameMapping(file: ParquetFile, { features }: LeRobotInfo, selection: Selection): Mapping {
  const leaves: ColumnMapping[] = [];
  let terminal: FileColumn | undefined;
  const find = (keys: readonly string[]) => file.columns.find((column) => column.keys.length === keys.length && column.keys.every((key, i) => key === keys[i]));
  for (const [name, { dtype, keys }] of features) {
    if (dtype === "video" || name === "episode_index") continue;
    const column = find(dtype === "image" ? [name, "bytes"] : [name]);
    if (column?.dtype === undefined)
      throw corruptFile(
        { file: file.name },
        `meta/info.json declares a feature ${name} of dtype ${dtype}, but the file has no column for it${columnRemedy([name])}`,
      );
    if (name === "is_terminal" && column.dtype === "bool" && column.listDepth === 0) terminal = column;
    else leaves.push({ column: { ...column, nullValue: nullFor(column, selection.nullOf([name], keys)) }, keys });
  }
  checkNesting(leaves, INFO);
  const episode = find(["episode_index"]);
  if (episode?.dtype !== "i64" || episode.listDepth > 0) throw corruptFile({ file: file.name }, "the file must have a column episode_index of dtype i64");
  return { leaves: [...leaves, { column: episode, keys: ["episode_index"] }], episode, ...(terminal && { terminal }), unread: [] };
}

/** Returns the leaves of decoded images. @throws RldsError UNSUPPORTED if the shape of an image does not have three dimensions */
export function imageLeaves({ features }: LeRobotInfo): ImageLeaf[] {
  return [...features]
    .filter(([, { dtype }]) => dtype === "image")
    .map(([name, { shape, names, keys }]) => {
      if (shape.length !== 3)
        throw unsupportedFile(
          { file: INFO },
          `image ${name} must have three dimensions (height, width and channels), got shape [${shape.join(", ")}]${columnRemedy([name])}`,
        );
      const first = Array.isArray(names) ? String(names[0]) : "";
      const [a, b, c] = shape as [number, number, number];
      return { path: keys.join("/"), column: [name, "bytes"], type: "u8", shape: first.startsWith("channel") ? [b, c, a] : [a, b, c] };
    });
}

/**
 * Returns the spec of a step. It has the leaves of the table, images as pixels, videos as references, and the text of the task. Numbers have the shapes in
 * info.json, but a vector of one element has the shape of its column, unless it is an observation or action.
 * @throws RldsError CORRUPT if a shape in info.json has a different number of elements than the column
 */
export function frameSpec(schema: GenericSchema, info: LeRobotInfo, images: readonly ImageLeaf[], hasTask: boolean): StepSpec {
  const spec = structuredClone(schema.stepSpec) as { [name: string]: unknown };
  const set = (keys: readonly string[], value: unknown) => {
    const node = keys.slice(0, -1).reduce((at, key) => {
      if (!Object.hasOwn(at, key)) setPart(at, key, {});
      return at[key] as { [name: string]: unknown };
    }, spec);
    setPart(node, keys.at(-1) as string, value);
  };
  for (const [name, feature] of info.features) {
    const { keys } = feature;
    if (feature.dtype === "video") set(keys, { path: { dtype: "string", shape: [] }, timestamp: { dtype: "f64", shape: [] } });
    const fileLeaf = schema.leaves.find((leaf) => leaf.keys.join("/") === keys.join("/"));
    if (feature.dtype === "video" || feature.dtype === "image" || fileLeaf === undefined) continue;
    if (sizeOf(fileLeaf.leaf.shape) !== sizeOf(feature.shape))
      throw corruptFile({ file: INFO }, `${name} must have the shape [${feature.shape.join(", ")}], got [${fileLeaf.leaf.shape.join(", ")}]`);
    set(keys, { dtype: fileLeaf.leaf.dtype, shape: isVector(feature) ? feature.shape : fileLeaf.leaf.shape });
  }
  for (const { path, shape, type } of images) set(path.split("/"), { dtype: type, shape });
  // `episode_index` would only repeat the number of the episode.
  delete spec.episode_index;
  for (const { keys, isHidden } of info.features.values()) if (isHidden) unset(spec, keys);
  if (hasTask) set(["task"], { dtype: "string", shape: [] });
  return spec as StepSpec;
}

/**
 * Returns whether a feature has the shape in info.json. LeRobot declares a single number as a vector of one element, but only observations and actions remain
 * such vectors.
 */
function isVector({ dtype, shape, keys }: Feature): boolean {
  if (dtype === "string") return false;
  return shape.length !== 1 || shape[0] !== 1 || ["observation", "action"].includes(keys[0] as string);
}

/** Removes a leaf, and the parents that become empty. */
function unset(node: { [name: string]: unknown }, [name = "", ...rest]: readonly string[]): void {
  const part = node[name] as { [name: string]: unknown } | undefined;
  if (part === undefined) return;
  if (rest.length > 0) unset(part, rest);
  if (rest.length === 0 || Object.keys(part).length === 0) delete node[name];
}
