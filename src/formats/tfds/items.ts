/** The values of one feature in one record: a flat column of all of them, with the shape that each has. */
import type { Dtype } from "../../dtype.ts";
import { ARRAYS, sizeOf, zeros } from "../../rlds/leaves.ts";
import type { ColumnData } from "../../rlds/step-columns.ts";
import type { ImageDecoder } from "../images.ts";
import { inflate, inflated } from "../inflate.ts";
import type { Example } from "./example.ts";
import type { Dimensions, NumberType } from "./features.ts";
import { fromBfloats, fromHalves } from "./half.ts";
import { bytesOf, floatsOf, integersOf } from "./lists.ts";
import { isDynamic, type LeafFeature, type StoredLeaf, unknowns } from "./stored-leaf.ts";

export interface Decoding {
  readonly text: "string" | "bytes";
  /** Undefined where images stay as they are stored. */
  readonly images?: ImageDecoder;
}

export interface Items {
  readonly data: ColumnData;
  /** Undefined where nobody can tell: values without elements. */
  readonly count?: number;
  /** Of each; null where there is none that could tell. */
  readonly shape: Dimensions;
}

/** The dtype that a feature's values come to. */
export function dtypeOf(feature: LeafFeature, { text, images }: Decoding): Dtype | "string" | "bytes" {
  if (feature.kind === "text") return text;
  if (feature.kind === "image" && images === undefined) return "bytes";
  return feature.type === "f16" || feature.type === "bf16" ? "f32" : feature.type;
}

/** The shape that a feature's values come to. */
export function shapeIn(feature: LeafFeature, { images }: Decoding): Dimensions {
  return feature.kind === "image" && images === undefined ? [] : feature.shape;
}

/**
 * @param key of the values in the record @param shape as far as it is known
 * @throws RldsError CORRUPT · UNSUPPORTED for values of several shapes
 */
export function itemsOf(example: Example, leaf: StoredLeaf, key: string, shape: Dimensions, decoding: Decoding): Items {
  const { feature } = leaf;
  if (feature.kind === "text") return counted(example, leaf, textsOf(example, key, decoding.text), shape);
  if (feature.kind === "image") {
    if (decoding.images === undefined) return counted(example, leaf, textsOf(example, key, "bytes"), shape);
    return imagesOf(example, leaf, key, shape, decoding.images, feature.type);
  }
  if (feature.encoding !== "none") return encodedOf(example, leaf, key, shape, feature.type, feature.encoding === "zlib");
  const { type } = feature;
  const floats = type === "f32" || type === "f16" || type === "bf16";
  if (floats) return counted(example, leaf, floatsOf(example, key), shape);
  if (type !== "f64") return counted(example, leaf, integersOf(example, key, type), shape);
  const stored = floatsOf(example, key);
  example.room(stored.length * 8);
  return counted(example, leaf, Float64Array.from(stored), shape);
}

/** Elements in a row, cut into values. */
function counted(example: Example, { key }: StoredLeaf, data: ColumnData, shape: Dimensions): Items {
  const unknown = unknowns(shape);
  const size = sizeOf(shape.map((length) => length ?? 1));
  if (size === 0) {
    if (data.length > 0) throw example.wrong(`feature ${key} must have no elements, got ${data.length}`);
    return { data, shape: shape.map((length) => length ?? 0) };
  }
  if (data.length % size !== 0) throw example.wrong(`feature ${key} must have values of ${size} elements, and has ${data.length} in all`);
  if (unknown === 0) return { data, count: data.length / size, shape };
  return { data, count: 1, shape: shape.map((length) => length ?? data.length / size) };
}

function textsOf(example: Example, key: string, text: "string" | "bytes"): (string | Uint8Array)[] {
  const parts = bytesOf(example, key);
  example.room(parts.reduce((sum, part) => sum + part.length * 2 + 32, 0));
  if (text === "bytes") return parts.map((part) => part.slice());
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  return parts.map((part) => {
    try {
      return decoder.decode(part);
    } catch {
      throw example.wrong(`feature ${key} must be UTF-8, and is not: read it with text: "bytes"`, part.byteOffset - example.bytes.byteOffset);
    }
  });
}

