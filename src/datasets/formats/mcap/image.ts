/** Reads messages with images, which are JPEG files, PNG files, or rows of pixels. */
import { DTYPES } from "../../../schema/dtype.ts";
import { sizeOf } from "../../../schema/leaf.ts";
import { imageHead } from "../images/image-head.ts";
import type { ImageDecoder } from "../images/images.ts";

type PixelDtype = "u8" | "u16" | "f32";

/** An image as its message stores it. `pixelsOf` decodes it. */
export interface Image {
  readonly dtype: PixelDtype;
  /** The height, the width and the number of channels. */
  readonly shape: readonly [height: number, width: number, channels: number];
  readonly bytes: Uint8Array;
  /** The layout of the rows of pixels. Undefined for a JPEG or PNG file. */
  readonly rows?: { readonly step: number; readonly isBigEndian: boolean; readonly isBgr: boolean };
}

const IMAGES = /^(sensor_msgs\/(msg\/)?(Compressed)?Image|foxglove[./](msg\/)?(CompressedImage|RawImage))$/;
/** The supported image encodings of ROS, with the dtype, the number of channels, and whether the channels are in BGR order. */
const ENCODINGS: { readonly [encoding: string]: readonly [dtype: PixelDtype, channels: number, isBgr?: boolean] } = {
  ...{ rgb8: ["u8", 3], bgr8: ["u8", 3, true], rgba8: ["u8", 4], bgra8: ["u8", 4, true], "8UC3": ["u8", 3], "8UC4": ["u8", 4] },
  ...{ mono8: ["u8", 1], "8UC1": ["u8", 1], mono16: ["u16", 1], "16UC1": ["u16", 1], "32FC1": ["f32", 1] },
};
/** The size in bytes of the header that compressed_depth_image_transport writes before the PNG. */
const DEPTH_HEAD = 12;

/** Returns whether messages with a schema are images. */
export function isImageSchema(name: string | undefined): boolean {
  return name !== undefined && IMAGES.test(name);
}

interface ImageMessage {
  readonly data?: unknown;
  readonly format?: unknown;
  readonly encoding?: unknown;
  readonly height?: unknown;
  readonly width?: unknown;
  readonly step?: unknown;
  readonly is_bigendian?: unknown;
}

/** Returns the image in a message. @throws Error if the message is not an image, or its encoding is not supported */
export function imageOf(message: unknown): Image {
  const { data, format, encoding, height, width, step, is_bigendian } = message as ImageMessage;
  const bytes = typeof data === "string" ? ofBase64(data) : data instanceof Uint8Array ? data.slice() : undefined;
  if (bytes === undefined) throw new Error("the image has no bytes in its field data");
  if (typeof encoding !== "string") {
    const file = typeof format === "string" && format.includes("compressedDepth") ? bytes.subarray(DEPTH_HEAD) : bytes;
    const head = imageHead(file);
    return { dtype: head.depth === 16 ? "u16" : "u8", shape: [head.height, head.width, head.channels === 1 ? 1 : 3], bytes: file };
  }
  const known = Object.hasOwn(ENCODINGS, encoding) ? ENCODINGS[encoding] : undefined;
  if (known === undefined)
    throw new Error(`the image has the encoding ${JSON.stringify(encoding)}, but Reprise reads only ${Object.keys(ENCODINGS).join(", ")}`);
  const [dtype, channels, isBgr = false] = known;
  const shape = [Number(height), Number(width), channels] as const;
  const rowBytes = shape[1] * channels * DTYPES[dtype].bytes;
  if (!(shape[0] > 0 && shape[1] > 0 && Number(step) >= rowBytes && bytes.length >= (shape[0] - 1) * Number(step) + rowBytes))
    throw new Error(`the message declares ${shape[0]} rows of ${shape[1]} pixels, with ${Number(step)} bytes per row, but has ${bytes.length} bytes`);
  return { dtype, shape, bytes, rows: { step: Number(step), isBigEndian: Boolean(is_bigendian), isBgr } };
}

function ofBase64(text: string): Uint8Array {
  const binary = atob(text);
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** Returns the pixels of an image, row by row, with BGR channels converted to RGB. @throws Error if the file is damaged */
export function pixelsOf({ dtype, shape, bytes, rows }: Image, decode: ImageDecoder, maxBytes: number): Uint8Array | Uint16Array | Float32Array {
  const [height, width, channels] = shape;
  if (rows === undefined) return decode(bytes, { type: dtype as "u8" | "u16", channels }, maxBytes);
  const element = DTYPES[dtype].bytes;
  const rowBytes = width * channels * element;
  const pixels = new Uint8Array(height * rowBytes);
  for (let y = 0; y < height; y++) pixels.set(bytes.subarray(y * rows.step, y * rows.step + rowBytes), y * rowBytes);
  if (rows.isBgr)
    for (let at = 0; at < pixels.length; at += channels) {
      const blue = pixels[at] as number;
      pixels[at] = pixels[at + 2] as number;
      pixels[at + 2] = blue;
    }
  // Typed arrays have the byte order of the machine, which is assumed to be little-endian, as in WebAssembly.
  if (rows.isBigEndian && element > 1) for (let at = 0; at < pixels.length; at += element) pixels.subarray(at, at + element).reverse();
  return new DTYPES[dtype].array(pixels.buffer, 0, sizeOf(shape)) as Uint8Array;
}
