/** Tests files written by the real TFRecordObserver (test/data/write_tfrecord.py), files that this package writes, and damaged files. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { crc32c } from "../../../../../src/base/crc32c.ts";
import { openTfrecord } from "../../../../../src/datasets/formats/index.ts";
import { featureLeaves } from "../../../../../src/datasets/formats/tfrecord/features.ts";
import { checkRlds, openRlds, RldsError } from "../../../../../src/datasets/rlds/index.ts";
import { f32, f64, i32, i64, ReplayError, type Spec, text, u8, u32 } from "../../../../../src/index.ts";
import type { Column } from "../../../../../src/schema/column.ts";
import { flatten } from "../../../../../src/schema/nest.ts";
import { loadTfrecordDataset, TFRecordObserver, trajectorySpec } from "../../../../../src/tf-agents/index.ts";
import { all } from "../../../../support/columns.ts";
import { errorFrom } from "../../../../support/later.ts";
import { TestRandom } from "../../../../support/random.ts";
import { scaled } from "../../../../support/size.ts";
import { recordsIn } from "../../../../support/tfrecord.ts";
import { dataFolder } from "../../rlds/data.ts";

const DATA = dataFolder("tfrecord");
const EXPECTED = JSON.parse(readFileSync(join(DATA, "expected.json"), "utf8"));
const path = (name: string) => join(DATA, name);
const temp = mkdtempSync(join(tmpdir(), "tfrecord-"));
afterAll(() => rmSync(temp, { recursive: true, force: true }));

const NUMPY: { readonly [dtype: string]: string } = {
  ...{ f16: "float16", f32: "float32", f64: "float64", u8: "uint8", i8: "int8", u16: "uint16", i16: "int16", i32: "int32", i64: "int64" },
};

/** Converts an element to the format of expected.json. */
function flat(spec: Spec, element: unknown): object {
  const columns = flatten(spec, element) as Column[];
  const entries = featureLeaves(spec).map(({ name, dtype }, i) => {
    const { data, shape } = columns[i] as Column;
    return [name, { dtype: NUMPY[dtype], shape, data: [...(data as unknown as number[])].map((x) => (dtype === "i64" ? String(x) : x)) }];
  });
  return Object.fromEntries(entries);
}

const PAIR: Spec = { a: f32(2), b: [i64(), f64()] };
const pair = (i: number) => ({ a: [i, -i], b: [BigInt(i), i / 4] });

async function written(files: Map<string, Uint8Array>, name: string, spec: Spec, steps: readonly unknown[]): Promise<Map<string, Uint8Array>> {
  const observer = new TFRecordObserver(name, spec, { pyMode: true, to: files });
  for (const step of steps) await observer(step);
  await observer.close();
  return files;
}

/** Returns all files of the folder by name. */
function folder(): Map<string, Uint8Array> {
  return new Map(readdirSync(DATA).map((name) => [name, new Uint8Array(readFileSync(path(name)))]));
}

