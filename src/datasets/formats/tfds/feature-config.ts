/** Writes features.json, from which tensorflow_datasets 4.9 creates its features. */

import { isLeaf, isText, sizeOf } from "../../../schema/leaf.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { type LeafEntry, leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { FORMAT_NAMES } from "../dtypes.ts";

/** The encoding of a leaf in a record: "none" for separate numbers (as in tf.Example), "bytes" for the raw bytes of a value, "text", or "png". */
export type Encoding = "none" | "bytes" | "text" | "png";

export interface OutputLeaf extends LeafEntry {
  readonly encoding: Encoding;
}

const FEATURES = "tensorflow_datasets.core.features.";
const CLASSES = {
  dict: `${FEATURES}features_dict.FeaturesDict`,
  dataset: `${FEATURES}dataset_feature.Dataset`,
  scalar: `${FEATURES}scalar.Scalar`,
  tensor: `${FEATURES}tensor_feature.Tensor`,
  text: `${FEATURES}text_feature.Text`,
  image: `${FEATURES}image_feature.Image`,
};

/**
 * Returns the leaves with their encodings. f64 is stored as raw bytes, because f32 is the only float type in tf.Example. Leaves without elements are also
 * stored as raw bytes, because tensorflow_datasets cannot read them otherwise.
 * @param images the paths of leaves that are stored as PNG
 * @throws RldsError UNSUPPORTED if a name is empty or not unique · RangeError if a leaf cannot be an image
 */
export function listOutputLeaves(spec: StepSpec, prefix: string, images: ReadonlySet<string>): OutputLeaf[] {
  const leaves = leavesOf(spec).map((leaf): OutputLeaf => ({ ...leaf, encoding: encodingOf(leaf, images) }));
  const paths = new Set<string>();
  for (const { path } of leaves) {
    if (path === "" || paths.has(path) || path.split("/").includes(""))
      throw new RldsError("UNSUPPORTED", `${prefix}${path} must have a unique, non-empty name, as tensorflow_datasets requires`);
    paths.add(path);
  }
  return leaves;
}

function encodingOf({ path, leaf, size }: LeafEntry, images: ReadonlySet<string>): Encoding {
  if (images.has(path)) {
    const [height = 0, width = 0, channels = 0] = leaf.shape;
    if (leaf.dtype === "u8" && leaf.shape.length === 3 && height > 0 && width > 0 && [1, 3, 4].includes(channels)) return "png";
    throw new RangeError(
      `images must be u8 leaves of shape [height, width, channels] with 1, 3 or 4 channels, got ${path}: ${leaf.dtype} of shape [${leaf.shape.join(", ")}]`,
    );
  }
  if (isText(leaf)) return "text";
  if (size > 0) return leaf.dtype === "f64" ? "bytes" : "none";
  if (leaf.dtype === "u32" || leaf.dtype === "u64")
    throw new RldsError("UNSUPPORTED", `${path} must have elements, because tensorflow_datasets cannot read an empty ${FORMAT_NAMES[leaf.dtype].numpy}`);
  return "bytes";
}

/** Returns the content of features.json. Keys are sorted, so the same data produces the same content. */
export function featuresJson(
  stepSpec: StepSpec,
  metadataSpec: { readonly [name: string]: StepSpec },
  steps: readonly OutputLeaf[],
  metadata: readonly OutputLeaf[],
): string {
  const encodings = (leaves: readonly OutputLeaf[]) => new Map(leaves.map(({ path, encoding }) => [path, encoding]));
  const features = {
    ...childrenOf(metadataSpec, "", encodings(metadata)),
    steps: { pythonClassName: CLASSES.dataset, sequence: { feature: featureOf(stepSpec, "", encodings(steps)), length: "-1" } },
  };
  const sorted = Object.fromEntries(Object.entries(features).sort(([a], [b]) => (a < b ? -1 : 1)));
  return JSON.stringify({ featuresDict: { features: sorted }, pythonClassName: CLASSES.dict }, null, 4);
}

function childrenOf(spec: { readonly [name: string]: StepSpec }, path: string, encodings: ReadonlyMap<string, Encoding>): object {
  const names = Object.keys(spec).sort();
  return Object.fromEntries(names.map((name) => [name, featureOf(spec[name] as StepSpec, path === "" ? name : `${path}/${name}`, encodings)]));
}

function featureOf(spec: StepSpec, path: string, encodings: ReadonlyMap<string, Encoding>): object {
  if (!isLeaf(spec))
    return { featuresDict: { features: childrenOf(spec as { readonly [name: string]: StepSpec }, path, encodings) }, pythonClassName: CLASSES.dict };
  return leafOf(spec, encodings.get(path) as Encoding);
}

function leafOf(leaf: StepLeaf, encoding: Encoding): object {
  const { shape } = leaf;
  if (leaf.dtype === "string" && shape.length === 0) return { pythonClassName: CLASSES.text, text: {} };
  const dimensions = shape.length === 0 ? {} : { dimensions: shape.map(String) };
  if (encoding === "png") return { image: { dtype: "uint8", encodingFormat: "png", shape: dimensions }, pythonClassName: CLASSES.image };
  const dtype = isText(leaf) ? "string" : leaf.dtype === "bf16" ? "bfloat16" : FORMAT_NAMES[leaf.dtype].numpy;
  const pythonClassName = shape.length === 0 && encoding === "none" ? CLASSES.scalar : CLASSES.tensor;
  return { pythonClassName, tensor: { dtype, encoding: encoding === "bytes" ? "bytes" : "none", shape: dimensions } };
}

/** Returns the number of elements of a leaf's value in a record. */
export function elementsOf({ encoding, leaf }: OutputLeaf): number {
  return encoding === "png" || encoding === "bytes" ? 1 : sizeOf(leaf.shape);
}
