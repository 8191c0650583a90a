/** Tests `reprise push --n-step`: the journal contains the transitions that the library makes, and a program can continue from them. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { createTransitionSpec, openRlds, pushEpisodes } from "../../../src/datasets/rlds/index.ts";
import { f32, i64, prioritized, Replay, type Spec } from "../../../src/index.ts";
import "../../../src/storage/index.ts";
import { some, whole } from "../../support/size.ts";
import { CARTPOLE, DATA, document, failure, HALF_CHEETAH, reprise, serve, started, temporary } from "./support.ts";

const temp = temporary();

/** Returns every transition of a table, in the order of its next draws. */
function transitionsOf(replay: Replay, name: string) {
  const table = replay.table(name);
  return table.transitions({ gamma: 0.9 }).sample(table.size, { replacement: false, beta: 0.5 });
}

/** Converts drawn columns to input for a writer. */
function dataOf(node: object): unknown {
  if ("data" in node) return node.data;
  return Object.fromEntries(Object.entries(node).map(([name, part]) => [name, dataOf(part as object)]));
}

describe("cartpole, pushed with --n-step 3", () => {
  const args = ["push", CARTPOLE, "--dir", temp("a"), "--table", "memory", "--table", "twin", "--n-step", "3", "--sampler", "prioritized:0.6", "--seed", "7"];
  let pushed: Awaited<ReturnType<typeof document>>;
  beforeAll(async () => {
    pushed = await document(...args);
  });

  test("push reports episodes, steps, transitions and how episodes ended", async () => {
    const transitions = { episodes: 40, steps: 3412, terminated: 26, truncated: 14 };
    expect(pushed).toMatchObject({ pushed: 3412, transitions, report: { complete: true, kept: { episodes: 40, steps: 3452 } } });
    expect(pushed.tables).toEqual(["memory", "twin"].map((name) => ({ name, inserted: 3412, size: 3412 })));
    const { stdout } = await reprise(...args.map((arg) => (arg === temp("a") ? temp("b") : arg)));
    expect(stdout).toMatch(/^.*: 3,412 transitions of 40 episodes with 3,452 steps pushed \(26 terminated, 14 truncated\); [\d.]+ KB in 1 segment\n/);
    expect(stdout).toMatch(/\n {2}memory +3,412 {2}3,412\n {2}twin +3,412 {2}3,412\n$/);
  });

  test("stats reports the spec and the tables", async () => {
    const { spec, tables, openWriters, steps } = await document("stats", temp("a"));
    expect(Object.keys(spec)).toEqual(["observation", "action", "reward", "discount"]);
    expect([openWriters, steps]).toEqual([0, 3452]);
    expect(tables).toMatchObject([{ name: "memory", size: 3412, maxSize: 1_000_000, sampler: "prioritized" }, { name: "twin" }]);
  });

  test("a program that opens the journal draws the same batch as the library's own push", async () => {
    const data = await openRlds(CARTPOLE);
    const table = { maxSize: 1_000_000, sampler: prioritized(0.6) };
    const here: Replay = new Replay<Spec, string>({ spec: await createTransitionSpec(data), tables: { memory: table, twin: table }, seed: 7 });
    await pushEpisodes(data, here.writer({ items: ["memory", "twin"].map((name) => ({ table: name, nStep: 3 })) }));
    await data.close();
    const there: Replay = await Replay.open({ dir: temp("a"), durability: "manual" });
    for (const name of ["memory", "twin"]) {
      const found = transitionsOf(there, name);
      expect(found.count).toBe(3412);
      expect(found).toEqual(transitionsOf(here, name));
    }
    there.dispose();
  });

  test.runIf(whole)("push rejects a journal of another kind or spec, and changes nothing", async () => {
    const { tables, steps } = await document("stats", temp("a"));
    const to = ["--append", "--dir", temp("a"), "--table", "memory"];
    expect((await failure(1, "push", CARTPOLE, ...to)).line).toMatch(/SPEC_MISMATCH: .* no trajectories.*--n-step/);
    expect((await failure(1, "push", HALF_CHEETAH, ...to, "--n-step", "3")).line).toMatch(/SPEC_MISMATCH: action is i64 of shape \[\] .* f32 of shape \[6\]/);
    await document("push", CARTPOLE, "--dir", temp("pairs"), "--table", "t", "--split", "train[:1]");
    const { line } = await failure(1, "push", CARTPOLE, "--dir", temp("pairs"), "--table", "t", "--n-step", "1");
    expect(line).toMatch(/SPEC_MISMATCH: .* trajectories\. Remove --n-step/);
    expect(await document("stats", temp("a"))).toMatchObject({ tables, steps, openWriters: 0 });
  });
});