describe("files written by Python", () => {
  it.each([
    ["trajectories", "trajectories.tfrecord"],
    ["nests", "nest.tfrecord"],
  ])("reads %s with the expected values", async (name, file) => {
    const dataset = await loadTfrecordDataset([path(file)], { addBatchDim: false });
    const elements = await all(dataset);
    expect(elements.map((element) => flat(dataset.spec as Spec, element))).toEqual(EXPECTED[name]);
    // Without options, the elements have a batch dimension.
    const [first] = await all(await loadTfrecordDataset([path(file)]));
    for (const { shape } of flatten(dataset.spec as Spec, first) as Column[]) expect(shape[0]).toBe(1);
  });

  it.each(EXPECTED.interleaved.cases as { reads: number | null; asExperience: boolean; elements: number[][] }[])(
    "interleaves several files in the order of TensorFlow: %o",
    async ({ reads, asExperience, elements }) => {
      const files = EXPECTED.interleaved.files.map(path);
      const dataset = await loadTfrecordDataset(files, { asExperience, ...(reads !== null && { numParallelReads: reads }) });
      expect((await all(dataset)).map((element) => [...(element as Column<"i64">).data].map(Number))).toEqual(elements);
    },
  );

  it("images equal those that TensorFlow decodes, within the tolerance of JPEG decoders", async () => {
    const [image] = (await all(await loadTfrecordDataset([path("image.tfrecord")], { compressImage: true, addBatchDim: false }))) as [Column];
    expect(image.shape).toEqual([8, 16, 3]);
    const differences = [...(image.data as Uint8Array)].map((x, i) => Math.abs(x - EXPECTED.image.decoded[i]));
    expect(Math.max(...differences)).toBeLessThanOrEqual(4);
  });

  it("openRlds reads trajectories as episodes, from a path and from a Map", async () => {
    for (const from of [path("trajectories.tfrecord"), new Map([...folder()].filter(([name]) => name.startsWith("trajectories")))]) {
      const reader = await openRlds(from);
      expect(reader.format).toBe("tfrecord");
      const episodes = await all(reader);
      expect(episodes.map(({ steps, final_step }) => [steps.length, final_step])).toEqual([
        [5, "observation"],
        [4, "observation"],
        [2, "observation"],
        [2, "transition"],
      ]);
      const flags = episodes.map(({ steps }) => [...steps].map(({ is_first, is_last, is_terminal }) => [is_first, is_last, is_terminal].map(Number).join("")));
      expect(flags).toEqual([
        ["100", "000", "000", "000", "011"],
        ["100", "000", "000", "010"],
        ["100", "011"],
        ["100", "000"],
      ]);
      const rewards = episodes.flatMap(({ steps }) => [...steps].map(({ reward }) => reward));
      expect(rewards).toEqual(EXPECTED.trajectories.map((step: { reward: { data: number[] } }) => step.reward.data[0]));
      const positions = episodes.flatMap(({ steps }) => [...steps].map(({ observation }) => [...observation.position]));
      expect(positions).toEqual(EXPECTED.trajectories.map((step: { [name: string]: { data: number[] } }) => step["observation/position"]?.data));
      await reader.close();
    }
  });

  it("records can be compressed as a whole if the .spec file is next to them", async () => {
    const folder = mkdtempSync(join(temp, "compressed-"));
    const stored = readFileSync(path("trajectories.tfrecord"));
    writeFileSync(join(folder, "steps.tfrecord.gz"), gzipSync(stored));
    await expect(openRlds(join(folder, "steps.tfrecord.gz"))).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("Put the TF-Agents file steps.tfrecord.spec next to this file"),
    });
    writeFileSync(join(folder, "steps.tfrecord.spec"), readFileSync(path("trajectories.tfrecord.spec")));
    for (const open of [openRlds, openTfrecord]) {
      const reader = await open(join(folder, "steps.tfrecord.gz"));
      expect([reader.format, reader.name]).toEqual(["tfrecord", "steps"]);
      expect((await all(reader)).map(({ steps }) => steps.length)).toEqual([5, 4, 2, 2]);
      await reader.close();
    }
  });

  it("trajectories pass checkRlds", async () => {
    const reader = await openRlds(path("trajectories.tfrecord"));
    expect((await checkRlds(reader)).episodes).toBe(4);
    await reader.close();
  });
});

