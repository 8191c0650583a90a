/** Tests that openRlds detects the format from the contents. */
import { describe, expect, it } from "vitest";
import { openRlds } from "../../../../src/datasets/formats/open.ts";
import { writeParquet } from "../../../../src/datasets/formats/parquet/write-parquet.ts";
import { memorySink } from "../../../../src/datasets/formats/sinks/sink.ts";
import { all } from "../../../support/columns.ts";
import { dataFolder, fileBytes } from "../rlds/data.ts";

it.each([
  ["tfds/cartpole", "tfds", 40],
  ["tfds/half_cheetah/1.0.0", "tfds", 40],
  ["minari/cartpole/scripted-v0", "minari", 12],
  ["minari/cartpole", "minari", 12],
  ["minari/cartpole/scripted-v0/data/main_data.hdf5", "minari", 12],
  ["d4rl/half_cheetah.hdf5", "d4rl", 16],
  ["d4rl", "d4rl", 16],
  ["extra/npz/recorded.npz", "npz", 3],
  ["extra/steps.jsonl", "jsonl", 2],
  ["extra/own.jsonl", "jsonl", 3],
])("%s is detected as %s", async (path, format, episodes) => {
  const reader = await openRlds(dataFolder(path));
  expect(reader.format).toBe(format);
  expect((await all(reader)).length).toBe(episodes);
  await reader.close();
});

it("Parquet is detected by its first bytes, and in a folder", async () => {
  const files = memorySink();
  const reader = await openRlds(dataFolder("extra/steps.jsonl"));
  await writeParquet(reader, files);
  await reader.close();
  const [bytes] = [...files.values()] as [Uint8Array<ArrayBuffer>];
  for (const source of [files, new Blob([bytes])]) {
    const parquet = await openRlds(source);
    expect(parquet.format).toBe("parquet");
    expect((await all(parquet)).length).toBe(2);
    await parquet.close();
  }
});

it("openRlds accepts only the options of the detected format", async () => {
  const reader = await openRlds(dataFolder("extra/d4rl/whole.hdf5"), { finalObservation: "none" });
  expect((await all(reader)).map(({ steps }) => steps.length)).toEqual([7, 13, 13, 27]);
  await reader.close();
  await expect(openRlds(dataFolder("tfds/cartpole"), { finalObservation: "none" })).rejects.toThrow("options");
});

