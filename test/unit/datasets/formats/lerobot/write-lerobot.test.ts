/** Tests writeLeRobot by reading its output with openLeRobot; the real lerobot reads it in .ci/exports.mjs. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parquetFile } from "../../../../../src/datasets/formats/parquet/parquet-file.ts";
import { bytesFile } from "../../../../../src/datasets/formats/sources/bytes-source.ts";
import {
  type MakeVideoEncoder,
  memorySink,
  openLeRobot,
  openRlds,
  type RldsDataset,
  StepColumns,
  type StepSpec,
  writeLeRobot,
} from "../../../../../src/datasets/rlds/index.ts";
import { errorFrom } from "../../../../support/later.ts";
import { FLAGS, leaf, type MadeDataset, made } from "../../../../support/random-steps.ts";
import { expectError } from "../../../../support/refused.ts";
import { all } from "../../../../support/rlds-data.ts";
import { scaled, whole } from "../../../../support/size.ts";

const SPEC = {
  observation: { images: { top: leaf("u8", [4, 5, 3]), wrist: leaf("u8", [3, 3, 3]) }, state: leaf("f32", [2]), said: leaf("string") },
  action: leaf("f32", [2]),
  reward: leaf("f64"),
  discount: leaf("f64"),
  ...FLAGS,
  task: leaf("string"),
  matrix: leaf("i16", [2, 3]),
} as const;
const METADATA = { success: leaf("bool"), who: leaf("string"), score: leaf("f32", [2]), inner: { id: leaf("i64") } } as const;
const metadata = (k: number) => ({ success: k % 2 === 0, who: `operator ${k}`, score: Float32Array.of(k, -k), inner: { id: BigInt(k) } });
const demonstrations = (lengths: readonly number[] = [3, 1, 5]) => made(SPEC, lengths, { metadataSpec: METADATA, metadata });

const stepsAt = <T>(data: MadeDataset, k: number) => data[k]?.steps as T[];
const json = (files: Map<string, Uint8Array>, path: string) => JSON.parse(new TextDecoder().decode(files.get(path)));

/** Writes data whose last steps are transitions, as usual in LeRobot, unless an option changes that. */
async function written(data: MadeDataset, options: object = {}) {
  const files = memorySink();
  await writeLeRobot(data as unknown as RldsDataset<unknown>, files, { fps: 10, finalStep: "transition", ...options });
  return files;
}

it("writeLeRobot and openLeRobot keep frames, images, tasks, ends and metadata", async () => {
  const data = demonstrations();
  const files = await written(data);
  expect([...files.keys()]).toEqual([
    "data/chunk-000/file-000.parquet",
    "meta/episodes/chunk-000/file-000.parquet",
    "meta/tasks.parquet",
    "meta/stats.json",
    "meta/info.json",
  ]);
  const reader = await openRlds(files);
  expect(reader).toMatchObject({
    format: "lerobot",
    episodes: 3,
    steps: 9,
    metadataSpec: { ...METADATA, episode_index: leaf("i64"), final_step: leaf("string") },
  });
  const { next, timestamp, frame_index, index, task_index, ...own } = reader.stepSpec as { readonly [name: string]: unknown };
  expect(own).toEqual(SPEC);
  expect([next, timestamp, frame_index, index, task_index]).toEqual([{ done: leaf("bool") }, leaf("f32"), leaf("i64"), leaf("i64"), leaf("i64")]);
  const found = await all(reader);
  for (const [k, { steps, ...about }] of found.entries()) {
    expect(about).toEqual({ ...metadata(k), episode_index: BigInt(k), final_step: "transition" });
    const expected = data[k]?.steps as { readonly [name: string]: unknown }[];
    expect(steps).toHaveLength(expected.length);
    for (const [i, step] of (steps as { readonly [name: string]: unknown }[]).entries()) {
      expect(step).toMatchObject(expected[i] as object);
      expect(step.timestamp).toBe(Math.fround(i / 10));
      expect(step.next).toEqual({ done: i === expected.length - 1 });
    }
  }
});