describe("TFRecordObserver", () => {
  it.each([
    ["trajectories", "trajectories.tfrecord"],
    ["nests", "nest.tfrecord"],
  ])("writes %s of Python that read back unchanged", async (_, file) => {
    const original = await loadTfrecordDataset([path(file)], { addBatchDim: false });
    const elements = await all(original);
    const files = await written(new Map(), "copy.tfrecord", original.spec as Spec, elements);
    const copy = await loadTfrecordDataset(["copy.tfrecord"], { from: files, addBatchDim: false });
    expect(copy.spec).toEqual(original.spec);
    expect(await all(copy)).toEqual(elements);
  });

  it("writes the bytes of Python for one leaf, and a trajectory spec as a named tuple", async () => {
    const spec = i64();
    const files = await written(
      new Map(),
      "count-0.tfrecord",
      spec,
      [0, 1, 2].map((i) => BigInt(i)),
    );
    expect(files.get("count-0.tfrecord")).toEqual(new Uint8Array(readFileSync(path("count-0.tfrecord"))));
    expect(files.get("count-0.tfrecord.spec")).toEqual(new Uint8Array(readFileSync(path("count-0.tfrecord.spec"))));
    const trajectories = trajectorySpec({ observation: f32(2), action: i64() });
    const named = await written(new Map(), "t", trajectories, []);
    const textOf = new TextDecoder("latin1").decode(named.get("t.spec"));
    expect(textOf).toMatch(/Trajectory.*step_type.*observation.*action.*policy_info.*next_step_type.*reward.*discount/s);
    expect((await loadTfrecordDataset(["t"], { from: named })).spec).toEqual(trajectories);
  });

  it("accepts batches of one, and rejects other shapes", async () => {
    const files = new Map<string, Uint8Array>();
    const observer = new TFRecordObserver("batches", f32(2), { to: files });
    await observer([[1, 2]]);
    await observer(new Float32Array([3, 4]));
    expect(() => observer([1, 2, 3])).toThrow(ReplayError);
    expect(() => observer([1, 2] as never)).not.toThrow();
    expect(() =>
      observer([
        [1, 2],
        [3, 4],
      ]),
    ).toThrow(/SPEC_MISMATCH|must be/);
    await observer.close();
    const elements = (await all(await loadTfrecordDataset(["batches"], { from: files }))) as Column[];
    expect(elements.map(({ data }) => [...data].map(Number))).toEqual([
      [1, 2],
      [3, 4],
      [1, 2],
    ]);
  });

  it("copies each step at the call, and writes nothing for a rejected call", async () => {
    const files = new Map<string, Uint8Array>();
    const observer = new TFRecordObserver("copies", PAIR, { pyMode: true, to: files });
    const step = { a: new Float32Array([1, 2]), b: [5n, 0.5] };
    observer(step);
    step.a.fill(9);
    expect(() => observer({ a: [1, 2], b: [5n, "x"] })).toThrow(/b\.1/);
    expect(() => observer({ a: [1, 2], b: [5n, 1], c: 1 })).toThrow(/c is not in the spec/);
    await observer.close();
    const [only, ...rest] = (await all(await loadTfrecordDataset(["copies"], { from: files, addBatchDim: false }))) as { a: Column }[];
    expect(rest).toEqual([]);
    expect(only?.a.data).toEqual(new Float32Array([1, 2]));
  });

  it("appends while it runs, replaces existing files, and allows one writer per path", async () => {
    const file = join(temp, "below/steps.tfrecord");
    for (const count of [1000, 3]) {
      const observer = new TFRecordObserver(file, PAIR, { pyMode: true });
      for (let i = 0; i < count; i++) await observer(pair(i));
      await observer.flush();
      const dataset = await loadTfrecordDataset([file]);
      expect(await all(dataset)).toHaveLength(count);
      const other = new TFRecordObserver(file, PAIR, { pyMode: true });
      await expect(other.close()).rejects.toMatchObject({ code: "IO", message: expect.stringContaining("is already writing to this path") });
      expect(() => other(pair(1))).toThrow(/closed/);
      await observer.close();
      await observer.close();
      expect(readdirSync(join(temp, "below")).sort()).toEqual(["steps.tfrecord", "steps.tfrecord.spec"]);
    }
  });

  it("reports a failed write at the next call, at flush and at close", async () => {
    let left = 2;
    const sink = {
      name: "broken",
      list: async () => [],
      create: async () => ({
        async write() {
          if (left-- <= 0) throw new Error("no more");
        },
        async close() {},
      }),
      rename: async () => {},
      remove: async () => {},
    };
    const observer = new TFRecordObserver("steps", PAIR, { pyMode: true, to: sink });
    observer(pair(1));
    await observer.flush().catch(() => {});
    await observer.flush().catch(() => {});
    observer(pair(2));
    await expect(observer.flush()).rejects.toMatchObject({ code: "IO", message: expect.stringContaining("no more") });
    expect(() => observer(pair(3))).toThrow(/no more/);
    await expect(observer.close()).rejects.toMatchObject({ code: "IO" });
  });

  it("writes the images that compressImage returns", async () => {
    const jpeg = new Uint8Array(readFileSync(path("image.tfrecord")));
    const start = jpeg.findIndex((byte, i) => byte === 0xff && jpeg[i + 1] === 0xd8);
    const calls: unknown[] = [];
    const files = new Map<string, Uint8Array>();
    const observer = new TFRecordObserver("image", u8(8, 16, 3), {
      pyMode: true,
      to: files,
      compressImage(pixels, width, height, channels) {
        calls.push([pixels.length, width, height, channels]);
        return jpeg.slice(start, jpeg.length - 4);
      },
    });
    observer(new Uint8Array(EXPECTED.image.pixels));
    await observer.close();
    expect(calls).toEqual([[384, 16, 8, 3]]);
    const options = { compressImage: true, addBatchDim: false } as const;
    expect(await all(await loadTfrecordDataset(["image"], { from: files, ...options }))).toEqual(
      await all(await loadTfrecordDataset([path("image.tfrecord")], options)),
    );
  });
});

