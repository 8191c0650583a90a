/** Images of files as pixels. The decoders are loaded on the first call of `imageDecoder`. */
import { imageHead } from "./image-head.ts";

/** What the pixels must be; null where only the image tells. */
export interface ImageForm {
  readonly type: "u8" | "u16";
  /** Height, width, channels. */
  readonly shape: readonly [number | null, number | null, number];
}

export interface DecodedImage {
  readonly data: Uint8Array | Uint16Array;
  readonly shape: readonly [number, number, number];
}

/** @param room bytes that it may take on its way @throws Error for what is damaged, or of another form */
export type ImageDecoder = (bytes: Uint8Array, form: ImageForm, room: number) => DecodedImage;

export async function imageDecoder(): Promise<ImageDecoder> {
  const [{ decodePng }, { decodeJpeg }] = await Promise.all([import("./png.ts"), import("./jpeg.ts")]);
  return (bytes, { type, shape }, room) => {
    const head = imageHead(bytes);
    const { width, height, format, depth } = head;
    const [rows, columns, channels] = shape;
    // Before anything is taken for it.
    if (rows !== null && rows !== height) throw new Error(`the image has ${height} rows instead of ${rows}`);
    if (columns !== null && columns !== width) throw new Error(`the image has ${width} columns instead of ${columns}`);
    if (width * height === 0) throw new Error(`the image is ${width} × ${height}`);
    if ((depth === 16) !== (type === "u16")) throw new Error(`the image has ${depth} bits a channel, and is said to be ${type}`);
    const size = width * height * Math.max(channels, 4) * 2;
    if (size > room) throw new Error(`the image is said to be ${width} × ${height}, which is more than maxBytes leaves`);
    const data = (format === "png" ? decodePng : decodeJpeg)(bytes, head, channels, room);
    return { data, shape: [height, width, channels] };
  };
}
