/** Tests JPEGs in TF-Agents files: the requirements on the encoding function, and the shapes of images. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { f32, type Spec, u8 } from "../../../../../src/index.ts";
import type { Column } from "../../../../../src/schema/column.ts";
import { loadTfrecordDataset, TFRecordObserver } from "../../../../../src/tf-agents/index.ts";
import { all } from "../../../../support/columns.ts";
import { errorFrom } from "../../../../support/later.ts";
import { recordsIn } from "../../../../support/tfrecord.ts";
import { dataFolder } from "../../rlds/data.ts";

const FILE = new Uint8Array(readFileSync(join(dataFolder("tfrecord"), "image.tfrecord")));
const JPEG = FILE.slice(
  FILE.findIndex((byte, i) => byte === 0xff && FILE[i + 1] === 0xd8),
  FILE.length - 4,
);

async function observed(spec: Spec, compressImage: (...args: never[]) => unknown, values: readonly unknown[]): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  const observer = new TFRecordObserver("x", spec, { pyMode: true, compressImage: compressImage as never, to: files });
  try {
    for (const value of values) observer(value);
  } finally {
    await observer.close();
  }
  return files;
}

const IMAGE = new Uint8Array(8 * 16 * 3);

describe("compressImage", () => {
  it("can return the same memory at each call", async () => {
    const memory = new Uint8Array(20_000);
    let calls = 0;
    const files = await observed(u8(8, 16, 3), () => {
      memory.fill(0).set(JPEG);
      memory[memory.length - 1] = ++calls;
      return memory;
    }, [IMAGE, IMAGE, IMAGE]);
    expect(recordsIn(files.get("x") as Uint8Array).map((record) => record.at(-1))).toEqual([1, 2, 3]);
  });

  it("can return a Buffer", async () => {
    const files = await observed(u8(8, 16, 3), () => Buffer.from(JPEG), [IMAGE]);
    const [image] = (await all(await loadTfrecordDataset(["x"], { from: files, compressImage: true, addBatchDim: false }))) as [Column];
    expect(image.shape).toEqual([8, 16, 3]);
  });

  it.each([
    ["nothing", undefined, /^the result of compressImage is required/],
    ["a promise", Promise.resolve(JPEG), /^the result of compressImage must .*got a promise/],
    ["an ArrayBuffer", JPEG.buffer, /^the result of compressImage must .*JPEG.*got /],
    ["a text", "jpeg", /must be a JPEG in a Uint8Array, got "jpeg"$/],
    ["words", new Uint16Array(4), /must be a JPEG in a Uint8Array, got Uint16Array\(4\)$/],
    ["no bytes", new Uint8Array(), /must .*255 and 216.*got Uint8Array\(0\)$/],
    ["pixels", new Uint8Array(100), /with 255 and 216 as its first bytes, got Uint8Array\(100\)$/],
  ])("cannot return %s: the observer throws and does not write the frame", async (_name, result, message) => {
    const files = new Map<string, Uint8Array>();
    let made: unknown = result;
    const observer = new TFRecordObserver("x", { a: u8(8, 16, 3), b: f32() }, { pyMode: true, compressImage: (() => made) as never, to: files });
    expect(() => observer({ a: IMAGE, b: 1 })).toThrow(expect.objectContaining({ name: "TypeError", message: expect.stringMatching(message) }));
    made = JPEG;
    observer({ a: IMAGE, b: 2 });
    await observer.close();
    expect(recordsIn(files.get("x") as Uint8Array)).toHaveLength(1);
  });

  it.each([
    [2, /OSError|LA/],
    [4, /RGBA/],
    [84, /TypeError/],
  ])("rejects frames of %i channels, as the JPEG encoder of TF-Agents does", async (channels) => {
    const spec = { a: u8(8, 16, channels) };
    const create = async () => new TFRecordObserver("x", spec, { compressImage: () => JPEG, to: new Map() });
    expect(await errorFrom(create())).toMatchObject({
      code: "SPEC_MISMATCH",
      message: expect.stringMatching(new RegExp(`^tensorDataSpec of a must .*got \\[8, 16, ${channels}\\]\\. Omit compressImage$`)),
    });
    expect(() => new TFRecordObserver("x", spec, { to: new Map() })).not.toThrow();
  });

  it.each([1, 3])("accepts frames with %i channel(s)", async (channels) => {
    expect(await observed(u8(8, 16, channels), () => JPEG, [new Uint8Array(8 * 16 * channels)])).toHaveProperty("size", 2);
  });
});

describe("loadTfrecordDataset", () => {
  it("suggests the right value of compressImage", async () => {
    const jpegs = await observed(u8(8, 16, 3), () => JPEG, [IMAGE]);
    const pixels = new Map<string, Uint8Array>();
    const observer = new TFRecordObserver("x", u8(8, 16, 3), { pyMode: true, to: pixels });
    observer(IMAGE);
    await observer.close();
    const refusal = async (from: Map<string, Uint8Array>, compressImage: boolean) => errorFrom(all(await loadTfrecordDataset(["x"], { from, compressImage })));
    expect(await refusal(jpegs, false)).toMatchObject({ code: "UNSUPPORTED", message: expect.stringContaining("Pass compressImage: true to decode the JPEG") });
    expect(await refusal(pixels, true)).toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("pixels, not a JPEG. Omit compressImage"),
    });
  });

  it("rejects an image whose width and height are swapped", async () => {
    const files = await observed(u8(8, 16, 3), () => JPEG, [IMAGE]);
    const dataset = await loadTfrecordDataset(["x"], { from: files, compressImage: true, spec: u8(16, 8, 3) });
    expect(await errorFrom(all(dataset))).toMatchObject({
      code: "CORRUPT",
      message: expect.stringContaining("must have 16 × 8 pixels, got 8 × 16"),
    });
  });
});

describe("decoder", () => {
  it("can be asynchronous, with every option", async () => {
    const spec = { a: f32(2) };
    const files = new Map<string, Uint8Array>();
    const observer = new TFRecordObserver("x", spec, { pyMode: true, to: files });
    for (const i of [1, 2, 3]) observer({ a: [i, -i] });
    await observer.close();
    const column = (length: number) => ({ data: new Float32Array([length]), shape: [1] });
    const decoder = async ({ length }: Uint8Array) => ({ a: column(length) });
    const one = await all(await loadTfrecordDataset(["x"], { from: files, decoder }));
    expect(one).toHaveLength(3);
    expect((one[0] as { a: Column }).a.shape).toEqual([1, 1]);
    const [pair, ...rest] = await all(await loadTfrecordDataset(["x"], { from: files, decoder, asExperience: true }));
    expect((pair as { a: Column }).a.shape).toEqual([2, 1]);
    expect(rest).toEqual([]);
    const failing = await loadTfrecordDataset(["x"], { from: files, decoder: () => Promise.reject(new Error("no decoder")) });
    expect(await errorFrom(all(failing))).toMatchObject({ message: "no decoder" });
  });

  it("the error for an invalid result names the required form", async () => {
    const files = new Map<string, Uint8Array>();
    const observer = new TFRecordObserver("x", f32(), { pyMode: true, to: files });
    observer(1);
    await observer.close();
    const dataset = await loadTfrecordDataset(["x"], { from: files, decoder: () => ({ a: 5 }) });
    expect(((await errorFrom(all(dataset))) as Error).message).toMatch(/in the result of decoder must be a column .*got 5.*addBatchDim: false/);
  });
});