describe("options of loadTfrecordDataset", () => {
  it("asTrajectories converts a tuple of the trajectory fields, and rejects other specs", async () => {
    const spec = [i32(), f32(2), i64(), [], i32(), f32(), f32()] as const;
    const files = await written(new Map(), "tuple", spec, [[0, [1, 2], 3n, [], 1, 0.5, 1]]);
    const [element] = (await all(await loadTfrecordDataset(["tuple"], { from: files, asTrajectories: true }))) as { [name: string]: Column }[];
    expect(Object.keys(element as object)).toEqual(["stepType", "observation", "action", "policyInfo", "nextStepType", "reward", "discount"]);
    expect(element?.observation?.data).toEqual(new Float32Array([1, 2]));
    await written(files, "pair", PAIR, [pair(1)]);
    expect(await errorFrom(loadTfrecordDataset(["pair"], { from: files, asTrajectories: true }))).toMatchObject({ code: "SPEC_MISMATCH" });
  });

  it("decoder replaces the spec, and spec replaces the .spec file", async () => {
    const files = await written(new Map(), "pair", PAIR, [pair(1), pair(2), pair(3)]);
    files.delete("pair.spec");
    const lengths = await all(await loadTfrecordDataset(["pair"], { from: files, addBatchDim: false, decoder: ({ length }) => length }));
    expect(lengths).toEqual(recordsIn(files.get("pair") as Uint8Array).map(({ length }) => length));
    expect(lengths).toHaveLength(3);
    expect(await all(await loadTfrecordDataset(["pair"], { from: files, spec: PAIR, asExperience: true }))).toHaveLength(1);
  });
});

describe("errors", () => {
  const vector = f32(2);
  const observed = (spec: Spec, value: unknown, pyMode: boolean) => async () => {
    const observer = new TFRecordObserver("x", spec, { pyMode, to: new Map() });
    try {
      observer(value);
    } finally {
      await observer.close();
    }
  };
  const compressed = (channels: number) => async () => {
    const compressImage = () => new Uint8Array([255, 216]);
    const observer = new TFRecordObserver("x", u8(8, 16, channels), { pyMode: true, to: new Map(), compressImage });
    observer(new Uint8Array(8 * 16 * channels));
    await observer.close();
  };
  const CASES: { readonly [name: string]: () => Promise<unknown> } = {
    bool: observed({ dtype: "bool", shape: [2] }, [0, 0], true),
    string: observed(text({ maxBytes: 4 }), "a", true),
    uint32: observed(u32(2), [0, 0], true),
    "shape of 0": observed({ dtype: "f32", shape: [0] }, [], true),
    "unknown shape": observed({ dtype: "f32", shape: [null as never] }, [0, 0], true),
    "another shape": observed(vector, new Float32Array(3), true),
    "another dtype": observed(vector, new Float64Array(2), true),
    "one leaf too many": observed({ a: vector }, { a: new Float32Array(2), b: new Float32Array(2) }, true),
    "a batch in py_mode": observed(vector, { data: new Float32Array(2), shape: [1, 2] }, true),
    "a batch": observed(vector, { data: new Float32Array(2), shape: [1, 2] }, false),
    "no batch": observed(vector, { data: new Float32Array(2), shape: [2] }, false),
    "a batch of two": observed(vector, { data: new Float32Array(4), shape: [2, 2] }, false),
    "a spec without leaves": async () => {
      await observed({ a: [] }, { a: [] }, true)();
    },
    "no spec file": () => loadTfrecordDataset([path("missing.tfrecord")]),
    "specs differ": () => loadTfrecordDataset([path("nest.tfrecord"), path("count-0.tfrecord")]),
    "no dataset": () => loadTfrecordDataset([]),
    ...Object.fromEntries([1, 2, 3, 4, 84].map((channels) => [`a JPEG of ${channels} channels`, compressed(channels)])),
  };

  it.each(EXPECTED.errors as { name: string; error: string | null }[])("$name: corresponds to $error in Python", async ({ name, error }) => {
    const found = await (CASES[name] as () => Promise<unknown>)().then(
      () => null,
      (failure) => failure,
    );
    if (error === null) return expect(found).toBeNull();
    expect(found).toBeInstanceOf(error === "IndexError" ? TypeError : ReplayError);
    const code = {
      OSError: name === "no spec file" ? "NOT_FOUND" : "SPEC_MISMATCH",
      ValueError: "SPEC_MISMATCH",
      IndexError: undefined,
      TypeError: "SPEC_MISMATCH",
    }[error];
    expect(found.code).toBe(code);
  });

  it("two leaves of the same path throw", () => {
    expect(() => new TFRecordObserver("x", { "a/b": f32(), a: { b: f32() } }, { to: new Map() })).toThrow(/a\/b/);
  });

  it("records without a spec, and records that are not trajectories, name the fix", async () => {
    const files = folder();
    const records = files.get("trajectories.tfrecord") as Uint8Array<ArrayBuffer>;
    expect(await errorFrom(openRlds(new Blob([records])))).toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringMatching(/Put the TF-Agents file .*\.spec next to this file.*option spec/),
    });
    expect(await errorFrom(openRlds(path("nest.tfrecord")))).toMatchObject({ code: "UNSUPPORTED", message: expect.stringContaining("loadTfrecordDataset") });
    expect(await errorFrom(openRlds(DATA))).toMatchObject({ code: "SPEC_MISMATCH" });
  });
});

