/** Tests selection and salvage in files of robot demonstrations, and in JSON files without lines. */
import { describe, expect, it } from "vitest";
import { openRobots } from "../../../../../src/datasets/formats/hdf5/open-robots.ts";
import { openJsonl } from "../../../../../src/datasets/formats/jsonl/open-jsonl.ts";
import { all } from "../../../../support/columns.ts";
import { dataFolder } from "../../rlds/data.ts";

const ROBOMIMIC = dataFolder("wild/hdf5_robots/robomimic.hdf5");

describe("robomimic", () => {
  it("omits and renames columns, by their names in the file or in a step", async () => {
    for (const without of [["obs/agentview_image"], ["observation/agentview_image"]]) {
      const reader = await openRobots(ROBOMIMIC, { without });
      expect(Object.keys((reader.stepSpec as { readonly observation: object }).observation)).not.toContain("agentview_image");
      expect((await all(reader)).map(({ steps }) => [steps.length, "agentview_image" in (steps.at(0).observation as object)])).toEqual([
        [6, false],
        [11, false],
      ]);
      await reader.close();
    }
    const renamed = await openRobots(ROBOMIMIC, { only: ["observation/robot0_eef_pos"], rename: { "observation/robot0_eef_pos": "observation/position" } });
    expect(renamed.stepSpec).toMatchObject({ observation: { position: { dtype: "f64", shape: [3] } } });
    expect(renamed.stepSpec).not.toHaveProperty("states");
    expect(await renamed.lengths?.()).toEqual([6, 11]);
    await renamed.close();
  });

  it("omits, selects and renames states next to observations", async () => {
    const fieldsWith = async (options: object) => {
      const reader = await openRobots(ROBOMIMIC, options);
      await reader.close();
      return [...Object.keys((reader.stepSpec as { readonly observation: object }).observation), ...Object.keys(reader.stepSpec as object)];
    };
    const seen = ["agentview_image", "robot0_eef_pos", "observation"];
    expect(await fieldsWith({ without: ["states"] })).toEqual(expect.arrayContaining(seen));
    expect(await fieldsWith({ without: ["states"] })).not.toContain("states");
    expect(await fieldsWith({ rename: { states: "simulator" } })).toEqual(expect.arrayContaining([...seen, "simulator"]));
    expect(await fieldsWith({ only: ["states", "obs/robot0_eef_pos"] })).toEqual(expect.arrayContaining(["robot0_eef_pos", "states"]));
  });

  it("rejects unknown and required columns in without", async () => {
    await expect(openRobots(ROBOMIMIC, { without: ["obs/nothing"] })).rejects.toThrow(/without must be column names.*obs\/nothing/);
    await expect(openRobots(ROBOMIMIC, { without: ["actions"] })).rejects.toThrow(RangeError);
  });

  it("reads all intact episodes with salvage, without counts in advance", async () => {
    const reader = await openRobots(ROBOMIMIC, { salvage: true });
    expect([reader.episodes, reader.lengths, reader.startingAt, reader.losses]).toEqual([undefined, undefined, undefined, []]);
    expect((await all(reader)).map(({ steps }) => steps.length)).toEqual([6, 11]);
    await reader.close();
  });
});

describe("a JSON array", () => {
  const step = (i: number, more: object = {}) => ({ observation: [i], action: i, reward: 1, note: "a", terminated: i === 2, ...more });

  it("is selected like JSON lines, even as lists of steps", async () => {
    for (const value of [[step(0), step(2)], [[step(0), step(2)]]]) {
      const reader = await openJsonl(new Blob([JSON.stringify(value)]), { without: ["note"] });
      expect(reader.stepSpec).not.toHaveProperty("note");
      expect((await all(reader)).map(({ steps }) => steps.length)).toEqual([3]);
    }
  });

  it("with salvage returns all elements except a truncated or invalid one", async () => {
    const episode = (id: number) => JSON.stringify({ id, steps: [step(0), step(2)] });
    const cut = new Blob([`[${episode(1)}, ${episode(2)}, {"id": 3, "steps": [`]);
    await expect(openJsonl(cut).then(all)).rejects.toMatchObject({ code: "CORRUPT" });
    const bad = new Blob([`[${episode(1)}, {"id": oops}, ${episode(2)}]`]);
    for (const from of [cut, bad]) {
      const reader = await openJsonl(from, { salvage: true });
      expect((await all(reader)).map(({ id }) => id)).toEqual([1, 2]);
      expect(reader.losses?.map(({ code }) => code)).toEqual(["CORRUPT"]);
    }
  });
});
