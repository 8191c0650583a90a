/** Tests content that readers could easily misinterpret or miss: missing numbers, invalid texts, numbered names, and links. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { zipSync } from "fflate";
import { parquetWriteBuffer } from "hyparquet-writer";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { elementOf } from "../../../../src/datasets/formats/hdf5/element.ts";
import { sortPaths } from "../../../../src/datasets/formats/sources/source.ts";
import { memorySink, openJsonl, openNpz, openParquet, openRlds, type RldsDataset, writeJsonl, writeParquet } from "../../../../src/datasets/rlds/index.ts";
import { errorFrom } from "../../../support/later.ts";
import { errorOf, expectError } from "../../../support/refused.ts";

const rlds = (...episodes: readonly object[]) => episodes as unknown as RldsDataset<unknown>;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reprise-strays-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Returns a Parquet file as other programs write it. */
function table(columns: { readonly [name: string]: readonly unknown[] }, type: { readonly [name: string]: string } = {}): Uint8Array {
  const columnData = Object.entries(columns).map(([name, data]) => ({ name, data: [...data], type: type[name] ?? "DOUBLE", nullable: true }));
  return new Uint8Array(parquetWriteBuffer({ columnData: columnData as never }));
}

async function actions(from: ReadonlyMap<string, Uint8Array>): Promise<unknown[][]> {
  const episodes: unknown[][] = [];
  for await (const { steps } of await openParquet(from)) episodes.push([...steps].map(({ action }) => action));
  return episodes;
}

describe("Parquet files of other programs", () => {
  it.each(["episode_id", "done", "truncated"])("rejects a %s that is missing or NaN", async (role) => {
    for (const missing of [null, Number.NaN]) {
      const bytes = table({ [role]: [0, 0, missing, 1], obs: [1, 2, 3, 4], action: [1, 2, 3, 4] });
      const error = await errorFrom(actions(new Map([["a.parquet", bytes]])));
      expectError(error, "INVALID_DATA", new RegExp(`^column ${role} must have a value in every row, got none or NaN in row 2`));
    }
  });

  it("are read in the order of the numbers in their names", async () => {
    const files = new Map(
      [10, 9, 1, 2].map((i) => [`data-${i}.parquet`, table({ episode_id: [Math.floor(i / 2), Math.ceil(i / 2)], obs: [0, 0], action: [i, i + 0.5] })]),
    );
    // Episode 1 continues in the second file, and episode 5 continues from the third file to the fourth.
    expect(await actions(files)).toEqual([[1], [1.5, 2, 2.5], [9], [9.5, 10, 10.5]]);
  });
});

it("sortPaths orders paths by their numbers, then by their characters", () => {
  const paths = [
    "b/file-000",
    "a/file-1000.x",
    "a/file-999.x",
    "a/file-2",
    "a/file-10",
    "a/file-02",
    "a/file",
    "a/12345678901234567890",
    "a/12345678901234567889",
  ];
  const ordered = [
    "a/12345678901234567889",
    "a/12345678901234567890",
    "a/file",
    "a/file-02",
    "a/file-2",
    "a/file-10",
    "a/file-999.x",
    "a/file-1000.x",
    "b/file-000",
  ];
  expect(sortPaths(paths)).toEqual(ordered);
  expect(sortPaths([...paths].reverse())).toEqual(ordered);
});

