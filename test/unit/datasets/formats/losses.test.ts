/** Tests which films and which parts of `about` each writer keeps, lists as losses, or rejects. */
import { describe, expect, test } from "vitest";
import {
  type Films,
  memorySink,
  openRlds,
  type RldsDataset,
  type Sink,
  type Source,
  type StepSpec,
  type WriteOptions,
  type WriteReport,
  writeCsv,
  writeHdf5,
  writeJsonl,
  writeLeRobot,
  writeMinari,
  writeNpz,
  writeParquet,
  writeTfds,
} from "../../../../src/datasets/rlds/index.ts";
import { errorFrom } from "../../../support/later.ts";
import { FLAGS, leaf, made } from "../../../support/random-steps.ts";
import { expectError } from "../../../support/refused.ts";
import { all } from "../../../support/rlds-data.ts";

type Write = (data: RldsDataset<unknown>, to: Sink, options: WriteOptions) => Promise<WriteReport>;

const WRITERS: readonly (readonly [string, Write])[] = [
  ["tfds", (data, to, options) => writeTfds(data, to, { ...options, name: "a" })],
  ["lerobot", (data, to, options) => writeLeRobot(data, to, { ...options, fps: 10, finalStep: "transition" })],
  ["minari", (data, to, options) => writeMinari(data, to, { ...options, id: "a-v0" })],
  ["parquet", (data, to, options) => writeParquet(data, to, options)],
  ["jsonl", (data, to, options) => writeJsonl(data, to, options)],
];

const SPEC = { observation: leaf("f32", [2]), action: leaf("f32", [2]), reward: leaf("f32"), ...FLAGS } as unknown as StepSpec;
const data = () => made(SPEC, [3, 2]) as unknown as RldsDataset<unknown>;

describe.each(WRITERS)("%s", (_, write) => {
  test("keeps the values of about", async () => {
    const about = {
      robot: "arm",
      env_spec: '{"id": "A-v0"}',
      units: { force: "N" },
      list: [1, "two", null],
      large: 2n ** 60n,
      sizes: Float32Array.of(1, 2),
      at: Number.NaN,
    };
    const files = memorySink();
    expect((await write(data(), files, { about: { ...about, call: () => 1 } })).losses).toEqual([]);
    const reader = await openRlds(files as Source);
    expect(reader.about).toMatchObject({ ...about, large: String(2n ** 60n), sizes: [1, 2], at: "NaN" });
    expect(await all(reader)).toHaveLength(2);
    // The result survives a second round trip.
    const again = memorySink();
    await write(reader as RldsDataset<unknown>, again, { about: reader.about });
    const { features: _, ...own } = reader.about;
    expect((await openRlds(again as Source)).about).toMatchObject(own);
  });

  test("rejects options of another type", async () => {
    expectError(await errorFrom(write(data(), memorySink(), { about: 1 as never })), TypeError, /^about must be a JSON object/);
    expectError(await errorFrom(write(data(), memorySink(), { strict: "yes" as never })), TypeError, /^strict must be/);
    expectError(await errorFrom(write(data(), memorySink(), { strict: true, about: [] as never })), TypeError, /^about must be/);
  });

  test("reports no losses with strict for data that the format can represent", async () => {
    expect((await write(data(), memorySink(), { strict: true })).losses).toEqual([]);
  });

  test("lists films that are not copied as losses, and rejects them with strict", async () => {
    const filmed = {
      ...(SPEC as object),
      observation: { state: leaf("f32", [2]), top: { path: leaf("string"), timestamp: leaf("f64") } },
    } as unknown as StepSpec;
    const episodes = () => made(filmed, [2]) as unknown as RldsDataset<unknown>;
    expect((await write(episodes(), memorySink(), {})).losses.map(({ what }) => what)).toEqual(["observation/top"]);
    const files = memorySink();
    expectError(
      await errorFrom(write(episodes(), files, { strict: true })),
      "UNSUPPORTED",
      /^strict forbids losing data: observation\/top: films are not copied/,
    );
    expect(files.size).toBe(0);
  });
});

