/** Tests conversions between all formats, and compares the results with the table in docs/data/write-and-convert.md. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openRlds } from "../../../src/datasets/rlds/index.ts";
import { f32, Replay } from "../../../src/index.ts";
import { open } from "../../../src/recorder/index.ts";
import { root } from "../../support/core.ts";
import { type EpisodeFacts, factsOf } from "../../support/episode-facts.ts";
import { whole } from "../../support/size.ts";
import { DATA, document, reprise, temporary } from "./support.ts";

const temp = temporary();

/** Datasets of all readable formats. The datasets made here contain episodes with and without a final observation. */
const SOURCES: readonly (readonly [title: string, path: () => string | Promise<string>, ...options: string[]])[] = [
  ["TFDS", () => join(DATA, "tfds/cartpole"), "--from-split", "train[:2]"],
  ["Minari", () => join(DATA, "minari/cartpole/scripted-v0")],
  ["D4RL", () => join(DATA, "wild/d4rl_goal_timeout.hdf5")],
  ["LeRobot with films", () => join(DATA, "wild/lerobot_video")],
  ["Parquet", () => join(DATA, "wild/sparse.parquet")],
  ["JSON lines", () => join(DATA, "wild/sparse.jsonl")],
  ["NPZ", () => join(DATA, "extra/npz/recorded.npz")],
  ["Stable-Baselines NPZ", () => join(DATA, "wild/starts.npz")],
  ["imitation NPZ", () => join(DATA, "wild/imitation.npz")],
  ["Dreamer", () => join(DATA, "dreamer")],
  ["robomimic", () => join(DATA, "wild/hdf5_robots/robomimic.hdf5")],
  ["ManiSkill", () => join(DATA, "wild/hdf5_robots/maniskill.h5")],
  ["ALOHA", () => join(DATA, "wild/hdf5_robots/aloha_episode_0.hdf5")],
  ["diffusion_policy", () => join(DATA, "wild/hdf5_robots/diffusion_policy.zarr")],
  ["d3rlpy", () => join(DATA, "d3rlpy/tuples.h5")],
  ["CSV", () => made("sparse.jsonl", "table.csv")],
  ["HDF5", () => made("sparse.jsonl", "own.hdf5")],
  ["recording", recorded],
  ["journal", journal],
];
/** The titles and options of the targets. The option may be a file extension. */
const TARGETS: readonly (readonly [title: string, ...options: string[]])[] = [
  ["TFDS"],
  ["LeRobot", "--format", "lerobot", "--fps", "10"],
  ["LeRobot 2.1", "--format", "lerobot", "--fps", "10", "--lerobot-version", "2.1"],
  ["Minari", "--format", "minari", "--id", "all-v0"],
  ["Parquet", "--format", "parquet"],
  ["JSON lines", "--format", "jsonl"],
  ["NPZ", ".npz"],
  ["HDF5", ".hdf5"],
  ["CSV", ".csv"],
];

/** What the errors of the conversions that fail name. All other conversions must succeed. */
const REFUSED: { readonly [pair: string]: RegExp } = {
  "LeRobot with films to LeRobot 2.1":
    /^reprise: UNSUPPORTED: the film of observation\.images\.top .*cutFilm.* \(videos\/observation\.images\.top\/chunk-000\/file-000\.mp4; episode 0\)\n$/,
};

/** Writes a file with `convert`, and returns its path. */
async function made(from: string, name: string): Promise<string> {
  const to = temp(name);
  await document("convert", join(DATA, "wild", from), to);
  return to;
}

async function recorded(): Promise<string> {
  const dir = temp("recording");
  const recorder = await open({ dir, fps: 10, about: { robot: "arm" }, spec: { observation: f32(2), action: f32(1), reward: f32() } });
  for (const end of [{}, { final: { observation: [9, 9] } }]) {
    for (let i = 0; i < 3; i++) recorder.step({ observation: [i, i], action: [i], reward: i });
    await recorder.endEpisode(end);
  }
  await recorder.close();
  return dir;
}

