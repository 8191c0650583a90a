/** Tests NumPy archives written by NumPy. */
import { describe, expect, it } from "vitest";
import { openNpz } from "../../../../../src/datasets/formats/npz/open-npz.ts";
import type { ReadEpisode } from "../../../../../src/datasets/formats/reader.ts";
import { all, columnsTold } from "../../../../support/columns.ts";
import { dataFolder, fileBytes, json } from "../../rlds/data.ts";

const path = (name: string) => dataFolder(`extra/npz/${name}.npz`);
const expected = json("extra/expected_npz.json");
const sums = (episodes: readonly ReadEpisode[]) => Object.fromEntries(Object.entries(columnsTold(episodes)).map(([name, { crc32 }]) => [name, crc32]));
const lengths = (episodes: readonly ReadEpisode[]) => episodes.map(({ steps }) => steps.length);

describe("steps with lengths", () => {
  it("are read as the recorded columns", async () => {
    const reader = await openNpz(path("recorded"));
    expect(reader).toMatchObject({ format: "npz", name: "recorded", episodes: 3, steps: 40, metadataSpec: {} });
    const episodes = await all(reader);
    expect(lengths(episodes)).toEqual([12, 3, 25]);
    expect(sums(episodes)).toMatchObject(expected.recorded);
    expect((reader.stepSpec as { image: unknown }).image).toEqual({ dtype: "u8", shape: [4, 4, 3] });
  });

  it("may be nested, contain text, and have either byte order and memory order", async () => {
    const reader = await openNpz(path("nested"));
    expect(reader.stepSpec).toMatchObject({
      observation: {
        state: { dtype: "f32", shape: [4] },
        deep: { count: { dtype: "i32", shape: [] } },
        half: { dtype: "f16", shape: [] },
        cube: { dtype: "u16", shape: [2, 3] },
      },
      action: { dtype: "u8", shape: [] },
      reward: { dtype: "f64", shape: [] },
      said: { dtype: "string", shape: [] },
      raw: { dtype: "string", shape: [] },
      big: { dtype: "string", shape: [] },
    });
    const episodes = await all(reader);
    expect(sums(episodes)).toMatchObject(expected.nested);
    // Missing columns are derived from existing ones.
    const [first] = episodes as [ReadEpisode];
    expect([...first.steps].map(({ is_first, is_last, discount }) => [is_first, is_last, discount])).toEqual(
      Array.from({ length: 12 }, (_, i) => [i === 0, i === 11, i < 10 ? 1 : 0]),
    );
  });
});

it("flags without lengths separate the episodes", async () => {
  const episodes = await all(await openNpz(path("flags")));
  expect(lengths(episodes)).toEqual([12, 3, 25]);
  expect(sums(episodes)).toMatchObject({
    observation: expected.recorded.observation,
    is_first: expected.recorded.is_first,
    is_last: expected.recorded.is_last,
  });
});

it("flat columns are read as transitions, like D4RL", async () => {
  const reader = await openNpz(path("flat"), { finalObservation: "none" });
  const episodes = await all(reader);
  expect(sums(episodes)).toMatchObject(expected.flat);
  expect(lengths(episodes)).toEqual([12, 3, 25]);
  const withNext = await all(await openNpz(path("flat")));
  expect(lengths(withNext)).toEqual([13, 4, 26]);
  expect(withNext.map(({ steps }) => steps.at(steps.length - 1).is_terminal)).toEqual([true, false, true]);
});

describe("damaged and unsupported archives", () => {
  it.each([
    ["objects", "objects"],
    ["complex numbers", "complex"],
    ["structures", "fields"],
  ])("%s in one array are reported as unread", async (_, name) => {
    const reader = await openNpz(path(name));
    expect(reader.about).toMatchObject({ unread: ["info"] });
    expect(lengths(await all(reader))).toEqual([12, 3, 25]);
  });

  it("an archive is rejected if it would exceed maxBytes or declares a wrong size", async () => {
    await expect(openNpz(path("recorded"), { maxBytes: 1000 })).rejects.toMatchObject({ code: "CORRUPT", message: expect.stringContaining("maxBytes") });
    // The entry claims to have 4 GB, but the file has only 3 KB.
    const bytes = fileBytes(path("recorded"));
    const view = new DataView(bytes.buffer);
    for (let at = 0; at + 46 < bytes.length; at++) if (view.getUint32(at, true) === 0x02014b50) view.setUint32(at + 24, 900_000_000, true);
    await expect(openNpz(new Blob([bytes]), { maxBytes: 2 ** 40 })).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringMatching(/does not match its \d+ compressed bytes/),
    });
  });

  it("a changed byte is detected by the checksum", async () => {
    const bytes = fileBytes(path("flags"));
    bytes[400] = (bytes[400] as number) ^ 1;
    await expect(openNpz(new Blob([bytes]))).rejects.toMatchObject({ code: "CORRUPT", message: expect.stringContaining("checksum") });
  });

  it("files that are not archives are rejected", async () => {
    await expect(openNpz(new Blob(["PK"]))).rejects.toMatchObject({ code: "CORRUPT", file: "a Blob" });
    await expect(openNpz(new Blob([]))).rejects.toMatchObject({ code: "CORRUPT" });
    await expect(openNpz(dataFolder("extra/npz"))).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });
});
