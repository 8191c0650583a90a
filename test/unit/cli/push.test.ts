/** Tests `reprise push`, `sample` and `stats`: data that one process pushes is visible to other processes. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { createTrajectoryDataSpec, openRlds, pushRldsToReverb } from "../../../src/datasets/rlds/index.ts";
import { type Leaf, Replay } from "../../../src/index.ts";
import { ReadOnlyDirectory } from "../../../src/storage/log/read-only-directory.ts";
import { ReverbAddTrajectoryObserver } from "../../../src/tf-agents/index.ts";
import "../../../src/storage/index.ts";
import { root } from "../../support/core.ts";
import { scaled, some, whole } from "../../support/size.ts";
import { CARTPOLE, DATA, document, failure, HALF_CHEETAH, PIXELS, reprise, serve, started, temporary } from "./support.ts";

const temp = temporary();

/** The number of half_cheetah's 40 episodes to push. Each has 250 steps, which make 251 trajectories, and 83 items of four steps at stride 3. */
const EPISODES = scaled(40, 6);
const SPLIT = `train[:${EPISODES}]`;
const inWords = (count: number) => count.toLocaleString("en");

/** Returns all items of a table in order, as read by another process that uses the built package instead of the sources. */
function itemsOf(
  dir: string,
  table: string,
): { readonly size: number; readonly writers: number; readonly data: { readonly [leaf: string]: number[] }; readonly shape: number[] } {
  const program = `
    import { Replay } from "reprise";
    const replay = await Replay.open({ dir: process.argv[1] });
    const table = replay.table(process.argv[2]);
    const { steps, info } = table.sample(table.size, { replacement: false });
    const order = [...info.keys.keys()].sort((a, b) => info.keys[a] - info.keys[b]);
    const [n, time, ...shape] = steps.observation.shape;
    const width = steps.observation.data.length / n;
    const data = { reward: [], observation: [] };
    for (const i of order) {
      data.reward.push(...steps.reward.data.subarray(i * time, (i + 1) * time));
      data.observation.push(...steps.observation.data.subarray(i * width, (i + 1) * width));
    }
    console.log(JSON.stringify({ size: table.size, writers: replay.writers.length, data, shape: [time, ...shape] }));
    replay.dispose();`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program, dir, table], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout);
}

/** Pushes the same data with the library, in this process. */
async function pushedHere(path: string, sequenceLength: number, strideLength: number) {
  const reader = await openRlds(path, { split: SPLIT });
  const spec = await createTrajectoryDataSpec(reader);
  const replay = new Replay({ spec, tables: { t: { maxSize: 20_000 } } });
  const pushed = await pushRldsToReverb(reader, new ReverbAddTrajectoryObserver(replay, { tableName: "t", sequenceLength, strideLength }));
  const { steps, info } = replay.table("t").sample(replay.table("t").size, { replacement: false });
  const order = [...info.keys.keys()].sort((a, b) => (info.keys[a] as number) - (info.keys[b] as number));
  const time = sequenceLength;
  const { data } = steps.reward as { data: Float32Array };
  return { pushed, size: replay.table("t").size, reward: order.flatMap((i) => [...data.subarray(i * time, (i + 1) * time)]) };
}

