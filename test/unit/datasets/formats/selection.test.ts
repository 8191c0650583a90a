/** Tests columns that are omitted, renamed or filled, in every reader. An unreadable column must not affect others. */
import { describe, expect, it } from "vitest";
import { memorySink, openRlds, type RldsOptions, type RldsReader, writeJsonl, writeParquet } from "../../../../src/datasets/rlds/index.ts";
import { bool, f32, i32, Replay, shared, u8 } from "../../../../src/index.ts";
import { memory } from "../../../../src/storage/index.ts";
import { errorFrom } from "../../../support/later.ts";
import { expectError } from "../../../support/refused.ts";
import { whole } from "../../../support/size.ts";
import { dataFolder } from "../rlds/data.ts";

const wild = (name: string) => dataFolder(`wild/${name}`);

async function episodesOf(from: Parameters<typeof openRlds>[0], options: RldsOptions = {}) {
  const reader: RldsReader = await openRlds(from, options);
  try {
    const episodes = [];
    for await (const { steps, final_step } of reader) episodes.push({ steps, final_step });
    return { reader, episodes };
  } finally {
    await reader.close();
  }
}

const names = (episodes: Awaited<ReturnType<typeof episodesOf>>["episodes"]) => Object.keys(episodes[0]?.steps.at(0) ?? {}).sort();

