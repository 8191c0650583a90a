/** Tests that `convert` keeps films, names, bounds and texts, lists the parts that it cannot keep, and fails with --strict if there are any. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openLeRobot, openRlds, writeLeRobot } from "../../../src/datasets/rlds/index.ts";
import { errorFrom } from "../../support/later.ts";
import { expectError } from "../../support/refused.ts";
import { all } from "../../support/rlds-data.ts";
import { DATA, document, failure, reprise, temporary } from "./support.ts";

const temp = temporary();
const FILMED = join(DATA, "wild/lerobot_video");
const CAMERA = "observation.images.top";
const FILM = `videos/${CAMERA}/chunk-000/file-000.mp4`;

/** Returns all files of a folder by path. */
function filesOf(folder: string): { readonly [path: string]: string } {
  const paths = (readdirSync(folder, { recursive: true, withFileTypes: true }) as { name: string; parentPath: string; isFile(): boolean }[])
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => join(parentPath, name));
  return Object.fromEntries(paths.sort().map((path) => [path.slice(folder.length + 1), readFileSync(path).toString("latin1")]));
}

const contentOf = (path: string) => (statSync(path).isDirectory() ? filesOf(path) : readFileSync(path).toString("latin1"));

/** Returns the path of a writable copy. */
function copied(from: string, name: string): string {
  const to = temp(name);
  mkdirSync(to, { recursive: true });
  cpSync(from, to, { recursive: true });
  return to;
}

const json = (path: string) => JSON.parse(readFileSync(path, "utf8"));

async function episodesOf(path: string) {
  const reader = await openRlds(path);
  const episodes = await all(reader);
  await reader.close();
  return episodes;
}

describe("formats of one file, and LeRobot 2.1", () => {
  test.each([
    ["npz", "npz"],
    ["hdf5", "robomimic"],
  ])("the ending .%s selects the format, and the file is read as %s", async (ending, format) => {
    const to = temp(`pixels.${ending}`);
    const source = join(DATA, "tfds/cartpole_pixels");
    expect(await document("convert", source, to, "--from-split", "train[:2]", "--strict")).toMatchObject({
      format: ending,
      losses: [],
      files: [`pixels.${ending}`],
    });
    const before = (await all(await openRlds(source, { split: "train[:2]" }))) as { steps: { observation: unknown; reward: unknown }[]; operator: string }[];
    const reader = await openRlds(to);
    expect(reader.format).toBe(format);
    const after = (await all(reader)) as typeof before;
    await reader.close();
    expect(after.map(({ operator }) => operator)).toEqual(before.map(({ operator }) => operator));
    const seen = (episodes: typeof before) => episodes.map(({ steps }) => steps.map(({ observation, reward }) => ({ observation, reward })));
    expect(seen(after)).toEqual(seen(before));
    expect(await document("check", to, "--ignore", "warnings")).toMatchObject({ clean: true });
  });

  test("a conversion to CSV lists the parts that CSV cannot store", async () => {
    const to = temp("cheetah.csv");
    const { format, steps } = await document("convert", join(DATA, "tfds/half_cheetah"), to, "--from-split", "train[:1]");
    const lines = readFileSync(to, "utf8").trimEnd().split("\n");
    expect([format, lines.length]).toEqual(["csv", 1 + steps]);
    expect(lines[0]).toMatch(/^episode_index,action\.0,.*,observation\.16,reward,/);
    expect((await document("convert", FILMED, temp("filmed.csv"))).losses).toContainEqual({ what: "about", reason: "CSV has values of steps only" });
    expect((await failure(1, "convert", FILMED, temp("refused.csv"), "--strict")).error.code).toBe("UNSUPPORTED");
    expect(existsSync(temp("refused.csv"))).toBe(false);
  });

  test("--lerobot-version 2.1 writes that version, and works only with LeRobot", async () => {
    const to = temp("v21");
    await document("convert", join(DATA, "tfds/cartpole_pixels"), to, "--format", "lerobot", "--fps", "50", "--lerobot-version", "2.1");
    expect(json(join(to, "meta/info.json"))).toMatchObject({ codebase_version: "v2.1", total_episodes: 8 });
    expect(readdirSync(join(to, "data/chunk-000"))).toHaveLength(8);
    expect(await document("check", to, "--ignore", "warnings")).toMatchObject({ format: "lerobot", episodes: 8, clean: true });
    expect((await failure(2, "convert", FILMED, temp("x.jsonl"), "--lerobot-version", "2.1")).line).toMatch(/--lerobot-version works only with LeRobot/);
  });
});