test("push --append accepts a journal with fewer leaves and keeps the options of its tables", async () => {
  const dir = temp("own");
  const replay = await Replay.open({ dir, spec: { observation: f32(4), action: i64(), reward: f32() }, tables: { memory: { maxSize: 1000 } } });
  const writer = replay.writer({ items: [{ table: "memory", nStep: 2 }] });
  for (let t = 0; t < 5; t++) writer.append({ observation: [t, 0, 0, 0], action: 1n, reward: 1 });
  writer.endEpisode({ final: { observation: [5, 0, 0, 0] }, terminated: false });
  await replay.flush();
  replay.dispose();
  const { tables } = await document("push", CARTPOLE, "--dir", dir, "--table", "memory", "--n-step", "2", "--split", "train[:4]", "--append");
  expect(tables).toEqual([{ name: "memory", inserted: 296, size: 301 }]);
  expect((await document("push", CARTPOLE, "--dir", dir, "--table", "memory", "--n-step", "2", "--append")).tables[0]).toEqual({
    name: "memory",
    inserted: 3412,
    size: 1000,
  });
});

test.runIf(whole)("episodes of one step are counted and left out, and a dataset without others is EMPTY", async () => {
  const step = (first: boolean, last: boolean) =>
    `{"observation":[1],"action":0,"reward":1,"discount":1,"is_first":${first},"is_last":${last},"is_terminal":false}\n`;
  const alone = step(true, true);
  writeFileSync(temp("some.jsonl"), alone + step(true, false) + step(false, true) + alone);
  const { stdout } = await reprise("push", temp("some.jsonl"), "--dir", temp("some"), "--table", "t", "--n-step", "5");
  expect(stdout).toContain(": 1 transition of 1 episode with 4 steps pushed (0 terminated, 1 truncated, 2 episodes of a single step left out); ");
  writeFileSync(temp("none.jsonl"), alone);
  const { line } = await failure(1, "push", temp("none.jsonl"), "--dir", temp("none"), "--table", "t", "--n-step", "1");
  expect(line).toMatch(/^reprise: EMPTY: no episode has .*transition/);
});

test.runIf(whole)("--without and --mode repair also work with --n-step", async () => {
  const push = (path: string, ...more: string[]) => ["push", join(DATA, "extra", path), "--dir", temp(path), "--table", "t", "--n-step", "3", ...more];
  expect((await failure(1, ...push("lerobot_v2"))).line).toMatch(/^reprise: UNSUPPORTED: observation\/images\/wrist\/path is text/);
  expect(existsSync(temp("lerobot_v2"))).toBe(false);
  const few = await document(...push("lerobot_v2", "--without", "observation/images/wrist", "--without", "observation/matrix"));
  expect([few.pushed, few.transitions.items]).toEqual([few.tables[0].inserted, few.tables[0].inserted]);
  const strict = await failure(1, ...push("plain.parquet"));
  expect(strict.error).toMatchObject({ code: "INVALID_DATA", episode: 0, step: 2 });
  expect(existsSync(temp("plain.parquet"))).toBe(false);
  expect((await document(...push("plain.parquet", "--mode", "repair"))).pushed).toBeGreaterThan(0);
});

const KILLED = [
  [["--n-step", "3"], 2],
  [["--sequence-length", "2"], 2],
] as const;

