/** Tests damaged files: a reader must throw an RldsError that names the file, or read the intact part. It must never hang or use unlimited memory. */
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { h5wasm } from "../../../../src/datasets/formats/hdf5/h5wasm.ts";
import { MemoryBudget } from "../../../../src/datasets/formats/memory-budget.ts";
import { openMinari } from "../../../../src/datasets/formats/minari/open-minari.ts";
import { npyArray } from "../../../../src/datasets/formats/npz/npy.ts";
import { zipEntries, zipPieces } from "../../../../src/datasets/formats/npz/zip.ts";
import { bytesFile } from "../../../../src/datasets/formats/sources/bytes-source.ts";
import { RldsError } from "../../../../src/datasets/model/rlds-error.ts";
import { all } from "../../../support/columns.ts";
import { root } from "../../../support/core.ts";
import { TestRandom } from "../../../support/random.ts";
import { scaled, some } from "../../../support/size.ts";
import { dataFolder, fileBytes } from "../rlds/data.ts";

/** The factor for the number of mutants. `REPRISE_MUTANTS=10 npm run test:all -- hostile` tests ten times as many. */
const TIMES = Number(process.env.REPRISE_MUTANTS ?? scaled(10) / 10);

describe("damaged files", () => {
  const kinds: readonly (readonly [string, number, number, readonly string[]])[] = [
    ["HDF5", 80, 4, ["d4rl/next.hdf5", "d4rl/whole.hdf5", "d4rl/odd.hdf5", "minari/walk/nested-v0/data/main_data.hdf5"]],
    ["HDF5 of robots", 60, 7, ["../wild/hdf5_robots/maniskill_nested.h5", "../wild/hdf5_robots/isaaclab.hdf5", "../wild/hdf5_robots/aloha/episode_0.hdf5"]],
    ["JSON lines", 500, 6, ["steps.jsonl", "own.jsonl"]],
    ["NPZ", 600, 5, ["npz/recorded.npz", "npz/flat.npz", "npz/nested.npz"]],
    ["NPZ of others", 600, 8, ["../wild/starts.npz", "../wild/imitation.npz", "../wild/scalar_meta.npz"]],
    ["JSON arrays", 500, 9, ["../wild/array.json"]],
  ];
  it.each(some(kinds, 2))("of %s read or throw an RldsError, within limits of time and memory", (_, mutants, seed, files) => {
    const args = [
      join(root, "test/unit/datasets/formats/hostile.mjs"),
      String(mutants * TIMES),
      String(seed),
      ...files.map((file) => dataFolder(`extra/${file}`)),
    ];
    const { stdout, stderr, signal } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 50_000 * Math.max(1, TIMES) });
    expect({ signal, stderr }).toEqual({ signal: null, stderr: "" });
    const { read, refused, wrong, slowest, maxMegabytes } = JSON.parse(stdout);
    expect(wrong).toEqual([]);
    expect(read + refused).toBe(mutants * TIMES * files.length);
    expect(Math.min(read, refused)).toBeGreaterThan(0);
    expect(slowest).toBeLessThan(20_000);
    expect(maxMegabytes).toBeLessThan(1000);
  });

  it("with invalid NumPy headers or elements read or throw an RldsError that names the file", async () => {
    const random = new TestRandom(1);
    const file = bytesFile("nested.npz", fileBytes(dataFolder("extra/npz/nested.npz")));
    const counts = { read: 0, refused: 0 };
    for (const entry of await zipEntries(file, 2 ** 24)) {
      const bytes = new Uint8Array(Buffer.concat(await all(zipPieces(file, entry))));
      for (let i = 0; i < 300 * TIMES; i++) {
        const bad = bytes.slice(0, random.below(10) === 0 ? random.below(bytes.length) : bytes.length);
        for (let n = random.below(4); n >= 0; n--)
          if (bad.length > 0) bad[random.below(Math.min(bad.length, random.below(2) === 0 ? 128 : 1e9))] = random.below(256);
        try {
          const cut = random.below(bad.length + 1);
          const { shape, data } = await npyArray([bad.subarray(0, cut), bad.subarray(cut)], {
            file: file.name,
            name: entry.name,
            size: bad.length,
            budget: new MemoryBudget(file.name, 2 ** 24),
          });
          expect(data.length).toBe(shape.reduce((product, n) => product * n, 1));
          counts.read++;
        } catch (error) {
          expect(error).toBeInstanceOf(RldsError);
          expect((error as RldsError).file).toBe("nested.npz");
          counts.refused++;
        }
      }
    }
    expect(Math.min(counts.read, counts.refused)).toBeGreaterThan(500 * TIMES);
  });
});

describe("the HDF5 library", () => {
  it("is loaded again after a trap, even while a dataset is open", async () => {
    const folder = dataFolder("minari/cartpole/scripted-v0");
    const reader = await openMinari(folder);
    const lengths: number[] = [];
    for await (const { steps } of reader) {
      lengths.push(steps.length);
      if (lengths.length === 3) (await h5wasm()).cause = new Error("as after a trap");
    }
    expect(lengths.length).toBe(12);
    const again = await openMinari(folder);
    expect((await all(again)).map(({ steps }) => steps.length)).toEqual(lengths);
    await Promise.all([reader.close(), again.close()]);
  });

  it("rejects a heap that would cause an endless loop", async () => {
    const bytes = fileBytes(dataFolder("extra/minari/walk/nested-v0/data/main_data.hdf5"));
    const text = new TextDecoder("latin1").decode(bytes);
    const heaps = [...text.matchAll(/GCOL/g)].map(({ index }) => index);
    expect(heaps.length).toBeGreaterThan(0);
    const view = new DataView(bytes.buffer);
    // The first object of each heap pretends to be the free space, with size 0.
    for (const at of heaps) {
      view.setUint16(at + 16, 0, true);
      view.setBigUint64(at + 24, 0n, true);
    }
    const reader = await openMinari(new Blob([bytes]));
    await expect(all(reader)).rejects.toMatchObject({ code: "CORRUPT", offset: heaps[0], message: expect.stringContaining("heap") });
    await reader.close();
  });

  it("is named in the error if it is not installed, like zarrita", () => {
    const folder = mkdtempSync(join(tmpdir(), "reprise-no-h5wasm-"));
    for (const name of readdirSync(join(root, "dist"))) if (name.endsWith(".js")) copyFileSync(join(root, "dist", name), join(folder, name));
    cpSync(join(root, "dist/chunks"), join(folder, "chunks"), { recursive: true });
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    const open = (path: string) => `await openRlds(${JSON.stringify(dataFolder(path))}).catch(({ code, message }) => console.log(code, message));`;
    const program = `import { openRlds } from "./rlds.js"; ${open("d4rl")} ${open("zarr/v3.zarr.zip")}`;
    writeFileSync(join(folder, "program.js"), program);
    const { stdout } = spawnSync(process.execPath, [join(folder, "program.js")], { encoding: "utf8" });
    rmSync(folder, { recursive: true });
    expect(stdout).toMatch(/^UNSUPPORTED .*npm install h5wasm.*\nUNSUPPORTED .*npm install zarrita/);
  });
});
