/** Encodes one step as a tf.train.Example, as TF-Agents does. f32 and i64 values are stored as lists, and all other values as little-endian bytes. */
import { mustBe, ReplayError } from "../../../base/error.ts";
import { kindOf } from "../../../base/typed-arrays.ts";
import { type Dtype, type NumberArray, zeros } from "../../../schema/dtype.ts";
import { isHalf, narrowHalves } from "../../../schema/half.ts";
import { MessageParts } from "../tfds/message-parts.ts";
import { type FeatureLeaf, leafSubject } from "./features.ts";

/** A function that encodes pixels, row by row, as JPEG. */
export type EncodeJpeg = (pixels: Uint8Array, width: number, height: number, channels: number) => Uint8Array;

const BYTES_LIST = 1;
const FLOAT_LIST = 2;
const INT64_LIST = 3;
const VALUE = 1;

const encoder = new TextEncoder();

/** Returns whether TF-Agents treats a leaf as an image. */
export function isImage({ dtype, shape }: Pick<FeatureLeaf, "dtype" | "shape">): boolean {
  return dtype === "u8" && shape.length === 3;
}

/** The possible numbers of channels in a JPEG that Pillow writes for TF-Agents. */
const JPEG_CHANNELS = [1, 3];

/**
 * Checks the images of a spec. @param subject the name of the spec in messages
 * @throws ReplayError SPEC_MISMATCH if TF-Agents cannot compress an image, such as stacked frames
 */
export function checkImages(leaves: readonly FeatureLeaf[], subject: string): void {
  for (const leaf of leaves)
    if (isImage(leaf) && !JPEG_CHANNELS.includes(leaf.shape[2] as number))
      throw new ReplayError(
        "SPEC_MISMATCH",
        `${leafSubject(subject, leaf.keys)} must be an image with 1 or 3 channels if compressImage is set, got [${leaf.shape.join(", ")}]. Omit compressImage`,
      );
}

export function isJpeg(bytes: Uint8Array): boolean {
  return bytes[0] === 0xff && bytes[1] === 0xd8;
}

/** Creates an array of zeros for one leaf of one step. */
export function elementsOf({ dtype, size }: FeatureLeaf): NumberArray {
  return zeros(dtype, size) as unknown as NumberArray;
}

/**
 * Returns the parts of an Example. Features are sorted by name, so the same step produces the same bytes. @param data one array per leaf, which must not change
 * afterwards
 */
export function exampleOf(leaves: readonly FeatureLeaf[], data: readonly NumberArray[], encodeJpeg?: EncodeJpeg): readonly Uint8Array[] {
  const entries = leaves.map((leaf, i) => ({ leaf, values: data[i] as NumberArray })).sort((a, b) => (a.leaf.name < b.leaf.name ? -1 : 1));
  const features = new MessageParts();
  for (const { leaf, values } of entries) {
    const entry = new MessageParts();
    entry.field(1, encoder.encode(leaf.name));
    entry.message(2, featureOf(leaf, values, encodeJpeg));
    features.message(1, entry);
  }
  const example = new MessageParts();
  example.message(1, features);
  return example.parts;
}

function featureOf(leaf: FeatureLeaf, values: NumberArray, encodeJpeg: EncodeJpeg | undefined): MessageParts {
  const { dtype, shape } = leaf;
  const [feature, list] = [new MessageParts(), new MessageParts()];
  if (dtype === "i64") {
    const packed = new MessageParts();
    packed.varints(values as unknown as BigInt64Array);
    list.message(VALUE, packed);
    feature.message(INT64_LIST, list);
  } else {
    const bytes = bytesOf(dtype, values);
    const isCompressed = encodeJpeg !== undefined && isImage(leaf);
    list.field(VALUE, isCompressed ? jpegOf(encodeJpeg(bytes, shape[1] as number, shape[0] as number, shape[2] as number)) : bytes);
    feature.message(dtype === "f32" ? FLOAT_LIST : BYTES_LIST, list);
  }
  return feature;
}

/** Returns a copy of an encoder's result, because encoders reuse their memory. @throws TypeError if the result is not a JPEG */
function jpegOf(made: unknown): Uint8Array {
  const subject = "the result of compressImage";
  const rule = "a JPEG in a Uint8Array";
  if (typeof (made as Promise<unknown> | undefined)?.then === "function")
    throw new TypeError(`${subject} must be ${rule}, got a promise. Prepare the encoder beforehand, and encode synchronously`);
  if (!["Uint8Array", "Uint8ClampedArray"].includes(kindOf(made) as string)) throw mustBe(TypeError, subject, rule, made);
  const bytes = made as Uint8Array;
  if (!isJpeg(bytes)) throw mustBe(TypeError, subject, `${rule}, with 255 and 216 as its first bytes`, made);
  return new Uint8Array(bytes);
}

function bytesOf(dtype: Dtype, values: NumberArray): Uint8Array {
  const stored = isHalf(dtype) ? narrowHalves(dtype, values as unknown as Float32Array) : (values as unknown as Float32Array);
  return new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength);
}