describe("groups without leaves", () => {
  const own = { ...(SPEC as object), observation: { state: leaf("f32", [2]) }, discount: leaf("f32"), nested: { x: leaf("f32") } } as unknown as StepSpec;
  const spec = {
    ...(own as object),
    observation: { state: leaf("f32", [2]), none: {} },
    info: {},
    nested: { x: leaf("f32"), empty: {} },
  } as unknown as StepSpec;
  const grouped = () => {
    const episodes = [...made(own, [3, 2])] as unknown as readonly {
      readonly steps: Iterable<{ readonly nested: object; readonly observation: object }>;
    }[];
    const withGroups = episodes.map((episode) => ({
      ...{ note: {}, ...episode },
      steps: Array.from(episode.steps, (step) => ({
        ...{ ...step, info: {} },
        ...{ nested: { ...step.nested, empty: {} }, observation: { ...step.observation, none: {} } },
      })),
    }));
    return Object.assign(withGroups, { stepSpec: spec, metadataSpec: { note: {} } }) as unknown as RldsDataset<unknown>;
  };
  const KEEPING = ["tfds", "parquet", "jsonl"];
  const all: readonly (readonly [string, Write])[] = [
    ...WRITERS,
    ["npz", writeNpz],
    ["hdf5", (data, to, options) => writeHdf5(data, to, options)],
    ["csv", writeCsv],
  ];

  test.each(all)("are kept or listed as losses by %s", async (format, write) => {
    const files = memorySink();
    const { losses } = await write(grouped(), files, {});
    const { stepSpec, metadataSpec } = await openRlds(files as Source);
    if (KEEPING.includes(format)) {
      expect(losses).toEqual([]);
      expect([stepSpec, metadataSpec]).toMatchObject([spec, { note: {} }]);
    } else {
      expect(losses.map(({ what }) => what)).toEqual(expect.arrayContaining(["info", "nested/empty", "observation/none", "metadata note"]));
      expect(stepSpec).not.toHaveProperty("info");
      const strict = await errorFrom(write(grouped(), memorySink(), { strict: true }));
      expectError(strict, "UNSUPPORTED", /info: the format cannot store groups without leaves/);
    }
  });

  test("are rejected by Minari in arrays, where other elements would move", async () => {
    const listed = { ...(own as object), observation: [{}, leaf("f32", [2])] } as unknown as StepSpec;
    const error = await errorFrom(writeMinari(made(listed, [2]) as unknown as RldsDataset<unknown>, memorySink(), { id: "a-v0" }));
    expectError(error, "UNSUPPORTED", /^observation\/0 has no leaves/);
  });
});

describe("films", () => {
  const spec = { ...(SPEC as object), observation: { top: { path: leaf("string"), timestamp: leaf("f64") } } } as unknown as StepSpec;
  const step = (path: string, timestamp: number, i: number, length: number) => ({
    ...{ observation: { top: { path, timestamp } }, action: [0, 0], reward: 0 },
    ...{ is_first: i === 0, is_last: i === length - 1, is_terminal: false },
  });
  const filmed = (...frames: readonly (readonly [path: string, timestamp: number])[]) =>
    Object.assign([{ final_step: "transition", steps: frames.map(([path, time], i) => step(path, time, i, frames.length)) }], {
      stepSpec: spec,
      metadataSpec: { final_step: leaf("string") },
    }) as unknown as RldsDataset<unknown>;
  const films = (more: Partial<Films> = {}, name = "observation.top"): Films => ({
    fps: 10,
    cameras: new Map([["observation/top", { name, feature: { dtype: "video", shape: [2, 2, 3], names: null } }]]),
    open: async (path) => ({
      name: path,
      size: 5,
      read: async (at, length) => new TextEncoder().encode("a.mp4").subarray(at, at + length),
      close: async () => {},
    }),
    statistics: async () => undefined,
    ...more,
  });

  test("are copied once, and may start at any timestamp", async () => {
    const files = memorySink();
    const { losses } = await writeLeRobot(filmed(["b.mp4", 3.1], ["b.mp4", 3.2]), files, { fps: 10, films: films() });
    expect(losses).toEqual([{ what: "statistics of observation.top", reason: "the source does not have them for each episode" }]);
    expect(new TextDecoder().decode(files.get("videos/observation.top/chunk-000/file-000.mp4"))).toBe("a.mp4");
    const [episode] = await all(await openRlds(files as Source));
    const times = ((episode as { steps: unknown[] }).steps as { observation: { top: { timestamp: number } } }[]).map(
      ({ observation }) => observation.top.timestamp,
    );
    expect(times).toEqual([expect.closeTo(3.1, 6), expect.closeTo(3.2, 6)]);
  });

  test.each([
    ["two files in one episode", filmed(["a.mp4", 0], ["b.mp4", 0.1]), films(), "UNSUPPORTED", /must be consecutive in one film.*episode 0, step 1/],
    ["a gap between frames", filmed(["a.mp4", 0], ["a.mp4", 0.5]), films(), "UNSUPPORTED", /must be consecutive in one film.*episode 0, step 1/],
    ["another rate", filmed(["a.mp4", 0]), films({ fps: 30 }), "UNSUPPORTED", /fps must be 30, as in the films, got 10/],
    ["a name that leads out of the folder", filmed(["a.mp4", 0]), films({}, "../../top"), "UNSUPPORTED", /must be a valid folder name/],
    ["a name with a slash", filmed(["a.mp4", 0]), films({}, "a/b"), "UNSUPPORTED", /must be a valid folder name/],
    ["films that are not a list", filmed(["a.mp4", 0]), 7 as never, TypeError, /^films must be/],
  ] as const)("are rejected: %s", async (_, steps, given, code, message) => {
    const files = memorySink();
    expectError(await errorFrom(writeLeRobot(steps, files, { fps: 10, films: given })), code as never, message);
    expect(files.size).toBe(0);
  });

  test("leave no files if one film cannot be read", async () => {
    const files = memorySink();
    const open = async (): Promise<never> => {
      throw new Error("it is gone");
    };
    await expect(writeLeRobot(filmed(["a.mp4", 0]), files, { fps: 10, films: films({ open }) })).rejects.toThrow("it is gone");
    expect(files.size).toBe(0);
  });
});
