/** Tests columns compressed with filters of other packages, read with the plugins of h5wasm-plugins. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { all } from "../../../../support/columns.ts";
import { root } from "../../../../support/core.ts";
import { dataFolder, fileBytes } from "../../rlds/data.ts";

const FILTERS = ["gzip", "szip", "lzf", "lzf_shuffled", "blosc", "blosc_zstd", "blosc2", "bitshuffle", "bz2", "lz4", "zfp", "zstd"];
const PATH = dataFolder("extra/d4rl/filters.hdf5");

interface Files {
  analyzePath(path: string): { readonly exists: boolean; readonly object: { readonly contents: object } };
  unlink(path: string): void;
}

/** Loads the readers again, and removes all plugins from the HDF5 library that they use. */
async function fresh() {
  vi.resetModules();
  const { openD4rl } = await import("../../../../../src/datasets/formats/hdf5/d4rl.ts");
  const { openHdf5 } = await import("../../../../../src/datasets/formats/hdf5/open-file.ts");
  const { h5wasm } = await import("../../../../../src/datasets/formats/hdf5/h5wasm.ts");
  // All copies of the module share one library in the process.
  const library = await (await import("h5wasm")).ready;
  const { FS } = library as unknown as { readonly FS: Files };
  for (const folder of library.get_plugin_search_paths()) {
    const { exists, object } = FS.analyzePath(folder);
    if (exists) for (const name of Object.keys(object.contents)) FS.unlink(`${folder}/${name}`);
  }
  return { openD4rl, openHdf5, h5wasm };
}

const infosOf = (episodes: readonly { readonly steps: { at(i: number): object; readonly length: number } }[]) =>
  episodes.flatMap(({ steps }) => Array.from({ length: steps.length }, (_, i) => (steps.at(i) as { infos: { [name: string]: Float32Array } }).infos));

/** Overwrites the compressed bytes of every LZ4 frame. Its head contains the uncompressed size of 300 bytes and the block size. */
function damagedChunks(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const damaged = Uint8Array.from(bytes);
  const head = [0, 0, 0, 0, 0, 0, 0x01, 0x2c, 0, 0, 0x01, 0x2c];
  for (let at = 0; at + 64 < damaged.length; at++) if (head.every((byte, i) => damaged[at + i] === byte)) damaged.fill(0xff, at + 16, at + 48);
  return damaged;
}

afterEach(() => {
  vi.doUnmock("h5wasm-plugins");
  vi.resetModules();
});

it("a reader returns the written numbers through every filter", async () => {
  const { openD4rl } = await fresh();
  const reader = await openD4rl(PATH, { infos: true });
  const infos = infosOf(await all(reader));
  await reader.close();
  expect(infos).toHaveLength(60);
  for (const [i, info] of infos.entries()) {
    const expected = Float32Array.from({ length: 3 }, (_, k) => Math.floor((3 * i + k) / 4));
    expect(Object.keys(info).sort()).toEqual([...FILTERS, "plain"].sort());
    for (const name of Object.keys(info)) expect(info[name], name).toEqual(expected);
  }
});

it("a filter without a plugin is rejected with its number", async () => {
  const { openHdf5 } = await fresh();
  const { hdf5 } = await openHdf5(PATH, [], {});
  await expect(hdf5.column("/others/sperr")).rejects.toMatchObject({ code: "UNSUPPORTED", message: expect.stringMatching(/\(filter 32028\).*gzip/) });
  await hdf5.close();
});

it("a library that is loaded again after a trap still has the plugins", async () => {
  const { openHdf5, h5wasm } = await fresh();
  const { hdf5 } = await openHdf5(PATH, [], {});
  const column = await hdf5.column("/infos/lzf");
  const before = await column.read(0, 60);
  (await h5wasm()).cause = new Error("as after a trap");
  expect(await column.read(0, 60)).toEqual(before);
  await hdf5.close();
});