describe("LeRobot films", () => {
  test("are copied with their names, statistics and times, and joints keep their names", async () => {
    const to = temp("filmed");
    const { losses } = await document("convert", FILMED, to, "--format", "lerobot");
    expect(losses).toEqual([]);
    expect(readFileSync(join(to, FILM)).equals(readFileSync(join(FILMED, FILM)))).toBe(true);
    const [before, after] = [json(join(FILMED, "meta/info.json")), json(join(to, "meta/info.json"))];
    for (const name of ["observation.state", "action", CAMERA]) expect(after.features[name]).toEqual(before.features[name]);
    expect([after.fps, after.robot_type, after.video_path]).toEqual([before.fps, before.robot_type, before.video_path]);
    expect(Object.keys(after.features).sort()).toEqual(
      [...new Set([...Object.keys(before.features), "next.done", "is_terminal", "discount", "next.reward"])].sort(),
    );
    const [statistics, sourceStatistics] = [json(join(to, "meta/stats.json")), json(join(FILMED, "meta/stats.json"))];
    expect(statistics[CAMERA].min).toEqual(sourceStatistics[CAMERA].min);
    expect(statistics[CAMERA].mean.flat(2)[0]).toBeCloseTo(sourceStatistics[CAMERA].mean.flat(2)[0], 9);
    const reference = (episode: { readonly steps: unknown[] }) =>
      (episode.steps as { observation: { images: { top: { path: string; timestamp: number } } } }[]).map(({ observation }) => observation.images.top);
    const [source, found] = [await episodesOf(FILMED), await episodesOf(to)];
    for (const [k, episode] of found.entries())
      for (const [i, { path, timestamp }] of reference(episode).entries()) {
        const wanted = reference(source[k] as { steps: unknown[] })[i];
        expect([path, timestamp]).toEqual([wanted?.path, expect.closeTo(wanted?.timestamp as number, 9)]);
      }
  });

  test("stay unchanged if the dataset is converted in place repeatedly", async () => {
    const folder = copied(FILMED, "in-place");
    const film = readFileSync(join(folder, FILM));
    for (let i = 0; i < 2; i++) {
      expect((await document("convert", folder, folder, "--format", "lerobot", "--overwrite")).losses).toEqual([]);
      expect(readFileSync(join(folder, FILM)).equals(film)).toBe(true);
      expect((await episodesOf(folder)).map(({ steps }) => steps.length)).toEqual((await episodesOf(FILMED)).map(({ steps }) => steps.length));
    }
  });

  test("are renamed with their camera or left out, and joints keep their names", async () => {
    const to = temp("renamed");
    const renames = ["--rename", `${CAMERA}=observation.images.front`, "--rename", "observation.state=observation.joints"];
    const { losses } = await document("convert", FILMED, to, "--format", "lerobot", ...renames);
    expect(losses).toEqual([]);
    const [before, after] = [json(join(FILMED, "meta/info.json")), json(join(to, "meta/info.json"))];
    expect(after.features["observation.images.front"]).toEqual(before.features[CAMERA]);
    expect(after.features["observation.joints"]).toEqual(before.features["observation.state"]);
    expect(Object.keys(after.features)).toEqual(expect.not.arrayContaining([CAMERA, "observation.state"]));
    const film = readFileSync(join(FILMED, FILM));
    const moved = FILM.replace(".top/", ".front/");
    expect([existsSync(join(to, FILM)), readFileSync(join(to, moved)).equals(film)]).toEqual([false, true]);
    expect(json(join(to, "meta/stats.json"))["observation.images.front"].min).toEqual(json(join(FILMED, "meta/stats.json"))[CAMERA].min);
    const paths = (await episodesOf(to)).flatMap(({ steps }) =>
      (steps as { observation: { images: { front: { path: string } } } }[]).map(({ observation }) => observation.images.front.path),
    );
    expect(new Set(paths)).toEqual(new Set([moved]));
    // The conversion is reversible.
    const back = temp("renamed-back");
    await document(
      "convert",
      to,
      back,
      "--format",
      "lerobot",
      "--rename",
      `observation.images.front=${CAMERA}`,
      "--rename",
      "observation.joints=observation.state",
    );
    for (const name of [CAMERA, "observation.state", "action"]) expect(json(join(back, "meta/info.json")).features[name]).toEqual(before.features[name]);
    expect(readFileSync(join(back, FILM)).equals(film)).toBe(true);
    const without = temp("without-camera");
    const left = await document("convert", FILMED, without, "--format", "lerobot", "--without", CAMERA);
    expect(left.losses).toEqual([]);
    expect(json(join(without, "meta/info.json")).features[CAMERA]).toBeUndefined();
    expect(existsSync(join(without, "videos"))).toBe(false);
    expect((await episodesOf(without)).map(({ steps }) => steps.length)).toEqual((await episodesOf(FILMED)).map(({ steps }) => steps.length));
  });

  test("are copied to the paths in the tables for version 2, with one film per episode", async () => {
    const to = temp("v2");
    const source = copied(join(DATA, "extra/lerobot_v2"), "v2-source");
    // The fixtures have no films. Arbitrary bytes replace them, because films are copied unchanged.
    const films = ["000000", "000001", "000002"].map((number) => `videos/chunk-000/observation.images.wrist/episode_${number}.mp4`);
    for (const [k, film] of films.entries()) {
      mkdirSync(join(source, film, ".."), { recursive: true });
      writeFileSync(join(source, film), `film ${k}`);
    }
    const { losses } = await document("convert", source, to, "--format", "lerobot");
    expect(losses.map(({ what }: { what: string }) => what)).toEqual(["statistics of observation.images.wrist"]);
    for (const k of films.keys()) expect(readFileSync(join(to, `videos/observation.images.wrist/chunk-000/file-00${k}.mp4`), "utf8")).toBe(`film ${k}`);
    const { steps } = (await episodesOf(to))[1] as { readonly steps: unknown[] };
    expect((steps[1] as { observation: { images: { wrist: unknown } } }).observation.images.wrist).toEqual({
      path: "videos/observation.images.wrist/chunk-000/file-001.mp4",
      timestamp: expect.closeTo(0.1, 6),
    });
  });

  test("are never deleted: a writer that does not copy them is rejected before any change", async () => {
    const folder = copied(FILMED, "refused");
    const before = filesOf(folder);
    const reader = await openLeRobot(folder);
    const data = { stepSpec: reader.stepSpec, metadataSpec: reader.metadataSpec, [Symbol.asyncIterator]: () => reader[Symbol.asyncIterator]() };
    expectError(await errorFrom(writeLeRobot(data, folder, { fps: 10, overwrite: true })), "IO", /films in this folder would be deleted/);
    expect(filesOf(folder)).toEqual(before);
    expectError(
      await errorFrom(writeLeRobot(reader, folder, { fps: 5, films: reader.films as never, overwrite: true })),
      "UNSUPPORTED",
      /fps must be 10, as in the films, got 5/,
    );
    expect(filesOf(folder)).toEqual(before);
  });

  test("are listed as losses by formats without films, and rejected with --strict", async () => {
    for (const name of ["a.parquet", "a.jsonl", "a-tfds"]) {
      const [loss, ...more] = (await document("convert", FILMED, temp(name))).losses;
      expect([loss.what, more]).toEqual(["observation/images/top", []]);
      const { stdout } = await reprise("convert", FILMED, temp(name), "--overwrite");
      expect(stdout).toContain("\n  not kept: observation/images/top: films are not copied, and steps refer to them by their paths in the source\n");
      const { error } = await failure(1, "convert", FILMED, temp(`strict-${name}`), "--strict");
      expect(error).toMatchObject({ code: "UNSUPPORTED", message: expect.stringContaining("observation/images/top") });
      expect(existsSync(temp(`strict-${name}`, "steps.jsonl")) || (existsSync(temp(`strict-${name}`)) && readdirSync(temp(`strict-${name}`)).length > 0)).toBe(
        false,
      );
    }
  });
});

