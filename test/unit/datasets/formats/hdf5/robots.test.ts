/** Tests HDF5 files of robot demonstrations in every known layout. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openRobots } from "../../../../../src/datasets/formats/hdf5/open-robots.ts";
import { openRlds } from "../../../../../src/datasets/formats/open.ts";
import type { ReadEpisode, RldsReader } from "../../../../../src/datasets/formats/reader.ts";
import { all } from "../../../../support/columns.ts";
import { some } from "../../../../support/size.ts";
import { dataFolder, fileBytes } from "../../rlds/data.ts";

const path = (name: string) => dataFolder(`wild/hdf5_robots/${name}`);
const ends = ({ steps, final_step }: ReadEpisode) => [steps.length, final_step, steps.at(steps.length - 1).is_last, steps.at(steps.length - 1).is_terminal];

describe("robomimic", () => {
  it("has episodes with final observations, states and metadata", async () => {
    const reader = (await openRlds(path("robomimic.hdf5"))) as RldsReader;
    expect([reader.format, reader.name, reader.episodes, await reader.lengths?.()]).toEqual(["robomimic", "robomimic", 2, [6, 11]]);
    expect(reader.stepSpec).toMatchObject({
      observation: { agentview_image: { dtype: "u8", shape: [16, 16, 3] }, robot0_eef_pos: { dtype: "f64", shape: [3] } },
      action: { dtype: "f64", shape: [7] },
      reward: { dtype: "f64", shape: [] },
      states: { dtype: "f64", shape: [32] },
    });
    expect(reader.about).toMatchObject({ env_args: '{"env_name":"Lift","type":1,"env_kwargs":{}}' });
    const episodes = await all(reader);
    expect(episodes.map(({ num_samples }) => num_samples)).toEqual([5n, 10n]);
    for (const { steps, final_step } of episodes) {
      expect([final_step, steps.at(steps.length - 1).is_last]).toEqual(["observation", true]);
      // The rewards in this file are zeros.
      expect(new Set(Array.from(steps, ({ reward }) => reward))).toEqual(new Set([0]));
    }
    // The expected values are from h5py 3.16: obs and next_obs of the last rows.
    const [{ steps }] = episodes as [ReadEpisode];
    expect(Array.from(steps.at(4).observation.robot0_eef_pos as Float64Array, (x) => x.toFixed(6))).toEqual(["-1.292646", "-0.471813", "1.377951"]);
    expect(Array.from(steps.at(5).observation.robot0_eef_pos as Float64Array, (x) => x.toFixed(6))).toEqual(["-1.865721", "-1.074803", "1.630523"]);
    expect([steps.at(5).is_terminal, steps.at(4).discount]).toEqual([true, 0]);
    await reader.close();
  });

  it("has its masks as splits", async () => {
    const reader = await openRlds(path("robomimic.hdf5"), { split: "valid" });
    expect([reader.splits, reader.split, reader.episodes]).toEqual([["train", "valid"], "valid", 1]);
    await reader.close();
    const names = async (split: string) => {
      const one = await openRobots(path("robomimic.hdf5"), { split });
      const lengths = (await all(one)).map(({ steps }) => steps.length);
      await one.close();
      return lengths;
    };
    expect([...(await names("train")), ...(await names("valid"))].sort()).toEqual([11, 6]);
    await expect(openRobots(path("robomimic.hdf5"), { split: "test" })).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("train, valid"),
    });
  });

  it("is also read from Isaac Lab, without rewards and in numeric order", async () => {
    const reader = (await openRlds(path("isaaclab.hdf5"))) as RldsReader;
    expect(reader.about).toMatchObject({ unread: ["/data/demo_2/initial_state"] });
    const episodes = await all(reader);
    expect(episodes.map((episode) => [...ends(episode), episode.success, episode.steps.at(0).action[0]])).toEqual([
      [2, "transition", true, false, true, 2],
      [3, "transition", true, false, false, 10],
    ]);
    expect(episodes[0]?.steps.at(0)).toMatchObject({ reward: 0, states: { articulation: { robot: { root_pose: new Float32Array(7) } } } });
    await reader.close();
  });

  it("is also read from robosuite, with states as observations", async () => {
    const reader = (await openRlds(path("robosuite.hdf5"))) as RldsReader;
    const episodes = await all(reader);
    expect(episodes.map(({ steps, model_file }) => [steps.length, steps.at(0).observation, model_file])).toEqual([
      [4, new Float64Array(5).fill(1), "<mujoco model='1'/>"],
      [4, new Float64Array(5).fill(2), "<mujoco model='2'/>"],
    ]);
    await reader.close();
  });
});

describe("ManiSkill", () => {
  it("has one more observation than actions", async () => {
    const reader = (await openRlds(path("maniskill.h5"))) as RldsReader;
    expect([reader.format, reader.episodes, await reader.lengths?.()]).toEqual(["maniskill", 2, [5, 7]]);
    const episodes = await all(reader);
    expect(episodes.map(({ final_step }) => final_step)).toEqual(["observation", "observation"]);
    expect(reader.stepSpec).toMatchObject({ observation: { dtype: "f32", shape: [29] }, success: { dtype: "bool", shape: [] } });
    await reader.close();
  });

  it("supports nested observations and missing rewards", async () => {
    const reader = (await openRlds(path("maniskill_nested.h5"))) as RldsReader;
    const episodes = await all(reader);
    expect(episodes.map(ends)).toEqual([
      [4, "observation", true, true],
      [3, "observation", true, false],
    ]);
    const last = episodes[0]?.steps.at(3);
    expect(last).toMatchObject({
      observation: { agent: { qpos: Float32Array.of(6, 7) } },
      env_states: { actors: { cube: Float32Array.of(9, 10, 11) } },
      success: false,
    });
    await reader.close();
  });
});

describe("ALOHA", () => {
  it("has one episode per file", async () => {
    const reader = (await openRlds(path("aloha_episode_0.hdf5"))) as RldsReader;
    expect([reader.format, reader.episodes, reader.about]).toEqual(["aloha", 1, { sim: true }]);
    const episodes = await all(reader);
    expect(episodes.map(ends)).toEqual([[20, "transition", true, false]]);
    expect(reader.stepSpec).toMatchObject({ observation: { images: { top: { dtype: "u8", shape: [16, 16, 3] } }, qpos: { dtype: "f32", shape: [14] } } });
    await reader.close();
  });

  it("is read from a folder in numeric order, and JPEGs are decoded", async () => {
    const reader = (await openRlds(path("aloha"))) as RldsReader;
    expect([reader.episodes, await reader.lengths?.()]).toEqual([11, [2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2]]);
    const episodes = await all(reader);
    for (const [number, { steps }] of episodes.entries()) {
      const { observation, base_action } = steps.at(1);
      expect([observation.qpos[0], base_action[0]]).toEqual([number, number]);
      expect(observation.images.top.length).toBe(8 * 16 * 3);
      for (const pixel of observation.images.top) expect(Math.abs(pixel - (10 * number + 1))).toBeLessThan(3);
    }
    const [ninth] = await all((reader.startingAt as NonNullable<typeof reader.startingAt>)(9));
    expect(ninth?.steps.at(0).action[0]).toBe(9);
    await reader.close();
    const alone = await openRlds(path("aloha/episode_3.hdf5"));
    expect(alone.episodes).toBe(1);
    await alone.close();
  });
});

it("HDF5 after a user block is read from a path and from bytes", async () => {
  for (const from of [dataFolder("wild/userblock.hdf5"), new Blob([fileBytes(dataFolder("wild/userblock.hdf5"))])]) {
    const reader = (await openRlds(from)) as RldsReader;
    expect((await all(reader)).length).toBe(3);
    await reader.close();
  }
  // The user block is replaced by one of another size.
  const bytes = new Uint8Array(readFileSync(dataFolder("wild/userblock.hdf5")).subarray(512));
  expect(Array.from(bytes.subarray(0, 4))).toEqual([0x89, 0x48, 0x44, 0x46]);
  await expect(openRlds(new Blob([new Uint8Array(513)]))).rejects.toMatchObject({ code: "UNSUPPORTED" });
});

it("openRobots rejects other layouts, unknown splits and episodes larger than maxBytes", async () => {
  await expect(openRobots(dataFolder("d4rl/half_cheetah.hdf5"))).rejects.toMatchObject({
    code: "UNSUPPORTED",
    message: expect.stringContaining("data/demo_0"),
  });
  await expect(openRobots(path("maniskill.h5"), { split: "train" })).rejects.toMatchObject({
    code: "UNSUPPORTED",
    message: expect.stringContaining("no splits"),
  });
  const read = async () => {
    const reader = await openRobots(path("robomimic.hdf5"), { maxBytes: 2000 });
    await all(reader).finally(() => reader.close());
  };
  await expect(read()).rejects.toMatchObject({ code: expect.stringMatching(/CORRUPT|UNSUPPORTED/) });
});

it.each(some(["maniskill.h5", "robomimic.hdf5", "aloha_episode_0.hdf5", "isaaclab.hdf5"], 1))(
  "%s: truncated files throw an RldsError, and flipped bytes either throw one or read",
  async (name) => {
    const bytes = fileBytes(path(name));
    const read = async (data: Uint8Array<ArrayBuffer>) => {
      const reader = (await openRlds(new Blob([data]), { maxBytes: 2 ** 22 })) as RldsReader;
      try {
        return (await all(reader)).length;
      } finally {
        await reader.close();
      }
    };
    const results: unknown[] = [];
    for (let k = 0; k < 12; k++) results.push(await read(bytes.slice(0, Math.floor((bytes.length * k) / 12))).catch((error) => error));
    for (let k = 0; k < 60; k++) {
      const flipped = bytes.slice();
      const at = (k * 7919) % Math.min(bytes.length, 8000);
      flipped[at] = (flipped[at] as number) ^ 0xff;
      results.push(await read(flipped).catch((error) => error));
    }
    for (const result of results) if (result instanceof Error) expect(result).toMatchObject({ name: "RldsError" });
    expect(results.slice(0, 12).every((result) => result instanceof Error)).toBe(true);
  },
);