it("plugins write nothing to the console", async () => {
  const { openHdf5 } = await fresh();
  const lines: unknown[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line) => void lines.push(line));
  const error = vi.spyOn(console, "error").mockImplementation((line) => void lines.push(line));
  try {
    const bytes = fileBytes(PATH);
    // The damaged data contradicts the uncompressed size in the head of the LZ4 frame.
    const { hdf5 } = await openHdf5(new Blob([damagedChunks(bytes)]), [], {});
    await expect((await hdf5.column("/infos/lz4")).read(0, 60)).rejects.toMatchObject({ code: "CORRUPT" });
    await hdf5.close();
    expect(lines).toEqual([]);
  } finally {
    log.mockRestore();
    error.mockRestore();
  }
});

describe("without h5wasm-plugins", () => {
  const missing = () => {
    throw new Error("not found");
  };

  it("the error names the packages to install, and gzip as an alternative", async () => {
    vi.doMock("h5wasm-plugins", missing);
    const { openD4rl } = await fresh();
    await expect(openD4rl(dataFolder("extra/d4rl/lzf.hdf5"))).rejects.toMatchObject({
      code: "UNSUPPORTED",
      file: "lzf.hdf5",
      message: expect.stringMatching(/compressed with lzf.*npm install --legacy-peer-deps h5wasm h5wasm-plugins.*gzip/),
    });
  });

  it("a plugin that the program adds to h5wasm is used, even after a trap", async () => {
    vi.doMock("h5wasm-plugins", missing);
    const { openD4rl, openHdf5, h5wasm } = await fresh();
    const { library } = await h5wasm();
    const [folder] = library.get_plugin_search_paths() as [string];
    library.FS.mkdirTree(folder);
    library.FS.writeFile(`${folder}/libH5Zlzf.so`, readFileSync(join(root, "node_modules/h5wasm-plugins/plugins/libH5Zlzf.so")));
    const reader = await openD4rl(dataFolder("extra/d4rl/lzf.hdf5"));
    expect((await all(reader)).reduce((sum, { steps }) => sum + steps.length, 0)).toBe(60);
    await reader.close();
    (await h5wasm()).cause = new Error("as after a trap");
    const { hdf5 } = await openHdf5(PATH, [], {});
    expect(((await (await hdf5.column("/infos/lzf")).read(0, 60)) as Float32Array)[179]).toBe(44);
    await hdf5.close();
  });

  it("the error names the URL of a plugin that cannot be loaded", async () => {
    vi.doMock("h5wasm-plugins", () => ({ base_url: "https://host.example/chunks" }));
    vi.stubGlobal("fetch", async () => new Response("<!doctype html>", { headers: { "content-length": "15" } }));
    try {
      const { openD4rl } = await fresh();
      await expect(openD4rl(PATH.replace("filters", "lzf"))).rejects.toMatchObject({
        code: "UNSUPPORTED",
        message: expect.stringMatching(/https:\/\/host\.example\/chunks\/plugins\/libH5Zlzf\.so cannot be loaded: the file is not WebAssembly/),
      });
    } finally {
      vi.unstubAllGlobals();
    }
  });
});

it("damaged chunks return numbers or throw an RldsError, and the next file is read", async () => {
  const { openHdf5 } = await fresh();
  const bytes = fileBytes(PATH);
  const counts = { read: 0, refused: 0 };
  for (let at = 2048; at < bytes.length; at += 997) {
    const damaged = bytes.slice();
    damaged.fill(0xff, at, at + 16);
    try {
      const { hdf5 } = await openHdf5(new Blob([damaged]), [], {});
      try {
        for (const name of ["lzf", "blosc", "zstd", "lz4", "bz2"]) await (await hdf5.column(`/infos/${name}`)).read(0, 60);
        counts.read++;
      } finally {
        await hdf5.close();
      }
    } catch (error) {
      expect(error).toMatchObject({ name: "RldsError" });
      counts.refused++;
    }
  }
  expect(Math.min(counts.read, counts.refused)).toBeGreaterThan(0);
  const { hdf5 } = await openHdf5(PATH, [], {});
  expect(((await (await hdf5.column("/infos/zstd")).read(0, 60)) as Float32Array)[179]).toBe(44);
  await hdf5.close();
});