const MINARI = join(DATA, "minari/cartpole/scripted-v0");

test("conversions keep the environment, author and bounds of Minari", async () => {
  const to = temp("minari");
  const about = json(join(MINARI, "data/metadata.json"));
  const kept = ["env_spec", "author", "author_email", "algorithm_name", "code_permalink", "observation_space", "action_space"];
  const checkSame = (found: { [key: string]: unknown }) => {
    for (const key of kept) expect([key, found[key]]).toEqual([key, about[key]]);
  };
  expect((await document("convert", MINARI, to, "--format", "minari", "--id", "a/b-v0")).losses).toEqual([]);
  checkSame(json(join(to, "a/b-v0/data/metadata.json")));
  // The bounds also survive a conversion through any other format.
  for (const name of ["m.parquet", "m.jsonl", "m-tfds"]) {
    await document("convert", MINARI, temp(name));
    expect((await document("convert", temp(name), to, "--format", "minari", "--id", "a/b-v0", "--overwrite")).losses).toEqual([]);
    checkSame(json(join(to, "a/b-v0/data/metadata.json")));
  }
  // LeRobot uses other names for single values, so the restored space differs.
  await document("convert", MINARI, temp("m-lerobot"), "--format", "lerobot", "--fps", "50");
  const { losses } = await document("convert", temp("m-lerobot"), to, "--format", "minari", "--id", "a/b-v0", "--overwrite");
  expect(losses.map(({ what }: { what: string }) => what)).toContain("observation_space");
  const found = json(join(to, "a/b-v0/data/metadata.json"));
  expect([found.env_spec, found.author]).toEqual([about.env_spec, about.author]);
});

