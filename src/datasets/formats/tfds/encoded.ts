/** Decodes tensors that are stored as bytes. Each value is stored separately, either plain or compressed with zlib. */

import { DTYPES, type Dtype } from "../../../schema/dtype.ts";
import { isHalf, widenHalves } from "../../../schema/half.ts";
import { sizeOf } from "../../../schema/leaf.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { inflate, inflateExactly } from "../images/inflate.ts";
import type { Example } from "./example.ts";
import type { Dimensions } from "./features.ts";
import { bytesOf, integersOf } from "./lists.ts";
import { describeShape, matchesShape, shapeError, stepOf } from "./shapes.ts";
import { countUnknown, isDynamic, type LeafFeature, type LeafItems, type StoredLeaf } from "./stored-leaf.ts";

type NumbersFeature = Extract<LeafFeature, { kind: "numbers" }>;

/**
 * Decodes the values of a leaf that are stored as bytes. @param expectedShape the shape of the feature
 * @throws RldsError CORRUPT if a value is damaged · UNSUPPORTED if values have different shapes
 */
export function encodedOf(example: Example, leaf: StoredLeaf, key: string, expectedShape: Dimensions, feature: NumbersFeature): LeafItems {
  const parts = bytesOf(example, key);
  const { type, encoding } = feature;
  const width = DTYPES[type].bytes;
  const shapes = shapesOf(example, leaf, parts.length);
  let shape = expectedShape;
  let output = new Uint8Array(0);
  parts.forEach((part, i) => {
    const at = part.byteOffset - example.bytes.byteOffset;
    const step = stepOf(leaf, i);
    const guarded = <T>(task: () => T): T => example.guard(leaf.key, at, step, task);
    const isZlib = encoding === "zlib";
    const rank = feature.shape.length;
    const valueShape = guarded(
      () =>
        shapes?.slice(i * rank, (i + 1) * rank) ?? resolveShape(feature.shape, () => (isZlib ? inflate(part, example.remainingBytes) : part.length) / width),
    );
    if (!matchesShape(shape, valueShape)) throw shapeError(example, leaf, shape, valueShape, at, step);
    const bytes = sizeOf(valueShape) * width;
    if (i === 0) {
      shape = valueShape;
      example.reserve(bytes * parts.length);
      output = new Uint8Array(bytes * parts.length);
    }
    if (!isZlib && part.length !== bytes)
      throw example.corruptError(`feature ${leaf.key} must have ${bytes} bytes per value, got ${part.length}`, at, { step });
    output.set(isZlib ? guarded(() => inflateExactly(part, bytes)) : part, i * bytes);
  });
  return { data: numbersOf(example, leaf, output, type), count: parts.length, shape };
}

/** Returns the shapes of all values, which are stored in a separate list. */
function shapesOf(example: Example, leaf: StoredLeaf, count: number): number[] | undefined {
  if (!isDynamic(leaf)) return undefined;
  const rank = leaf.feature.shape.length;
  const lengths = integersOf(example, `${leaf.key}/shape`, "u32");
  if (lengths.length !== count * rank) throw example.corruptError(`feature ${leaf.key} must have a shape of ${rank} numbers for each of its ${count} values`);
  const invalid = lengths.findIndex((length, i) => (leaf.feature.shape[i % rank] ?? length) !== length);
  if (invalid !== -1)
    throw example.corruptError(`feature ${leaf.key} must have the shape ${describeShape(leaf.feature.shape)}, got a length of ${lengths[invalid]}`);
  return Array.from(lengths);
}

/** Fills in the unknown length of a shape. Calls `elements` only if a length is unknown. */
function resolveShape(shape: Dimensions, elements: () => number): number[] {
  if (countUnknown(shape) === 0) return shape as number[];
  const count = elements();
  const length = count / sizeOf(shape.map((dimension) => dimension ?? 1));
  if (!Number.isSafeInteger(length)) throw new Error(`${count} elements do not fit the shape ${describeShape(shape)}`);
  return shape.map((dimension) => dimension ?? length);
}

/** Returns little-endian bytes as an array of the dtype. */
function numbersOf(example: Example, { key }: StoredLeaf, bytes: Uint8Array<ArrayBuffer>, type: Dtype): ColumnData {
  if (isHalf(type)) {
    example.reserve(2 * bytes.length);
    return widenHalves(type, new Uint16Array(bytes.buffer));
  }
  if (type === "bool" && bytes.some((byte) => byte > 1)) throw example.corruptError(`feature ${key} must contain booleans, which are bytes of 0 or 1`);
  return new DTYPES[type].array(bytes.buffer);
}
