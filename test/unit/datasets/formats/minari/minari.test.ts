/** Compares Minari datasets written by the real minari with the results of minari. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openMinari } from "../../../../../src/datasets/formats/minari/open-minari.ts";
import { crc32 } from "../../../../../src/datasets/formats/npz/zip.ts";
import type { ReadEpisode } from "../../../../../src/datasets/formats/reader.ts";
import { RldsError, type SourceFolder, sourceOf } from "../../../../../src/datasets/rlds/index.ts";
import { all, allOf, bytesOf, columnsTold } from "../../../../support/columns.ts";
import { dataFolder, fileBytes, json } from "../../rlds/data.ts";

const cartpole = dataFolder("minari/cartpole/scripted-v0");
const main = join(cartpole, "data/main_data.hdf5");

describe("a CartPole dataset", () => {
  const { episodes } = json("expected_hdf5.json").minari;

  it("has the episodes, columns and flags that minari reads", async () => {
    const reader = await openMinari(cartpole);
    expect(reader).toMatchObject({ format: "minari", name: "cartpole/scripted-v0", episodes: 12, steps: 616 });
    expect(reader.stepSpec).toEqual({
      observation: { dtype: "f32", shape: [4] },
      action: { dtype: "i64", shape: [] },
      reward: { dtype: "f64", shape: [] },
      discount: { dtype: "f32", shape: [] },
      is_first: { dtype: "bool", shape: [] },
      is_last: { dtype: "bool", shape: [] },
      is_terminal: { dtype: "bool", shape: [] },
    });
    const read = await all(reader);
    expect(read.length).toBe(12);
    for (const [i, episode] of read.entries()) {
      const { length, observations, actions, rewards, terminated } = episodes[i];
      expect(episode.steps.length).toBe(length + 1);
      expect(columnsTold([episode]).observation).toEqual({ dtype: "f32", shape: [4], rows: length + 1, crc32: observations.crc32 });
      expect(columnsTold([episode], () => length).action?.crc32).toBe(actions.crc32);
      const steps = [...episode.steps];
      expect(steps.reduce((sum, { reward }) => sum + (reward as number), 0)).toBe(rewards.sum);
      expect(steps.map(({ is_first }) => is_first)).toEqual(steps.map((_, k) => k === 0));
      expect(steps.map(({ is_last }) => is_last)).toEqual(steps.map((_, k) => k === length));
      expect(steps.map(({ is_terminal }) => is_terminal)).toEqual(steps.map((_, k) => k === length && terminated));
      expect(steps.map(({ discount }) => discount)).toEqual(steps.map((_, k) => (k === length || (k === length - 1 && terminated) ? 0 : 1)));
      expect(steps.at(-1)).toMatchObject({ action: 0n, reward: 0 });
      expect(episode).toMatchObject({ id: BigInt(i), seed: BigInt(i), total_steps: BigInt(length), rewards_sum: rewards.sum });
    }
    expect(Object.keys(reader.metadataSpec)).toContain("rewards_mean");
    expect(reader.about).toMatchObject({ algorithm_name: "scripted", minari_version: "0.5.4" });
    await reader.close();
  });

  it("can be read again, even twice in parallel", async () => {
    const reader = await openMinari(cartpole);
    const first = columnsTold(await all(reader));
    const [a, b] = await Promise.all([all(reader), all(reader)]);
    expect(columnsTold(a)).toEqual(first);
    expect(columnsTold(b)).toEqual(first);
    await reader.close();
  });

  it("is the same from a folder above, a file, a Map, a Blob and a URL", async () => {
    const wanted = columnsTold(await allOf(openMinari(cartpole)));
    const bytes = fileBytes(main);
    const sources = [
      join(cartpole, ".."),
      join(cartpole, "data"),
      main,
      new URL(`file://${main}`),
      new Map([["data/main_data.hdf5", new Uint8Array(bytes)]]),
      new Map([["x/y/data/main_data.hdf5", new Blob([bytes])]]),
      new Blob([bytes]),
    ];
    for (const source of sources) {
      const reader = await openMinari(source);
      expect(columnsTold(await all(reader))).toEqual(wanted);
      await reader.close();
    }
  });

  it("stops when the consumer breaks or the signal aborts", async () => {
    const abort = new AbortController();
    const reader = await openMinari(cartpole, { signal: abort.signal });
    for await (const episode of reader) {
      expect(episode.steps.length).toBe(42);
      break;
    }
    const seen: number[] = [];
    const going = (async () => {
      for await (const { steps } of reader) {
        seen.push(steps.length);
        if (seen.length === 3) abort.abort(new Error("enough"));
      }
    })();
    await expect(going).rejects.toThrow("enough");
    expect(seen).toEqual([42, 15, 61]);
    await reader.close();
  });

  it("rejects episodes and files larger than maxBytes", async () => {
    const reader = await openMinari(main, { maxBytes: 1900 });
    await expect(all(reader)).rejects.toMatchObject({ code: "CORRUPT", file: "main_data.hdf5", episode: 2 });
    await reader.close();
    await expect(openMinari(new Blob([fileBytes(main)]), { maxBytes: 200_000 })).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });
});

describe("nested spaces", () => {
  const expected = json("extra/expected_minari.json")["walk/nested-v0"];
  const folder = dataFolder("extra/minari/walk/nested-v0");

  it("become nested observations, actions and infos", async () => {
    const reader = await openMinari(folder, { infos: true });
    expect(reader.stepSpec).toMatchObject({
      observation: {
        at: { dtype: "f64", shape: [2] },
        said: { dtype: "string", shape: [] },
        both: [
          { dtype: "i64", shape: [] },
          { dtype: "u8", shape: [2, 3] },
        ],
        flags: { dtype: "i8", shape: [3] },
      },
      action: { way: { dtype: "i64", shape: [] }, force: { dtype: "f32", shape: [1] } },
      infos: { energy: { dtype: "f32", shape: [] }, deep: { count: { dtype: "i64", shape: [] } } },
    });
    for (const [i, episode] of (await all(reader)).entries()) {
      const { observations, actions, rewards, infos, terminated } = expected[i];
      const length = rewards.shape[0];
      const whole = columnsTold([episode]);
      const short = columnsTold([episode], () => length);
      expect(whole["observation/at"]?.crc32).toBe(observations.at.crc32);
      expect(whole["observation/both/0"]?.crc32).toBe(observations.both[0].crc32);
      expect(whole["observation/both/1"]?.crc32).toBe(observations.both[1].crc32);
      expect(whole["observation/flags"]?.crc32).toBe(observations.flags.crc32);
      expect([...episode.steps].map(({ observation }) => (observation as { said: string }).said)).toEqual(observations.said);
      expect(short["action/way"]?.crc32).toBe(actions.way.crc32);
      expect(short["action/force"]?.crc32).toBe(actions.force.crc32);
      expect(short.reward?.crc32).toBe(rewards.crc32);
      expect(whole["infos/energy"]?.crc32).toBe(infos.energy.crc32);
      expect(whole["infos/deep/count"]?.crc32).toBe(infos.deep.count.crc32);
      expect(episode.steps.at(length).is_terminal).toBe(terminated);
      expect(episode.options).toEqual({ wind: { speed: 0.5 * i } });
    }
    await reader.close();
  });

  it("omit infos by default", async () => {
    const reader = await openMinari(folder);
    expect(Object.keys(reader.stepSpec)).not.toContain("infos");
    await reader.close();
  });
});

describe("images that Minari stores as JPEGs", () => {
  const folder = dataFolder("extra/minari/frames/jpeg-v0");

  it("are decoded to pixels", async () => {
    const [first] = json("extra/expected_minari.json")["frames/jpeg-v0"];
    const reader = await openMinari(folder);
    expect((reader.stepSpec as { observation: unknown }).observation).toEqual({ dtype: "u8", shape: [32, 40, 3] });
    const [episode] = await all(reader);
    const pixels = episode?.steps.at(0).observation as Uint8Array;
    const grid = first["first frame"] as number[][][];
    const differences = grid.flatMap((row, y) =>
      row.flatMap((pixel, x) => pixel.map((value, c) => Math.abs(value - (pixels[(8 * y * 40 + 8 * x) * 3 + c] as number)))),
    );
    expect(differences.length).toBe(4 * 5 * 3);
    expect(differences.reduce((sum, one) => sum + one, 0) / differences.length).toBeLessThan(12);
    await reader.close();
  });

  it("stay bytes if the metadata is missing", async () => {
    const reader = await openMinari(`${folder}/data/main_data.hdf5`);
    expect((reader.stepSpec as { observation: unknown }).observation).toEqual({ dtype: "bytes", shape: [] });
    const [episode] = (await all(reader)) as [ReadEpisode];
    expect((episode.steps.at(0).observation as Uint8Array).slice(0, 3)).toEqual(Uint8Array.of(0xff, 0xd8, 0xff));
    await reader.close();
  });
});

describe("sources that are not datasets", () => {
  it.each([
    ["a folder without the file", new Map([["a.txt", new Uint8Array(3)]]), { code: "NOT_FOUND" }],
    ["a file that is not HDF5", new Blob(["not at all"]), { code: "CORRUPT", file: "a Blob" }],
    ["an empty file", new Blob([]), { code: "CORRUPT", file: "a Blob" }],
    ["a file of another layout", dataFolder("d4rl/half_cheetah.hdf5"), { code: "EMPTY", file: "half_cheetah.hdf5" }],
    ["a folder of two datasets", dataFolder("extra/minari"), { code: "UNSUPPORTED" }],
    [
      "metadata that is not JSON",
      new Map([
        ["data/main_data.hdf5", fileBytes(main)],
        ["data/metadata.json", new TextEncoder().encode("{")],
      ]),
      { code: "CORRUPT", file: "data/metadata.json" },
    ],
    [
      "Arrow",
      new Map([
        ["data/main_data.hdf5", fileBytes(main)],
        ["data/metadata.json", new TextEncoder().encode('{"data_format":"arrow"}')],
      ]),
      { code: "UNSUPPORTED" },
    ],
  ])("%s", async (_, source, error) => {
    await expect(openMinari(source)).rejects.toMatchObject({ name: "RldsError", ...error });
  });

  it("include a truncated file, whose HDF5 error is reported", async () => {
    const bytes = fileBytes(main);
    await expect(openMinari(new Blob([bytes.subarray(0, 100_000)]))).rejects.toThrow(/HDF5 cannot read the file: .*truncated.*\(a Blob\)/);
  });

  it("crc32 of the joined bytes equals the known checksum", () => expect(crc32(bytesOf([new Uint8Array([1, 2, 3])]))).toBe(0x55bc801d));
});

it("an IO error of the metadata is thrown if the folder cannot be listed", async () => {
  const { file, folder } = await sourceOf(dataFolder("extra/minari/table/walk-v0"));
  expect(file).toBe(undefined);
  const fault = new RldsError("IO", "the request failed", { file: "data/metadata.json" });
  const open = (path: string) => (path === "data/metadata.json" ? Promise.reject(fault) : (folder as SourceFolder).open(path));
  await expect(openMinari({ name: "walk", list: async () => undefined, open })).rejects.toBe(fault);
});
