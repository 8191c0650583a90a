/** Tensors that are stored as bytes, each value by itself: plain or zlib. */

import { DTYPES } from "../../../schema/dtype.ts";
import { sizeOf } from "../../../schema/leaf.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { fromBfloats, fromHalves } from "../half.ts";
import { inflate, inflated } from "../images/inflate.ts";
import type { Example } from "./example.ts";
import type { Dimensions, NumberType } from "./features.ts";
import { bytesOf, integersOf } from "./lists.ts";
import { fits, misfit, shown, stepOf } from "./shapes.ts";
import { isDynamic, type LeafFeature, type LeafItems, type StoredLeaf, unknowns } from "./stored-leaf.ts";

type NumbersFeature = Extract<LeafFeature, { kind: "numbers" }>;

/** @param known of the shape @throws RldsError CORRUPT · UNSUPPORTED for values of several shapes */
export function encodedOf(example: Example, leaf: StoredLeaf, key: string, known: Dimensions, feature: NumbersFeature): LeafItems {
  const parts = bytesOf(example, key);
  const { type, encoding } = feature;
  const width = type === "f16" || type === "bf16" ? 2 : DTYPES[type].bytes;
  const shapes = shapesOf(example, leaf, parts.length);
  let shape = known;
  let whole = new Uint8Array(0);
  parts.forEach((part, i) => {
    const at = part.byteOffset - example.bytes.byteOffset;
    const step = stepOf(leaf, i);
    const guarded = <T>(work: () => T): T => example.guarded(leaf.key, at, step, work);
    const isZlib = encoding === "zlib";
    const rank = feature.shape.length;
    const own = guarded(
      () => shapes?.slice(i * rank, (i + 1) * rank) ?? filled(feature.shape, () => (isZlib ? inflate(part, example.left) : part.length) / width),
    );
    if (!fits(shape, own)) throw misfit(example, leaf, shape, own, at, step);
    const bytes = sizeOf(own) * width;
    if (i === 0) {
      shape = own;
      example.room(bytes * parts.length);
      whole = new Uint8Array(bytes * parts.length);
    }
    if (!isZlib && part.length !== bytes) throw example.wrong(`feature ${leaf.key} must have ${bytes} bytes a value, got ${part.length}`, at, { step });
    whole.set(isZlib ? guarded(() => inflated(part, bytes)) : part, i * bytes);
  });
  return { data: numbersOf(example, leaf, whole, type), count: parts.length, shape };
}

/** The shapes that are stored beside the values, of all of them in a row. */
function shapesOf(example: Example, leaf: StoredLeaf, count: number): number[] | undefined {
  if (!isDynamic(leaf)) return undefined;
  const rank = leaf.feature.shape.length;
  const found = integersOf(example, `${leaf.key}/shape`, "u32");
  if (found.length !== count * rank) throw example.wrong(`feature ${leaf.key} must have a shape of ${rank} numbers with each of its ${count} values`);
  const wrong = found.findIndex((length, i) => (leaf.feature.shape[i % rank] ?? length) !== length);
  if (wrong !== -1) throw example.wrong(`feature ${leaf.key} must have the shape ${shown(leaf.feature.shape)}, got a length of ${found[wrong]}`);
  return Array.from(found);
}

/** A shape with its one unknown length, which is asked for only where there is one. */
function filled(shape: Dimensions, elements: () => number): number[] {
  if (unknowns(shape) === 0) return shape as number[];
  const count = elements();
  const length = count / sizeOf(shape.map((one) => one ?? 1));
  if (!Number.isSafeInteger(length)) throw new Error(`${count} elements have no shape ${shown(shape)}`);
  return shape.map((one) => one ?? length);
}

/** Little-endian bytes as an array of the type. */
function numbersOf(example: Example, { key }: StoredLeaf, bytes: Uint8Array<ArrayBuffer>, type: NumberType): ColumnData {
  if (type === "f16" || type === "bf16") {
    example.room(2 * bytes.length);
    return (type === "f16" ? fromHalves : fromBfloats)(new Uint16Array(bytes.buffer));
  }
  if (type === "bool" && bytes.some((byte) => byte > 1)) throw example.wrong(`feature ${key} must hold booleans, bytes of 0 and 1`);
  return new DTYPES[type].array(bytes.buffer);
}
