/** Tests that every writer of a single file leaves either a complete file or no file. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { memorySink, type RldsDataset, type StepSpec, type WriteOptions, writeCsv, writeHdf5, writeNpz } from "../../../../src/datasets/rlds/index.ts";
import { FLAGS, leaf, made } from "../../../support/random-steps.ts";

const root = mkdtempSync(join(tmpdir(), "reprise-single-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(root, "d-"));
});

const stepSpec = { observation: leaf("f32", [2]), action: leaf("f32", [1]), reward: leaf("f32"), discount: leaf("f32"), ...FLAGS } as unknown as StepSpec;
const data = (lengths: readonly number[] = [3, 4]) => made(stepSpec, lengths) as unknown as RldsDataset<unknown>;

/** Returns a dataset that fails after its first episode. */
const broken = (error: unknown): RldsDataset<unknown> => ({
  stepSpec,
  metadataSpec: {},
  async *[Symbol.asyncIterator]() {
    yield* data([3]) as AsyncIterable<never>;
    throw error;
  },
});

const WRITERS = [
  ["npz", "steps.npz", writeNpz],
  ["hdf5", "demo.hdf5", writeHdf5],
  ["csv", "steps.csv", writeCsv],
] as const;

describe.each(WRITERS)("%s", (ending, name, write) => {
  test("writes a named file into a folder, or to a path, and keeps existing files without `overwrite`", async () => {
    const options: WriteOptions = {};
    expect((await write(data(), folder, options)).files).toEqual([name]);
    const path = join(folder, `a.${ending}`);
    const { files, bytes, episodes, steps, repeated } = await write(data(), path, options);
    expect([files, episodes, steps, repeated, bytes]).toEqual([[`a.${ending}`], 2, 7, 0, readFileSync(path).length]);
    await expect(write(data([2]), path, options)).rejects.toMatchObject({ code: "IO", message: expect.stringContaining("overwrite: true") });
    expect(readFileSync(path)).toEqual(readFileSync(join(folder, name)));
    expect((await write(data([2]), path, { overwrite: true })).steps).toBe(2);
    expect(readFileSync(path)).not.toEqual(readFileSync(join(folder, name)));
    expect(readdirSync(folder).sort()).toEqual([`a.${ending}`, name].sort());
  });

  test("a failed or aborted write keeps the old file and leaves no temporary file", async () => {
    const path = join(folder, `a.${ending}`);
    writeFileSync(path, "old");
    const error = new Error("the source is gone");
    await expect(write(broken(error), path, { overwrite: true })).rejects.toBe(error);
    expect([readFileSync(path, "utf8"), readdirSync(folder)]).toEqual(["old", [`a.${ending}`]]);
    const controller = new AbortController();
    const onProgress = () => controller.abort(new Error("enough"));
    await expect(write(data(), path, { overwrite: true, signal: controller.signal, onProgress })).rejects.toThrow("enough");
    expect([readFileSync(path, "utf8"), readdirSync(folder)]).toEqual(["old", [`a.${ending}`]]);
    // The failure does not affect the next write.
    await write(data(), path, { overwrite: true });
    expect(readdirSync(folder)).toEqual([`a.${ending}`]);
  });

  test("checks its options before it reads or writes", async () => {
    let asked = false;
    const source = {
      stepSpec,
      metadataSpec: {},
      [Symbol.asyncIterator]() {
        asked = true;
        return data()[Symbol.iterator as never];
      },
    } as unknown as RldsDataset<unknown>;
    const path = join(folder, `b.${ending}`);
    await expect(write(source, path, { overwite: true } as never)).rejects.toThrow(TypeError);
    await expect(write(source, path, { strict: 1 } as never)).rejects.toThrow(/strict must .*got 1/);
    await expect(write(source, path, { about: [] } as never)).rejects.toThrow("about must be a JSON object");
    expect([asked, existsSync(path)]).toEqual([false, false]);
    await expect(write([] as never, memorySink())).rejects.toMatchObject({ code: "EMPTY" });
  });

  test("reports progress after each episode", async () => {
    const told: (readonly [number, number])[] = [];
    await write(data([2, 3, 4]), memorySink(), { onProgress: ({ episodes, steps }) => told.push([episodes, steps]) });
    expect(told).toEqual([
      [1, 2],
      [2, 5],
      [3, 9],
    ]);
  });
});
