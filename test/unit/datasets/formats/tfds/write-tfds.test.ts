/** Tests writing datasets in the format of tensorflow_datasets. .ci/round-trip.mjs reads them with the real package. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { memorySink, openTfds, type RldsDataset, type SinkFolder, type TfdsWriteOptions, writeTfds } from "../../../../../src/datasets/rlds/index.ts";
import { errorFrom } from "../../../../support/later.ts";
import { expectError } from "../../../../support/refused.ts";
import { all, EVERYTHING, everything, everythingStep, expectSameColumns, METADATA, SECOND_STEP } from "../../../../support/rlds-data.ts";
import { some } from "../../../../support/size.ts";

const DATA = fileURLToPath(new URL("../../../../data/tfds/", import.meta.url));
const FOLDER = mkdtempSync(join(tmpdir(), "reprise-write-tfds-"));
afterAll(() => rmSync(FOLDER, { recursive: true }));

const IMAGES = { images: ["observation/image"] };

describe("writeTfds and openTfds keep", () => {
  it.each(some(["cartpole", "half_cheetah", "cartpole_pixels"], 1))("the columns of %s", async (name) => {
    const source = await openTfds(`${DATA}${name}`);
    const files = memorySink();
    const report = await writeTfds(source, files, { name, shards: 3, ...(name === "cartpole_pixels" ? IMAGES : {}) });
    expect(report.files).toHaveLength(5);
    const again = await openTfds(files);
    expect({ episodes: again.episodes, split: again.split }).toEqual({ episodes: report.episodes, split: "train" });
    expect(await expectSameColumns(again, source)).toBe(report.episodes);
  });

  it("every dtype, text, images, metadata, and an episode without steps", async () => {
    const data = everything();
    for (const options of [{ shards: 2, ...IMAGES }, { shardBytes: 1 }, {}] as Omit<TfdsWriteOptions, "name">[]) {
      const files = memorySink();
      const { episodes, steps } = await writeTfds(data, files, { name: "everything", ...options });
      expect({ episodes, steps }).toEqual({ episodes: 4, steps: 10 });
      const [other, parquet] = [await openTfds(files), memorySink()];
      expect(other.stepSpec).toEqual(EVERYTHING);
      expect(other.metadataSpec).toEqual({ ...METADATA, final_step: { dtype: "string", shape: [] } });
      const found = await all(other);
      expect(found).toMatchObject([
        { id: 0n },
        { id: 2n ** 55n, who: "operator \u00e9 1", score: 1 / 7, inner: { ok: false }, steps: [] },
        { vector: Float32Array.of(2, 1, 2 / 3) },
        {},
      ]);
      expect(found[0]?.steps[1]).toMatchObject(SECOND_STEP);
      expect(parquet.size).toBe(0);
    }
  });

  it("generated steps, with a spec from the first step", async () => {
    const steps = (n: number) =>
      (async function* () {
        for (let i = 0; i < n; i++)
          yield { observation: Float32Array.of(i, 1), action: i, reward: 0.5, discount: 1, is_first: i === 0, is_last: i === n - 1, is_terminal: false };
      })();
    const data = (async function* () {
      yield { steps: steps(0), name: "none" };
      yield { steps: steps(2), name: "two" };
    })() as unknown as RldsDataset<unknown>;
    const files = memorySink();
    expect(await writeTfds(data, files, { name: "made" })).toMatchObject({ episodes: 2, steps: 2 });
    const again = await openTfds(files);
    expect(again.stepSpec).toMatchObject({ observation: { dtype: "f32", shape: [2] }, action: { dtype: "f32", shape: [] } });
    expect((await all(again)).map(({ steps: found, name }) => [name, found.length])).toEqual([
      ["none", 0],
      ["two", 2],
    ]);
  });
});

describe("files", () => {
  it("contain the same bytes for the same data", async () => {
    const [a, b] = [memorySink(), memorySink()];
    await writeTfds(everything(), a, { name: "same", ...IMAGES });
    await writeTfds(everything(), b, { name: "same", ...IMAGES });
    expect([...a]).toEqual([...b]);
  });

  it("have names and a dataset_info.json in the form of tensorflow_datasets", async () => {
    const files = memorySink();
    const progress: number[] = [];
    const report = await writeTfds(everything(), files, {
      name: "made",
      version: "2.1.0",
      split: "test",
      shardBytes: 1,
      description: "text",
      onProgress: ({ steps }) => progress.push(steps),
    });
    expect(report.files).toEqual([
      ...[0, 1, 2, 3].map((i) => `made/2.1.0/made-test.tfrecord-0000${i}-of-00004`),
      ...["made/2.1.0/features.json", "made/2.1.0/dataset_info.json"],
    ]);
    expect(progress).toEqual([3, 3, 8, 10]);
    expect(report.bytes).toBe([...files.values()].reduce((sum, bytes) => sum + bytes.length, 0));
    const info = JSON.parse(new TextDecoder().decode(files.get("made/2.1.0/dataset_info.json")));
    expect(info).toMatchObject({ name: "made", version: "2.1.0", description: "text", splits: [{ name: "test", shardLengths: ["1", "1", "1", "1"] }] });
    const shards = report.files.slice(0, 4).reduce((sum, path) => sum + (files.get(path)?.length ?? 0), 0);
    expect(Number(info.splits[0].numBytes)).toBe(shards - 4 * 16);
  });

  it("have the same features.json as the original dataset", async () => {
    const files = memorySink();
    await writeTfds(await openTfds(`${DATA}cartpole_pixels`), files, { name: "cartpole_pixels", ...IMAGES });
    const real = JSON.parse(readFileSync(`${DATA}cartpole_pixels/1.0.0/features.json`, "utf8"));
    expect(JSON.parse(new TextDecoder().decode(files.get("cartpole_pixels/1.0.0/features.json")))).toEqual(real);
  });

  it("are replaced only with overwrite: true, and other files stay", async () => {
    await writeTfds(everything(), FOLDER, { name: "twice", shards: 3 });
    expectError(await errorFrom(writeTfds(everything(), FOLDER, { name: "twice" })), "IO", /split train already exists. Pass overwrite: true/);
    writeFileSync(join(FOLDER, "twice/1.0.0/notes.txt"), "stays");
    await writeTfds(everything([1]), FOLDER, { name: "twice", overwrite: true });
    expect(readdirSync(join(FOLDER, "twice/1.0.0")).sort()).toEqual(["dataset_info.json", "features.json", "notes.txt", "twice-train.tfrecord-00000-of-00001"]);
    expect(await all(await openTfds(join(FOLDER, "twice")))).toHaveLength(1);
  });
});

describe("another split", () => {
  const episodesOf = async (from: Parameters<typeof openTfds>[0], split: string) => (await all(await openTfds(from, { split }))).length;

  it("is added next to existing splits, and an overwrite replaces only that split", async () => {
    for (const to of [memorySink(), join(FOLDER, "splits")]) {
      await writeTfds(everything(), to, { name: "parts", shards: 2, description: "of everything" });
      const { files } = await writeTfds(everything([1, 2]), to, { name: "parts", split: "test" });
      expect(files).toEqual(["parts/1.0.0/parts-test.tfrecord-00000-of-00001", "parts/1.0.0/dataset_info.json"]);
      const reader = await openTfds(to);
      expect([reader.splits, reader.about.description]).toEqual([["train", "test"], "of everything"]);
      expect([await episodesOf(to, "train"), await episodesOf(to, "test"), await episodesOf(to, "all")]).toEqual([4, 2, 6]);
      expectError(await errorFrom(writeTfds(everything(), to, { name: "parts", split: "test" })), "IO", /split test already exists/);
      await writeTfds(everything([3]), to, { name: "parts", overwrite: true });
      expect([await episodesOf(to, "train"), await episodesOf(to, "test")]).toEqual([1, 2]);
    }
    expect(readdirSync(join(FOLDER, "splits/parts/1.0.0")).sort()).toEqual([
      "dataset_info.json",
      "features.json",
      "parts-test.tfrecord-00000-of-00001",
      "parts-train.tfrecord-00000-of-00001",
    ]);
  });

  it("must have the same features as the other splits", async () => {
    const files = memorySink();
    await writeTfds(everything(), files, { name: "parts" });
    const before = new Map(files);
    const other = await openTfds(`${DATA}cartpole`);
    for (const overwrite of [false, true])
      expectError(await errorFrom(writeTfds(other, files, { name: "parts", split: "test", overwrite })), "SPEC_MISMATCH", /the split must .*\btrain\b/);
    expect(files).toEqual(before);
    await writeTfds(other, files, { name: "parts", overwrite: true });
    expect(await episodesOf(files, "train")).toBe(40);
  });

  it("is not added if dataset_info.json is not readable", async () => {
    const files = memorySink();
    await writeTfds(everything(), files, { name: "parts" });
    files.set("parts/1.0.0/dataset_info.json", new TextEncoder().encode("{"));
    expectError(await errorFrom(writeTfds(everything(), files, { name: "parts", split: "test" })), "IO", /not empty/);
  });
});

describe("invalid input", () => {
  const broken = (change: (step: Record<string, unknown>) => unknown): RldsDataset<unknown> => {
    const data = everything();
    const steps = data[2]?.steps as unknown[];
    steps[3] = change(everythingStep(3, 5));
    return data;
  };
  it.each<[string, (step: Record<string, unknown>) => unknown, RegExp]>([
    ["a shape", (step) => ({ ...step, i32: [1, 2, 3] }), /^i32 must be i32 of shape \[2\], got .*\(episode 2, step 3\)$/],
    ["a number", (step) => ({ ...step, i16: 40000 }), /^i16 must be i16, an integer in -32768 … 32767, got 40000 \(episode 2, step 3\)$/],
    ["a bigint", (step) => ({ ...step, u64: -1n }), /^u64 must be u64, an integer in 0 … 18446744073709551615, got -1n /],
    ["text", (step) => ({ ...step, text: 3 }), /^text must be string, well-formed text, got 3 /],
    ["half a character", (step) => ({ ...step, text: "\ud800" }), /^text must be string, well-formed text/],
    [
      "a typed array of another dtype",
      (step) => ({ ...step, observation: { ...(step.observation as object), state: new Float64Array(2) } }),
      /^observation\/state must be f32/,
    ],
    ["a missing key", ({ reward: _, ...step }) => step, /^step must be an object with reward \(step\.reward is missing\), got an object/],
    ["an additional key", (step) => ({ ...step, more: 1 }), /^step must be an object without more \(step\.more is not in the spec\), got an object/],
    ["no step", () => null, /^step must be an object with keys .*, got null/],
  ])("%s: the error names episode, step and leaf, and no file remains", async (_, change, says) => {
    const files = memorySink();
    const error = await errorFrom(writeTfds(broken(change), files, { name: "broken" }));
    expectError(error, "SPEC_MISMATCH", says);
    expect(error).toMatchObject({ episode: 2, step: 3 });
    expect(files.size).toBe(0);
  });

  it("rejects metadata of another dtype", async () => {
    const data = everything();
    data[1] = { ...data[1], who: 7 } as never;
    expectError(await errorFrom(writeTfds(data, memorySink(), { name: "broken" })), "SPEC_MISMATCH", /^who must be .*episode 1/);
  });

  it("rejects data without episodes, without a spec, or with two leaves of one path", async () => {
    expectError(await errorFrom(writeTfds([], memorySink(), { name: "none" })), "EMPTY", /stepSpec/);
    expectError(await errorFrom(writeTfds(everything([]), memorySink(), { name: "none" })), "EMPTY", /must have at least one episode/);
    expectError(await errorFrom(writeTfds([3] as never, memorySink(), { name: "none" })), "SPEC_MISMATCH", /episode must be an object with steps/);
    expectError(
      await errorFrom(
        writeTfds(
          Object.assign([{ steps: [] }], { stepSpec: { "a/b": { dtype: "f32", shape: [] }, a: { b: { dtype: "f32", shape: [] } } } }) as never,
          memorySink(),
          { name: "x" },
        ),
      ),
      "UNSUPPORTED",
      /a\/b/,
    );
  });

  it("rejects invalid options by name", async () => {
    const write = (options: object) => errorFrom(writeTfds(everything(), memorySink(), options as TfdsWriteOptions));
    expectError(await write({}), TypeError, /^name is required/);
    expectError(await write({ name: "../x" }), RangeError, /^name must be/);
    expectError(await write({ name: "x", version: "1.0" }), RangeError, /^version/);
    expectError(await write({ name: "x", split: "a-b" }), RangeError, /^split/);
    expectError(await write({ name: "x", shards: 0 }), RangeError, /^shards/);
    expectError(await write({ name: "x", shards: 2, shardBytes: 2 }), RangeError, /shards and shardBytes cannot be used together/);
    expectError(await write({ name: "x", images: ["action"] }), RangeError, /images must be u8 leaves/);
    expectError(await write({ name: "x", images: ["nothing"] }), RangeError, /images must be paths of step leaves/);
    expectError(await write({ name: "x", other: 1 }), TypeError, /other/);
    expectError(await errorFrom(writeTfds(everything(), 3 as never, { name: "x" })), TypeError, /^to must be/);
    expectError(await errorFrom(writeTfds(everything(), "https://example.org/x", { name: "x" })), "UNSUPPORTED", /URL/);
  });
});

describe("a failed write", () => {
  /** Returns a sink that fails at its n-th call. */
  function failing(at: number, code = "ENOSPC") {
    const files = new Map<string, number>();
    let calls = 0;
    let open = 0;
    const count = () => {
      if (++calls === at) throw Object.assign(new Error("no space left"), { code });
    };
    const sink: SinkFolder = {
      name: "failing",
      list: async () => [...files.keys()],
      create: async (path) => {
        count();
        files.set(path, 0);
        open++;
        return {
          write: async (bytes) => {
            count();
            files.set(path, (files.get(path) ?? 0) + bytes.length);
          },
          close: async () => {
            open--;
            count();
          },
        };
      },
      rename: async (from, to) => {
        count();
        files.set(to, files.get(from) as number);
        files.delete(from);
      },
      remove: async (path) => {
        files.delete(path);
      },
    };
    return { sink, files, calls: () => calls, open: () => open };
  }

  it("leaves no file if the disk is full at any call", async () => {
    const whole = failing(-1);
    await writeTfds(everything(), whole.sink, { name: "full", shards: 2 });
    expect(whole.files.size).toBe(4);
    for (let at = 1; at <= whole.calls(); at++) {
      const { sink, files, open } = failing(at);
      const error = await errorFrom(writeTfds(everything(), sink, { name: "full", shards: 2 }));
      expectError(error, "IO", /the disk is full/);
      expect(error).toHaveProperty("cause.code", "ENOSPC");
      expect([...files.keys()]).toEqual([]);
      expect(open()).toBe(0);
    }
  });

  it("closes the source and removes its files after an abort or an error of the source", async () => {
    for (const ending of ["abort", "error"]) {
      const controller = new AbortController();
      let closed = false;
      const data = Object.assign(
        {
          async *[Symbol.asyncIterator]() {
            try {
              yield* everything([2, 2]);
              if (ending === "error") throw new Error("the source broke");
              controller.abort(new Error("enough"));
              yield* everything([2]);
            } finally {
              closed = true;
            }
          },
        },
        { stepSpec: EVERYTHING, metadataSpec: METADATA },
      );
      const files = memorySink();
      const error = await errorFrom(writeTfds(data as RldsDataset<unknown>, files, { name: "off", signal: controller.signal }));
      expect(error.message).toBe(ending === "error" ? "the source broke" : "enough");
      expect({ closed, files: files.size }).toEqual({ closed: true, files: 0 });
    }
  });
});
