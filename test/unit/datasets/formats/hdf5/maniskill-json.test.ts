/** Tests the JSON file that ManiSkill writes next to its trajectories. */
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { openRobots } from "../../../../../src/datasets/formats/hdf5/open-robots.ts";
import { openRlds } from "../../../../../src/datasets/formats/open.ts";
import type { RldsReader } from "../../../../../src/datasets/formats/reader.ts";
import { all } from "../../../../support/columns.ts";
import { fileServer } from "../../../../support/file-server.ts";
import { dataFolder, fileBytes } from "../../rlds/data.ts";

const H5 = dataFolder("wild/hdf5_robots/maniskill_nested.h5");
// A JSON file in the form of ManiSkill's RecordEpisode (mani_skill/utils/wrappers/record.py). The second episode comes first.
const JSON_TEXT = JSON.stringify({
  env_info: { env_id: "PickCube-v1", max_episode_steps: 50, env_kwargs: { obs_mode: "state", robot_uids: "panda" } },
  commit_info: null,
  episodes: [
    {
      episode_id: 1,
      episode_seed: 2022,
      control_mode: "pd_joint_pos",
      elapsed_steps: 2,
      reset_kwargs: { options: {}, seed: 2022 },
      success: false,
      note: null,
    },
    {
      episode_id: 0,
      episode_seed: 2 ** 53,
      control_mode: "pd_ee_delta_pose",
      elapsed_steps: 3,
      reset_kwargs: { options: {}, seed: 0 },
      success: true,
    },
  ],
  source_type: "motionplanning",
}).replace("9007199254740992", "9007199254740993");

const folder = mkdtempSync(join(tmpdir(), "reprise-maniskill-"));
const path = join(folder, "trajectory.h5");
const beside = join(folder, "trajectory.json");
copyFileSync(H5, path);
beforeEach(() => writeFileSync(beside, JSON_TEXT));
afterAll(() => rmSync(folder, { recursive: true }));

const EXPECTED = [
  { env_id: "PickCube-v1", episode_seed: 9007199254740993n, control_mode: "pd_ee_delta_pose", elapsed_steps: 3, success: true },
  { env_id: "PickCube-v1", episode_seed: 2022n, control_mode: "pd_joint_pos", elapsed_steps: 2, success: false },
];

async function metadata(from: Parameters<typeof openRlds>[0]) {
  const reader = (await openRlds(from)) as RldsReader;
  const episodes = await all(reader);
  await reader.close();
  return { about: reader.about, episodes: episodes.map(({ steps: _, final_step: __, reset_kwargs: ___, ...rest }) => rest), spec: reader.metadataSpec };
}

describe("episode metadata from the JSON file", () => {
  const server = () => fileServer(folder, true);
  it("is read for a path, a folder, a Map and a URL", async () => {
    const files = new Map([
      ["trajectory.h5", fileBytes(H5)],
      ["trajectory.json", new TextEncoder().encode(JSON_TEXT) as Uint8Array<ArrayBuffer>],
    ]);
    await using http = await server();
    for (const from of [path, pathToFileURL(path), files, folder, new URL("trajectory.h5", http.url)]) {
      const { about, episodes, spec } = await metadata(from);
      expect(episodes).toEqual(EXPECTED);
      expect(about).toMatchObject({ env_info: { env_id: "PickCube-v1", max_episode_steps: 50 }, source_type: "motionplanning" });
      expect(spec).toMatchObject({ episode_seed: { dtype: "i64" }, reset_kwargs: { seed: { dtype: "i32" } }, final_step: { dtype: "string" } });
    }
  });

  it("is omitted if the file is missing or has another form", async () => {
    const http = await server();
    rmSync(beside);
    for (const from of [path, new Blob([fileBytes(H5)]), new URL("trajectory.h5", http.url)]) expect((await metadata(from)).episodes).toEqual([{}, {}]);
    await http[Symbol.asyncDispose]();
    writeFileSync(beside, '{"episodes": [1]}');
    expect((await metadata(path)).episodes).toEqual([{}, {}]);
  });

  it("is lost if the file is damaged, and the trajectories are still read", async () => {
    for (const text of [JSON_TEXT.slice(0, 100), "[".repeat(1000), '{"env_info":{"env_id":"x"},"episodes":[{"a":{"b":[[1],2]}},7,null]}']) {
      writeFileSync(beside, text);
      const { about, episodes } = await metadata(path);
      expect(episodes.length).toBe(2);
      if (!text.startsWith('{"env_info":{"env_id":"x"')) expect(about.unread).toEqual(["trajectory.json"]);
    }
    writeFileSync(beside, "{");
    const reader = await openRobots(path, { salvage: true });
    expect(reader.losses).toMatchObject([{ code: "CORRUPT", file: "trajectory.json" }]);
    await reader.close();
  });
});