describe("a journal with half_cheetah", () => {
  let pushed: Awaited<ReturnType<typeof document>>;
  beforeAll(async () => {
    pushed = await document(
      "push",
      HALF_CHEETAH,
      "--split",
      SPLIT,
      "--dir",
      temp("a"),
      "--table",
      "pairs",
      "--table",
      "twins",
      "--sequence-length",
      "4",
      "--stride",
      "3",
      "--seed",
      "7",
    );
  });

  test("push reports the trajectories, the items per table and the segments", () => {
    expect(pushed).toMatchObject({ pushed: 251 * EPISODES, report: { complete: true, kept: { episodes: EPISODES } }, journal: { segments: 1 } });
    expect(pushed.tables.map((table: { name: string; inserted: number }) => [table.name, table.inserted])).toEqual([
      ["pairs", 83 * EPISODES],
      ["twins", 83 * EPISODES],
    ]);
    const files = readdirSync(temp("a")).filter((name) => name.endsWith(".rpr"));
    expect(files).toEqual(["00000001.rpr"]);
  });

  test("stats reports tables, files and spec, and does not change the journal", async () => {
    const before = readFileSync(temp("a", "00000001.rpr"));
    const value = await document("stats", temp("a"));
    expect(value).toMatchObject({ kind: "journal", segments: 1, steps: 250 * EPISODES, openWriters: 0 });
    expect(value.bytes).toBe(before.length);
    expect(value.spec.discount).toEqual({ dtype: "f32", shape: [], minimum: 0, maximum: 1 });
    expect(value.tables).toMatchObject([
      {
        name: "pairs",
        size: 83 * EPISODES,
        maxSize: 1_000_000,
        inserts: 83 * EPISODES,
        samples: 0,
        sampler: "uniform",
        priorities: { min: 1, max: 1, mean: 1 },
      },
      { name: "twins", size: 83 * EPISODES },
    ]);
    const { stdout } = await reprise("stats", temp("a"));
    const items = inWords(83 * EPISODES);
    expect(stdout).toMatch(
      /: ([\d,]+) steps; .* in 1 segment, .* in memory\n {2}table .*\n {2}pairs +([\d,]+) +1,000,000 +([\d,]+) +0 +uniform +1 … 1, mean 1\n/,
    );
    expect(/: ([\d,]+) steps; .*\n.*\n {2}pairs +([\d,]+) +1,000,000 +([\d,]+)/.exec(stdout)?.slice(1)).toEqual([inWords(250 * EPISODES), items, items]);
    expect(readFileSync(temp("a", "00000001.rpr")).equals(before)).toBe(true);
    expect((await failure(2, "stats", temp("a"), "--split", "train")).line).toMatch(/--split and --open work only with datasets/);
  });

  test.runIf(whole)("another process reads the items that the library would have inserted", async () => {
    const here = await pushedHere(HALF_CHEETAH, 4, 3);
    for (const table of some(["pairs", "twins"], 1)) {
      const there = itemsOf(temp("a"), table);
      expect(there.size).toBe(here.size);
      expect(there.shape).toEqual([4, 17]);
      expect(there.writers).toBe(0);
      expect(there.data.reward).toEqual(here.reward);
    }
    expect(here.pushed).toBe(pushed.pushed);
  });

  test("sample repeats the draws that a program would make next", async () => {
    const before = readFileSync(temp("a", "00000001.rpr"));
    const { items } = await document("sample", temp("a"), "--table", "twins", "-n", "7");
    expect(items.length).toBe(7);
    expect((await document("sample", temp("a"), "--table", "twins", "-n", "7")).items).toEqual(items);
    const { stdout, status } = await reprise("sample", temp("a"), "--table", "twins", "-n", "2");
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Item 1: key \d+, priority 1, probability 0\.\d+, sampled \d+×, 4 steps\n {2}leaf .*\n {2}action +f32 +\[4, 6\] /);
    expect(stdout).toContain(`probability ${Number((1 / (83 * EPISODES)).toPrecision(5))},`);
    expect(stdout.split("\n").filter((line) => line.startsWith("  observation ")).length).toBe(2);
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(120);
    expect(readFileSync(temp("a", "00000001.rpr")).equals(before)).toBe(true);

    const replay = await Replay.open<{ readonly reward: Leaf<"f32">; readonly observation: Leaf<"f32"> }>({ dir: temp("a") });
    for (const { key, steps } of items) {
      const batch = replay.table("twins").sample(1);
      expect(key).toBe(batch.info.keys[0]);
      expect(steps.reward).toEqual([...batch.steps.reward.data]);
      expect(steps.observation.flat()).toEqual([...batch.steps.observation.data]);
    }
    // While this process owns the journal, other processes can read it but not push.
    expect((await document("sample", temp("a"), "--table", "pairs")).items.length).toBe(5);
    const { status: refused, stderr } = await started("push", HALF_CHEETAH, "--dir", temp("a"), "--table", "pairs").ended;
    expect([refused, stderr]).toEqual([1, expect.stringMatching(/^reprise: LOCKED: /)]);
    replay.dispose();
  });

  test("push and sample reject mismatched data, tables and options, and change nothing", async () => {
    const before = (await document("stats", temp("a"))).tables;
    const to = ["--append", "--dir", temp("a"), "--table"];
    expect((await failure(1, "push", CARTPOLE, ...to, "pairs")).line).toMatch(
      /^reprise: SPEC_MISMATCH: .*observation is f32 of shape \[any, 17\] in the tables, but f32 of shape \[4\]/,
    );
    expect((await failure(1, "push", HALF_CHEETAH, ...to, "others")).line).toMatch(/NOT_FOUND: the journal has no table "others"\. Tables: pairs, twins/);
    expect((await failure(1, "push", HALF_CHEETAH, ...to, "pairs", "--max-size", "5")).line).toMatch(/table pairs has a maxSize of 1000000/);
    expect((await failure(1, "push", HALF_CHEETAH, ...to, "pairs", "--sampler", "fifo")).line).toMatch(/table pairs has the sampler uniform/);
    expect((await failure(1, "push", HALF_CHEETAH, ...to, "pairs", "--seed", "8")).line).toMatch(/has the seed 7/);
    expect((await failure(1, "sample", temp("a"), "--table", "others")).error.code).toBe("NOT_FOUND");
    expect((await document("stats", temp("a"))).tables).toEqual(before);
  });
});

