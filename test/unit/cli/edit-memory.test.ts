/** Tests `reprise edit` of a snapshot or a journal: the output has the same kind, with edited steps and tables. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { f32, i32, minSize, prioritized, queueLimiter, Replay, type Spec, sampleToInsertRatio } from "../../../src/index.ts";
import { bytesOf } from "../../support/refused.ts";
import { document, reprise, temporary } from "./support.ts";

type Any = Replay<Spec, string>;

const temp = temporary();

/** Returns the program's error message. */
async function refusal(...args: string[]): Promise<string> {
  const { status, stderr } = await reprise(...args);
  expect(status).toBeGreaterThan(0);
  return stderr;
}
const SPEC = { obs: { state: f32(2), extra: f32() }, act: i32(), reward: f32() };
const TABLES = { memory: { maxSize: 30, sampler: prioritized(0.6) }, other: { maxSize: 5 } };

function fill(replay: Any): Any {
  const writer = replay.writer({ name: "game" });
  for (let t = 0; t < 20; t++) {
    writer.append({ obs: { state: [t, -t], extra: 1 }, act: t, reward: t / 2 });
    writer.createItem("memory", { length: 1, priority: t + 1 });
    writer.createItem("other", { length: 1 });
  }
  return replay;
}

const saved = bytesOf(fill(new Replay({ spec: SPEC, tables: TABLES }) as unknown as Any));
const snapshotFile = (name: string) => {
  const path = temp(name);
  writeFileSync(path, saved);
  return path;
};
const restored = (path: string) => Replay.restore(readFileSync(path)) as unknown as Any;

async function journalFolder(name: string): Promise<string> {
  const dir = temp(name);
  const replay = await Replay.open({ dir, spec: SPEC, tables: TABLES });
  fill(replay as unknown as Any);
  replay.dispose();
  return dir;
}

test("stats shows the same tables for a snapshot and a journal", async () => {
  const [snapshot, journal] = [await document("stats", snapshotFile("stats.snapshot")), await document("stats", await journalFolder("stats-journal"))];
  expect(snapshot).toMatchObject({ kind: "snapshot", bytes: saved.length, steps: 20, openWriters: 1, writers: [{ name: "game", lanes: 1, episodeSteps: 20 }] });
  expect(snapshot.tables).toMatchObject([
    { name: "memory", size: 20, maxSize: 30, sampler: "prioritized", priorities: { min: 1, max: 20, mean: 10.5 } },
    { name: "other", size: 5, maxSize: 5, sampler: "uniform" },
  ]);
  expect([journal.tables, journal.spec]).toEqual([snapshot.tables, snapshot.spec]);
  const { stdout } = await reprise("stats", temp("stats.snapshot"));
  expect(stdout).toMatch(/stats\.snapshot: 20 steps; .* in memory\n\s+table +items +max .*\n\s+memory +20 +30 /);
  expect(stdout).toContain("1 open writer: game");
  const only = await document("stats", temp("stats.snapshot"), "--only", "obs/state");
  expect(Object.keys(only.spec.obs)).toEqual(["state"]);
  expect(await refusal("stats", temp("stats.snapshot"), "--split", "train")).toContain("--split and --open work only with datasets, but");
  writeFileSync(temp("half.snapshot"), saved.subarray(0, saved.length / 2));
  expect(await refusal("stats", temp("half.snapshot"))).toContain("CORRUPT");
});

const OPTIONS = [
  "--add",
  "mood=0:i32",
  "--rename",
  "act=action",
  "--without",
  "obs/extra",
  "--cast",
  "reward=f64",
  "--max-size",
  "memory=8",
  "--remover",
  "memory=fifo",
];

function check(next: Any): void {
  expect(next.options.spec).toMatchObject({ action: { dtype: "i32" }, mood: { dtype: "i32" }, reward: { dtype: "f64" }, obs: { state: { dtype: "f32" } } });
  expect(Object.keys((next.options.spec as unknown as typeof SPEC).obs)).toEqual(["state"]);
  expect([next.table("memory").size, next.table("other").size]).toEqual([8, 5]);
  expect(next.writers.map(({ options }) => options.name)).toEqual(["game"]);
  const { steps } = next.table("other").sample(50) as unknown as { steps: { action: { data: Int32Array }; reward: { data: Float64Array } } };
  expect([...new Set(steps.action.data)].sort((a, b) => a - b)).toEqual([15, 16, 17, 18, 19]);
  expect([...steps.reward.data]).toEqual([...steps.action.data].map((t) => t / 2));
}

