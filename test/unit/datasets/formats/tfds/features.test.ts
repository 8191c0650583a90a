/** Tests every kind of feature, written and read by the real tensorflow_datasets (test/data/extra/write_tfds_extra.py). */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { leavesOf } from "../../../../../src/datasets/model/leaves.ts";
import { openTfds, RldsError, type StepColumns } from "../../../../../src/datasets/rlds/index.ts";
import { type FoundColumn, foundIn } from "../../../../support/rlds-columns.ts";

const DATA = fileURLToPath(new URL("../../../../data/extra/tfds/", import.meta.url));
const EXPECTED = JSON.parse(readFileSync(`${DATA}expected.json`, "utf8"));

interface Expected extends FoundColumn {
  readonly pixels?: number[];
}

/** Returns a column of the first episode. */
async function column(name: string, path: string, options = {}): Promise<unknown> {
  const reader = await openTfds(DATA + name, options);
  for await (const { steps } of reader) return columnIn(steps, path);
  throw new Error("no episode");
}

function columnIn(steps: StepColumns, path: string): unknown {
  return steps.data[leavesOf(steps.spec).findIndex((leaf) => leaf.path === path)];
}

describe.each([
  ["dtypes", "train"],
  ["dtypes", "test"],
  ["images", "train"],
  ["tiny", "train"],
])("dataset %s, split %s", (name, split) => {
  const { columns, metadata, ...whole } = EXPECTED[name][split];
  test("contains the steps that tensorflow_datasets reads", async () => {
    const found = await foundIn(await openTfds(DATA + name, { split }));
    const { columns: own, ...rest } = found;
    expect(rest).toEqual(whole);
    expect(Object.keys(own).sort()).toEqual(Object.keys(columns).sort());
    for (const [path, { pixels, sum, first, ...column }] of Object.entries(columns as Record<string, Expected>)) {
      const { sum: ownSum, first: ownFirst, ...ownColumn } = own[path] as FoundColumn;
      expect({ path, dtype: ownColumn.dtype, shape: ownColumn.shape }).toEqual({ path, dtype: column.dtype, shape: column.shape });
      // Two JPEG decoders may differ in the last bit.
      if (pixels !== undefined) continue;
      expect({ path, ...ownColumn }).toEqual({ path, ...column });
      if (sum === undefined) continue;
      expect(ownFirst).toEqual(first);
      expect(Math.abs((ownSum as number) - sum)).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(sum)));
    }
  });

  test("contains the metadata that tensorflow_datasets reads", async () => {
    const episodes: unknown[] = [];
    for await (const { steps: _, final_step: __, ...metadata } of await openTfds(DATA + name, { split })) episodes.push(plain(metadata));
    for (const [i, episode] of episodes.entries()) expect(episode).toEqual(metadata[i]);
    expect(episodes).toHaveLength(metadata.length);
  });
});

test.each(["observation/jpeg", "observation/grey_jpeg"])(
  "%s equals the pixels that TensorFlow decodes, within the tolerance of JPEG decoders",
  async (path) => {
    const { pixels } = EXPECTED.images.train.columns[path] as { pixels: number[] };
    const data = ((await column("images", path)) as Uint8Array).subarray(0, pixels.length);
    const differences = Array.from(data, (value, i) => Math.abs(value - (pixels[i] as number)));
    expect(Math.max(...differences)).toBeLessThanOrEqual(8);
    expect(differences.reduce((sum, difference) => sum + difference, 0) / differences.length).toBeLessThan(2);
  },
);

test('images: "bytes" returns encoded images', async () => {
  const reader = await openTfds(`${DATA}images`, { images: "bytes" });
  expect(reader.stepSpec).toMatchObject({ observation: { png: { dtype: "bytes", shape: [] } } });
  for await (const { steps } of reader) {
    const { png, jpeg } = steps.at(0).observation as { png: Uint8Array; jpeg: Uint8Array };
    expect(Array.from(png.subarray(0, 4))).toEqual([0x89, 0x50, 0x4e, 0x47]);
    expect(Array.from(jpeg.subarray(0, 2))).toEqual([0xff, 0xd8]);
  }
});

