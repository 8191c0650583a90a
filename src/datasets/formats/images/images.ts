/** Images of files as pixels. The decoders are loaded where there are images. */
import { imageHead } from "./image-head.ts";

/** What the pixels must be. */
export interface ImageSchema {
  readonly type: "u8" | "u16";
  readonly channels: number;
}

/**
 * Gives the pixels row by row, after a look at what the image says of itself: nothing is taken for one that would be too large.
 * @param maxBytes bytes that it may allocate @throws Error for what is damaged, or of another form
 */
export type ImageDecoder = (bytes: Uint8Array, schema: ImageSchema, maxBytes: number) => Uint8Array | Uint16Array;

export async function imageDecoder(): Promise<ImageDecoder> {
  const [{ decodePng }, { decodeJpeg }] = await Promise.all([import("./png.ts"), import("./jpeg.ts")]);
  return (bytes, { type, channels }, maxBytes) => {
    const head = imageHead(bytes);
    const { width, height, format, depth } = head;
    if (width * height === 0) throw new Error(`the image is ${width} × ${height}`);
    if ((depth === 16) !== (type === "u16")) throw new Error(`the image has ${depth} bits a channel, and is said to be ${type}`);
    // Its pixels, and as much again on the way to them.
    if (4 * width * height * Math.max(channels, head.channels) * (depth === 16 ? 2 : 1) > maxBytes)
      throw new Error(`the image is said to be ${width} × ${height}, which is more than maxBytes leaves`);
    return (format === "png" ? decodePng : decodeJpeg)(bytes, head, channels, maxBytes);
  };
}