it("writeLeRobot writes timestamps since 1970 relative to the episode, and reports the loss", async () => {
  const spec = (dtype: string) =>
    ({ observation: leaf("f32", [2]), action: leaf("f32", [2]), timestamp: leaf(dtype as "f64"), ...FLAGS }) as unknown as StepSpec;
  const timed = (dtype: string, timeOf: (i: number, k: number) => number | bigint) => {
    const data = made(spec(dtype), [4, 3], { metadataSpec: { final_step: leaf("string") }, metadata: () => ({ final_step: "transition" }) });
    for (const [k, { steps }] of data.entries()) for (const [i, step] of (steps as { timestamp: unknown }[]).entries()) step.timestamp = timeOf(i, k);
    return data as unknown as RldsDataset<unknown>;
  };
  const timesOf = async (files: ReturnType<typeof memorySink>) =>
    (await all(await openRlds(files))).map(({ steps }) => (steps as { timestamp: number }[]).map(({ timestamp }) => timestamp));
  const since = (start: number) => (i: number, k: number) => start + 100 * k + i / 8;
  const seconds = [4, 3].map((length) => Array.from({ length }, (_, i) => i / 8));
  const files = memorySink();
  const { losses } = await writeLeRobot(timed("f64", since(1.7e9)), files, { fps: 8 });
  expect(losses).toEqual([{ what: "timestamp of the first step", reason: expect.stringContaining("from the beginning of the episode"), episodes: 2 }]);
  expect(await timesOf(files)).toEqual(seconds);
  await expect(writeLeRobot(timed("f64", since(1.7e9)), memorySink(), { fps: 8, strict: true })).rejects.toMatchObject({ code: "UNSUPPORTED" });
  // Values that f32 can represent are not changed.
  const exact = memorySink();
  expect((await writeLeRobot(timed("f64", since(50)), exact, { fps: 8, strict: true })).losses).toEqual([]);
  expect(await timesOf(exact)).toEqual(seconds.map((times, k) => times.map((time) => 50 + 100 * k + time)));
  const counted = memorySink();
  expect(
    (
      await writeLeRobot(
        timed("i64", (i) => BigInt(i) * 10n ** 9n),
        counted,
        { fps: 8 },
      )
    ).losses,
  ).toMatchObject([{ what: "timestamp" }]);
  expect(await timesOf(counted)).toEqual(seconds);
});

it("writeLeRobot writes one row group per episode, and starts a new file after fileBytes", async () => {
  const { parquetMetadata } = await import("hyparquet");
  const [one, many] = [await written(demonstrations()), await written(demonstrations(), { fileBytes: 1 })];
  const groups = (files: Map<string, Uint8Array>, path: string) =>
    parquetMetadata((files.get(path) as Uint8Array<ArrayBuffer>).slice().buffer).row_groups.map(({ num_rows }) => Number(num_rows));
  expect(groups(one, "data/chunk-000/file-000.parquet")).toEqual([3, 1, 5]);
  expect([0, 1, 2].map((file) => groups(many, `data/chunk-000/file-00${file}.parquet`))).toEqual([[3], [1], [5]]);
  expect(await all(await openLeRobot(many))).toEqual(await all(await openLeRobot(one)));
});

it("writeLeRobot writes the same bytes for the same data", async () => {
  expect(await written(demonstrations())).toEqual(await written(demonstrations()));
});