test("byte leaves are copies, even from Buffers", async () => {
  const folder = `${DATA}images/1.0.0/`;
  const files = new Map(readdirSync(folder).map((file) => [file, readFileSync(folder + file)]));
  for await (const { steps } of await openTfds(files, { images: "bytes" })) {
    const { png } = steps.at(0).observation as { png: Uint8Array };
    for (const bytes of files.values()) bytes.fill(0);
    expect(Array.from(png.subarray(0, 4))).toEqual([0x89, 0x50, 0x4e, 0x47]);
    expect(png.byteLength).toBe(png.buffer.byteLength);
    break;
  }
});

test('text: "bytes" returns text as bytes', async () => {
  const reader = await openTfds(`${DATA}dtypes`, { text: "bytes" });
  expect(reader.metadataSpec).toMatchObject({ info: { who: { dtype: "bytes", shape: [] } }, names: { dtype: "bytes", shape: [-1] } });
  for await (const { info } of reader) expect((info as { who: Uint8Array }).who).toEqual(new TextEncoder().encode("Åsa"));
});

test("sequences of fixed length within steps are part of the shape", async () => {
  const reader = await openTfds(`${DATA}fixed`);
  expect(reader.stepSpec).toMatchObject({
    fixed: { dtype: "f32", shape: [3] },
    pairs: { a: { dtype: "i64", shape: [2] }, b: { dtype: "string", shape: [2] } },
    deep: { dtype: "i16", shape: [3, 2] },
    film: { dtype: "u8", shape: [2, 4, 4, 3] },
  });
  let e = 0;
  for await (const { steps } of reader) {
    const all = [...steps] as unknown as { fixed: Float32Array; pairs: { a: BigInt64Array; b: string[] }; deep: Int16Array; film: Uint8Array }[];
    expect(all).toHaveLength(3);
    for (const [t, { fixed, pairs, deep, film }] of all.entries()) {
      expect(Array.from(fixed)).toEqual([1.5 * t, e, 3]);
      expect(Array.from(pairs.a, Number)).toEqual([t, 0 - e]);
      expect(pairs.b).toEqual(["x", "ÿ".repeat(t)]);
      expect(Array.from(deep)).toEqual([t, e, 2, 3, 0 - t, 0 - e]);
      // The film contains gradient(4, 4, 3, t), then gradient(4, 4, 3, t + 1).
      expect(Array.from(film.subarray(0, 6))).toEqual([0, 1, 2, 3, 4, 5].map((i) => (Math.floor(i / 3) * ((i % 3) + 3) + 11 * t) % 200));
      expect(film[48]).toBe((11 * (t + 1)) % 200);
    }
    e++;
  }
  expect(e).toBe(2);
});

test("a reader rejects sequences of varying length within steps, and names the feature", async () => {
  const failure = await openTfds(`${DATA}ragged`).catch((error) => error);
  expect(failure).toBeInstanceOf(RldsError);
  expect(failure).toMatchObject({ code: "UNSUPPORTED", episode: 0 });
  expect(failure.message).toMatch(/feature steps\/open has values of different shapes/);
});

test('a reader rejects images of several sizes by name, but reads them with images: "bytes"', async () => {
  const reader = await openTfds(`${DATA}sizes`);
  expect(reader.stepSpec).toMatchObject({ image: { dtype: "u8", shape: [4, 4, 3] } });
  const failure = await foundIn(reader).catch((error) => error);
  expect(failure).toMatchObject({ name: "RldsError", code: "UNSUPPORTED", episode: 1, file: "1.0.0/sizes-train.tfrecord-00000-of-00001" });
  expect(failure.message).toMatch(/steps\/image has values of different shapes, such as \[4, 4, 3\] and \[5, 4, 3\]\. Read them with images: "bytes"/);
  expect((await foundIn(await openTfds(`${DATA}sizes`, { images: "bytes" }))).episodes).toBe(2);
});

/** Converts to the format of expected.json: numbers and lists. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (ArrayBuffer.isView(value) || Array.isArray(value)) return Array.from(value as Iterable<unknown>, plain);
  if (typeof value === "object" && value !== null) return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
  return value;
}