describe("texts that are not UTF-8", () => {
  const npy = (descr: string, shape: string, elements: Uint8Array) => {
    const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`.padEnd(117).concat("\n");
    return Uint8Array.of(0x93, ...new TextEncoder().encode("NUMPY"), 1, 0, header.length, 0, ...new TextEncoder().encode(header), ...elements);
  };
  const archive = (tag: Uint8Array) =>
    zipSync({
      "observation.npy": npy("<f4", "(2,)", new Uint8Array(8)),
      "action.npy": npy("|u1", "(2,)", Uint8Array.of(1, 2)),
      "reward.npy": npy("<f4", "(2,)", new Uint8Array(8)),
      "is_terminal.npy": npy("|b1", "(2,)", Uint8Array.of(0, 1)),
      "lengths.npy": npy("|u1", "(1,)", Uint8Array.of(2)),
      "tag.npy": npy("|S3", "(2,)", tag),
    });

  it("are rejected in an .npz, and a byte order mark is kept", async () => {
    const error = await errorFrom(openNpz(new Blob([archive(Uint8Array.of(0xff, 0xfe, 0, 65, 0, 0))])));
    expectError(error, "UNSUPPORTED", /^tag\.npy is not valid UTF-8/);
    for await (const { steps } of await openNpz(new Blob([archive(Uint8Array.of(0xef, 0xbb, 0xbf, 65, 0, 0))])))
      expect([...steps].map(({ tag }) => tag)).toEqual(["\ufeff", "A"]);
  });

  it("are rejected in HDF5, with fixed and variable width", () => {
    const fixed = elementOf({ type: 3, size: 3, vlen: false, strpad: 1, shape: [1] } as never, "a.hdf5", "/infos/said");
    expect(fixed.decode(new TextEncoder().encode("\u00e9\0"), {} as never)).toEqual(["\u00e9"]);
    expectError(
      errorOf(() => fixed.decode(Uint8Array.of(0xff, 0xfe, 0), {} as never)),
      "UNSUPPORTED",
      /infos\/said is not valid UTF-8/,
    );
    const pointed = elementOf({ type: 3, size: 4, vlen: true, shape: [1] } as never, "a.hdf5", "/infos/said");
    const library = (...bytes: readonly number[]) => ({ HEAPU8: Uint8Array.of(9, 9, ...bytes, 0, 66) }) as never;
    const pointer = new Uint8Array(Uint32Array.of(2, 0).buffer);
    expect(pointed.decode(pointer, library(0xc3, 0xa9))).toEqual(["\u00e9", ""]);
    expectError(
      errorOf(() => pointed.decode(pointer, library(0xc3))),
      "UNSUPPORTED",
      /is not valid UTF-8/,
    );
  });
});

describe("a folder", () => {
  it("includes files behind inner links, and rejects links that lead outside", async () => {
    await writeParquet(rlds({ steps: [{ a: 1 }] }, { steps: [{ a: 2 }] }, { steps: [{ a: 3 }] }), folder, { fileBytes: 1, groupRows: 1 });
    mkdirSync(join(folder, "store"));
    renameSync(join(folder, "part-00001.parquet"), join(folder, "store", "blob"));
    symlinkSync("store/blob", join(folder, "part-00001.parquet"));
    symlinkSync("nowhere", join(folder, "part-00009.parquet"));
    const found: unknown[] = [];
    for await (const { steps } of await openParquet<{ readonly a: number }>(folder)) found.push(steps.at(0).a);
    expect(found).toEqual([1, 2, 3]);
    rmSync(join(folder, "part-00001.parquet"));
    const outside = mkdtempSync(join(tmpdir(), "reprise-strays-"));
    renameSync(join(folder, "store", "blob"), join(outside, "blob"));
    symlinkSync(join(outside, "blob"), join(folder, "part-00001.parquet"));
    const through = async () => {
      for await (const { steps } of await openParquet(folder)) expect(steps).toHaveLength(1);
    };
    expectError(await errorFrom(through()), "CORRUPT", /a link that leads outside/);
    rmSync(outside, { recursive: true });
  });

  it("with one file of JSON lines opens as that file, even in memory", async () => {
    const files = memorySink();
    await writeJsonl(rlds({ steps: [{ a: 1 }] }), files);
    await writeJsonl(rlds({ steps: [{ a: 1 }] }), folder);
    for (const source of [files, folder]) {
      for (const open of [openRlds, openJsonl]) {
        const reader = await open<{ readonly a: number }>(source);
        expect(reader.format).toBe("jsonl");
        for await (const { steps } of reader) expect([...steps]).toEqual([{ a: 1 }]);
        await reader.close();
      }
    }
    files.set("more.jsonl", new Uint8Array(0));
    expectError(await errorFrom(openJsonl(files)), "UNSUPPORTED", /the folder must contain exactly one \.jsonl file, got 2/);
  });

  it("can be passed as a file: URL in a string", async () => {
    await writeJsonl(rlds({ steps: [{ a: 1 }] }), join(folder, "a b.jsonl"));
    const reader = await openJsonl(pathToFileURL(join(folder, "a b.jsonl")).href);
    expect(reader.name).toBe("a b");
    await reader.close();
  });
});
