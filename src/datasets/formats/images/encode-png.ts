/** Images as PNG; a piece of its own, loaded for those who write images. */
import { encode } from "fast-png";

export function encodePng(data: Uint8Array, width: number, height: number, channels: number): Uint8Array {
  return encode({ data, width, height, channels: channels as 1 | 3 | 4, depth: 8 });
}