it("writeLeRobot writes the statistics of all episodes as LeRobot does", async () => {
  const spec = { observation: { image: leaf("u8", [1, 2, 3]), state: leaf("f64", [2]) }, action: leaf("i64"), reward: leaf("f32"), ...FLAGS };
  const step = (i: number, last: boolean) => ({
    observation: { image: [0, 51, 255, 255, 51, 102], state: [i, -i] },
    action: BigInt(i),
    reward: 0.5,
    ...{ is_first: false, is_last: last, is_terminal: false },
  });
  const data = Object.assign([{ steps: [0, 1, 2, 3].map((i) => step(i, i === 3)) }, { steps: [step(10, false), step(20, true)] }], {
    stepSpec: spec,
    metadataSpec: {},
  });
  const files = await written(data as unknown as MadeDataset);
  const stats = json(files, "meta/stats.json");
  const values = [0, 1, 2, 3, 10, 20];
  const mean = values.reduce((a, b) => a + b) / 6;
  const std = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 6);
  expect(stats["observation.state"].min).toEqual([0, -20]);
  expect(stats["observation.state"].max).toEqual([20, 0]);
  expect(stats["observation.state"].count).toEqual([6]);
  expect(stats["observation.state"].mean[0]).toBeCloseTo(mean, 12);
  expect(stats["observation.state"].std[1]).toBeCloseTo(std, 12);
  // The median is 1 in the first episode and 10 in the second; they are weighted by the number of frames.
  expect(stats.action.q50[0]).toBeCloseTo((4 * 1 + 2 * 10) / 6, 12);
  expect(stats["observation.image"]).toMatchObject({ min: [[[0]], [[0.2]], [[0.4]]], max: [[[1]], [[0.2]], [[1]]], count: [6] });
  expect(stats["observation.image"].mean.flat(2).map((value: number) => value.toFixed(6))).toEqual(["0.500000", "0.200000", "0.700000"]);
  expect(stats["next.done"].mean[0]).toBeCloseTo(2 / 6, 12);
});

it("writeLeRobot takes the task from steps, observations, metadata or an option", async () => {
  const tasks = async (spec: object, metadataSpec: object, options: object = {}) => {
    const files = await written(
      made(spec as StepSpec, [2, 1], {
        metadataSpec: metadataSpec as never,
        metadata: (k) => ("task" in metadataSpec ? { task: `from metadata ${k}`, instruction: "?" } : {}),
      }),
      options,
    );
    const found = [];
    for (const { steps } of await all(await openLeRobot(files))) for (const { task } of steps as { readonly task: string }[]) found.push(task);
    return found;
  };
  const { task: _, ...bare } = SPEC;
  const about = { task: leaf("string"), instruction: leaf("string") };
  expect(await tasks(bare, {})).toEqual(["", "", ""]);
  expect(await tasks(bare, {}, { task: "pick" })).toEqual(["pick", "pick", "pick"]);
  expect(await tasks(bare, about)).toEqual(["from metadata 0", "from metadata 0", "from metadata 1"]);
  expect(await tasks(bare, about, { taskLeaf: "instruction" })).toEqual(["?", "?", "?"]);
  const said = (await all(made(bare as StepSpec, [2, 1]) as never)).flatMap(({ steps }) =>
    (steps as { readonly observation: { readonly said: string } }[]).map((step) => step.observation.said),
  );
  expect(await tasks(bare, {}, { taskLeaf: "observation/said" })).toEqual(said);
});

it("writeLeRobot takes the task from the next source in each frame with an empty task", async () => {
  const spec = { action: leaf("f32", [1]), task: leaf("string"), observation: { instruction: leaf("string") }, ...FLAGS };
  const said = [
    ["", "", ""],
    ["own", "", "own"],
    ["", "seen", "seen"],
  ];
  const step = ([task, instruction]: string[], i: number) => ({
    ...{ action: [0], task, observation: { instruction }, is_first: i === 0, is_last: i === 2, is_terminal: false },
  });
  const tasks = async (about: object[], metadataSpec: object, options: object = {}) => {
    const data = Object.assign(
      about.map((metadata) => ({ ...metadata, steps: said.map(step) })),
      { stepSpec: spec, metadataSpec },
    );
    const found = [];
    for (const { steps } of await all(await openLeRobot(await written(data as unknown as MadeDataset, options))))
      found.push((steps as { readonly task: string }[]).map(({ task }) => task));
    return found;
  };
  expect(await tasks([{}], {})).toEqual([said.map(([, , task]) => task)]);
  const metadata = [{ task: "" }, { task: "of all" }];
  const both = { task: leaf("string") };
  expect(await tasks(metadata, both)).toEqual([
    ["", "own", "seen"],
    ["of all", "own", "of all"],
  ]);
  // If an option names a leaf, no other leaf provides the task.
  const others = { ...both, instruction: leaf("string") };
  expect(
    await tasks(
      metadata.map((each) => ({ ...each, instruction: "" })),
      others,
      { taskLeaf: "instruction" },
    ).catch((error) => error.message),
  ).toMatch(/^two features would be named task/);
});

