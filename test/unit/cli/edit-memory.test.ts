/** `reprise edit` of a snapshot or a journal: it stays one, with other steps and tables. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { f32, i32, prioritized, Replay, type Spec } from "../../../src/index.ts";
import { bytesOf } from "../../support/refused.ts";
import { document, reprise, temporary } from "./support.ts";

type Any = Replay<Spec, string>;

const temp = temporary();

/** What the program says as it refuses. */
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
  test("is written with other steps and tables, and the report counts what left", async () => {
    const [from, to] = [snapshotFile("a.snapshot"), temp("b.snapshot")];
    expect(await document("edit", from, to, ...OPTIONS)).toMatchObject({ kind: "snapshot", removed: { memory: 12 }, newKeys: [] });
    check(restored(to));
    expect(readFileSync(from).equals(saved)).toBe(true);
  });

  test("without options is the same, also in place", async () => {
    const [from, to] = [snapshotFile("c.snapshot"), temp("d.snapshot")];
    await document("edit", from, to);
    expect(readFileSync(to).equals(saved)).toBe(true);
    await document("edit", from, from, "--overwrite");
    expect(readFileSync(from).equals(saved)).toBe(true);
    await document("edit", from, from, "--overwrite", "--sampler", "other=recency:2");
    expect(restored(from).options.tables.other).toMatchObject({ sampler: { kind: "recency", exponent: 2 } });
  });

  test("that cannot be changed so stays as it was", async () => {
    const path = snapshotFile("e.snapshot");
    const refused = (...args: string[]) => refusal("edit", path, path, "--overwrite", ...args);
    expect(await refused("--cast", "obs/state=u8")).toMatch(/obs\.state/);
    for (const [args, says] of [
      [["--max-size", "nothing=4"], /tables must be one of "memory", "other"/],
      [["--max-size", "memory"], /--max-size takes TABLE=ITEMS/],
      [["--max-size", "memory=0"], /a whole number from 1/],
      [["--sampler", "memory=best"], /--sampler takes TABLE=KIND/],
      [["--sampler", "memory=fifo:2"], /fifo has no exponent/],
      [["--remover", "memory=recency"], /remover/],
      [["--add", "act=1"], /the spec has act already/],
      [["--add", "mood"], /--add takes LEAF=VALUE/],
      [["--add", "mood=x"], /--add takes LEAF=VALUE/],
      [["--rename", "nothing=a"], /there is no leaf "nothing"/],
      [["--only", "nothing"], /there is no leaf "nothing"/],
      [["--where", "reward > 1"], /--where works only for datasets/],
      [["--fps", "10"], /--fps works only for datasets/],
      [["--episodes", "1"], /--episodes works only for datasets/],
    ] as const)
      expect(await refused(...args)).toMatch(says);
    expect(readFileSync(path).equals(saved)).toBe(true);
    expect(await refusal("edit", path, path)).toMatch(/is IN itself: give --overwrite/);
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
    expect(await refusal("edit", snapshotFile("g.snapshot"), temp("g.jsonl"), "--max-size", "memory=1")).toMatch(/--max-size works only if IN is a snapshot/);
  });
});

describe("a journal", () => {
  test("is written to another folder, or in place", async () => {
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
    expect(await refusal("edit", from, to)).toMatch(/exists: give --overwrite/);
    await document("edit", from, to, "--overwrite", "--max-size", "memory=3");
    const third = (await Replay.open({ dir: to })) as unknown as Any;
    expect(third.table("memory").size).toBe(3);
    third.dispose();
  });
});