test("push into a table with items requires --append, and keeps the options of the table", async () => {
  const args = ["push", CARTPOLE, "--dir", temp("twice"), "--table", "t"];
  expect((await document(...args, "--sampler", "prioritized:0.6", "--max-size", "5000")).tables).toEqual([{ name: "t", inserted: 3412, size: 3412 }]);
  const twice = await failure(2, ...args);
  expect(twice.line).toMatch(/table t in .*twice already has 3,412 items.*--append/);
  expect((await document("stats", temp("twice"))).tables[0].inserts).toBe(3412);
  expect((await document(...args, "--append")).tables).toEqual([{ name: "t", inserted: 3412, size: 5000 }]);
  const [table] = (await document("stats", temp("twice"))).tables;
  expect(table).toMatchObject({ sampler: "prioritized", maxSize: 5000, size: 5000, inserts: 6824 });
});

test.runIf(whole)("--episodes pushes whole episodes as items", async () => {
  const { tables } = await document("push", PIXELS, "--dir", temp("episodes"), "--table", "t", "--episodes", "--max-length", "25");
  expect(tables).toEqual([{ name: "t", inserted: 8, size: 8 }]);
  const { items } = await document("sample", temp("episodes"), "--table", "t", "-n", `${scaled(20)}`);
  for (const { length, steps } of items) {
    expect([18, 20, 25]).toContain(length);
    expect([steps.reward.length, steps.observation.image.length, steps.observation.image[0].length, steps.observation.image[0][0][0].length]).toEqual([
      length,
      length,
      48,
      3,
    ]);
    expect(steps.stepType.at(-1)).toBe(2);
  }
  // The default of a million steps would not fit into memory at that size.
  expect((await document("stats", temp("episodes"))).tables[0].maxSize).toBe(100_000);
  const missing = await failure(1, ...["push", PIXELS, "--dir", temp("short"), "--table", "t", "--sequence-length", "26"]);
  expect(missing.line).toMatch(/^reprise: EMPTY: .* 8 episodes with 188 steps, .* 26 steps .*--sequence-length$/);
  expect(existsSync(temp("short"))).toBe(false);
  const short = await failure(2, "push", PIXELS, "--dir", temp("short"), "--table", "t", "--episodes", "--max-length", "24");
  expect(short.line).toMatch(/24.*--max-length/);
  expect(existsSync(temp("short"))).toBe(false);
  const many = await failure(2, "sample", temp("episodes"), "--table", "t", "-n", "99999999");
  expect(many.line).toMatch(/USAGE: -n 99999999 would print more than 16777216 values, \d+ per item.* -n$/);
});

