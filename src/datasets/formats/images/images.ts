/** Decodes images to pixels. The decoders are loaded when the first image is found. */
import { imageHead } from "./image-head.ts";

/** The required type and channels of the pixels. */
export interface ImageSchema {
  readonly type: "u8" | "u16";
  readonly channels: number;
}

/**
 * Decodes an image to rows of pixels. Its head is checked first, so that no memory is allocated for an oversized image.
 * @param maxBytes the maximum number of bytes to allocate
 * @throws Error if the image is damaged, needs more than maxBytes, or does not have the required type or channels
 */
export type ImageDecoder = (bytes: Uint8Array, schema: ImageSchema, maxBytes: number) => Uint8Array | Uint16Array;

/** Loads the decoders. */
export async function imageDecoder(): Promise<ImageDecoder> {
  const [{ decodePng }, { decodeJpeg }] = await Promise.all([import("./png.ts"), import("./jpeg.ts")]);
  return (bytes, { type, channels }, maxBytes) => {
    const head = imageHead(bytes);
    const { width, height, format, depth } = head;
    if (width * height === 0) throw new Error(`the image has no pixels: it is ${width} × ${height}`);
    if ((depth === 16) !== (type === "u16")) throw new Error(`the image has ${depth} bits per channel, but the feature is ${type}`);
    // Decoding takes up to four times the memory of the pixels, including intermediate data.
    const needed = 4 * width * height * Math.max(channels, head.channels) * (depth === 16 ? 2 : 1);
    if (needed > maxBytes)
      throw new Error(
        `the image needs ${needed} bytes to decode ${width} × ${height} pixels, more than the ${maxBytes} that maxBytes allows. Increase maxBytes`,
      );
    return (format === "png" ? decodePng : decodeJpeg)(bytes, head, channels, maxBytes);
  };
}
