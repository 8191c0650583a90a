/** Reads the head of an image before it is decoded. */
import { dataView } from "../../../base/bytes.ts";

/** The properties that the head of an image declares. */
export interface ImageHead {
  readonly format: "png" | "jpeg";
  readonly width: number;
  readonly height: number;
  /** The number of stored channels. An image with a palette has one. */
  readonly channels: number;
  /** The number of bits per channel. */
  readonly depth: number;
}

/** Reads the head of an image. @throws Error if the bytes are neither PNG nor JPEG, or have no valid head */
export function imageHead(bytes: Uint8Array): ImageHead {
  if (bytes[0] === 0x89 && bytes[1] === 0x50 && bytes[2] === 0x4e && bytes[3] === 0x47) return pngHead(bytes);
  if (bytes[0] === 0xff && bytes[1] === 0xd8) return jpegHead(bytes);
  throw new Error("the image is neither PNG nor JPEG");
}

const PNG_CHANNELS: { readonly [colour: number]: number } = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

function pngHead(bytes: Uint8Array): ImageHead {
  const view = dataView(bytes);
  if (bytes.length < 33 || view.getUint32(12) !== 0x49484452) throw new Error("the PNG does not begin with an IHDR header");
  const channels = PNG_CHANNELS[bytes[25] as number];
  if (channels === undefined) throw new Error(`the PNG has the invalid color type ${bytes[25]}`);
  return { format: "png", width: view.getUint32(16), height: view.getUint32(20), channels, depth: bytes[24] as number };
}

/** The maximum number of scans in a progressive image. Each scan takes time for the whole image, even if it has only a few bytes. */
const MAX_SCANS = 100;
/** The width and height of a block, in pixels. */
const BLOCK = 8;
/** The maximum number of blocks per byte of the file, because a block takes at least one bit. */
const MAX_BLOCKS = 8;
/** The maximum number of blocks in all scans together, per byte of the file. Real images rarely have many scans with few bits. */
const MAX_VISITS = 16 * MAX_BLOCKS;

function jpegHead(bytes: Uint8Array): ImageHead {
  let head: ImageHead | undefined;
  let scans = 0;
  for (let at = 2; at + 4 <= bytes.length; ) {
    const marker = bytes[at + 1] as number;
    // A byte that does not begin a marker with a length is skipped. It may be inside a scan or between markers.
    if (bytes[at] !== 0xff || marker === 0 || marker === 0xff || (marker >= 0xd0 && marker <= 0xd8)) {
      at++;
      continue;
    }
    if (marker === 0xd9) break;
    const length = ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) {
      if (at + 10 > bytes.length) break;
      if (head !== undefined) throw new Error("the JPEG has more than one frame");
      const u16 = (i: number) => ((bytes[at + i] as number) << 8) | (bytes[at + i + 1] as number);
      head = { format: "jpeg", height: u16(5), width: u16(7), channels: bytes[at + 9] as number, depth: bytes[at + 4] as number };
    }
    if (marker === 0xda && ++scans > MAX_SCANS) throw new Error(`the JPEG has more than ${MAX_SCANS} scans`);
    at += 2 + length;
  }
  if (head === undefined) throw new Error("the JPEG has no frame");
  const blocks = Math.ceil(head.width / BLOCK) * Math.ceil(head.height / BLOCK);
  if (blocks > MAX_BLOCKS * bytes.length || blocks * scans > MAX_VISITS * bytes.length)
    throw new Error(`the JPEG has only ${bytes.length} bytes for ${head.width} × ${head.height} pixels in ${scans} scans`);
  return head;
}
