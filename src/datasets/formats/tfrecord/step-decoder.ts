/** Decodes records of TF-Agents to one array per leaf. */
import { type AnyArray, DTYPES } from "../../../schema/dtype.ts";
import { isHalf, widenHalves } from "../../../schema/half.ts";
import type { Place } from "../../model/rlds-error.ts";
import { imageHead } from "../images/image-head.ts";
import { type ImageDecoder, imageDecoder } from "../images/images.ts";
import { Example, type Keys, keysOf } from "../tfds/example.ts";
import { bytesOf, floatsOf, integersOf } from "../tfds/lists.ts";
import { isImage, isJpeg } from "./example-writer.ts";
import type { FeatureLeaf } from "./features.ts";

export class StepDecoder {
  readonly #leaves: readonly FeatureLeaf[];
  readonly #keys: Keys;
  readonly #decodeImage: ImageDecoder | undefined;
  readonly #maxBytes: number;

  /** @param compressImage whether u8 leaves with three dimensions are stored as JPEG */
  static async create(leaves: readonly FeatureLeaf[], compressImage: boolean, maxBytes: number): Promise<StepDecoder> {
    return new StepDecoder(leaves, compressImage ? await imageDecoder() : undefined, maxBytes);
  }

  private constructor(leaves: readonly FeatureLeaf[], decodeImage: ImageDecoder | undefined, maxBytes: number) {
    this.#leaves = leaves;
    this.#keys = keysOf(leaves.map(({ name }) => name));
    this.#decodeImage = decodeImage;
    this.#maxBytes = maxBytes;
  }

  /**
   * Decodes a record to new arrays, one per leaf. Half floats become f32. @param place the place of the record
   * @throws RldsError CORRUPT if the record is damaged · UNSUPPORTED if images are not stored in the form that compressImage declares
   */
  decode(bytes: Uint8Array, place: Place): readonly AnyArray[] {
    const example = new Example(bytes, this.#keys, place, this.#maxBytes);
    return this.#leaves.map((leaf) => this.#values(example, leaf));
  }

  #values(example: Example, leaf: FeatureLeaf): AnyArray {
    const { name, dtype, shape, size } = leaf;
    if (dtype === "f32" || dtype === "i64") {
      const values = dtype === "f32" ? floatsOf(example, name) : integersOf(example, name, "i64");
      if (values.length !== size) throw example.corruptError(`feature ${name} must have ${size} values, as the spec states, got ${values.length}`);
      return values;
    }
    const values = bytesOf(example, name);
    const [part] = values;
    if (part === undefined || values.length > 1) throw example.corruptError(`feature ${name} must have one value, as the spec states, got ${values.length}`);
    const at = part.byteOffset - example.bytes.byteOffset;
    const width = DTYPES[dtype].bytes;
    const decodeImage = this.#decodeImage;
    if (decodeImage !== undefined && isImage(leaf)) {
      const schema = { type: "u8", channels: shape[2] as number } as const;
      const pixels = example.guard(name, at, undefined, () => {
        if (part.length === size && !isJpeg(part)) throw example.unsupported(`feature ${name} contains pixels, not a JPEG. Omit compressImage`);
        const { width, height } = imageHead(part);
        if (height !== shape[0] || width !== shape[1]) throw new Error(`the image must have ${shape[0]} × ${shape[1]} pixels, got ${height} × ${width}`);
        return decodeImage(part, schema, example.remainingBytes);
      });
      example.reserve(size);
      return pixels as AnyArray;
    }
    if (part.length !== size * width) {
      const rule = `feature ${name} must have ${size * width} bytes, as the spec states, got ${part.length}`;
      // A wrong value of compressImage is not damage, so `salvage` cannot help.
      if (isImage(leaf) && isJpeg(part)) throw example.unsupported(`${rule}. Pass compressImage: true to decode the JPEG`);
      throw example.corruptError(rule, at);
    }
    example.reserve(2 * part.length);
    // The bytes are copied with a constructor, because a slice of Node's Buffer would share the memory of the Buffer.
    const { buffer } = new Uint8Array(part);
    if (isHalf(dtype)) return widenHalves(dtype, new Uint16Array(buffer));
    return new DTYPES[dtype].array(buffer) as AnyArray;
  }
}