/** Values that are stored as bytes each. */
function encodedOf(example: Example, leaf: StoredLeaf, key: string, declared: Dimensions, type: NumberType, isZlib: boolean): Items {
  const parts = bytesOf(example, key);
  const shapes = isDynamic(leaf) ? integersOf(example, `${leaf.key}/shape`, "u32") : undefined;
  const rank = declared.length;
  if (shapes !== undefined && shapes.length !== parts.length * rank)
    throw example.wrong(`feature ${leaf.key} must have a shape of ${rank} numbers with every value`);
  const width = type === "f16" || type === "bf16" ? 2 : ARRAYS[type].BYTES_PER_ELEMENT;
  let shape = declared;
  let whole = new Uint8Array(0);
  let bytes = 0;
  parts.forEach((part, i) => {
    const at = part.byteOffset - example.bytes.byteOffset;
    const found = shapes === undefined ? shape : [...shapes.subarray(i * rank, (i + 1) * rank)];
    const own = unknowns(found) === 0 ? found : filled(found, elements(part));
    if (i === 0) {
      if (!declared.every((length, d) => length === null || length === own[d]))
        throw example.wrong(`feature ${leaf.key} must have the shape ${shown(declared)}, got ${shown(own)}`, at);
      bytes = sizeOf(own as number[]) * width;
      example.room(bytes * parts.length);
      shape = own;
      whole = new Uint8Array(bytes * parts.length);
    } else if (shown(own) !== shown(shape)) throw variable(example, leaf, shape, own);
    if (!isZlib && part.length !== bytes) throw example.wrong(`feature ${leaf.key} must have ${bytes} bytes a value, got ${part.length}`, at);
    whole.set(isZlib ? guarded(() => inflated(part, bytes), at) : part, i * bytes);
  });
  return { data: numbersOf(example, leaf, whole, type), count: parts.length, shape };

  /** How many numbers a value has whose shape does not say so. */
  function elements(part: Uint8Array): number {
    const at = part.byteOffset - example.bytes.byteOffset;
    return (isZlib ? guarded(() => inflate(part, example.left), at) : part.length) / width;
  }
  function filled(found: Dimensions, count: number): Dimensions {
    const length = count / sizeOf(found.map((one) => one ?? 1));
    if (!Number.isInteger(length)) throw example.wrong(`feature ${leaf.key} must have the shape ${shown(found)}, and has ${count} elements`);
    return found.map((one) => one ?? length);
  }
  function guarded<T>(work: () => T, at: number): T {
    try {
      return work();
    } catch (cause) {
      throw example.wrong(`feature ${leaf.key} cannot be read: ${(cause as Error).message}`, at, cause);
    }
  }
}

/** Little-endian bytes as an array of the type. */
function numbersOf(example: Example, { key }: StoredLeaf, bytes: Uint8Array<ArrayBuffer>, type: NumberType): ColumnData {
  if (type === "f16" || type === "bf16") {
    example.room(2 * bytes.length);
    return (type === "f16" ? fromHalves : fromBfloats)(new Uint16Array(bytes.buffer));
  }
  if (type === "bool" && bytes.some((byte) => byte > 1)) throw example.wrong(`feature ${key} must hold booleans, bytes of 0 and 1`);
  return new ARRAYS[type](bytes.buffer);
}

function imagesOf(example: Example, leaf: StoredLeaf, key: string, declared: Dimensions, decode: ImageDecoder, type: "u8" | "u16" | "f32"): Items {
  const parts = bytesOf(example, key);
  const [rows, columns, channels] = declared as readonly [number | null, number | null, number | null];
  // An f32 is stored as four channels of bytes.
  const stored = type === "f32" ? 4 : (channels ?? 3);
  let shape: Dimensions = declared;
  let data: ColumnData = zeros(type, 0);
  parts.forEach((part, i) => {
    const at = part.byteOffset - example.bytes.byteOffset;
    let image: ReturnType<ImageDecoder>;
    try {
      image = decode(part, { type: type === "u16" ? "u16" : "u8", shape: [rows, columns, stored] }, example.left);
    } catch (cause) {
      throw example.wrong(`feature ${leaf.key} cannot be read: ${(cause as Error).message}`, at, cause);
    }
    const own = [image.shape[0], image.shape[1], channels ?? 3];
    if (i === 0) {
      shape = own;
      example.room(parts.length * sizeOf(own) * ARRAYS[type].BYTES_PER_ELEMENT);
      data = zeros(type, parts.length * sizeOf(own));
    } else if (shown(own) !== shown(shape)) throw variable(example, leaf, shape, own);
    const pixels = type === "f32" ? new Float32Array(image.data.slice().buffer) : image.data;
    (data as Float32Array).set(pixels, i * sizeOf(own));
  });
  return { data, count: parts.length, shape };
}

export function variable(example: Example, { key, feature }: StoredLeaf, first: Dimensions, other: Dimensions): Error {
  const remedy = feature.kind === "image" ? ': read them with images: "bytes"' : "";
  return example.unsupported(`feature ${key} has values of several shapes, ${shown(first)} and ${shown(other)}${remedy}`);
}

export function shown(shape: Dimensions): string {
  return `[${shape.map((length) => length ?? "?").join(", ")}]`;
}