describe("damaged files", () => {
  const records = () => folder().get("trajectories.tfrecord") as Uint8Array<ArrayBuffer>;
  const files = (bytes: Uint8Array, spec = folder().get("trajectories.tfrecord.spec") as Uint8Array) =>
    new Map([
      ["t.tfrecord", bytes],
      ["t.tfrecord.spec", spec],
    ]);

  it("salvage reads the undamaged records, and a gap splits an episode", async () => {
    const bytes = records();
    // The flipped bit is in the data of the second record.
    const second = 16 + new DataView(bytes.buffer).getUint32(0, true);
    bytes[second + 40] = (bytes[second + 40] as number) ^ 1;
    expect(await errorFrom(openRlds(files(bytes)).then(all))).toMatchObject({ code: "CORRUPT", message: expect.stringContaining("salvage: true") });
    const reader = await openRlds(files(bytes), { salvage: true });
    const episodes = await all(reader);
    expect(episodes.map(({ steps }) => steps.length)).toEqual([1, 3, 4, 2, 2]);
    expect(episodes.map(({ steps }) => Number([...steps][0]?.is_first))).toEqual([1, 0, 1, 1, 1]);
    expect(reader.losses?.map(({ code }) => code)).toEqual(["CORRUPT"]);
  });

  it("are rejected with the name of a missing feature, or of a feature of another kind or length", async () => {
    const data = await written(new Map(), "t", { a: f32(2) }, [{ a: [1, 2] }]);
    const refusal = async (spec: Spec) => errorFrom(loadTfrecordDataset(["t"], { from: data, spec }).then(all));
    expect(await refusal({ b: f32(2) })).toMatchObject({ code: "CORRUPT", message: expect.stringContaining("feature b must have 2 values") });
    expect(await refusal({ b: f64(2) })).toMatchObject({ code: "CORRUPT", message: expect.stringContaining("feature b must have one value") });
    expect(await refusal({ a: f32(3) })).toMatchObject({ code: "CORRUPT", message: expect.stringContaining("feature a must have 3 values") });
    expect(await refusal({ a: i64(2) })).toMatchObject({ code: "CORRUPT", message: expect.stringContaining("feature a must contain integers") });
    expect(await refusal({ a: f32(1e9) })).toMatchObject({ code: "CORRUPT" });
  });

  it("declared sizes of 10^9 bytes are rejected without an allocation", async () => {
    const head = new DataView(new ArrayBuffer(12));
    head.setBigUint64(0, 10n ** 9n, true);
    const sum = crc32c(new Uint8Array(head.buffer), 0, 8);
    head.setUint32(8, (((sum >>> 15) | (sum << 17)) + 0xa282ead8) >>> 0, true);
    const bytes = new Uint8Array(head.buffer);
    expect(await errorFrom(openRlds(files(bytes)).then(all))).toMatchObject({ code: "CORRUPT", message: expect.stringContaining("1000000000 bytes") });
    expect(await errorFrom(openRlds(files(records(), bytes)))).toMatchObject({ code: "CORRUPT" });
    expect(await errorFrom(openRlds(files(records()), { maxBytes: 100 }))).toMatchObject({ code: "CORRUPT", message: expect.stringContaining("maxBytes") });
  });

  it("an episode above maxBytes is rejected and named in the error, even with salvage", async () => {
    const spec = trajectorySpec({ observation: f32(2), action: i32() });
    const episode = (length: number) =>
      Array.from({ length }, (_, i) => ({
        ...{ stepType: i === 0 ? 0 : 1, nextStepType: i === length - 1 ? 2 : 1, action: i, policyInfo: [], reward: 1, discount: 1 },
        observation: [i, -i],
      }));
    const from = await written(new Map(), "t.tfrecord", spec, [...episode(3), ...episode(40)]);
    for (const salvage of [false, true]) {
      const reader = await openRlds(from, { maxBytes: 1000, salvage });
      const failure = (await errorFrom(all(reader))) as RldsError;
      expect(failure).toMatchObject({ code: "UNSUPPORTED", file: "t.tfrecord", episode: 1 });
      expect(failure.message).toMatch(/^an episode takes more than the 1000 bytes that maxBytes allows. Increase maxBytes \(/);
      expect(failure.message).not.toContain("salvage");
      expect(reader.losses ?? []).toEqual([]);
    }
    const reader = await openRlds(from, { maxBytes: 1300, salvage: true });
    expect([(await all(reader)).map(({ steps }) => steps.length), reader.losses]).toEqual([[3, 40], []]);
  });

  it("salvage reads the records after a record above maxBytes", async () => {
    // Varint integers have different lengths, so the records differ in size.
    const spec = trajectorySpec({ observation: i64(400), action: i32() });
    const step = (value: bigint) => ({
      ...{ stepType: 0, nextStepType: 2, action: 1, policyInfo: [], reward: 1, discount: 1 },
      observation: new BigInt64Array(400).fill(value),
    });
    const from = await written(new Map(), "t.tfrecord", spec, [step(1n), step(-1n), step(2n)]);
    const options = { maxBytes: 4100 } as const;
    expect(await errorFrom(openRlds(from, options).then(all))).toMatchObject({
      code: "CORRUPT",
      message: expect.stringMatching(
        /a record has 4\d+ bytes, more than the 4100 that maxBytes allows\. Increase maxBytes\. Pass salvage: true to read the rest/,
      ),
    });
    const reader = await openRlds(from, { ...options, salvage: true });
    expect((await all(reader)).map(({ steps }) => [...steps][0]?.observation[0])).toEqual([1n, 2n]);
    expect(reader.losses).toHaveLength(1);
  });

  it("damaged files, even with valid checksums, are read or rejected with the file name", async () => {
    const random = new TestRandom(3);
    const counts = { read: 0, refused: 0 };
    const whole = folder();
    for (let i = 0; i < scaled(3000); i++) {
      const name = ["trajectories.tfrecord", "nest.tfrecord", "image.tfrecord"][i % 3] as string;
      const damaged = random.below(2) === 0 ? name : `${name}.spec`;
      let bytes = (whole.get(damaged) as Uint8Array).slice(0, random.below(8) === 0 ? random.below(600) : undefined);
      for (let n = random.below(4); n >= 0 && bytes.length > 0; n--) bytes[random.below(bytes.length)] = random.below(256);
      if (random.below(2) === 0) bytes = resealed(bytes);
      const from = new Map([...whole, [damaged, bytes]]);
      try {
        await all(await loadTfrecordDataset([name], { from, compressImage: name.startsWith("image"), maxBytes: 2 ** 22 }));
        counts.read++;
      } catch (error) {
        expect(error).toBeInstanceOf(RldsError);
        expect((error as RldsError).file).toContain(name);
        counts.refused++;
      }
    }
    expect(Math.min(counts.read, counts.refused)).toBeGreaterThan(scaled(3000) / 20);
  });
});

/** Recomputes the checksums of all complete records. */
function resealed(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const output = bytes.slice();
  const view = new DataView(output.buffer);
  const seal = (from: number, to: number) => {
    const sum = crc32c(output, from, to);
    view.setUint32(to, (((sum >>> 15) | (sum << 17)) + 0xa282ead8) >>> 0, true);
  };
  for (let at = 0; at + 16 <= output.length; ) {
    seal(at, at + 8);
    const length = Number(view.getBigUint64(at, true));
    if (at + 16 + length > output.length) break;
    seal(at + 12, at + 12 + length);
    at += 16 + length;
  }
  return output;
}