describe("a snapshot", () => {
  test("is written with other steps and tables, and the report counts removed items", async () => {
    const [from, to] = [snapshotFile("a.snapshot"), temp("b.snapshot")];
    expect(await document("edit", from, to, ...OPTIONS)).toMatchObject({ kind: "snapshot", removed: { memory: 12 }, newKeys: [] });
    check(restored(to));
    expect(readFileSync(from).equals(saved)).toBe(true);
  });

  test("is unchanged by an edit without options, also in place", async () => {
    const [from, to] = [snapshotFile("c.snapshot"), temp("d.snapshot")];
    await document("edit", from, to);
    expect(readFileSync(to).equals(saved)).toBe(true);
    await document("edit", from, from, "--overwrite");
    expect(readFileSync(from).equals(saved)).toBe(true);
    await document("edit", from, from, "--overwrite", "--sampler", "other=recency:2");
    expect(restored(from).options.tables.other).toMatchObject({ sampler: { kind: "recency", exponent: 2 } });
  });

  test("gets the rate limiter that --rate-limiter names", async () => {
    const [from, to] = [snapshotFile("l.snapshot"), temp("m.snapshot")];
    for (const [text, limiter] of [
      ["minSize:12", minSize(12)],
      ["sampleToInsertRatio:4,10,20", sampleToInsertRatio(4, 10, 20)],
      ["sampleToInsertRatio:1,10,-5,30.5", sampleToInsertRatio(1, 10, [-5, 30.5])],
      ["queue:20", queueLimiter(20)],
    ] as const) {
      await document("edit", from, to, "--overwrite", "--rate-limiter", `memory=${text}`, "--max-times-sampled", "memory=1");
      const { memory, other } = restored(to).options.tables;
      expect([memory?.rateLimiter, memory?.maxTimesSampled]).toEqual([limiter, 1]);
      expect(other?.rateLimiter).toEqual(minSize(1));
    }
    // Sampling a full queue draws each item once.
    const queue = restored(to).table("memory");
    expect(queue.sample(20).info.timesSampled).toEqual(new Uint32Array(20).fill(1));
    expect(queue.size).toBe(0);
  });

  test("stays unchanged if an edit is rejected", async () => {
    const path = snapshotFile("e.snapshot");
    const refused = (...args: string[]) => refusal("edit", path, path, "--overwrite", ...args);
    expect(await refused("--cast", "obs/state=u8")).toMatch(/obs\.state/);
    for (const [args, says] of [
      [["--max-size", "nothing=4"], /there is no table "nothing"\. Tables: memory, other/],
      [["--max-size", "memory=4", "--max-size", "memory=5"], /--max-size is passed twice for table memory/],
      [["--max-size", "memory=1e12"], /a whole number >= 1, got "memory=1e12"/],
      [["--max-size", "memory=1000000000000"], /tables\.memory\.maxSize must be/],
      [["--max-size", "memory=60000000"], /would need \d+ bytes, but the limit of the Replay is \d+\. .*--max-size$/m],
      [["--max-size", "memory=-1"], /a whole number >= 1, got "memory=-1"/],
      [["--max-times-sampled", "memory=0"], /--max-times-sampled requires TABLE=DRAWS/],
      [["--rate-limiter", "nothing=minSize:4"], /there is no table "nothing"/],
      [["--rate-limiter", "memory=best:4"], /one of minSize:ITEMS, sampleToInsertRatio:RATIO,ITEMS,BUFFER, queue:ITEMS/],
      [["--rate-limiter", "memory=toString:4"], /--rate-limiter requires TABLE=KIND/],
      [["--rate-limiter", "memory=minSize"], /--rate-limiter requires TABLE=KIND/],
      [["--rate-limiter", "memory=minSize:"], /--rate-limiter requires TABLE=KIND/],
      [["--rate-limiter", "memory=queue:1,2"], /--rate-limiter requires TABLE=KIND/],
      [["--rate-limiter", "memory=minSize:0"], /minSize:0: minSize must be/],
      [["--rate-limiter", "memory=queue:1.5"], /queue:1\.5: size must be/],
      [["--rate-limiter", "memory=sampleToInsertRatio:4,100,1"], /errorBuffer must be a range/],
      [["--max-size", "memory"], /--max-size requires TABLE=ITEMS/],
      [["--max-size", "memory=0"], /a whole number >= 1/],
      [["--sampler", "memory=best"], /--sampler requires TABLE=KIND/],
      [["--sampler", "memory=fifo:2"], /fifo has no exponent/],
      [
        ["--sampler", "memory"],
        /--sampler requires TABLE=KIND, where KIND is one of fifo, .*recency, or prioritized:0\.6 or recency:1 with an exponent, got "memory"/,
      ],
      [["--sampler", "memory=recency:-1"], /tables\.memory\.sampler\.exponent must be a finite number in 0/],
      [
        ["--remover", "memory=recency"],
        /--remover requires TABLE=KIND, where KIND is one of fifo, lifo, uniform, prioritized, minHeap, maxHeap, or prioritized:0\.6 with/,
      ],
      [["--rate-limiter", "memory=minSize:31"], /draws from table memory would wait for 31 items/],
      [["--rate-limiter", "memory"], /one of minSize:ITEMS, .* got "memory"/],
      [["--add", "act=1"], /the spec already has act/],
      [["--add", "mood"], /--add requires LEAF=VALUE/],
      [["--add", "mood=x"], /--add requires LEAF=VALUE/],
      [["--rename", "nothing=a"], /there is no leaf "nothing"/],
      [["--only", "nothing"], /there is no leaf "nothing"/],
      [["--where", "reward > 1"], /--where works only with datasets/],
      [["--fps", "10"], /--fps works only with datasets/],
      [["--episodes", "1"], /--episodes works only with datasets/],
    ] as const)
      expect(await refused(...args)).toMatch(says);
    expect(readFileSync(path).equals(saved)).toBe(true);
    expect(await refusal("edit", path, path)).toMatch(/IN and OUT are both .*--overwrite/);
    expect(readdirSync(temp(".")).filter((name) => name.startsWith(".incomplete"))).toEqual([]);
  });

  test("becomes a dataset if OUT is one", async () => {
    const replay = new Replay({ spec: { observation: f32(2), action: i32(), reward: f32() }, tables: TABLES }) as unknown as Any;
    const writer = replay.writer({ items: [{ table: "memory", length: 1 }] });
    for (let k = 0; k < 5; k++) writer.append({ observation: [k, 0], action: k, reward: 1 });
    writer.endEpisode({ terminated: true });
    const [from, to] = [temp("f.snapshot"), temp("f.jsonl")];
    writeFileSync(from, bytesOf(replay));
    await document("edit", from, to, "--final-step", "transition");
    expect(existsSync(to)).toBe(true);
    expect(await refusal("edit", temp("typo.snapshot"), temp("o.snapshot"), "--max-size", "memory=1")).toMatch(
      /there is no such file or folder.*typo\.snapshot/,
    );
    expect(await refusal("edit", snapshotFile("g.snapshot"), temp("g.jsonl"), "--max-size", "memory=1")).toMatch(
      /--max-size works only if IN and OUT are snapshots/,
    );
  });
});

