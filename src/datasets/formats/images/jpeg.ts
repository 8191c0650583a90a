/** Decodes JPEG with jpeg-js, in a module that is loaded only if a dataset contains images. The output is converted to colors as in libjpeg. */
import decode from "jpeg-js/lib/decoder.js";
import { type Component, colours } from "./chroma.ts";
import type { ImageHead } from "./image-head.ts";

/**
 * Returns the pixels with three channels, or with one channel for a gray image. @throws Error if the image is damaged or cannot have the requested number of
 * channels
 */
export function decodeJpeg(bytes: Uint8Array, head: ImageHead, channels: number, maxBytes: number): Uint8Array {
  if (!(channels === 3 || (channels === 1 && head.channels === 1)))
    throw new Error(`a ${head.channels}-channel JPEG cannot be read as a ${channels}-channel image`);
  const frame = head.channels === 3 ? frameOf(bytes) : undefined;
  const { data, width, height } = decode(frame?.bytes ?? bytes, {
    useTArray: true,
    formatAsRGBA: false,
    tolerantDecoding: false,
    maxResolutionInMP: Math.ceil((head.width * head.height) / 1e6),
    maxMemoryUsageInMB: Math.max(1, Math.floor(maxBytes / 2 ** 20)),
    ...(frame && { colorTransform: false }),
  });
  if (width !== head.width || height !== head.height) throw new Error(`the JPEG is ${width} × ${height} instead of ${head.width} × ${head.height}`);
  if (frame !== undefined) return colours(data, { width, height, components: frame.components, isYcc: frame.isYcc });
  return channels === 3 ? data : Uint8Array.from({ length: width * height }, (_, i) => data[3 * i] as number);
}

interface Frame {
  /** The image. The color transform in its Adobe marker is set to 0, because jpeg-js would otherwise convert the components to colors itself. */
  readonly bytes: Uint8Array;
  readonly components: readonly Component[];
  readonly isYcc: boolean;
}

const ADOBE = [0x41, 0x64, 0x6f, 0x62, 0x65];
const APP14 = 0xee;

/**
 * Returns the sampling of the three components, and whether they are luminance and chrominance according to the rules of libjpeg. @throws Error if the image
 * has no frame before its first scan, or invalid sampling factors
 */
function frameOf(bytes: Uint8Array): Frame {
  let components: readonly (Component & { readonly id: number })[] = [];
  let isJfif = false;
  let transform: number | undefined;
  let plain = bytes;
  for (let at = 2; at + 4 <= bytes.length; ) {
    const marker = bytes[at + 1] as number;
    if (bytes[at] !== 0xff || marker === 0 || marker === 0xff || (marker >= 0xd0 && marker <= 0xd8)) {
      at++;
      continue;
    }
    if (marker === 0xd9 || marker === 0xda) break;
    const length = ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number);
    if (marker === 0xe0 && bytes[at + 4] === 0x4a && bytes[at + 5] === 0x46) isJfif = true;
    if (marker === APP14 && length >= 14 && ADOBE.every((code, i) => bytes[at + 4 + i] === code)) {
      transform = bytes[at + 15];
      if (plain === bytes) plain = bytes.slice();
      plain[at + 15] = 0;
    }
    if (marker >= 0xc0 && marker <= 0xc2)
      components = [0, 1, 2].map((i) => {
        const sampling = bytes[at + 11 + 3 * i] ?? 0;
        return { id: bytes[at + 10 + 3 * i] ?? 0, h: sampling >> 4, v: sampling & 15 };
      });
    at += 2 + length;
  }
  if (components.length === 0) throw new Error("the JPEG has no frame before its first scan");
  if (components.some(({ h, v }) => h < 1 || h > 4 || v < 1 || v > 4)) throw new Error("the JPEG has components with a sampling factor outside 1 … 4");
  const isRgb = isJfif ? false : transform !== undefined ? transform === 0 : String.fromCharCode(...components.map(({ id }) => id)) === "RGB";
  return { bytes: plain, components, isYcc: !isRgb };
}
