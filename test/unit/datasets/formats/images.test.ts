/** Tests all kinds of PNG and JPEG that a dataset may contain. */
import { deflateSync } from "node:zlib";
import { encode } from "fast-png";
import { unzipSync } from "fflate";
import { expect, test } from "vitest";
import { imageHead } from "../../../../src/datasets/formats/images/image-head.ts";
import { imageDecoder } from "../../../../src/datasets/formats/images/images.ts";
import { crc32 } from "../../../support/crc32.ts";
import { whole } from "../../../support/size.ts";
import { joined } from "../../../support/tfrecord.ts";
import { dataFolder, fileBytes } from "../rlds/data.ts";

const ROOM = 2 ** 24;
const decode = await imageDecoder();
const values = (length: number) => Uint8Array.from({ length }, (_, i) => (i * 41 + 3) & 255);

test.each([
  [1, undefined],
  [2, undefined],
  [3, undefined],
  [4, undefined],
  [3, "Adam7"],
  [1, "Adam7"],
] as const)("PNG with %i channels and interlacing %s is decoded", (channels, interlace) => {
  const data = values(7 * 5 * channels);
  const bytes = encode({ width: 7, height: 5, data, channels, depth: 8 }, { interlace });
  expect(imageHead(bytes)).toEqual({ format: "png", width: 7, height: 5, channels, depth: 8 });
  expect(decode(bytes, { type: "u8", channels }, ROOM)).toEqual(data);
});

test("PNG with 16 bits is decoded as u16 and rejected as u8", () => {
  const data = Uint16Array.from({ length: 6 }, (_, i) => i * 12_345);
  const bytes = encode({ width: 3, height: 2, data, channels: 1, depth: 16 });
  expect(decode(bytes, { type: "u16", channels: 1 }, ROOM)).toEqual(data);
  expect(() => decode(bytes, { type: "u8", channels: 1 }, ROOM)).toThrow(/16 bits per channel, but the feature is u8/);
});

test("as in TensorFlow, grey expands to colour, and alpha is dropped or opaque", () => {
  const grey = encode({ width: 2, height: 1, data: Uint8Array.of(5, 9), channels: 1, depth: 8 });
  expect(Array.from(decode(grey, { type: "u8", channels: 3 }, ROOM))).toEqual([5, 5, 5, 9, 9, 9]);
  expect(Array.from(decode(grey, { type: "u8", channels: 4 }, ROOM))).toEqual([5, 5, 5, 255, 9, 9, 9, 255]);
  const alpha = encode({ width: 1, height: 1, data: Uint8Array.of(1, 2, 3, 4), channels: 4, depth: 8 });
  expect(Array.from(decode(alpha, { type: "u8", channels: 3 }, ROOM))).toEqual([1, 2, 3]);
  expect(() => decode(alpha, { type: "u8", channels: 1 }, ROOM)).toThrow(/cannot be read as a 1-channel image/);
});

function chunk(type: string, bytes: Uint8Array): Uint8Array {
  const made = new Uint8Array(bytes.length + 12);
  const view = new DataView(made.buffer);
  view.setUint32(0, bytes.length);
  made.set(new TextEncoder().encode(type), 4);
  made.set(bytes, 8);
  view.setUint32(bytes.length + 8, crc32(made.subarray(4, bytes.length + 8)));
  return made;
}

const SIGNATURE = Uint8Array.of(137, 80, 78, 71, 13, 10, 26, 10);
const END = chunk("IEND", new Uint8Array(0));

test("a palette of 4 bits is decoded, and unrelated chunks are not decompressed", () => {
  const head = chunk("IHDR", Uint8Array.of(0, 0, 0, 3, 0, 0, 0, 2, 4, 3, 0, 0, 0));
  const palette = chunk("PLTE", Uint8Array.of(255, 0, 0, 0, 255, 0, 0, 0, 255));
  // No decoder may decompress this iCCP chunk, because it would take 64 MB.
  const profile = chunk("iCCP", joined([new TextEncoder().encode("a\0\0"), deflateSync(new Uint8Array(2 ** 26))]));
  const pixels = chunk("IDAT", deflateSync(Uint8Array.of(0, 0x01, 0x20, 0, 0x21, 0x00)));
  const before = process.memoryUsage().arrayBuffers;
  const found = decode(joined([SIGNATURE, head, profile, palette, pixels, END]), { type: "u8", channels: 3 }, ROOM);
  expect(Array.from(found)).toEqual([255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 255, 0, 255, 0, 255, 0, 0]);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 24);
});

test.runIf(whole)("pixel data larger than the size in the header is rejected early", () => {
  const head = chunk("IHDR", Uint8Array.of(0, 0, 0, 4, 0, 0, 0, 4, 8, 2, 0, 0, 0));
  const bomb = chunk("IDAT", deflateSync(new Uint8Array(2 ** 26)));
  expect(() => decode(joined([SIGNATURE, head, bomb, END]), { type: "u8", channels: 3 }, ROOM)).toThrow(/decompresses to more than/);
});

test.each([
  ["nothing", new Uint8Array(0), /neither PNG nor JPEG/],
  ["a GIF", new TextEncoder().encode("GIF89a"), /neither PNG nor JPEG/],
  ["a PNG without a head", joined([SIGNATURE, END, END, END]), /does not begin with an IHDR header/],
  ["a JPEG without a frame", Uint8Array.of(0xff, 0xd8, 0xff, 0xd9), /no frame/],
  ["an image without pixels", joined([SIGNATURE, chunk("IHDR", Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 4, 8, 2, 0, 0, 0)), END]), /0 × 4/],
])("%s is rejected", (_, bytes, message) => {
  expect(() => decode(bytes, { type: "u8", channels: 3 }, ROOM)).toThrow(message);
});

test("JPEG pixels differ from libjpeg by at most 3 levels, and by 0.4 on average", () => {
  const files = unzipSync(fileBytes(dataFolder("wild/jpeg.npz")));
  const names = Object.keys(files).filter((name) => name.endsWith(".jpg.npy"));
  expect(names).toHaveLength(102);
  const elements = (name: string) => {
    const bytes = files[name] as Uint8Array;
    return bytes.subarray(10 + (bytes[8] as number) + 256 * (bytes[9] as number));
  };
  for (const name of names) {
    const expected = elements(name.replace(".jpg.", ".rgb."));
    const pixels = decode(elements(name), { type: "u8", channels: 3 }, ROOM);
    expect(pixels.length).toBe(expected.length);
    const differences = Array.from(pixels, (pixel, i) => Math.abs(pixel - (expected[i] as number)));
    expect(Math.max(...differences), name).toBeLessThanOrEqual(3);
    expect(differences.reduce((sum, difference) => sum + difference, 0) / differences.length, name).toBeLessThan(0.4);
  }
});
