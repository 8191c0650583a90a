/** Decodes PNG with fast-png, in a module that is loaded only if a dataset contains images. */
import { convertIndexedToRgb, decode } from "fast-png";
import { concat, dataView, totalLength } from "../../../base/bytes.ts";
import type { ImageHead } from "./image-head.ts";
import { inflate } from "./inflate.ts";

const IDAT = 0x49444154;
/** The types of the chunks that are decoded: IHDR, PLTE, IDAT, IEND and tRNS. Other chunks do not affect the pixels, and may inflate to a large size. */
const COPIED_CHUNKS = new Set([0x49484452, 0x504c5445, IDAT, 0x49454e44, 0x74524e53]);
/** The maximum compression ratio of deflate. */
const MAX_RATIO = 1032;

/** Returns the pixels with `channels` channels of 8 or 16 bits. @throws Error if the image is damaged or cannot have the requested number of channels */
export function decodePng(bytes: Uint8Array, head: ImageHead, channels: number, maxBytes: number): Uint8Array | Uint16Array {
  const { pixels, compressed } = chunksOf(bytes);
  // The limit is twice the size, because interlaced images have more and shorter lines. Data that may need more than maxBytes is first inflated without being
  // kept, to check the limit.
  const max = 2 * head.height * (2 + Math.ceil((head.width * head.channels * head.depth) / 8));
  if (2 * compressed * MAX_RATIO > maxBytes) inflateAll(bytes, max);
  const image = decode(pixels, { checkCrc: true });
  let { data } = image;
  let stored = image.channels;
  if (image.palette !== undefined) {
    stored = image.palette[0]?.length ?? 3;
    if (data.length < (head.height * head.width * head.depth) / 8) throw new Error("the PNG has too few pixels");
    data = convertIndexedToRgb(image);
  } else if (image.depth < 8) throw new Error(`Reprise cannot read a PNG with ${image.depth} bits per channel`);
  const pixelCount = head.width * head.height;
  if (data.length !== pixelCount * stored) throw new Error(`the PNG has ${data.length} values instead of ${pixelCount * stored}`);
  return withChannels(data instanceof Uint8ClampedArray ? new Uint8Array(data.buffer) : data, stored, channels, image.depth === 16 ? 65535 : 255);
}

/** Returns the image without the chunks that do not affect the pixels, and the number of bytes of compressed pixels. */
function chunksOf(bytes: Uint8Array): { pixels: Uint8Array; compressed: number } {
  const parts: Uint8Array[] = [bytes.subarray(0, 8)];
  let compressed = 0;
  for (const { type, from, to } of chunks(bytes)) {
    if (type === IDAT) compressed += to - from - 12;
    if (COPIED_CHUNKS.has(type)) parts.push(bytes.subarray(from, to));
  }
  return { pixels: totalLength(parts) === bytes.length ? bytes : concat(parts), compressed };
}

function* chunks(bytes: Uint8Array): Generator<{ type: number; from: number; to: number }> {
  const view = dataView(bytes);
  for (let from = 8; from + 12 <= bytes.length; ) {
    const to = from + 12 + view.getUint32(from);
    if (to > bytes.length) throw new Error("the PNG is truncated");
    yield { type: view.getUint32(from + 4), from, to };
    from = to;
  }
}

function inflateAll(bytes: Uint8Array, max: number): void {
  const parts = [...chunks(bytes)].filter(({ type }) => type === IDAT).map(({ from, to }) => bytes.subarray(from + 8, to - 4));
  inflate(concat(parts), max);
}

/** Converts gray to color, and adds or removes alpha, as TensorFlow does. @throws Error if color would become gray */
function withChannels(data: Uint8Array | Uint16Array, from: number, to: number, opaque: number): Uint8Array | Uint16Array {
  if (from === to) return data;
  const [isGrey, wantsGrey] = [from <= 2, to <= 2];
  if (wantsGrey && !isGrey) throw new Error(`a ${from}-channel PNG cannot be read as a ${to}-channel image`);
  const count = data.length / from;
  const output = data instanceof Uint8Array ? new Uint8Array(count * to) : new Uint16Array(count * to);
  const alpha = from === 2 || from === 4 ? from - 1 : -1;
  const hasAlpha = to === 2 || to === 4;
  for (let i = 0; i < count; i++) {
    const colours = hasAlpha ? to - 1 : to;
    for (let c = 0; c < colours; c++) output[i * to + c] = data[i * from + (isGrey ? 0 : c)] as number;
    if (hasAlpha) output[i * to + to - 1] = alpha < 0 ? opaque : (data[i * from + alpha] as number);
  }
  return output;
}
