// Writes animated pictures as APNG with one palette. In each frame, pixels that did not change since the previous frame are transparent, which compresses well.
import * as zlib from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOURS = 255;
/** The palette index that leaves a pixel unchanged. */
const SAME = 255;

/**
 * Returns the bytes of a PNG that repeats a sequence of frames. @param frames of `{ width, height, data, channels, delayMs }`, all of the same size; alpha is
 * ignored
 */
export function apng(frames) {
  const [{ width, height }] = frames;
  const palette = paletteOf(frames);
  const indexed = frames.map((frame) => indexesOf(frame, palette));
  let sequence = 0;
  const parts = [
    SIGNATURE,
    chunk("IHDR", u32(width, height), [8, 3, 0, 0, 0]),
    chunk("acTL", u32(frames.length, 0)),
    chunk(
      "PLTE",
      [...palette, ...new Array(COLOURS + 1 - palette.length).fill(0)].flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]),
    ),
    chunk("tRNS", new Uint8Array(COLOURS + 1).fill(255, 0, SAME)),
  ];
  for (const [i, pixels] of indexed.entries()) {
    const box = i === 0 ? { x: 0, y: 0, w: width, h: height } : changedBox(indexed[i - 1], pixels, width, height);
    const delay = Math.round(frames[i].delayMs);
    parts.push(chunk("fcTL", u32(sequence++, box.w, box.h, box.x, box.y), [delay >> 8, delay & 255, 1000 >> 8, 1000 & 255, 0, i === 0 ? 0 : 1]));
    const bytes = zlib.deflateSync(rowsOf(i === 0 ? pixels : differing(indexed[i - 1], pixels), width, box), { level: 9 });
    parts.push(i === 0 ? chunk("IDAT", bytes) : chunk("fdAT", u32(sequence++), bytes));
  }
  return Buffer.concat([...parts, chunk("IEND")]);
}

const u32 = (...numbers) => numbers.flatMap((number) => [number >>> 24, (number >> 16) & 255, (number >> 8) & 255, number & 255]);

function chunk(type, ...parts) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), ...parts.map((part) => Buffer.from(part))]);
  return Buffer.concat([Buffer.from(u32(body.length - 4)), body, Buffer.from(u32(checksum(body)))]);
}

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

/** Computes CRC-32, which `node:zlib` supports from Node 22 on. */
function checksum(bytes) {
  if (zlib.crc32 !== undefined) return zlib.crc32(bytes);
  let crc = 0xffffffff;
  for (const byte of bytes) crc = TABLE[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Returns the most frequent colors of all frames, at most `COLOURS`. */
function paletteOf(frames) {
  const counts = new Map();
  for (const frame of frames) for (const colour of coloursOf(frame)) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const all = [...counts].sort((a, b) => b[1] - a[1]);
  return all.slice(0, COLOURS).map(([colour]) => colour);
}

function* coloursOf({ data, channels }) {
  for (let at = 0; at < data.length; at += channels) yield (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];
}

/** Returns the palette index of each pixel: of its color, or of the nearest color. */
function indexesOf(frame, palette) {
  const places = new Map(palette.map((colour, place) => [colour, place]));
  const distance = (a, b) => [16, 8, 0].reduce((sum, shift) => sum + (((a >> shift) & 255) - ((b >> shift) & 255)) ** 2, 0);
  const pixels = new Uint8Array(frame.width * frame.height);
  let at = 0;
  for (const colour of coloursOf(frame)) {
    let place = places.get(colour);
    if (place === undefined) {
      place = palette.reduce((best, other, i) => (distance(colour, other) < distance(colour, palette[best]) ? i : best), 0);
      places.set(colour, place);
    }
    pixels[at++] = place;
  }
  return pixels;
}

/** Returns the smallest box that contains all changed pixels, or a single pixel if none changed. */
function changedBox(before, after, width, height) {
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (before[y * width + x] === after[y * width + x]) continue;
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = y;
    }
  }
  return right < 0 ? { x: 0, y: 0, w: 1, h: 1 } : { x: left, y: top, w: right - left + 1, h: bottom - top + 1 };
}

/** Returns a frame in which each unchanged pixel has the palette index `SAME`. */
function differing(before, after) {
  return after.map((place, i) => (place === before[i] ? SAME : place));
}

/** Returns the lines of a box, each after its filter type: none, because adjacent palette indices are not similar. */
function rowsOf(pixels, width, { x, y, w, h }) {
  const rows = new Uint8Array(h * (w + 1));
  for (let row = 0; row < h; row++) rows.set(pixels.subarray((y + row) * width + x, (y + row) * width + x + w), row * (w + 1) + 1);
  return rows;
}
