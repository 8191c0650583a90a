/** openRlds: which format it is, shows in what is there. */
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
])("%s is %s", async (path, format, episodes) => {
  const reader = await openRlds(dataFolder(path));
  expect(reader.format).toBe(format);
  expect((await all(reader)).length).toBe(episodes);
  await reader.close();
});

it("Parquet is found by its beginning, and in a folder", async () => {
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

it("takes the options of the format that it is, and no other's", async () => {
  const reader = await openRlds(dataFolder("extra/d4rl/whole.hdf5"), { finalObservation: "none" });
  expect((await all(reader)).map(({ steps }) => steps.length)).toEqual([7, 13, 13, 27]);
  await reader.close();
  await expect(openRlds(dataFolder("tfds/cartpole"), { finalObservation: "none" })).rejects.toThrow("options");
});

describe("behind a URL", () => {
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
  ])("%s is %s", async (path, format, episodes) => {
    const reader = await openRlds(`https://data.example/${path}`, { fetch: served(".") });
    expect(reader.format).toBe(format);
    expect((await all(reader)).length).toBe(episodes);
    await reader.close();
  });

  it("what is not there is not found by any name", async () => {
    await expect(openRlds("https://data.example/nothing/", { fetch: served(".") })).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("features.json"),
    });
    await expect(openRlds("https://data.example/a.npz", { fetch: served(".") })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("what is no dataset", () => {
  it.each([
    ["text", new Blob(["hello"]), "beginnings of HDF5"],
    ["nothing", new Blob([]), "beginnings of HDF5"],
    ["a record file without its folder", dataFolder("tfds/cartpole/1.0.0/cartpole-train.tfrecord-00000-of-00001"), "give the folder"],
    ["an empty folder", new Map<string, Uint8Array>(), "features.json, meta/info.json, data/main_data.hdf5"],
  ])("%s", async (_, source, message) => {
    await expect(openRlds(source)).rejects.toMatchObject({ name: "RldsError", code: "UNSUPPORTED", message: expect.stringContaining(message) });
  });

  it("a path where nothing is, a value that is no source", async () => {
    await expect(openRlds(dataFolder("nowhere"))).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(openRlds(3 as unknown as string)).rejects.toThrow(/must be/);
  });
});
