/** Tests functions that edit datasets: selecting, changing dtypes, channels, rates and tasks, joining and splitting. */
import { describe, expect, test } from "vitest";
import { LazyColumn } from "../../../../src/datasets/model/lazy-column.ts";
import { leavesOf } from "../../../../src/datasets/model/leaves.ts";
import { StepColumns as Columns } from "../../../../src/datasets/model/step-columns.ts";
import {
  castLeaves,
  concatEpisodes,
  type FilmFrames,
  type Films,
  filterWhere,
  importRlds,
  type RldsDataset,
  type RldsEpisode,
  resampleSteps,
  rldsDataset,
  type StepColumns,
  type StepSpec,
  selectEpisodes,
  selectLeaves,
  splitEpisodes,
  swapChannels,
  withFilmPixels,
  withTask,
} from "../../../../src/datasets/rlds/index.ts";
import { errorFrom } from "../../../support/later.ts";
import { TestRandom } from "../../../support/random.ts";
import { FLAGS, leaf, made } from "../../../support/random-steps.ts";
import { expectError } from "../../../support/refused.ts";
import { all, everything, expectSameColumns } from "../../../support/rlds-data.ts";
import { scaled } from "../../../support/size.ts";

const SPEC = { observation: leaf("f32", [2]), action: leaf("f64", [1]), reward: leaf("f32"), discount: leaf("f32"), ...FLAGS } as unknown as StepSpec;

/** Returns episodes whose rewards contain the episode number, and whose last step is a transition or a final observation. */
function counted(lengths: readonly number[], isFinal = false): RldsDataset<unknown> {
  const episodes = lengths.map((length, k) => ({
    final_step: isFinal ? "observation" : "transition",
    id: k,
    steps: Array.from({ length }, (_, i) => ({
      observation: Float32Array.of(k, i),
      action: Float64Array.of(i + 0.5),
      reward: k,
      discount: 1,
      ...{ is_first: i === 0, is_last: i === length - 1, is_terminal: i === length - 1 },
    })),
  }));
  const metadataSpec = { final_step: leaf("string"), id: leaf("i32") } as { readonly [name: string]: StepSpec };
  return rldsDataset<never>(() => episodes as never, { stepSpec: SPEC, metadataSpec }) as RldsDataset<unknown>;
}

async function listOf<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const values: T[] = [];
  for await (const value of iterable) values.push(value);
  return values;
}

function expectFailure(error: Error, kind: Parameters<typeof expectError>[1], text: string | RegExp): void {
  expectError(error, kind);
  expect(error.message).toMatch(text);
}

const idsOf = async (data: RldsDataset<unknown>) => (await all(data)).map(({ id }) => id);
const failure = (data: RldsDataset<unknown>) => errorFrom(all(data));

