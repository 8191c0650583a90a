/** Encodes images as PNG, in a separate module that is loaded only to write images. */
import { encode } from "fast-png";

export function encodePng(data: Uint8Array, width: number, height: number, channels: number): Uint8Array {
  return encode({ data, width, height, channels: channels as 1 | 3 | 4, depth: 8 });
}
