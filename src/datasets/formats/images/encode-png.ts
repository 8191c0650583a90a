/** Encodes images as PNG, in a separate module that is loaded only to write images. */
import { encode } from "fast-png";

/** Returns an image with 8 bits per channel as PNG. */
export function encodePng(data: Uint8Array, width: number, height: number, channels: number): Uint8Array {
  return encode({ data, width, height, channels: channels as 1 | 3 | 4, depth: 8 });
}
