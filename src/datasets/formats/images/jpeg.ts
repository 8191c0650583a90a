/** JPEG by jpeg-js: a piece that is loaded where a dataset has images. */
import decode from "jpeg-js/lib/decoder.js";
import type { ImageHead } from "./image-head.ts";

/** The pixels with one channel (of a grey image only) or three. @throws Error */
export function decodeJpeg(bytes: Uint8Array, head: ImageHead, channels: number, maxBytes: number): Uint8Array {
  if (!(channels === 3 || (channels === 1 && head.channels === 1))) throw new Error(`a JPEG of ${head.channels} channels is no image of ${channels}`);
  const { data, width, height } = decode(bytes, {
    useTArray: true,
    formatAsRGBA: false,
    tolerantDecoding: false,
    maxResolutionInMP: Math.ceil((head.width * head.height) / 1e6),
    maxMemoryUsageInMB: Math.max(1, Math.floor(maxBytes / 2 ** 20)),
  });
  if (width !== head.width || height !== head.height) throw new Error(`the JPEG is ${width} × ${height} instead of ${head.width} × ${head.height}`);
  return channels === 3 ? data : Uint8Array.from({ length: width * height }, (_, i) => data[3 * i] as number);
}