test("conversions through four formats keep the names of joints and the robot", async () => {
  const before = json(join(FILMED, "meta/info.json"));
  for (const [name, ...more] of [["n.parquet"], ["n.jsonl"], ["n-tfds"], ["minari", "--format", "minari", "--id", "n-v0"]] as const) {
    const path = name === "minari" ? temp("n-minari") : temp(name);
    await document("convert", FILMED, path, ...more);
    const to = temp(`back-${name.replace(".", "-")}`);
    await document("convert", name === "minari" ? join(path, "n-v0") : path, to, "--format", "lerobot");
    const after = json(join(to, "meta/info.json"));
    expect([name, after.features.action.names, after.fps, after.robot_type]).toEqual([name, before.features.action.names, before.fps, before.robot_type]);
  }
});

describe("losses", () => {
  test("include final observations for LeRobot, and discounts for Minari", async () => {
    const tfds = join(DATA, "tfds/cartpole");
    const lerobot = ["convert", tfds, temp("lost"), "--format", "lerobot", "--fps", "50", "--from-split", "train[:4]"];
    expect((await document(...lerobot)).losses).toEqual([{ what: "final observations", reason: "LeRobot has none", episodes: 4 }]);
    const before = filesOf(temp("lost"));
    expect((await failure(1, ...lerobot, "--overwrite", "--strict")).error.message).toContain("final observations: LeRobot has none (4 episodes)");
    expect(filesOf(temp("lost"))).toEqual(before);
    const step = (i: number) => ({ observation: [i], action: [i], reward: 1, discount: 0.5, is_first: i === 0, is_last: i === 2, is_terminal: false });
    writeFileSync(temp("half.jsonl"), [0, 1, 2].map((i) => `${JSON.stringify(step(i))}\n`).join(""));
    const minari = ["convert", temp("half.jsonl"), temp("minari"), "--format", "minari", "--id", "half-v0"];
    expect((await document(...minari)).losses).toEqual([
      { what: "discount", reason: "Minari does not store discounts, and readers derive them from terminations", episodes: 1 },
    ]);
    expect((await failure(1, ...minari, "--overwrite", "--strict")).error.code).toBe("UNSUPPORTED");
  });

  test("are listed for a damaged source, next to those of the target", async () => {
    const convert = ["convert", join(DATA, "wild/lerobot_lfs_pointer"), temp("salvaged"), "--format", "lerobot", "--mode", "salvage"];
    const { sourceLosses, losses, steps } = await document(...convert);
    expect(sourceLosses.map(({ code }: { code: string }) => code)).toEqual(["CORRUPT", "NOT_FOUND"]);
    expect([Array.isArray(losses), steps]).toEqual([true, 7]);
    const { stdout } = await reprise(...convert, "--overwrite");
    expect(stdout).toMatch(/Not read:\n {2}CORRUPT: the file is a Git LFS pointer/);
  });

  test("a result without steps is an error, and replaces nothing", async () => {
    const step = (i: number) => ({
      observation: [i],
      action: [i],
      reward: i === 0 ? "NaN" : 1,
      discount: 1,
      is_first: i === 0,
      is_last: i === 1,
      is_terminal: false,
    });
    writeFileSync(temp("nan.jsonl"), [0, 1].map((i) => `${JSON.stringify(step(i))}\n`).join(""));
    for (const [name, ...more] of [
      ["e.parquet"],
      ["e.jsonl"],
      ["e-tfds"],
      ["e-lerobot", "--format", "lerobot", "--fps", "1"],
      ["e-minari", "--format", "minari", "--id", "e-v0"],
    ] as const) {
      const to = temp(name);
      await document("convert", join(DATA, "wild/sparse.jsonl"), to, ...more);
      const before = contentOf(to);
      const { error } = await failure(
        1,
        "convert",
        temp("nan.jsonl"),
        to,
        ...more,
        "--mode",
        "drop",
        "--overwrite",
        ...(name === "e-tfds" ? ["--name", "sparse"] : []),
      );
      expect([name, error.code]).toEqual([name, "EMPTY"]);
      expect(contentOf(to)).toEqual(before);
    }
  });
});
