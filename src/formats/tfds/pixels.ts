/** Images, each stored by itself, as one column of pixels. */
import { DTYPES, zeros } from "../../spec/dtype.ts";
import { sizeOf } from "../../spec/leaf.ts";
import { imageHead } from "../images/image-head.ts";
import type { ImageDecoder } from "../images/images.ts";
import type { Example } from "./example.ts";
import type { Dimensions } from "./features.ts";
import { bytesOf } from "./lists.ts";
import { fits, misfit, stepOf } from "./shapes.ts";
import type { LeafItems, StoredLeaf } from "./stored-leaf.ts";

/** @param known of the shape @throws RldsError CORRUPT · UNSUPPORTED for images of several sizes */
export function pixelsOf(example: Example, leaf: StoredLeaf, key: string, known: Dimensions, decode: ImageDecoder): LeafItems {
  const { feature } = leaf;
  const type = feature.kind === "image" ? feature.type : "u8";
  const channels = feature.shape[2] ?? 3;
  const parts = bytesOf(example, key);
  let shape = known;
  let data = zeros(type, 0);
  parts.forEach((part, i) => {
    const at = part.byteOffset - example.bytes.byteOffset;
    const step = stepOf(leaf, i);
    const guarded = <T>(work: () => T): T => example.guarded(leaf.key, at, step, work);
    const head = guarded(() => imageHead(part));
    const own = [head.height, head.width, channels];
    if (!fits(shape, own)) throw misfit(example, leaf, shape, own, at, step);
    if (i === 0) {
      shape = own;
      example.room(parts.length * sizeOf(own) * DTYPES[type].bytes);
      data = zeros(type, parts.length * sizeOf(own));
    }
    // An f32 is stored as four channels of bytes.
    const stored = guarded(() => decode(part, { type: type === "u16" ? "u16" : "u8", channels: type === "f32" ? 4 : channels }, example.left));
    data.set(type === "f32" ? new Float32Array(stored.slice().buffer) : stored, i * sizeOf(own));
  });
  return { data, count: parts.length, shape };
}
