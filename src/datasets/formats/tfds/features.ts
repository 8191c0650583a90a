/**
 * Parses features.json, which describes the features of an example. Supports both forms of the file, which are the JSON of protobuf and the older form with
 * `type` and `content`.
 */
import { MAX_FEATURE_DEPTH } from "../../../base/file-limits.ts";
import type { Dtype } from "../../../schema/dtype.ts";
import { sizeOf } from "../../../schema/leaf.ts";
import { corruptFile, type RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { dtypesBy } from "../dtypes.ts";
import { parseJson } from "../json.ts";
import { checkLeafCount } from "../leaf-count.ts";
import { type Json, list, object, parseInteger, text } from "./json.ts";

export const FEATURES = "features.json";

/** The length of each dimension, or null if only the data determines the length. */
export type Dimensions = readonly (number | null)[];

export type Feature =
  | { readonly kind: "dict"; readonly features: { readonly [name: string]: Feature } }
  | { readonly kind: "sequence"; readonly feature: Feature; readonly length: number | null }
  | { readonly kind: "numbers"; readonly type: Dtype; readonly shape: Dimensions; readonly encoding: "none" | "bytes" | "zlib" }
  | { readonly kind: "text"; readonly shape: Dimensions }
  | { readonly kind: "image"; readonly type: "u8" | "u16" | "f32"; readonly shape: Dimensions };

const TYPES: { readonly [name: string]: Dtype | "text" } = {
  ...dtypesBy(({ numpy }) => numpy),
  ...{ bfloat16: "bf16", string: "text", object: "text" },
};

/** Parses the features. @throws RldsError CORRUPT if the file is invalid · UNSUPPORTED if Reprise cannot read a feature, with its path and class */
export function featuresOf(json: Json): Feature {
  const root = feature(json, "", 0);
  checkLeafCount(leafCount(root), "the dataset", { file: FEATURES });
  return root;
}

function leafCount(parsedFeature: Feature): number {
  if (parsedFeature.kind === "sequence") return leafCount(parsedFeature.feature);
  return parsedFeature.kind === "dict" ? Object.values(parsedFeature.features).reduce((sum, child) => sum + leafCount(child), 0) : 1;
}

function feature(json: Json, path: string, depth: number): Feature {
  const at = path ? `feature ${path}` : "the root feature";
  if (depth > MAX_FEATURE_DEPTH) throw corruptFile({ file: FEATURES }, `${at} must be nested at most ${MAX_FEATURE_DEPTH} levels deep`);
  const name = text(json.pythonClassName ?? json.python_class_name ?? json.type, `the class of ${at}`, FEATURES);
  const content = contentOf(json, at);
  const parseDict = (features: Json) => {
    const read = Object.entries(features).map(([key, featureValue]) => {
      const below = path ? `${path}/${key}` : key;
      return [key, feature(object(featureValue, `feature ${below}`, FEATURES), below, depth + 1)];
    });
    return { kind: "dict", features: Object.fromEntries(read) } as const;
  };
  switch (name.slice(name.lastIndexOf(".") + 1)) {
    case "FeaturesDict":
      // In the older form, the content itself maps names to features.
      return parseDict(object("type" in json && !json.proto_cls ? content : (content.features ?? {}), `the features of ${at}`, FEATURES));
    case "Sequence":
    case "Dataset":
      return {
        kind: "sequence",
        feature: feature(object(content.feature, `the feature of ${at}`, FEATURES), path, depth + 1),
        length: dimension(content.length ?? null, at),
      };
    case "Video": {
      const [length = null, ...shape] = shapeOf(content, at);
      return { kind: "sequence", feature: image(content, shape, at), length };
    }
    case "Scalar":
    case "Tensor":
      return tensor(content, shapeOf(content, at), at);
    case "ClassLabel":
      return { kind: "numbers", type: "i64", shape: [], encoding: "none" };
    case "BBoxFeature":
      return { kind: "numbers", type: "f32", shape: [4], encoding: "none" };
    case "Text":
      return { kind: "text", shape: [] };
    case "Image":
    case "LabeledImage":
      return image(content, shapeOf(content, at), at);
    default:
      throw unsupported(at, `of class ${name}`);
  }
}

/** Returns the properties of a feature, which are stored under the name of its kind. */
function contentOf(json: Json, at: string): Json {
  const subject = `the content of ${at}`;
  if ("type" in json) {
    const { content } = json;
    if (typeof content !== "string") return object(content ?? {}, subject, FEATURES);
    try {
      return object(parseJson(content), subject, FEATURES);
    } catch {
      throw corruptFile({ file: FEATURES }, `${subject} must be JSON`);
    }
  }
  const kinds = ["featuresDict", "sequence", "tensor", "text", "image", "video", "classLabel", "boundingBox"];
  const names = [...kinds, ...kinds.map((word) => word.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))];
  return object(json[names.find((word) => json[word] !== undefined) ?? ""] ?? {}, subject, FEATURES);
}

function tensor(content: Json, shape: Dimensions, at: string): Feature {
  const name = text(content.dtype ?? "", `the dtype of ${at}`, FEATURES);
  const type = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
  if (type === undefined) throw unsupported(at, `of dtype ${JSON.stringify(name)}`);
  if (type === "text") return { kind: "text", shape };
  const encoding = text(content.encoding || "none", `the encoding of ${at}`, FEATURES).toLowerCase();
  if (encoding === "none" || encoding === "bytes" || encoding === "zlib") return { kind: "numbers", type, shape, encoding };
  throw unsupported(at, `stored with the encoding ${JSON.stringify(encoding)}`);
}

function image(content: Json, shape: Dimensions, at: string): Feature {
  const name = text(content.dtype || "uint8", `the dtype of ${at}`, FEATURES);
  const type = ({ uint8: "u8", uint16: "u16", float32: "f32" } as const)[name];
  if (type === undefined || shape.length > 3) throw unsupported(at, `an image of ${name} with ${shape.length} dimensions`);
  // By default, an image has three channels and any size.
  return { kind: "image", type, shape: shape.length === 3 ? shape : [null, null, 3] };
}

function shapeOf(content: Json, at: string): Dimensions {
  const { shape = [] } = content;
  const dimensions = Array.isArray(shape) ? shape : list(object(shape ?? {}, `the shape of ${at}`, FEATURES).dimensions ?? [], `the shape of ${at}`, FEATURES);
  const parsedDims = dimensions.map((length) => dimension(length, at));
  const size = sizeOf(parsedDims.map((length) => length ?? 1));
  if (!Number.isSafeInteger(size)) throw corruptFile({ file: FEATURES }, `${at} has too many elements: ${parsedDims.join(" × ")}`);
  return parsedDims;
}

/** Parses a length. -1 and null mean that only the data determines the length. */
function dimension(value: unknown, at: string): number | null {
  const length = value === null ? -1 : parseInteger(value, `a dimension of ${at}`, FEATURES, -1);
  return length === -1 ? null : length;
}

function unsupported(at: string, description: string): RldsError {
  return unsupportedFile({ file: FEATURES }, `${at} is ${description}, which Reprise cannot read`);
}