test("push rejects columns that a Replay cannot hold, and --without leaves them out", async () => {
  const push = ["push", join(DATA, "extra", "lerobot_v2"), "--dir", temp("robot"), "--table", "t"];
  expect((await failure(1, ...push)).line).toMatch(/^reprise: UNSUPPORTED: observation\/images\/wrist\/path is text/);
  expect(existsSync(temp("robot"))).toBe(false);
  expect((await failure(2, ...push, "--without", "observation/wrist")).line).toMatch(
    /--without must name columns \(.*observation.images.top.* got "observation\/wrist"\. Did you mean/,
  );
  expect((await document(...push, "--without", "observation/images/wrist", "--without", "observation/matrix")).pushed).toBe(15);
  expect(Object.keys((await document("stats", temp("robot"))).spec.observation).sort()).toEqual(["gripper", "images", "state"]);
  expect(Object.keys((await document("stats", temp("robot"))).spec.observation.images)).toEqual(["top"]);
});

test.runIf(whole)("--max-text-bytes allows push to store text, and sample prints the text", async () => {
  const push = ["push", join(DATA, "extra", "lerobot_v2"), "--dir", temp("videos"), "--table", "t", "--without", "observation/matrix", "--max-text-bytes"];
  expect((await failure(1, ...push, "8")).line).toMatch(/^reprise: INVALID_DATA: observation\.images\.wrist\.path must .*\b8 bytes/);
  // The failed push leaves no files that would prevent the corrected one.
  expect(existsSync(temp("videos"))).toBe(false);
  // There are 12 frames, and the last observation of each of the 3 episodes is repeated as the final one.
  expect(await document(...push, "100")).toMatchObject({ pushed: 15, finalSteps: { repeated: 3, dropped: 0 } });
  const { items } = await document("sample", temp("videos"), "--table", "t", "-n", "1");
  expect(items[0].steps.observation.images.wrist.path[0]).toMatch(/\.mp4$/);
  expect((await reprise("sample", temp("videos"), "--table", "t", "-n", "1")).stdout).toMatch(/\n {2}observation\/images\/wrist\/path +string +\[2\] +"videos/);
});

test.runIf(whole)("--mode rejects, repairs or drops episodes with faults", async () => {
  const lines = await readLines(CARTPOLE, 4);
  // The end of the second episode is removed.
  const ends = [...lines.keys()].filter((i) => lines[i]?.includes('"is_last":true'));
  const broken = lines.map((line, i) =>
    i === ends[1] ? line.replace('"is_last":true', '"is_last":false').replace('"is_terminal":true', '"is_terminal":false') : line,
  );
  writeFileSync(temp("broken.jsonl"), broken.join("\n"));
  const push = (mode: string) => ["push", temp("broken.jsonl"), "--dir", temp(mode), "--table", "t", "--mode", mode];
  const { error } = await failure(1, ...push("strict"));
  expect(error).toMatchObject({ code: "INVALID_DATA", episode: 1 });
  expect(await document(...push("repair"))).toMatchObject({ pushed: 301, finalSteps: { repeated: 1 }, report: { kept: { episodes: 4 } } });
  expect(await document(...push("drop"))).toMatchObject({ pushed: 253, report: { kept: { episodes: 3 }, dropped: { episodes: { count: 1 } } } });
  expect((await reprise("inspect", temp("broken.jsonl"))).stdout).toMatch(/Faults in 1 episode:\n {2}dangling tails: 1 \(episode 1, step 46, is_last\)\n/);
});

/** Returns a line with the specs, followed by a line for each episode and for each of its steps. */
async function readLines(path: string, episodes: number): Promise<string[]> {
  const { status, stderr } = await reprise("convert", path, temp("lines.jsonl"), "--from-split", `train[:${episodes}]`, "--overwrite");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return readFileSync(temp("lines.jsonl"), "utf8").trimEnd().split("\n");
}

test.runIf(whole)("Ctrl-C closes the journal, keeps the pushed items and releases the lock", async () => {
  const server = await serve(join(DATA, "tfds"), /half_cheetah.*-00002-of/);
  const { child, ended } = started("push", `${server.address}/half_cheetah/1.0.0/`, "--dir", temp("interrupted"), "--table", "t");
  await server.held;
  child.kill("SIGINT");
  const { status, stdout, stderr } = await ended;
  server.close();
  expect([status, stdout]).toEqual([130, ""]);
  const [, told] = /^reprise: INTERRUPTED: ([\d,]+) trajectories of whole episodes are in .*interrupted\n$/.exec(stderr) ?? [];
  const episodes = Number(told?.replaceAll(",", "")) / 251;
  expect(episodes).toBeGreaterThan(20);
  const there = itemsOf(temp("interrupted"), "t");
  expect(there.writers).toBe(0);
  expect(there.size).toBeGreaterThanOrEqual(250 * episodes);
  expect(
    (await document("push", CARTPOLE.replace("cartpole", "half_cheetah"), "--dir", temp("interrupted"), "--table", "t", "--append")).tables[0].inserted,
  ).toBe(10_000);
});

test.runIf(whole)("ReadOnlyDirectory reads files that were moved away, and --take-over replaces an unreachable owner", async () => {
  await document("push", CARTPOLE, "--dir", temp("live"), "--table", "t");
  const before = (await document("stats", temp("live"))).tables[0].size;
  const directory = new ReadOnlyDirectory(temp("live"));
  for (const name of readdirSync(temp("live"))) if (name.endsWith(".rpr")) renameSync(temp("live", name), temp(`moved-${name}`));
  const replay = await Replay.open({ dir: directory, logger: null });
  expect(replay.table("t").size).toBe(before);
  replay.dispose();
  for (const name of readdirSync(temp())) if (name.startsWith("moved-")) renameSync(temp(name), temp("live", name.slice(6)));
  writeFileSync(temp("live", "lock.99"), JSON.stringify({ pid: 1, host: "elsewhere", boot: "another", since: "2020-01-01T00:00:00.000Z" }));
  const push = ["push", CARTPOLE, "--dir", temp("live"), "--table", "t", "--append"];
  expect((await failure(1, ...push)).line).toMatch(/LOCKED: .* is open in process 1 of elsewhere \(lock\.\d+, since 2020-01-01.*--take-over/);
  expect((await document(...push, "--take-over")).tables[0].size).toBe(2 * before);
});

test("push rejects a folder of other files and leaves it unchanged, and sample finds no journal in it", async () => {
  mkdirSync(temp("mine"));
  writeFileSync(temp("mine", "thesis.tex"), "");
  expect((await failure(1, "push", CARTPOLE, "--dir", temp("mine"), "--table", "t")).line).toMatch(/contains files that do not belong to a journal/);
  expect(readdirSync(temp("mine"))).toEqual(["thesis.tex"]);
  expect((await failure(1, "sample", temp("mine"), "--table", "t")).error.code).toBe("NOT_FOUND");
});

test("push and sample exit with 2 for wrong usage", async () => {
  const to = ["--dir", temp("none"), "--table", "t"];
  for (const args of [
    ["push", CARTPOLE, "--table", "t"],
    ["push", CARTPOLE, "--dir", temp("none")],
    ["push", CARTPOLE, ...to, "--sampler", "random"],
    ["push", CARTPOLE, ...to, "--sampler", "prioritized:x"],
    ["push", CARTPOLE, ...to, "--sampler", "fifo:1"],
    ["push", CARTPOLE, ...to, "--sequence-length", "0"],
    ["push", CARTPOLE, ...to, "--sequence-length", "1.5"],
    ["push", CARTPOLE, ...to, "--episodes", "--stride", "2"],
    ["push", CARTPOLE, ...to, "--max-length", "9"],
    ["push", CARTPOLE, ...to, "--table", "t"],
    ["push", CARTPOLE, ...to, "--n-step"],
    ["push", CARTPOLE, ...to, "--n-step", "0"],
    ["push", CARTPOLE, ...to, "--n-step", "1.5"],
    ["push", CARTPOLE, ...to, "--n-step", "16777215"],
    ["push", CARTPOLE, ...to, "--n-step", "3", "--sequence-length", "4"],
    ["push", CARTPOLE, ...to, "--n-step", "3", "--stride", "1"],
    ["push", CARTPOLE, ...to, "--n-step", "3", "--episodes"],
    ["push", CARTPOLE, ...to, "--n-step", "3", "--max-length", "9"],
    ["push", CARTPOLE, ...to, "--n-step", "3", "--priority", "1"],
    ["push", CARTPOLE, ...to, "--priority", "-1"],
    ["push", CARTPOLE, ...to, "--server", "localhost:8000"],
    ["push", CARTPOLE, "--server", "localhost", "--table", "t"],
    ["push", CARTPOLE, "--server", "localhost:8000", "--table", "t", "--n-step", "3"],
    ["push", CARTPOLE, "--server", "localhost:8000", "--table", "t", "--max-size", "3"],
    ["push", CARTPOLE, "--server", "localhost:8000", "--table", "t", "--append"],
    ["push", CARTPOLE, ...to, "--tabel", "t"],
    ["push", CARTPOLE, "more", ...to],
    ["sample", temp("none")],
    ["sample", temp("none"), "--table", "t", "-n", "0"],
  ])
    expect([args.slice(2).join(" "), (await reprise(...args)).status]).toEqual([args.slice(2).join(" "), 2]);
  expect(readdirSync(temp()).includes("none")).toBe(false);
});