describe("every reader", () => {
  it.each([
    ["tfds/cartpole_pixels", "observation/image", "observation/state"],
    ["minari/cartpole/scripted-v0", "", "observations"],
    ["d4rl/half_cheetah.hdf5", "", "observations"],
    ["extra/lerobot_v3", "observation.images.top", "observation.state"],
    ["extra/plain.parquet", "note", "observation"],
    ["extra/own.jsonl", "", "observation"],
    ["extra/npz/flags.npz", "", "observation"],
    ["wild/hdf5_robots/robomimic.hdf5", "observation/agentview_image", "observation/robot0_eef_pos"],
    ["golden/journal", "observation/screen", "observation/at"],
  ])("%s omits, selects and renames columns", async (path, column, observed) => {
    const whole = await episodesOf(dataFolder(path));
    const valueAt = (episodes: typeof whole.episodes, keys: readonly string[]) =>
      keys.reduce<unknown>((at, key) => (at as never)[key], episodes[0]?.steps.at(0));
    if (column !== "") {
      const { episodes, reader } = await episodesOf(dataFolder(path), { without: [column] });
      const keys = column.split(/[./]/);
      expect(valueAt(whole.episodes, keys)).toBeDefined();
      expect(valueAt(episodes, keys)).toBeUndefined();
      expect(JSON.stringify(reader.stepSpec)).not.toContain(`"${keys.at(-1)}":`);
      expect(episodes.map(({ steps }) => steps.length)).toEqual(whole.episodes.map(({ steps }) => steps.length));
    }
    const { episodes: only } = await episodesOf(dataFolder(path), { only: ["reward"] });
    expect(names(only).filter((name) => name !== "task" && name !== "states")).toEqual([
      "action",
      "discount",
      "is_first",
      "is_last",
      "is_terminal",
      "observation",
      "reward",
    ]);
    const { episodes: renamed } = await episodesOf(dataFolder(path), { rename: { [observed]: "observation/moved/here" } });
    const source = observed.split(/[./]/).map((key) => (key === "observations" ? "observation" : key));
    expect(valueAt(renamed, ["observation", "moved", "here"])).toEqual(valueAt(whole.episodes, source));
    expectError(
      await errorFrom(episodesOf(dataFolder(path), { without: ["no such"] })),
      RangeError,
      /^without must be column names \(.*action.*, got "no such"$/,
    );
  });

  it.runIf(whole)("Parquet and JSON lines of Reprise omit and rename columns", async () => {
    const data = await openRlds(dataFolder("tfds/cartpole_pixels"), { split: "train[:2]" });
    const [parquet, lines] = [memorySink(), memorySink()];
    await writeParquet(data, parquet);
    await writeJsonl(data, lines);
    for (const files of [parquet, lines]) {
      const { episodes } = await episodesOf(files, { without: ["observation/image"], rename: { "observation/state": "observation/a", reward: "reward" } });
      expect(Object.keys(episodes[0]?.steps.at(3).observation)).toEqual(["a"]);
      const whole = await episodesOf(files);
      expect(episodes[1]?.steps.at(3).observation.a).toEqual(whole.episodes[1]?.steps.at(3).observation.state);
      expect(episodes[1]?.steps.at(3).action).toEqual(whole.episodes[1]?.steps.at(3).action);
      expectError(await errorFrom(episodesOf(files, { without: ["is_last"] })), RangeError, /but remove is_last/);
    }
    await data.close();
  });
});

it("columns of robots can also be named with the path in the file", async () => {
  const path = wild("hdf5_robots/robomimic.hdf5");
  const { episodes } = await episodesOf(path, { without: ["obs/agentview_image"], rename: { "obs/robot0_eef_pos": "observation/at" } });
  const whole = await episodesOf(path);
  expect(episodes[0]?.steps.at(1).observation).toEqual({ at: whole.episodes[0]?.steps.at(1).observation.robot0_eef_pos });
});

describe("an unreadable column", () => {
  it("with nulls: the error suggests without and null, which both work", async () => {
    expectError(await errorFrom(episodesOf(wild("nullstr.parquet"))), "INVALID_DATA", /column x .* without: \["x"\].* null: \{ "x": … \}/);
    expect(names((await episodesOf(wild("nullstr.parquet"), { without: ["x"] })).episodes)).not.toContain("x");
    const { episodes } = await episodesOf(wild("nullstr.parquet"), { null: { x: "-" } });
    expect(Array.from(episodes[0]?.steps ?? [], (step) => step.x)).toEqual(["a", "-", "a", "-", "a", "-"]);
    expectError(await errorFrom(episodesOf(wild("nullstr.parquet"), { null: { action: 0.5 } })), RangeError, /null\.action must be .* i64, got 0\.5/);
  });

  it("with nulls in JSON lines: the error suggests without and null, which both work", async () => {
    expectError(await errorFrom(episodesOf(wild("nulllater.jsonl"))), "SPEC_MISMATCH", /note .* got null\. Pass without: \["note"\].* null: \{ "note": … \}/);
    expect(names((await episodesOf(wild("nulllater.jsonl"), { without: ["note"] })).episodes)).not.toContain("note");
    const { episodes } = await episodesOf(wild("nulllater.jsonl"), { null: { note: "none" } });
    expect(episodes[0]?.steps.at(1).note).toBe("none");
  });

  it("of images can be omitted from a LeRobot dataset", async () => {
    const { episodes } = await episodesOf(wild("lerobot_depth16"), { without: ["observation.images.top"] });
    expect(Object.keys(episodes[0]?.steps.at(0).observation)).toEqual(["state"]);
  });

  it("of Python objects does not prevent reading an NPZ", async () => {
    const { episodes } = await episodesOf(wild("obj_info.npz"), { without: ["infos"] });
    expect(episodes.length).toBeGreaterThan(0);
  });
});

describe("Parquet from other tools", () => {
  it.each([
    ["epunsorted.parquet", [0, 2, 4, 6, 8, 10]],
    ["duckdb_list.parquet", [0, 1, 2, 3, 4, 5]],
    ["dba.parquet", [0, 1, 2, 3, 4, 5]],
  ])("%s has two episodes of six steps", async (name, rewards) => {
    const reader = await openRlds(wild(name));
    const found = [];
    for await (const { steps } of reader) found.push(Array.from(steps, ({ reward }) => reward));
    expect(found.map(({ length }) => length)).toEqual([6, 6]);
    expect(found[0]).toEqual(rewards);
    expect(await reader.lengths?.()).toEqual([6, 6]);
    const second = [];
    for await (const { steps } of reader.startingAt?.(1) ?? []) second.push(Array.from(steps, ({ reward }) => reward));
    expect(second).toEqual(found.slice(1));
    await reader.close();
  });

  it("delta-encoded texts are decoded", async () => {
    const { episodes } = await episodesOf(wild("dba.parquet"));
    expect(Array.from(episodes[1]?.steps ?? [], ({ task }) => task)).toEqual(new Array(6).fill("pick"));
  });

  it("a file without rows throws EMPTY", async () => {
    expectError(await errorFrom(episodesOf(wild("zerorows.parquet"))), "EMPTY", /no rows/);
  });
});

describe("LeRobot from other tools", () => {
  it("names of openpi are detected, and can be renamed", async () => {
    const { episodes } = await episodesOf(wild("lerobot_openpi"));
    expect(Object.keys(episodes[0]?.steps.at(0).observation).sort()).toEqual(["image", "state"]);
    expect(episodes[0]?.steps.at(0).action.length).toBe(7);
    const { episodes: named } = await episodesOf(wild("lerobot_openpi"), {
      rename: { state: "observation.state", image: "observation.images.top", actions: "action" },
    });
    expect(named[0]?.steps.at(2).observation.images.top).toEqual(episodes[0]?.steps.at(2).observation.image);
    expect(named[0]?.steps.at(2).observation.state).toEqual(episodes[0]?.steps.at(2).observation.state);
  });

  it("a depth image of 16 bits is read as u16", async () => {
    const { reader, episodes } = await episodesOf(wild("lerobot_depth16"));
    expect((reader.stepSpec as never as { observation: { images: { top: unknown } } }).observation.images.top).toEqual({ dtype: "u16", shape: [16, 24, 1] });
    const top: Uint16Array = episodes[0]?.steps.at(0).observation.images.top;
    expect(Math.max(...top)).toBeGreaterThan(255);
  });

  it("a Git LFS pointer is named in the error", async () => {
    expectError(await errorFrom(episodesOf(wild("lerobot_lfs_pointer"))), "CORRUPT", /Git LFS pointer to 5662 bytes.*git lfs pull/);
  });
});

describe("journals", () => {
  it.each(["all", "capacity"] as const)("do not read omitted columns (retain %s)", async (retain) => {
    const dir = memory();
    const spec = { observation: { screen: u8(32, 32), stack: shared("frames", u8(16, 16), 2), at: f32(2) }, action: i32(), reward: f32(), terminated: bool() };
    const replay = await Replay.open({ dir, spec, tables: { t: { maxSize: 100 } }, retain, durability: "manual" });
    const writer = replay.writer({ items: [{ table: "t", nStep: 1 }] });
    const pixels = (n: number, i: number) => Uint8Array.from({ length: n }, (_, k) => k * i);
    for (let i = 0; i < 12; i++) {
      const stack = Uint8Array.from([...pixels(256, i), ...pixels(256, i + 1)]);
      writer.append({ observation: { screen: pixels(1024, i), stack, at: [i, -i] }, action: i, reward: 1, terminated: i === 5 });
      if (i === 5) writer.endEpisode({ terminated: true });
      if (i === 11) writer.endEpisode({ terminated: true });
    }
    replay.flush();
    replay.dispose();
    const bytes = { maxBytes: 2000 };
    expectError(await errorFrom(episodesOf(dir, bytes)), "UNSUPPORTED", /maxBytes/);
    const { episodes } = await episodesOf(dir, { ...bytes, without: ["observation/screen", "observation/stack"], rename: { action: "action/button" } });
    const whole = await episodesOf(dir);
    expect(episodes.map(({ steps }) => steps.length)).toEqual([7, 7]);
    for (const [e, { steps }] of episodes.entries())
      for (const [i, step] of [...steps].entries()) {
        const { observation, action, ...others } = whole.episodes[e]?.steps.at(i) ?? ({} as never);
        expect(step).toEqual({ ...others, observation: { at: observation.at }, action: { button: action } });
      }
    // The flags determine the ends of episodes, even if they are omitted from the steps.
    const { episodes: rest } = await episodesOf(dir, { without: ["terminated", "observation/stack"] });
    expect(rest.map(({ steps }) => [steps.at(6).is_terminal, "terminated" in steps.at(6), steps.at(6).observation.screen])).toEqual(
      whole.episodes.map(({ steps }) => [steps.at(6).is_terminal, false, steps.at(6).observation.screen]),
    );
  });
});