describe("a journal", () => {
  test("is edited into another folder or in place", async () => {
    const from = await journalFolder("one");
    const before = readdirSync(from).filter((name) => name.endsWith(".rpr"));
    const bytes = before.map((name) => readFileSync(`${from}/${name}`));
    const to = temp("two");
    expect(await document("edit", from, to, ...OPTIONS)).toMatchObject({ kind: "journal", removed: { memory: 12 } });
    expect(before.map((name) => readFileSync(`${from}/${name}`))).toEqual(bytes);
    const next = (await Replay.open({ dir: to })) as unknown as Any;
    check(next);
    next.dispose();
    await document("edit", from, from, "--overwrite", ...OPTIONS);
    const same = (await Replay.open({ dir: from })) as unknown as Any;
    check(same);
    same.dispose();
    expect(await refusal("edit", from, to)).toMatch(/exists.*--overwrite/);
    expect(await refusal("edit", temp("nothing"), to, "--max-size", "memory=3")).toMatch(/there is no such file or folder/);
    await document("edit", from, to, "--overwrite", "--max-size", "memory=3");
    const third = (await Replay.open({ dir: to })) as unknown as Any;
    expect(third.table("memory").size).toBe(3);
    third.dispose();
    // An edit that was killed while it replaced the journal left the old one in a temporary folder.
    mkdirSync(temp(".incomplete-two-edit"));
    renameSync(to, temp(".incomplete-two-edit/old"));
    expect(await document("edit", to, temp("three"))).toMatchObject({ kind: "journal" });
    expect(existsSync(to)).toBe(true);
  });
});
