/** Tests Zarr stores in the layout of diffusion_policy, in both versions. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { unzipSync, zipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { openRlds } from "../../../../../src/datasets/formats/open.ts";
import type { ReadEpisode, RldsReader } from "../../../../../src/datasets/formats/reader.ts";
import { openZarr, type ZarrOptions } from "../../../../../src/datasets/formats/zarr/open-zarr.ts";
import { RldsError } from "../../../../../src/datasets/model/rlds-error.ts";
import { all, columnsTold } from "../../../../support/columns.ts";
import { fileServer } from "../../../../support/file-server.ts";
import { TestRandom } from "../../../../support/random.ts";
import { scaled, some, whole } from "../../../../support/size.ts";
import { dataFolder, fileBytes, json } from "../../rlds/data.ts";

const WILD = dataFolder("wild/hdf5_robots/diffusion_policy.zarr");
type Files = Map<string, Uint8Array<ArrayBuffer>>;
const files = (name: string): Files =>
  new Map(Object.entries(unzipSync(fileBytes(dataFolder(`zarr/${name}.zarr.zip`)))).filter(([path]) => !path.endsWith("/"))) as Files;
const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)) as Uint8Array<ArrayBuffer>;
const ends = (...values: readonly number[]) => new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
const edited = (from: Files, path: string, change: (value: { [name: string]: unknown }) => void) => {
  const value = JSON.parse(new TextDecoder().decode(from.get(path)));
  change(value);
  return new Map(from).set(path, text(value));
};

async function told(from: Parameters<typeof openZarr>[0], options: ZarrOptions = {}) {
  const reader = (await openZarr(from, options)) as RldsReader;
  try {
    return columnsTold(await all(reader));
  } finally {
    await reader.close();
  }
}

const LEAVES = { float32: "f32", float64: "f64", float16: "f16", uint8: "u8", int64: "i64", bool: "bool" } as const;
const PATHS = {
  action: "action",
  "obs/image": "observation/image",
  "obs/pose": "observation/pose",
  "obs/half": "observation/half",
  "obs/count": "observation/count",
  reward: "reward",
  timestamp: "timestamp",
} as const;

describe.each(some(["v2", "v3", "sharded"], 1))("%s", (name) => {
  it("contains the values that zarr reads, for every codec, order and type", async () => {
    const columns = await told(dataFolder(`zarr/${name}.zarr.zip`));
    const expected = json("zarr/expected.json")[name] as { [path: string]: { dtype: keyof typeof LEAVES; shape: number[]; crc32: number } };
    for (const [path, place] of Object.entries(PATHS)) {
      const { dtype, shape, crc32 } = expected[path] as (typeof expected)[string];
      const leaf = path === "reward" ? [] : shape.slice(1);
      expect([place, columns[place]]).toEqual([place, { dtype: LEAVES[dtype], shape: leaf, rows: shape[0], crc32 }]);
    }
  });

  it("contains episodes with their ends, metadata and attributes", async () => {
    const reader = (await openRlds(dataFolder(`zarr/${name}.zarr.zip`))) as RldsReader;
    expect([reader.format, reader.name, reader.episodes, reader.steps, await reader.lengths?.()]).toEqual(["zarr", name, 3, 23, [7, 5, 11]]);
    expect(reader.about).toEqual({ robot: "ur5" });
    const episodes = await all(reader);
    expect(episodes.map(({ robot, final_step, steps }) => [robot, final_step, steps.length, steps.at(steps.length - 1).is_terminal])).toEqual([
      [1.5, "transition", 7, false],
      [2.5, "transition", 5, true],
      [3.5, "transition", 11, false],
    ]);
    const [last] = await all((reader.startingAt as NonNullable<typeof reader.startingAt>)(2));
    expect(last?.steps.data).toEqual(episodes[2]?.steps.data);
    await reader.close();
  });

  it("has the same content when read from a ZIP, a Map and a nested folder", async () => {
    const folder = files(name);
    const plain = await told(dataFolder(`zarr/${name}.zarr.zip`));
    expect(await told(folder)).toEqual(plain);
    expect(await told(new Map([...folder].map(([path, bytes]) => [`pusht/x.zarr/${path}`, bytes])))).toEqual(plain);
    expect(await told(new Blob([zipSync(Object.fromEntries(folder)) as Uint8Array<ArrayBuffer>]))).toEqual(plain);
  });
});

describe("a store of diffusion_policy", () => {
  it("opens from disk with its own names", async () => {
    const reader = (await openRlds(WILD)) as RldsReader;
    expect([reader.format, reader.name, reader.episodes]).toEqual(["zarr", "diffusion_policy", 2]);
    expect(reader.stepSpec).toMatchObject({
      observation: { img: { dtype: "f32", shape: [8, 8, 3] }, state: { dtype: "f32", shape: [5] } },
      action: { dtype: "f32", shape: [2] },
      reward: { dtype: "f32", shape: [] },
    });
    const episodes = await all(reader);
    expect(episodes.map(({ steps, final_step }) => [steps.length, final_step, steps.at(steps.length - 1).is_last])).toEqual([
      [(await reader.lengths?.())?.[0], "transition", true],
      [(await reader.lengths?.())?.[1], "transition", true],
    ]);
    // All chunks of img are missing, so the column contains only the fill value.
    expect((episodes[0] as ReadEpisode).steps.at(0).observation.img).toEqual(new Float32Array(192));
    await reader.close();
  });

  it("columns can be selected and renamed", async () => {
    const keys = async (options: ZarrOptions) => Object.keys(await told(WILD, options)).filter((path) => !/^(is_|discount|reward)/.test(path));
    expect(await keys({ without: ["img"] })).toEqual(["action", "observation/state"]);
    expect(await keys({ only: ["observation/state"] })).toEqual(["action", "observation/state"]);
    expect(await keys({ rename: { img: "observation/image" } })).toEqual(["action", "observation/image", "observation/state"]);
    expect(await keys({ rename: { state: "action", action: "old" } })).toEqual(["action", "observation/img", "old"]);
    await expect(openZarr(WILD, { without: ["image"] })).rejects.toThrow(/without must be column names \(.*img/);
  });

  it("opens from a URL through its consolidated metadata", async () => {
    for (const name of ["v2", "v3"]) {
      const folder = files(name);
      const root = mkdtempSync(join(tmpdir(), "reprise-zarr-"));
      for (const [path, bytes] of folder) {
        mkdirSync(dirname(join(root, "x.zarr", path)), { recursive: true });
        writeFileSync(join(root, "x.zarr", path), bytes);
      }
      const server = await fileServer(root, true);
      try {
        expect(await told(new URL("x.zarr", server.url))).toEqual(await told(folder));
        const reader = await openRlds(new URL("x.zarr", server.url));
        expect(reader.format).toBe("zarr");
        await reader.close();
      } finally {
        await server[Symbol.asyncDispose]();
        rmSync(root, { recursive: true });
      }
    }
  });
});

describe("invalid stores", () => {
  const missing = (path: string) => new Map([...files("v2")].filter(([name]) => !name.startsWith(path)));
  it.each<[string, Files, string, RegExp]>([
    ["without ends", missing("meta/episode_ends"), "UNSUPPORTED", /Zarr store without meta\/episode_ends/],
    ["without an action", missing("data/action"), "UNSUPPORTED", /no array for action.* rename: \{ NAME: "action" \}/],
    [
      "ends that fall",
      edited(files("v2"), "meta/episode_ends/.zarray", (value) => (value.compressor = null))
        .set("meta/episode_ends/0", ends(7, 23))
        .set("meta/episode_ends/1", ends(12, 0)),
      "CORRUPT",
      /ends of episodes must increase, got 12 after 23/,
    ],
    [
      "another compressor",
      edited(files("v2"), "data/action/.zarray", (value) => (value.compressor = { id: "lzma" })),
      "UNSUPPORTED",
      /compressed with "lzma", which Reprise cannot read\. Write it with Blosc/,
    ],
    ["an array of other rows", edited(files("v2"), "data/action/.zarray", (value) => (value.shape = [22, 3])), "CORRUPT", /rows/],
    ["a shape of 10^9 rows", edited(files("v2"), "meta/episode_ends/.zarray", (value) => Object.assign(value, { shape: [1e9] })), "CORRUPT", /maxBytes allows/],
    ["a chunk of 10^9", edited(files("v2"), "data/action/.zarray", (value) => Object.assign(value, { chunks: [1e9, 3] })), "CORRUPT", /needs \d+ bytes, more/],
    ["a negative size", edited(files("v2"), "data/action/.zarray", (value) => Object.assign(value, { shape: [-1, 3] })), "CORRUPT", /shape/],
    [
      "two stores",
      new Map(
        [...files("v2")].flatMap(
          ([path, bytes]) =>
            [
              [`a/${path}`, bytes],
              [`b/${path}`, bytes],
            ] as const,
        ),
      ),
      "UNSUPPORTED",
      /2 datasets \(a\/?, b\/?\)\. Open one/,
    ],
  ])("rejects a store: %s", async (_, folder, code, message) => {
    await expect(openRlds(folder)).rejects.toMatchObject({ name: "RldsError", code, message: expect.stringMatching(message) });
  });

  it("an unreadable array can be left out, and is skipped if it is not a field", async () => {
    const folder = edited(files("v2"), "data/obs/image/.zarray", (value) => (value.compressor = { id: "imagecodecs_jpegxl" }));
    // The path begins with obs, which is also a field, so the error suggests the full name.
    await expect(openZarr(folder)).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining('Pass without: ["obs/image"] to leave this column out'),
    });
    expect(Object.keys(await told(folder, { without: ["obs/image"] }))).toContain("observation/pose");
    const moved = new Map([...folder].map(([path, bytes]) => [path.replace("data/obs/", "data/"), bytes]));
    const reader = await openZarr(moved);
    expect(reader.about).toMatchObject({ unread: ["data/image"] });
    expect(Object.keys(reader.stepSpec)).toContain("observation");
    await reader.close();
  });
});

describe("damage", () => {
  const CHUNK = "data/action/0.0";
  const damaged = (change: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>, path = CHUNK, name = "v2") => {
    const folder = files(name);
    return folder.set(path, change((folder.get(path) as Uint8Array<ArrayBuffer>).slice()));
  };

  it("of a chunk names the chunk, and salvage loses only its episodes", async () => {
    const folder = damaged((bytes) => bytes.slice(0, -4));
    await expect(told(folder)).rejects.toMatchObject({ code: "CORRUPT", file: CHUNK });
    const reader = await openZarr(folder, { salvage: true });
    // The damaged chunk contains the rows of the first two episodes.
    expect((await all(reader)).map(({ steps }) => steps.length)).toEqual([11]);
    expect(reader.losses).toMatchObject([{ code: "CORRUPT", file: CHUNK }]);
    await reader.close();
  });

  it("of the last rows loses only the episodes that need them", async () => {
    const folder = edited(files("v3"), "meta/episode_ends/zarr.json", () => undefined);
    for (const path of [...folder.keys()].filter((path) => /^data\/.*zarr\.json$/.test(path))) {
      const value = JSON.parse(new TextDecoder().decode(folder.get(path)));
      if (Array.isArray(value.shape)) folder.set(path, text({ ...value, shape: [15, ...value.shape.slice(1)] }));
    }
    await expect(openZarr(folder)).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringMatching(/ends at 23, but the arrays of data have 15 rows/),
    });
    const reader = await openZarr(folder, { salvage: true });
    expect((await all(reader)).map(({ steps }) => steps.length)).toEqual([7, 5]);
    expect(reader.losses?.length).toBe(1);
    await reader.close();
  });

  it("of a chunk size is rejected before the chunk is decompressed", async () => {
    const size = (bytes: Uint8Array<ArrayBuffer>) => {
      new DataView(bytes.buffer).setUint32(4, 2 ** 30, true);
      return bytes;
    };
    await expect(told(damaged(size))).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringMatching(/a chunk must have 96 bytes, got 1073741824/),
    });
    // The compressed chunk expands to 64 MiB of zeros instead of a few bytes.
    const bomb = fileBytes(dataFolder("compressed/bomb.zst"));
    await expect(told(damaged(() => bomb, "data/action/c/0/0", "v3"))).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringMatching(/a chunk must have 96 bytes, got \d+/),
    });
  });

  it.runIf(whole)("to any file is read over, or throws an RldsError that names a file", async () => {
    const random = new TestRandom(11);
    const counts = { read: 0, refused: 0 };
    for (const name of ["v2", "v3", "sharded"]) {
      const folder = files(name);
      const paths = [...folder.keys()];
      for (let i = 0; i < scaled(200); i++) {
        const mutant = new Map(folder);
        for (let n = random.below(3); n >= 0; n--) {
          const path = paths[random.below(paths.length)] as string;
          let bytes = (mutant.get(path) as Uint8Array<ArrayBuffer>).slice();
          if (random.below(4) === 0) bytes = bytes.slice(0, random.below(bytes.length));
          else if (bytes.length > 0) {
            const at = random.below(bytes.length);
            bytes[at] = (bytes[at] as number) ^ (1 << random.below(8));
          }
          mutant.set(path, bytes);
        }
        const begin = performance.now();
        try {
          const reader = (await openZarr(mutant, { maxBytes: 2 ** 22 })) as RldsReader;
          for (const { steps } of await all(reader)) expect(steps.at(0).observation).toBeDefined();
          await reader.close();
          counts.read++;
        } catch (error) {
          if (!(error instanceof RldsError)) throw error;
          expect(typeof error.file).toBe("string");
          counts.refused++;
        }
        expect(performance.now() - begin).toBeLessThan(20_000);
      }
    }
    expect(Math.min(counts.read, counts.refused)).toBeGreaterThan(0);
  });
});