test.runIf(whole).each(some(KILLED, 1))("the next push closes only the writer that a killed push left open: %j", async (how, items) => {
  const dir = temp(`killed${how[0]}`);
  const push = ["push", CARTPOLE, "--dir", dir, "--table", "t", "--split", "train[:1]", ...how];
  const [{ inserted }] = (await document(...push)).tables;
  const replay: Replay = await Replay.open({ dir, logger: null });
  const item = how[0] === "--n-step" ? { table: "t", nStep: 3 } : { table: "t", length: 2 };
  // The first name belongs to the writer of the push, in the middle of an episode; the second one is new.
  for (const name of ["reprise push", "an \u001b agent"]) {
    const writer = replay.writer({ name, items: [item as never], ...(how[0] !== "--n-step" && { keep: 2 }) });
    const { steps } = replay.table("t").sample(1, { length: 1 });
    const columns = dataOf(steps);
    for (let t = 0; t < 3; t++) writer.appendColumns(columns as never);
  }
  const { size } = replay.table("t");
  replay.dispose();
  const { stdout } = await reprise("stats", dir);
  expect(stdout).toMatch(/\n2 open writers: reprise push, an \\u001b agent\n/);
  await document(...push, "--append");
  const { openWriters, writers, tables } = await document("stats", dir);
  expect([openWriters, writers]).toEqual([1, [{ name: "an \u001b agent", lanes: 1, episodeSteps: 3 }]]);
  // With n-step, the cut episode of three steps adds two transitions; the pairs exist already.
  expect(tables[0].size).toBe(size + inserted + (how[0] === "--n-step" ? items : 0));
});

test.runIf(whole)("Ctrl-C keeps the transitions of whole episodes and leaves no open writer", async () => {
  const server = await serve(join(DATA, "tfds"), /half_cheetah.*-00002-of/);
  const { child, ended } = started("push", `${server.address}/half_cheetah/1.0.0/`, "--dir", temp("interrupted"), "--table", "t", "--n-step", "3");
  await server.held;
  child.kill("SIGINT");
  const { status, stdout, stderr } = await ended;
  server.close();
  expect([status, stdout]).toEqual([130, ""]);
  const [, told] = /^reprise: INTERRUPTED: ([\d,]+) transitions of whole episodes are in .*interrupted\n$/.exec(stderr) ?? [];
  const transitions = Number(told?.replaceAll(",", ""));
  const { openWriters, tables } = await document("stats", temp("interrupted"));
  expect([openWriters, transitions % 250, tables[0].size - transitions]).toEqual([0, 0, 0]);
  expect(transitions).toBeGreaterThan(20 * 250);
});

test.runIf(whole)("JSON lines are pushed into a journal whose leaves have other number dtypes", async () => {
  const step = { observation: [0.5, 1], action: 1, reward: 0.123456789, done: false };
  const path = temp("plain.jsonl");
  writeFileSync(path, [step, { ...step, action: 2.5, done: true }].map((one) => JSON.stringify(one)).join("\n"));
  const whole = temp("whole.jsonl");
  writeFileSync(whole, [step, { ...step, reward: 1, done: true }].map((one) => JSON.stringify(one)).join("\n"));
  const first = await document("push", path, "--dir", temp("plain"), "--table", "memory", "--n-step", "1");
  expect(first).toMatchObject({ pushed: 2 });
  expect(await document("push", whole, "--dir", temp("plain"), "--table", "memory", "--n-step", "1", "--append")).toMatchObject({ pushed: 2 });
  const { spec } = await document("stats", temp("plain"));
  expect(spec).toMatchObject({ action: { dtype: "f32" }, reward: { dtype: "f64" } });
  for (const [more, dir] of [
    [[], "windows"],
    [["--episodes"], "episodes"],
  ] as const) {
    expect(await document("push", path, "--dir", temp(dir), "--table", "memory", ...more)).toBeDefined();
    expect(await document("push", whole, "--dir", temp(dir), "--table", "memory", "--append", ...more)).toBeDefined();
  }
});