it('finalStep "observation" omits final observations, and the frame before ends the episode', async () => {
  const files = await written(demonstrations([3, 5]), { finalStep: "observation" });
  const found = await all(await openLeRobot(files));
  const before = demonstrations([3, 5]);
  for (const [k, { steps }] of found.entries()) {
    const expected = stepsAt<{ readonly action: unknown }>(before, k).slice(0, -1);
    expect((steps as { readonly action: unknown }[]).map(({ action }) => action)).toEqual(expected.map(({ action }) => action));
    expect((steps as { readonly is_terminal: boolean }[]).map((step) => step.is_terminal)).toEqual(expected.map((_, i) => i === expected.length - 1));
    expect((steps as { readonly next: object }[]).at(-1)?.next).toEqual({ done: true });
  }
});

/** Returns an encoder that logs a line for each received frame. */
function films(log: string[], failAt = Number.POSITIVE_INFINITY): MakeVideoEncoder {
  return async ({ width, height, fps, write }) => {
    log.push(`begin ${width} × ${height} at ${fps}`);
    return {
      codec: "made",
      async add(pixels, timestamp) {
        if (log.length >= failAt) throw new Error("no more film");
        log.push(`${timestamp.toFixed(2)}: ${pixels[0]}`);
        await write(Uint8Array.of(pixels[0] as number));
      },
      finish: async () => void log.push("finish"),
      cancel: async () => void log.push("cancel"),
    };
  };
}

describe("films", () => {
  const videos = ["observation/images/top"];

  it("are encoded one after another, and steps refer to path and timestamp", async () => {
    const log: string[] = [];
    const files = await written(demonstrations([2, 1, 2]), { videos, videoEncoder: films(log), fileBytes: 3 });
    const tops = demonstrations([2, 1, 2]).flatMap(({ steps }) =>
      (steps as { readonly observation: { readonly images: { readonly top: number[] } } }[]).map((step) => step.observation.images.top[0]),
    );
    const line = (time: string, i: number) => `${time}: ${tops[i]}`;
    expect(log).toEqual([
      ...["begin 5 × 4 at 10", line("0.00", 0), line("0.10", 1), line("0.20", 2), "finish"],
      ...["begin 5 × 4 at 10", line("0.00", 3), line("0.10", 4), "finish"],
    ]);
    expect([...(files.get("videos/observation.images.top/chunk-000/file-000.mp4") as Uint8Array)]).toEqual(tops.slice(0, 3));
    const info = json(files, "meta/info.json");
    expect(info.video_path).toBe("videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4");
    expect(info.features["observation.images.top"]).toMatchObject({ dtype: "video", shape: [4, 5, 3], info: { "video.codec": "made", "video.fps": 10 } });
    const seen = [];
    for (const { steps } of await all(await openLeRobot(files)))
      for (const { observation } of steps as {
        readonly observation: { readonly images: { readonly top: { readonly path: string; readonly timestamp: number } } };
      }[]) {
        const { path, timestamp } = observation.images.top;
        seen.push(`${path.slice(-12)} ${timestamp.toFixed(2)}`);
      }
    expect(seen).toEqual(["file-000.mp4 0.00", "file-000.mp4 0.10", "file-000.mp4 0.20", "file-001.mp4 0.00", "file-001.mp4 0.10"]);
  });

  it("are cancelled if the encoder fails, and no file remains", async () => {
    const log: string[] = [];
    const files = memorySink();
    await expect(
      writeLeRobot(demonstrations() as unknown as RldsDataset<unknown>, files, { fps: 10, finalStep: "transition", videos, videoEncoder: films(log, 3) }),
    ).rejects.toThrow("no more film");
    expect([log.at(-1), files.size]).toEqual(["cancel", 0]);
  });

  it("are removed when their dataset is replaced", async () => {
    const files = await written(demonstrations(), { videos, videoEncoder: films([]) });
    expectError(await errorFrom(writeLeRobot(demonstrations() as never, files, { fps: 10 })), "IO", /already contains a LeRobot dataset/);
    await writeLeRobot(demonstrations() as never, files, { fps: 10, finalStep: "transition", overwrite: true });
    expect([...files.keys()].filter((path) => path.startsWith("videos/"))).toEqual([]);
    expect(await all(await openLeRobot(files))).toHaveLength(3);
  });
});