describe("from a URL", () => {
  const served = (base: string) =>
    (async (url: URL | string, { headers }: RequestInit = {}) => {
      const path = new URL(url).pathname.slice(1);
      try {
        const bytes = fileBytes(dataFolder(`${base}/${path}`));
        const range = /bytes=(\d+)-(\d+)/.exec(new Headers(headers).get("range") ?? "");
        if (range === null) return new Response(bytes);
        const [from, to] = [Number(range[1]), Math.min(Number(range[2]), bytes.length - 1)];
        return new Response(bytes.subarray(from, to + 1), { status: 206, headers: { "content-range": `bytes ${from}-${to}/${bytes.length}` } });
      } catch {
        return new Response("", { status: 404 });
      }
    }) as typeof fetch;

  it.each([
    ["tfds/cartpole/1.0.0/", "tfds", 40],
    ["minari/cartpole/scripted-v0/", "minari", 12],
    ["d4rl/half_cheetah.hdf5", "d4rl", 16],
  ])("%s is detected as %s", async (path, format, episodes) => {
    const reader = await openRlds(`https://data.example/${path}`, { fetch: served(".") });
    expect(reader.format).toBe(format);
    expect((await all(reader)).length).toBe(episodes);
    await reader.close();
  });

  it("a missing folder is UNSUPPORTED, and a missing file is NOT_FOUND", async () => {
    await expect(openRlds("https://data.example/nothing/", { fetch: served(".") })).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("features.json"),
    });
    await expect(openRlds("https://data.example/a.npz", { fetch: served(".") })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("openRlds rejects", () => {
  it.each([
    ["text", new Blob(["hello"]), "first bytes of HDF5"],
    ["nothing", new Blob([]), "first bytes of HDF5"],
    ["a record file without its folder", dataFolder("tfds/cartpole/1.0.0/cartpole-train.tfrecord-00000-of-00001"), "pass the folder"],
    ["an empty folder", new Map<string, Uint8Array>(), "features.json, meta/info.json, data/main_data.hdf5"],
  ])("%s", async (_, source, message) => {
    await expect(openRlds(source)).rejects.toMatchObject({ name: "RldsError", code: "UNSUPPORTED", message: expect.stringContaining(message) });
  });

  it("a missing path throws NOT_FOUND, and a value that is not a source is rejected", async () => {
    await expect(openRlds(dataFolder("nowhere"))).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(openRlds(3 as unknown as string)).rejects.toThrow(/must be/);
  });
});

describe("errors that suggest what to open or unpack", () => {
  const text = (content: string) => new Blob([content]);
  const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
  const bytesOf = (content: string) => new TextEncoder().encode(content);
  const info = JSON.stringify({ codebase_version: "v3.0", total_episodes: 2, data_path: "data" });

  it.each([
    ["a pointer of Git LFS", text(pointer), /Git LFS pointer.*git lfs pull/],
    [
      "a pointer within a folder",
      new Map([
        ["features.json", bytesOf(pointer)],
        ["dataset_info.json", bytesOf(pointer)],
      ]),
      /Git LFS pointer/,
    ],
    ["LeRobot's info.json", text(info), /LeRobot.*the folder that contains meta\/info\.json/],
    [
      "TFDS's features.json",
      text('{"pythonClassName": "tensorflow_datasets.core.features.features_dict.FeaturesDict"}'),
      /the folder that contains features\.json/,
    ],
    ["Minari's metadata.json", text('{"total_episodes": 2, "data_format": "hdf5"}'), /Minari/],
    [
      "LeRobot's meta folder",
      new Map([
        ["info.json", bytesOf(info)],
        ["tasks.parquet", bytesOf("PAR1")],
      ]),
      /meta folder of a LeRobot dataset/,
    ],
    ["a parent folder", new Map([["a/meta/info.json", bytesOf(info)]]), /the dataset is in the folder a\. Open that folder/],
    [
      "a folder of datasets",
      new Map([
        ["a/meta/info.json", bytesOf(info)],
        ["b/c/features.json", bytesOf("{}")],
      ]),
      /2 datasets \(a, b\/c\)\. Open one of them/,
    ],
    ["a Zarr store of other things", new Map([["a/.zarray", bytesOf("{}")]]), /Zarr store without meta\/episode_ends/],
    ["bzip2", new Blob(["BZh91AY"]), /compressed with bzip2\. Unpack it/],
    ["xz", new Blob([Uint8Array.of(0xfd, 0x37, 0x7a, 0x58, 0x5a, 0)]), /compressed with xz/],
    ["tar", new Blob([new Uint8Array(257), "ustar", new Uint8Array(250)]), /a tar archive\. Unpack it/],
    ["7z", new Blob([Uint8Array.of(0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c)]), /a 7z archive/],
  ] as [string, Parameters<typeof openRlds>[0], RegExp][])("%s", async (name, from, message) => {
    // A Git LFS pointer replaces a missing part of an otherwise valid dataset.
    const code = name.startsWith("a pointer") ? "CORRUPT" : "UNSUPPORTED";
    await expect(openRlds(from)).rejects.toMatchObject({ name: "RldsError", code, message: expect.stringMatching(message) });
  });

  it("a zip archive of other files", async () => {
    const { zipSync } = await import("fflate");
    const archive = zipSync({ "data/a.parquet": new Uint8Array(8) }) as Uint8Array<ArrayBuffer>;
    await expect(openRlds(new Blob([archive]))).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringMatching(/zip archive without NumPy arrays .*data\/a\.parquet.*Unpack it/),
    });
  });

  it("JSON lines with a field name of metadata are read", async () => {
    const step = { observation: 1, action: 0, reward: 0, done: true, data_format: "hdf5" };
    const reader = await openRlds(text(JSON.stringify(step)));
    expect(reader.format).toBe("jsonl");
    await reader.close();
  });
});