describe("selectEpisodes", () => {
  const ten = counted(new Array(10).fill(2));

  test.each([
    [{ episodes: "0-2,5" }, [0, 1, 2, 5]],
    [{ episodes: "8-" }, [8, 9]],
    [{ episodes: " 3 , 1 - 2" }, [1, 2, 3]],
    [{ episodes: [[1, 2], 4, [2, 3]] as never }, [1, 2, 3, 4]],
    [{ dropEpisodes: "1-8" }, [0, 9]],
    [{ episodes: "2-5", dropEpisodes: [3] }, [2, 4, 5]],
    [{ dropEpisodes: [] }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
  ])("%j selects the expected episodes", async (options, ids) => {
    expect(await idsOf(selectEpisodes(ten as never, options))).toEqual(ids);
  });

  test("the error for an unknown episode number names the valid range", async () => {
    expectFailure(await failure(selectEpisodes(ten as never, { episodes: "3,10" })), RangeError, /episodes must .*0 … 9, got 10/);
    expectFailure(await failure(selectEpisodes(ten as never, { dropEpisodes: "9-12" })), RangeError, /dropEpisodes must .*0 … 9, got 12/);
  });

  test.each(["", "x", "3-1", "-1", "1,,2", "1.5"])("rejects %j", (episodes) => {
    expect(() => selectEpisodes(ten as never, { episodes })).toThrow(RangeError);
  });

  test("reads nothing after the last selected episode, and a reader seeks to the first one", async () => {
    const read: number[] = [];
    const from = async function* (first: number) {
      for (let id = first; id < 10; id++) {
        read.push(id);
        yield { id, steps: [] };
      }
    };
    const data = { [Symbol.asyncIterator]: () => from(0), startingAt: from };
    expect(await idsOf(selectEpisodes(data as never, { episodes: "4-5" }))).toEqual([4, 5]);
    expect(read).toEqual([4, 5]);
    expectFailure(await failure(selectEpisodes(data as never, { episodes: "12" })), RangeError, "got 12");
  });

  test("errors contain the episode numbers of the source", async () => {
    const broken = everything([2, 2, 2]);
    (broken[2] as { steps: { reward: number }[] }).steps[1] = { ...(broken[2] as { steps: { reward: number }[] }).steps[1], reward: Number.NaN } as never;
    const error = await failure(importRlds(selectEpisodes(broken as never, { episodes: "2" })) as RldsDataset<unknown>);
    expect(error).toMatchObject({ code: "INVALID_DATA", episode: 2 });
  });
});

describe("filterWhere", () => {
  const episodes = [
    { success: true, task: "pick", final_step: "transition", steps: stepsOf([0, 0, 1]) },
    { success: false, task: "place", final_step: "transition", steps: stepsOf([0, 0.1]) },
    { success: false, task: "pick", final_step: "observation", steps: stepsOf([0, -1, 5]) },
  ];
  const data = Object.assign(episodes, { metadataSpec: { success: leaf("bool"), task: leaf("string"), final_step: leaf("string") } });

  function stepsOf(rewards: readonly number[]) {
    return rewards.map((reward, i) => ({
      observation: { x: Float32Array.of(i, -i), n: BigInt(i) },
      ...{ action: i, reward, discount: 1, note: i === 1 ? "odd" : "", is_first: i === 0, is_last: i === rewards.length - 1, is_terminal: false },
    }));
  }

  test.each([
    ["success", [0]],
    ["success = false", [1, 2]],
    ["success!=true", [1, 2]],
    ["task = pick", [0, 2]],
    ['task="place"', [1]],
    ["return >= 1", [0]],
    ["return < 0", [2]],
    ["length = 2", [1]],
    ["length>2", [0, 2]],
    ["reward = 0.1", [1]],
    // The reward of a final observation is ignored.
    ["reward = 5", []],
    ["observation.x <= -2", [0, 2]],
    ["observation/n >= 2", [0, 2]],
    ["observation = 2", [0, 2]],
    ["note", [0, 1, 2]],
    ["note != odd", [0, 1, 2]],
    ["action > 1", [0]],
    // The path selects a single element of an array.
    ["observation.x/0 <= -2", []],
    ["observation/x/1 <= -2", [0, 2]],
    ["observation.x.1 >= 1", []],
  ])('selects the expected episodes with "%s"', async (where, wanted) => {
    const found: number[] = [];
    for await (const episode of filterWhere(data as never, where))
      found.push(episodes.findIndex(({ success, task }) => success === episode.success && task === episode.task));
    expect(found).toEqual(wanted);
  });

  test("all conditions must hold", async () => {
    expect((await all(filterWhere(data as never, "task = pick", "return > 0"))).length).toBe(1);
  });

  test("rejects conditions that cannot be compared", async () => {
    expectFailure(await failure(filterWhere(data as never, "nothing")), RangeError, "where must be a condition on one of return, length, action, discount");
    expectFailure(await failure(filterWhere(data as never, "task < pick")), RangeError, "where: task must be compared with = or !=");
    expectFailure(await failure(filterWhere(data as never, "reward = high")), RangeError, /where: reward must .*f32/);
    for (const path of ["observation/x/2", "observation/x/0/0"])
      expectFailure(
        await failure(filterWhere(data as never, `${path} > 1`)),
        RangeError,
        "where must be a condition on observation/x or one of its 2 elements",
      );
    const twice = await failure(filterWhere(Object.assign([...episodes], { metadataSpec: { note: leaf("string") } }) as never, "nothing"));
    expect((twice as Error).message.match(/\bnote\b/g)).toHaveLength(1);
    for (const where of ["", "= 3", "a !b"]) expect(() => filterWhere(data as never, where)).toThrow(RangeError);
  });
});

describe("castLeaves", () => {
  test("rounds floats, and keeps whole numbers", async () => {
    const data = everything([3]);
    const cast = castLeaves(data, { "observation/wide": "f32", u32: "f64", action: "i32", "observation.state": "f16", i16: "i64", is_first: "u8" });
    const spec = Object.fromEntries(leavesOf(cast.stepSpec as StepSpec).map(({ path, leaf: { dtype } }) => [path, dtype]));
    expect(spec).toMatchObject({ "observation/wide": "f32", u32: "f64", action: "i32", "observation/state": "f16", i16: "i64", is_first: "u8", reward: "f64" });
    const [before, after] = [
      (await all(data as never))[0],
      (await all(castLeaves(everything([3]), { "observation/state": "f64", action: "i32", i16: "i64" })))[0],
    ];
    expect(after?.steps.map((step) => (step as { action: number }).action)).toEqual([-3, -2, -1]);
    expect((after as { steps: { i16: bigint }[] }).steps[0]?.i16).toBe(-32768n);
    expect((after as { steps: { observation: { state: Float64Array } }[] }).steps[1]?.observation.state).toEqual(Float64Array.of(1, Math.fround(-1 / 3)));
    expect(before?.steps.length).toBe(3);
  });

  test("a cast and its inverse preserve numbers that both dtypes represent", async () => {
    const spec = { observation: leaf("i16", [3]), action: leaf("u8"), reward: leaf("f32"), discount: leaf("f32"), ...FLAGS } as unknown as StepSpec;
    const data = () => made(spec, [3, 0, 4]);
    const there = castLeaves(data(), { observation: "f32", action: "i64", reward: "f64" });
    await expectSameColumns(castLeaves(there, { observation: "i16", action: "u8", reward: "f32" }), castLeaves(data(), {}));
  });

  test.each([
    ["action", "u8", /action must .*0 … 255.*got 0\.5/],
    ["observation", "bool", /observation must .*0 … 1.*got 2/],
  ] as const)("a cast of %s to %s throws with the place of the first lost value", async (path, dtype, message) => {
    expectFailure(await failure(castLeaves(counted([2, 3, 3]), { [path]: dtype })), "INVALID_DATA", message);
  });

  test("throws if a finite number would become infinite, and keeps infinities and NaN", async () => {
    const step = { observation: Float64Array.of(1e300), action: Number.NaN };
    expectFailure(
      await failure(castLeaves([{ steps: [step] }] as never, { observation: "f32" })),
      "INVALID_DATA",
      /observation must .*f32, got 1e\+300 \(episode 0, step 0\)/,
    );
    const [{ steps }] = (await all(castLeaves([{ steps: [{ observation: Float64Array.of(Infinity, Number.NaN, -0) }] }] as never, { observation: "f32" }))) as [
      { steps: { observation: Float32Array }[] },
    ];
    expect(steps[0]?.observation).toStrictEqual(Float32Array.of(Infinity, Number.NaN, -0));
  });

  test("rejects text leaves, and unknown paths and dtypes", async () => {
    expectFailure(await failure(castLeaves(everything([1]), { text: "f32" })), RangeError, "dtypes: text must be a numeric leaf");
    expectFailure(await failure(castLeaves(everything([1]), { nothing: "f32" })), RangeError, "a path in dtypes must");
    expect(() => castLeaves(everything([1]), { action: "f8" as never })).toThrow("dtypes: action must be one of bool, i8");
  });
});

describe("swapChannels", () => {
  const pixels = (channels: number) => Uint8Array.from({ length: 2 * 3 * channels }, (_, i) => i);
  const data = (channels: number) => [{ steps: [0, 1].map(() => ({ observation: { image: { data: pixels(channels), shape: [2, 3, channels] }, x: 1 } })) }];

  test.each([3, 4])("with %i channels, exchanges the first and the third, and twice is the identity", async (channels) => {
    const once = swapChannels(data(channels) as never, ["observation.image"]);
    const [first] = (await all(once)) as unknown as [{ steps: { observation: { image: Uint8Array } }[] }];
    expect(first.steps[1]?.observation.image.subarray(0, 4)).toEqual(Uint8Array.from(channels === 3 ? [2, 1, 0, 5] : [2, 1, 0, 3]));
    const [twice] = (await all(swapChannels(once, ["observation"]))) as unknown as [{ steps: { observation: { image: Uint8Array } }[] }];
    expect(twice.steps[0]?.observation.image).toEqual(pixels(channels));
  });

  test("reads and changes a lazy column only on access", async () => {
    const reads: number[] = [];
    const values = {
      rows: 4,
      size: 3,
      check() {},
      read(from: number, to: number) {
        reads.push(to - from);
        return Uint8Array.from({ length: 3 * (to - from) }, (_, i) => 3 * from + i);
      },
    };
    const spec = { image: leaf("u8", [1, 1, 3]) } as unknown as StepSpec;
    const steps = new Columns(spec, [LazyColumn.of(values)], 4);
    const [episode] = await listOf(castLeaves(swapChannels([{ steps }] as never, ["image"]), { image: "i16" }));
    expect(reads).toEqual([]);
    expect(episode?.steps.at(2)).toEqual({ image: Int16Array.of(8, 7, 6) });
    expect(reads).toEqual([1]);
  });

  test("rejects leaves that are not images, and films, by name", async () => {
    expectFailure(
      await failure(swapChannels(data(3) as never, ["observation/x"])),
      RangeError,
      /a path in swapChannels must .*\[height, width, 3 or 4\], got "observation\/x"/,
    );
    const filmed = Object.assign([], { stepSpec: { top: { path: leaf("string"), timestamp: leaf("f64") } }, metadataSpec: {} });
    expectFailure(await failure(swapChannels(filmed as never, ["top"])), "UNSUPPORTED", "top is a film");
  });
});

describe("withFilmPixels", () => {
  const filmed = (files: readonly string[]) => {
    const spec = { top: { path: leaf("string"), timestamp: leaf("f64") }, x: leaf("i32") };
    const steps = files.map((path, i) => ({ top: { path, timestamp: i / 10 }, x: i }));
    return Object.assign([{ steps }], { stepSpec: spec as unknown as StepSpec, metadataSpec: {} }) as unknown as RldsDataset<unknown>;
  };
  const filmsOf = (feature: object, fps: number | undefined = 10) => ({ fps, cameras: new Map([["top", { name: "top", feature }]]) }) as unknown as Films;
  const films = filmsOf({ shape: [1, 2, 3] });

  test("decodes only the accessed frames, one call per film", async () => {
    const decoded: string[] = [];
    const decode = ({ path, times, fps, height, width }: FilmFrames) => {
      decoded.push(`${path} ${times.join(" ")} ${fps} ${height} ${width}`);
      return Uint8Array.from({ length: 6 * times.length }, (_, i) => 100 * (times[Math.floor(i / 6)] as number));
    };
    const data = resampleSteps(filmed(["a", "a", "a", "b", "b"]), { fps: 10, sourceFps: 10 });
    const pixels = withFilmPixels(data, { films, decode });
    expect(pixels.stepSpec).toEqual({ top: { dtype: "u8", shape: [1, 2, 3] }, x: { dtype: "i32", shape: [] } });
    const [episode] = await listOf(pixels);
    expect(decoded).toEqual([]);
    expect(episode?.steps.at(4)).toEqual({ top: new Uint8Array(6).fill(40), x: 4 });
    expect(decoded).toEqual(["b 0.4 10 1 2"]);
    expect((episode as { steps: StepColumns<unknown> }).steps.columns.top.data.length).toBe(30);
    expect(decoded.slice(1)).toEqual(["a 0 0.1 0.2 10 1 2", "b 0.3 0.4 10 1 2"]);
  });

  test("throws for films of unknown size or rate, and for too few pixels", async () => {
    const decode = () => new Uint8Array(1);
    expect(() => withFilmPixels(filmed(["a"]), { films: filmsOf({}), decode })).toThrow("top must have the shape [height, width, 3]");
    expect(() => withFilmPixels(filmed(["a"]), { films: { ...films, fps: undefined }, decode })).toThrow(
      "the number of frames per second of the films is unknown",
    );
    const [episode] = await listOf(withFilmPixels(filmed(["a"]), { films, decode }));
    expect(() => episode?.steps.at(0)).toThrow(/the result of decode must .*6 bytes.*got 1/);
  });
});

describe("selectLeaves", () => {
  test("a rename and its inverse, and an exchange of two names, are the identity", async () => {
    const data = () => castLeaves(everything(), {});
    const there = selectLeaves(data(), { rename: { "observation/state": "observation/joints", text: "words2" } });
    expect(leavesOf(there.stepSpec as StepSpec).map(({ path }) => path)).toContain("observation/joints");
    await expectSameColumns(selectLeaves(there, { rename: { "observation.joints": "observation.state", words2: "text" } }), data());
    const swap = { rename: { u32: "i16", i16: "u32" } };
    await expectSameColumns(selectLeaves(selectLeaves(data(), swap), swap), data());
  });

  test("`without` removes leaves, and `only` keeps them", async () => {
    const paths = (data: { readonly stepSpec?: StepSpec }) => leavesOf(data.stepSpec as StepSpec).map(({ path }) => path);
    const without = selectLeaves(everything([1]), { without: ["text", "observation/deep"] });
    expect(paths(without)).not.toContain("observation/deep/a");
    expect(Object.keys((await all(without))[0]?.steps[0] as object)).not.toContain("text");
    expect(paths(selectLeaves(everything([1]), { only: ["observation/state", "text"] }))).toEqual([
      ...["action", "discount", "is_first", "is_last", "is_terminal", "observation/state", "reward", "text"],
    ]);
    expectFailure(await failure(selectLeaves(everything([1]), { without: ["nothing"] })), RangeError, "without must be column names");
  });
});

describe("withTask", () => {
  test("replaces the leaf or metadata with the task, or adds metadata", async () => {
    const tasks = async (data: unknown, at: "steps" | "metadata", name: string) =>
      (await all(withTask(data as never, (_, k) => (k === 1 ? undefined : `do ${k}`)))).map((episode) =>
        at === "metadata" ? episode[name] : (episode.steps[0] as { [name: string]: unknown })[name],
      );
    const flags = { is_first: true, is_last: true, is_terminal: false };
    const episodes = (step: object, metadata: object) => [0, 1, 2].map(() => ({ ...metadata, steps: [{ observation: 1, ...flags, ...step }] }));
    expect(await tasks(episodes({ language_instruction: "old" }, {}), "steps", "language_instruction")).toEqual(["do 0", "old", "do 2"]);
    expect(await tasks(episodes({}, { instruction: "old" }), "metadata", "instruction")).toEqual(["do 0", "old", "do 2"]);
    expect(await tasks(episodes({}, {}), "metadata", "task")).toEqual(["do 0", "", "do 2"]);
    expect(withTask(everything([1]), "x").metadataSpec).toMatchObject({ task: { dtype: "string", shape: [] } });
  });
});

describe("concatEpisodes and splitEpisodes", () => {
  test("parts of a concatenation equal the original datasets", async () => {
    const [a, b] = [counted([2, 3, 1]), counted([4, 2])];
    const joined = concatEpisodes([a, b] as never) as RldsDataset<unknown>;
    await expectSameColumns(castLeaves(selectEpisodes(joined as never, { episodes: "0-2" }), {}), castLeaves(a, {}));
    await expectSameColumns(castLeaves(selectEpisodes(joined as never, { episodes: "3-4" }), {}), castLeaves(b, {}));
  });

  test("name the first difference between specs before any episode is returned", async () => {
    const other = castLeaves(counted([1]), { action: "f32" });
    const error = await errorFrom(
      concatEpisodes([counted([1]), other] as never, { names: ["a.jsonl", "b.jsonl"] })
        [Symbol.asyncIterator]()
        .next(),
    );
    expectFailure(error, "SPEC_MISMATCH", /the steps of b\.jsonl must .*a\.jsonl.*f32 \[1\].*f64 \[1\]/);
    const tasked = withTask(counted([1]), "x");
    expectFailure(
      await failure(concatEpisodes([counted([1]), tasked] as never)),
      "SPEC_MISMATCH",
      "the metadata of dataset 1 must match those of dataset 0, but it also has task",
    );
    const grouped = Object.assign([{ id: 0, note: {}, steps: [] }], { stepSpec: counted([1]).stepSpec, metadataSpec: { id: leaf("i64"), note: {} } });
    const plain = Object.assign([], { stepSpec: grouped.stepSpec, metadataSpec: { id: leaf("i64") } });
    expectFailure(await failure(concatEpisodes([plain, grouped] as never)), "SPEC_MISMATCH", "but it also has the empty group note");
    expectFailure(await failure(concatEpisodes([grouped, plain] as never)), "SPEC_MISMATCH", "but the empty group note is missing");
    // A dataset without a spec is compared when its first step arrives.
    const late = [{ id: 0, final_step: "transition", steps: [{ other: 1 }] }];
    expectFailure(await failure(concatEpisodes([counted([1]), late] as never)), "SPEC_MISMATCH", "dataset 1");
  });

  test.each([
    [{ train: 0.9, val: 0.1 }, 20, [18, 2]],
    [{ train: 0.7, val: 0.15, test: 0.15 }, 40, [28, 6, 6]],
    [{ a: 0.5, b: 0.5 }, 10, [5, 5]],
    [{ all: 1 }, 3, [3]],
    [{ a: 1 / 3, b: 2 / 3 }, 9, [3, 6]],
  ])("shares %j split %i episodes exactly", async (shares, count, wanted) => {
    const data = counted(new Array(count).fill(1));
    for (let seed = 0; seed < scaled(20, 3); seed++) {
      const parts = Object.values(splitEpisodes(data, shares as { readonly [part: string]: number }, { seed }));
      const ids = await Promise.all(parts.map((part) => idsOf(part as RldsDataset<unknown>)));
      expect(ids.map(({ length }) => length)).toEqual(wanted);
      expect(ids.flat().sort((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: count }, (_, i) => i));
      for (const part of ids) expect([...part].sort((a, b) => Number(a) - Number(b))).toEqual(part);
    }
  });

  test("the seed determines the split, and any episode can be in any part", async () => {
    const data = counted(new Array(10).fill(1));
    const val = async (seed: number | bigint) =>
      (await idsOf(splitEpisodes(data, { train: 0.9, val: 0.1 }, { seed }).val as RldsDataset<unknown>))[0] as number;
    expect(await val(7)).toBe(await val(7n));
    const found = new Set<number>();
    for (let seed = 0; seed < 200; seed++) found.add(await val(seed));
    expect(found.size).toBe(10);
  });

  test("splitEpisodes rejects invalid shares and an invalid seed", () => {
    const data = counted([1]);
    expect(() => splitEpisodes(data, { a: 0.5, b: 0.4 })).toThrow("the sum of shares must be 1, got 0.9");
    expect(() => splitEpisodes(data, { a: 1.5, b: -0.5 })).toThrow(/shares: a must .*0\.001 … 1, got 1\.5/);
    expect(() => splitEpisodes(data, { a: 1 }, { seed: -1 })).toThrow(RangeError);
  });
});

describe("resampleSteps", () => {
  const FPS_SPEC = { ...(SPEC as object), timestamp: leaf("f32") } as unknown as StepSpec;

  interface Plan {
    readonly isFinal?: boolean;
    readonly times?: readonly number[];
    readonly rewards?: (i: number) => number;
  }

  function timed(length: number, fps: number, { isFinal = false, times, rewards = () => 1 }: Plan = {}): RldsDataset<unknown> {
    const steps = Array.from({ length }, (_, i) => ({
      ...{ observation: Float32Array.of(i, 0), action: Float64Array.of(i), reward: isFinal && i === length - 1 ? 0 : rewards(i), discount: 1 },
      ...{ is_first: i === 0, is_last: i === length - 1, is_terminal: i === length - 1, timestamp: times?.[i] ?? Math.fround(i / fps) },
    }));
    return Object.assign([{ final_step: isFinal ? "observation" : "transition", steps }], {
      stepSpec: FPS_SPEC,
      metadataSpec: { final_step: leaf("string") as StepSpec },
    });
  }

  async function columnsOf(data: RldsDataset<unknown>) {
    const [episode] = (await listOf(data as AsyncIterable<RldsEpisode<unknown>>)) as [{ steps: StepColumns<unknown> }];
    const { observation, reward, timestamp, is_first, is_last, is_terminal, discount } = episode.steps.columns;
    const list = ({ data: values }: { data: ArrayLike<number> }) => Array.from(values);
    return {
      rows: list(observation).filter((_, i) => i % 2 === 0),
      ...{ reward: list(reward), time: list(timestamp), discount: list(discount) },
      flags: [list(is_first), list(is_last), list(is_terminal)],
    };
  }

  test("the same rate changes nothing", async () => {
    await expectSameColumns(resampleSteps(timed(50, 30), { fps: 30 }), castLeaves(timed(50, 30), {}));
    await expectSameColumns(resampleSteps(timed(7, 30, { isFinal: true }), { fps: 30 }), castLeaves(timed(7, 30, { isFinal: true }), {}));
  });

  test("a lower rate keeps the nearest steps, and adds up the rewards between them", async () => {
    const { rows, reward, flags, time } = await columnsOf(resampleSteps(timed(11, 50), { fps: 10 }));
    expect(rows).toEqual([0, 5, 10]);
    expect(reward).toEqual([5, 5, 1]);
    expect(time).toEqual([0, Math.fround(0.1), Math.fround(0.2)]);
    expect(flags).toEqual([
      [1, 0, 0],
      [0, 0, 1],
      [0, 0, 1],
    ]);
  });

  test("a higher rate repeats steps, and only one copy has the reward", async () => {
    const { rows, reward, flags } = await columnsOf(resampleSteps(timed(3, 10, { isFinal: true }), { fps: 20 }));
    expect(rows).toEqual([0, 0, 1, 1, 2]);
    expect(reward).toEqual([0, 1, 0, 1, 0]);
    expect(flags[1]).toEqual([0, 0, 0, 0, 1]);
  });

  test("selects the nearest step for irregular timestamps", async () => {
    const { rows } = await columnsOf(resampleSteps(timed(6, 10, { times: [5, 5.09, 5.11, 5.32, 5.33, 5.4] }), { fps: 10 }));
    expect(rows).toEqual([0, 1, 2, 3, 5]);
  });

  test("return, duration and ends stay the same for random rates", async () => {
    const random = new TestRandom(3);
    for (let run = 0; run < scaled(300, 30); run++) {
      const [length, from, to, isFinal] = [1 + random.below(40), 1 + random.below(60), 1 + random.below(60), random.below(2) === 0];
      const rewards = Array.from({ length }, () => random.below(64) / 8 - 4);
      const source = timed(length, from, { isFinal, rewards: (i) => rewards[i] as number });
      const { rows, reward, flags } = await columnsOf(resampleSteps(source, { fps: to }));
      const before = await columnsOf(castLeaves(source, {}));
      const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
      expect(sum(reward), `${length} steps from ${from} to ${to}`).toBe(sum(before.reward));
      expect([rows[0], rows.at(-1)]).toEqual([0, length - 1]);
      expect(flags.map(sum)).toEqual([1, 1, 1]);
      expect(Math.abs((rows.length - 1) / to - (length - 1) / from)).toBeLessThanOrEqual(length === 1 ? 0 : Math.max(0.51 / to, 1 / to));
      for (const [k, row] of rows.slice(0, -1).entries()) {
        const time = k / to;
        const nearest = Math.min(...before.time.slice(0, isFinal && length > 1 ? -1 : undefined).map((at) => Math.abs(at - time)));
        expect(Math.abs((before.time[row] as number) - time)).toBeCloseTo(nearest, 5);
      }
    }
  });

  test("uses `sourceFps` if there are no timestamps, and throws without it", async () => {
    const found = (await all(resampleSteps(counted([5]), { fps: 1, sourceFps: 2 })))[0]?.steps as { observation: Float32Array }[];
    expect(found.map(({ observation }) => observation[1])).toEqual([0, 2, 4]);
    expectFailure(await failure(resampleSteps(counted([5]), { fps: 1 })), RangeError, "resampleSteps needs the times of the steps");
    expectFailure(
      await failure(resampleSteps(counted([5]), { fps: 1, timestamp: "observation" })),
      RangeError,
      /timestamp must .*\(action, discount, reward\)/,
    );
  });

  test("decreasing timestamps and huge episodes throw with their place", async () => {
    expectFailure(
      await failure(resampleSteps(timed(3, 1, { times: [0, 2, 1] }), { fps: 1 })),
      "INVALID_DATA",
      /timestamp must .*at least 2\b.*got 1 \(episode 0, step 2\)/,
    );
    expectFailure(await failure(resampleSteps(timed(2, 1, { times: [0, 1e9] }), { fps: 30 })), "INVALID_DATA", "more than 16777216");
  });
});
