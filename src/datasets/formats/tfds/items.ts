/** Reads the values of one feature in one record as a flat column. Also returns the shape of each value. */

import { DTYPES, type Dtype, zeros } from "../../../schema/dtype.ts";
import { isHalf, roundHalf } from "../../../schema/half.ts";
import { sizeOf } from "../../../schema/leaf.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { imageHead } from "../images/image-head.ts";
import type { ImageDecoder } from "../images/images.ts";
import { encodedOf } from "./encoded.ts";
import type { Example } from "./example.ts";
import type { Dimensions } from "./features.ts";
import { bytesOf, floatsOf, integersOf } from "./lists.ts";
import { matchesShape, shapeError, stepOf } from "./shapes.ts";
import { countUnknown, type LeafFeature, type LeafItems, type StoredLeaf } from "./stored-leaf.ts";

export interface Decoding {
  readonly text: "string" | "bytes";
  /** The image decoder. Undefined if images are returned in their stored form. */
  readonly images?: ImageDecoder;
}

/** Returns the dtype of a feature's values as they are returned. Images that are not decoded are bytes. */
export function dtypeOf(feature: LeafFeature, { text, images }: Decoding): Dtype | "string" | "bytes" {
  if (feature.kind === "text") return text;
  if (feature.kind === "image" && images === undefined) return "bytes";
  return feature.type;
}

/** Returns the shape of a feature's values as they are returned. Images that are not decoded have the shape []. */
export function shapeIn(feature: LeafFeature, { images }: Decoding): Dimensions {
  return feature.kind === "image" && images === undefined ? [] : feature.shape;
}

/**
 * Returns the values of a leaf in one record. @param key the key of the values in the record @param shape the known part of the shape
 * @throws RldsError CORRUPT if the record is damaged · UNSUPPORTED if values have different shapes
 */
export function itemsOf(example: Example, leaf: StoredLeaf, key: string, shape: Dimensions, decoding: Decoding): LeafItems {
  const { feature } = leaf;
  if (feature.kind === "text") return cutValues(example, leaf, textsOf(example, key, decoding.text), shape);
  if (feature.kind === "image") {
    if (decoding.images === undefined) return cutValues(example, leaf, textsOf(example, key, "bytes"), shape);
    return pixelsOf(example, leaf, key, shape, decoding.images);
  }
  if (feature.encoding !== "none") return encodedOf(example, leaf, key, shape, feature);
  const { type } = feature;
  if (type === "f32") return cutValues(example, leaf, floatsOf(example, key), shape);
  // The values were half floats when they were written, so rounding to half floats loses nothing.
  if (isHalf(type))
    return cutValues(
      example,
      leaf,
      floatsOf(example, key).map((number) => roundHalf(type, number)),
      shape,
    );
  if (type !== "f64") return cutValues(example, leaf, integersOf(example, key, type), shape);
  const stored = floatsOf(example, key);
  example.reserve(stored.length * 8);
  return cutValues(example, leaf, Float64Array.from(stored), shape);
}

/** Splits consecutive elements into values. */
function cutValues(example: Example, { key }: StoredLeaf, data: ColumnData, shape: Dimensions): LeafItems {
  const unknown = countUnknown(shape);
  const size = sizeOf(shape.map((length) => length ?? 1));
  if (size === 0) {
    if (data.length > 0) throw example.corruptError(`feature ${key} must have no elements, got ${data.length}`);
    return { data, shape: shape.map((length) => length ?? 0) };
  }
  if (data.length % size !== 0) throw example.corruptError(`feature ${key} must have values of ${size} elements, got ${data.length} in total`);
  if (unknown === 0) return { data, count: data.length / size, shape };
  return { data, count: 1, shape: shape.map((length) => length ?? data.length / size) };
}

function textsOf(example: Example, key: string, text: "string" | "bytes"): (string | Uint8Array)[] {
  const parts = bytesOf(example, key);
  example.reserve(parts.reduce((sum, part) => sum + part.length * 2 + 32, 0));
  if (text === "bytes") return parts.map((part) => part.slice());
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  return parts.map((part) => {
    try {
      return decoder.decode(part);
    } catch {
      throw example.corruptError(`feature ${key} is not valid UTF-8. Read it with text: "bytes"`, part.byteOffset - example.bytes.byteOffset);
    }
  });
}

/**
 * Decodes images. @param expectedShape the shape of the feature @throws RldsError CORRUPT if an image is damaged · UNSUPPORTED if images have different sizes
 */
function pixelsOf(example: Example, leaf: StoredLeaf, key: string, expectedShape: Dimensions, decode: ImageDecoder): LeafItems {
  const { feature } = leaf;
  const type = feature.kind === "image" ? feature.type : "u8";
  const channels = feature.shape[2] ?? 3;
  const parts = bytesOf(example, key);
  let shape = expectedShape;
  let data = zeros(type, 0);
  parts.forEach((part, i) => {
    const at = part.byteOffset - example.bytes.byteOffset;
    const step = stepOf(leaf, i);
    const guarded = <T>(task: () => T): T => example.guard(leaf.key, at, step, task);
    const head = guarded(() => imageHead(part));
    const imageShape = [head.height, head.width, channels];
    if (!matchesShape(shape, imageShape)) throw shapeError(example, leaf, shape, imageShape, at, step);
    if (i === 0) {
      shape = imageShape;
      example.reserve(parts.length * sizeOf(imageShape) * DTYPES[type].bytes);
      data = zeros(type, parts.length * sizeOf(imageShape));
    }
    // An f32 is stored as four channels of bytes.
    const stored = guarded(() => decode(part, { type: type === "u16" ? "u16" : "u8", channels: type === "f32" ? 4 : channels }, example.remainingBytes));
    data.set(type === "f32" ? new Float32Array(stored.slice().buffer) : stored, i * sizeOf(imageShape));
  });
  return { data, count: parts.length, shape };
}