describe("rejects", () => {
  const base = { observation: leaf("f32"), action: leaf("f32"), reward: leaf("f32"), ...FLAGS };
  it.each([
    ["bytes", { ...base, raw: leaf("bytes") }, "UNSUPPORTED", /^raw is bytes of shape \[\], .*LeRobot/],
    ["lists of texts", { ...base, words: leaf("string", [2]) }, "UNSUPPORTED", /^words is string of shape \[2\], but LeRobot stores only single strings/],
    ["no elements", { ...base, none: leaf("f32", [0]) }, "UNSUPPORTED", /a value without elements/],
    ["six dimensions", { ...base, deep: leaf("f32", [1, 1, 1, 1, 1, 2]) }, "UNSUPPORTED", /at most 5 dimensions/],
    ["slashes in names", { ...base, "a/b": leaf("f32") }, "UNSUPPORTED", /non-empty and contain no slashes/],
    ["two of one name", { ...base, "next.reward": leaf("f32") }, "UNSUPPORTED", /^two features would be named next\.reward/],
    ["another leaf named task", { ...base, task: leaf("f32") }, "UNSUPPORTED", /^two features would be named task/],
  ] as const)("%s", async (_, spec, code, message) => {
    const files = memorySink();
    expectError(await errorFrom(writeLeRobot(made(spec as StepSpec, [2]) as never, files, { fps: 10 })), code, message);
    expect(files.size).toBe(0);
  });

  it("episodes without frames, data without episodes and integers above the limit of PyTorch", async () => {
    const of = (data: unknown, options: object = {}) =>
      errorFrom(writeLeRobot(data as RldsDataset<unknown>, memorySink(), { fps: 10, finalStep: "transition", ...options }));
    expectError(await of(made(base as StepSpec, [2, 0])), "INVALID_DATA", /an episode must have at least one frame.*\(episode 1\)/);
    expectError(await of(made(base as StepSpec, [1]), { finalStep: "observation" }), "INVALID_DATA", /an episode must have at least one frame/);
    expectError(await of(made(base as StepSpec, [])), "EMPTY", /at least one episode/);
    const big = Object.assign([{ steps: [{ ...stepsAt<object>(made(base as StepSpec, [1]), 0)[0], n: 2n ** 63n }] }], {
      stepSpec: { ...base, n: leaf("u64") },
      metadataSpec: {},
    });
    expectError(await of(big), "INVALID_DATA", /^n must be below 2\^63, the limit of PyTorch, got 9223372036854775808 \(episode 0, step 0\)/);
  });

  it.each([
    [{ fps: undefined }, TypeError, /^fps is required/],
    [{ fps: 0 }, RangeError, /^fps must be above 0/],
    [{ images: ["observation"] }, RangeError, /images: observation must .*\[height, width, 1 or 3 or 4\]/],
    [{ images: ["nothing"] }, RangeError, /^images must be paths of step leaves \(.*observation/],
    [{ videos: ["observation"] }, TypeError, /^videoEncoder is required: a function that encodes films/],
    [{ task: "a", taskLeaf: "b" }, RangeError, /cannot be used together/],
    [{ taskLeaf: "action" }, RangeError, /^taskLeaf must/],
    [{ names: { action: ["a"] } }, RangeError, /^the keys of names must .*got "?action/],
    [{ finalStep: "none" }, RangeError, /^finalStep must be "observation" or "transition"/],
    [{ colour: 1 }, TypeError, /colour/],
  ] as const)("%o", async (options, kind, message) => {
    const error = await errorFrom(writeLeRobot(made(base as StepSpec, [2]) as never, memorySink(), { fps: 10, ...options } as never));
    expect(error).toBeInstanceOf(kind);
    expect((error as Error).message).toMatch(message);
  });
});

it("writeLeRobot and openLeRobot keep random specs and steps", async () => {
  const node = fc.oneof(
    fc.record({
      dtype: fc.constantFrom("bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "f32", "f64"),
      shape: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 4 }),
    }),
    fc.record({ dtype: fc.constant("string"), shape: fc.constant([]) }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.constantFrom("a", "b", "é", "long name"), node, { minKeys: 1, maxKeys: 3 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
      async (own, lengths) => {
        const spec = { observation: own, action: leaf("f32", [2]), reward: leaf("f32"), ...FLAGS } as unknown as StepSpec;
        const data = made(spec, lengths);
        const found = await all(await openLeRobot(await written(data, { images: [] }), { images: "bytes" }));
        expect(found.map(({ steps }) => steps.length)).toEqual(lengths);
        for (const [k, { steps }] of found.entries())
          for (const [i, step] of (steps as { readonly observation: object }[]).entries())
            for (const [name, value] of Object.entries(step.observation)) {
              const expected = stepsAt<{ readonly observation: { readonly [name: string]: unknown } }>(data, k)[i]?.observation[name];
              const flat = (one: unknown): unknown[] =>
                Array.isArray(one) || ArrayBuffer.isView(one) ? Array.from(one as ArrayLike<unknown>, Number) : [typeof one === "string" ? one : Number(one)];
              expect(flat(value)).toEqual(flat(expected));
            }
      },
    ),
    { numRuns: scaled(30, 5) },
  );
});

it.runIf(whole)("writeLeRobot writes a row group per 8,192 frames of a long episode", async () => {
  const lengths = [3, 70_000, 2];
  const spec = { observation: leaf("f32", [1]), action: leaf("f32"), reward: leaf("f32"), discount: leaf("f32"), ...FLAGS };
  const numbers = (n: number, k: number) => Float32Array.from({ length: n }, (_, i) => i + k);
  const flags = (n: number, at: number) => Uint8Array.from({ length: n }, (_, i) => Number(i === at));
  const data = lengths.map((n, k) => {
    const columns = [numbers(n, 2 * k), new Float32Array(n).fill(1), flags(n, 0), flags(n, n - 1), flags(n, -1), numbers(n, k), numbers(n, 3 * k)];
    return { steps: new StepColumns(spec as unknown as StepSpec, columns, n) };
  });
  const files = memorySink();
  await writeLeRobot(Object.assign(data, { stepSpec: spec as unknown as StepSpec, metadataSpec: {} }), files, { fps: 10, finalStep: "transition" });
  const table = await parquetFile(bytesFile("data", files.get("data/chunk-000/file-000.parquet") as Uint8Array), 2 ** 30);
  expect(table.groups).toEqual([3, ...Array(8).fill(8192), 70_000 - 8 * 8192, 2]);
  const reader = await openLeRobot(files);
  let k = 0;
  for await (const { steps } of reader) {
    expect(steps.length).toBe(lengths[k]);
    const { observation, action, reward } = steps.columns;
    expect([observation.state.data, action.data, reward.data]).toEqual([
      numbers(lengths[k] as number, k),
      numbers(lengths[k] as number, 2 * k),
      numbers(lengths[k] as number, 3 * k),
    ]);
    k++;
  }
  expect(k).toBe(3);
  for await (const { steps } of reader.startingAt?.(2) ?? []) expect([steps.length, steps.at(1).observation.state]).toEqual([2, Float32Array.of(3)]);
});
