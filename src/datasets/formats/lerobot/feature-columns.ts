/** Describes the features of a frame as Parquet columns and for meta/info.json. */

import type { Dtype } from "../../../schema/dtype.ts";
import { isText } from "../../../schema/leaf.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import { FORMAT_NAMES } from "../dtypes.ts";
import { columnSchema, type SchemaElement } from "../parquet/schema.ts";
import { type ColumnRows, encodingOf } from "../parquet/table-writer.ts";
import type { OutputFeature } from "./features.ts";
import type { FeatureNames } from "./joint-names.ts";

/** Returns the leaf of a feature's column. A vector of one element becomes a single number, as in LeRobot. */
export function columnLeaf(leaf: StepLeaf): StepLeaf {
  return leaf.shape.length === 1 && leaf.shape[0] === 1 ? ({ dtype: leaf.dtype, shape: [] } as StepLeaf) : leaf;
}

/** The features that every frame has in addition to the features of its step, in LeRobot's order. */
export const COUNTED_FEATURES = {
  timestamp: { dtype: "f32", shape: [] },
  frame_index: { dtype: "i64", shape: [] },
  episode_index: { dtype: "i64", shape: [] },
  index: { dtype: "i64", shape: [] },
  task_index: { dtype: "i64", shape: [] },
} as const satisfies { readonly [name: string]: StepLeaf };

/** The leaf of `next.done`. */
export const DONE = { dtype: "bool", shape: [] } as const;

/** The columns of data files. */
export interface FrameColumns {
  readonly schema: readonly SchemaElement[];
  /** Returns the columns of a row group in the order of the schema. */
  columns(rows: ReadonlyMap<string, readonly unknown[]>): ColumnRows[];
}

/** Returns the columns of all features that are not videos. @param generated the features that the steps do not have */
export function frameColumns(features: readonly OutputFeature[], generated: { readonly [name: string]: StepLeaf }): FrameColumns {
  const stored = features.filter(({ kind }) => kind !== "video");
  const all = [
    ...stored.map(({ name, leaf, kind }) => ({ name, leaf: columnLeaf(leaf), kind })),
    ...Object.entries(generated).map(([name, leaf]) => ({ name, leaf, kind: "numbers" as const })),
  ];
  return {
    schema: [
      { name: "schema", num_children: all.length },
      ...all.flatMap(({ name, leaf, kind }) => (kind === "image" ? imageSchema(name) : columnSchema(name, leaf))),
    ],
    columns: (rows) =>
      all.map(({ name, leaf, kind }) => ({ name, data: rows.get(name) ?? [], ...(kind === "image" ? { encoding: "PLAIN" as const } : encodingOf(leaf)) })),
  };
}

/** Returns the schema of an image, in the form that the Python package `datasets` uses. */
function imageSchema(name: string): SchemaElement[] {
  return [
    { name, repetition_type: "OPTIONAL", num_children: 2 },
    { name: "bytes", type: "BYTE_ARRAY", repetition_type: "OPTIONAL" },
    { name: "path", type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "OPTIONAL" },
  ];
}

/** The entry of a feature in meta/info.json. */
export interface FeatureJson {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly names: FeatureNames | null;
  readonly info?: { readonly [key: string]: unknown };
}

/** Returns the entry of a feature in meta/info.json. @param names the names of a vector's elements */
export function featureJson(
  { leaf, kind }: Pick<OutputFeature, "leaf" | "kind">,
  names: FeatureNames | null,
  video?: { readonly codec: string; readonly fps: number },
): FeatureJson {
  const { dtype, shape } = leaf;
  if (kind === "numbers" || kind === "text") {
    const dtypeName = isText(leaf) ? "string" : FORMAT_NAMES[dtype as Dtype].numpy;
    return { dtype: dtypeName, shape: shape.length === 0 ? [1] : shape, names };
  }
  const [height, width, channels] = shape;
  const about = video && {
    ...{ "video.height": height, "video.width": width, "video.codec": video.codec, "video.pix_fmt": "yuv420p", "video.is_depth_map": false },
    ...{ "video.fps": video.fps, "video.channels": channels, has_audio: false },
  };
  return { dtype: kind, shape, names: ["height", "width", "channels"], ...(about && { info: about }) };
}