async function journal(): Promise<string> {
  const dir = temp("journal");
  const replay = await Replay.open({ dir, spec: { observation: f32(2), action: f32(1), reward: f32() }, tables: { t: { maxSize: 100 } } });
  for (const [rule, end] of [
    [{ length: 1 }, {}],
    [{ nStep: 1 }, { final: { observation: [9, 9] }, terminated: true }],
  ] as const) {
    const writer = replay.writer({ items: [{ table: "t", ...rule }] });
    for (let i = 0; i < 3; i++) writer.append({ observation: [i, i], action: [i], reward: i });
    writer.endEpisode(end as never);
    writer.close();
  }
  await replay.flush();
  replay.dispose();
  return dir;
}

async function factsIn(path: string, split?: string): Promise<readonly EpisodeFacts[]> {
  const reader = await openRlds(path, split === undefined ? {} : { split });
  const facts = await factsOf(reader);
  await reader.close();
  return facts.map((one) => ({ ...one, return: Number(one.return.toPrecision(12)) }));
}

/** The metadata keys that depend on the files or on the kind of the Replay. */
const OWN = [
  ...["name", "version", "fileFormat", "disableShuffling", "tables", "transition", "openWriters"],
  ...["total_episodes", "total_steps", "data_format", "jpeg_encoding", "observation_space", "action_space", "dataset_id", "minari_version", "dataset_size"],
  ...["codebase_version", "chunks_size", "data_files_size_in_mb", "video_files_size_in_mb", "total_tasks", "splits", "features"],
];

async function aboutKeysMissing(from: string, to: string): Promise<string[]> {
  const [source, result] = [await openRlds(from), await openRlds(to)];
  await Promise.all([source.close(), result.close()]);
  return Object.keys(source.about).filter((key) => !(key in result.about) && !OWN.includes(key));
}

/** Returns the name that the table uses for a lost part. */
function nounOf({ what, reason }: { readonly what: string; readonly reason: string }): string {
  return reason.startsWith("films") ? "films" : what.endsWith("_space") ? "bounds" : what;
}

test.runIf(whole)("the table in docs/data/write-and-convert.md equals the losses that conversions report", { timeout: 900_000 }, async () => {
  const rows: string[] = [];
  const refused: { [pair: string]: unknown } = {};
  for (const [k, [title, path, ...options]] of SOURCES.entries()) {
    const from = await path();
    const before = await factsIn(from, options[1]);
    const cells: string[] = [];
    for (const [target, ...more] of TARGETS) {
      const [ending = ""] = more.filter((option) => option.startsWith("."));
      const to = temp(`${k}-${target.replace(" ", "-")}${ending}`);
      const { status, stdout, stderr } = await reprise("convert", from, to, ...options, ...more.filter((option) => option !== ending), "--json");
      if (status !== 0) {
        refused[`${title} to ${target}`] = stderr;
        cells.push("refused");
        continue;
      }
      const { losses, finalSteps } = JSON.parse(stdout);
      // No format may lose steps, rewards, episode ends or the description of the source.
      expect([title, target, await factsIn(target === "Minari" ? join(to, "all-v0") : to)]).toEqual([title, target, before]);
      if (target !== "CSV") expect([title, target, await aboutKeysMissing(from, target === "Minari" ? join(to, "all-v0") : to)]).toEqual([title, target, []]);
      const lost = [...new Set((losses as Parameters<typeof nounOf>[0][]).map(nounOf))];
      cells.push(`${lost.length === 0 ? "all" : `all but ${lost.join(", ")}`}${finalSteps.repeated > 0 ? "; repeats" : ""}`);
    }
    rows.push(`| ${title} | ${cells.join(" | ")} |`);
  }
  expect(refused).toEqual(Object.fromEntries(Object.entries(REFUSED).map(([pair, message]) => [pair, expect.stringMatching(message)])));
  const table = [`| from \\ to | ${TARGETS.map(([target]) => target).join(" | ")} |`, `|${"---|".repeat(TARGETS.length + 1)}`, ...rows].join("\n");
  expect(readFileSync(join(root, "docs/data/write-and-convert.md"), "utf8")).toContain(`${table}\n`);
});
