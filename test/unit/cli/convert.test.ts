/** Tests that `reprise convert` writes the same data in each format. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ColumnData, openRlds } from "../../../src/datasets/rlds/index.ts";
import { open } from "../../../src/recorder/index.ts";
import { f32, text } from "../../../src/schema/constructors.ts";
import { some, whole } from "../../support/size.ts";
import { CARTPOLE, DATA, document, failure, HALF_CHEETAH, PIXELS, reprise, serve, started, temporary } from "./support.ts";

const temp = temporary();

/** Returns all episodes: the bytes of their columns, and their metadata. */
async function contentOf(path: string, split?: string) {
  const reader = await openRlds(path, split === undefined ? {} : { split });
  const episodes: { readonly columns: unknown; readonly length: number; readonly metadata: { readonly [name: string]: unknown } }[] = [];
  for await (const { steps, ...metadata } of reader) episodes.push({ columns: steps.data.map(digestOf), length: steps.length, metadata });
  await reader.close();
  return { stepSpec: reader.stepSpec, metadataSpec: reader.metadataSpec, episodes };
}

function digestOf(data: ColumnData): unknown {
  if (Array.isArray(data)) return data;
  const { buffer, byteOffset, byteLength } = data as Uint8Array;
  return [
    data.constructor.name,
    createHash("sha256")
      .update(new Uint8Array(buffer, byteOffset, byteLength))
      .digest("hex"),
  ];
}

const DATASETS = [
  ["cartpole", CARTPOLE],
  ["half_cheetah", HALF_CHEETAH],
  ["cartpole_pixels", PIXELS],
] as const;

test.each(some(DATASETS, 1))("%s keeps its data from TFDS to Parquet, JSON lines and TFDS again", async (name, path) => {
  const [parquet, lines, tfds] = [temp(`${name}.parquet`), temp(`${name}.jsonl`), temp(`${name}-tfds`)];
  const split = whole ? "train" : "train[:5]";
  const first = await document("convert", path, parquet, "--from-split", split);
  expect(first).toMatchObject({ to: parquet, format: "parquet", report: { mode: "strict", complete: true } });
  expect(first.bytes).toBe(statSync(parquet).size);
  await document("convert", parquet, lines);
  const last = await document("convert", lines, tfds, "--name", "again", "--version", "2.1.0", "--split", "test", "--shards", "2");
  expect(last.files.filter((file: string) => /again-test\.tfrecord-0000[01]-of-00002$/.test(file)).length).toBe(2);
  expect(readdirSync(join(tfds, "again"))).toEqual(["2.1.0"]);
  const content = await contentOf(path, split);
  expect(await contentOf(parquet)).toEqual(content);
  expect(await contentOf(lines)).toEqual(content);
  expect(await contentOf(tfds)).toEqual(content);
});

test("the data provides a missing TFDS name, and --image stores pixels as PNG", async () => {
  const split = whole ? "train" : "train[:2]";
  const plain = await document("convert", PIXELS, temp("plain"), "--from-split", split);
  const png = await document("convert", PIXELS, temp("png"), "--from-split", split, "--image", "observation/image");
  expect(png.bytes).toBeLessThan(plain.bytes / 4);
  expect(await contentOf(temp("png", "cartpole_pixels"))).toEqual(await contentOf(PIXELS, split));
});

test.runIf(whole)("convert reads HDF5 by its path", async () => {
  const { episodes, steps } = await document("convert", join(DATA, "d4rl", "half_cheetah.hdf5"), temp("d4rl.parquet"));
  expect(await document("inspect", temp("d4rl.parquet"))).toMatchObject({ episodes, steps });
});

test.runIf(whole)("convert writes LeRobot and Minari, and reads them back", async () => {
  const [lerobot, minari] = [temp("lerobot"), temp("minari")];
  expect(await document("convert", PIXELS, lerobot, "--format", "lerobot", "--fps", "50", "--robot-type", "pole")).toMatchObject({
    format: "lerobot",
    episodes: 8,
    steps: 180,
  });
  expect(await document("inspect", lerobot)).toMatchObject({ format: "lerobot", episodes: 8, steps: 180 });
  // LeRobot has no rows for final observations, here 8 of 188 rows. The data determines the frame rate if it contains one.
  expect((await document("convert", lerobot, temp("again"), "--format", "lerobot")).steps).toBe(180);
  expect(await document("convert", PIXELS, minari, "--format", "minari")).toMatchObject({ format: "minari", episodes: 8, steps: 188 });
  expect(await document("inspect", join(minari, "cartpole_pixels-v0"))).toMatchObject({
    format: "minari",
    name: "cartpole_pixels-v0",
    episodes: 8,
    steps: 188,
  });
  expect((await document("convert", PIXELS, minari, "--format", "minari", "--id", "a/b-v1", "--final-step", "transition")).steps).toBe(188);
  expect((await document("inspect", join(minari, "a/b-v1"))).steps).toBe(196);
});

test("the instructions of steps become LeRobot tasks if a recording has no task", async () => {
  const dir = temp("instructed");
  const recorder = await open({ dir, fps: 10, spec: { observation: f32(2), action: f32(1), instruction: text({ maxBytes: 40 }) } });
  for (const [task, end] of [["pick the cube", {}] as const, ["open the door", { task: "tidy up" }] as const]) {
    for (let i = 0; i < 3; i++) recorder.step({ observation: [i, i], action: [i], instruction: task });
    await recorder.endEpisode(end);
  }
  await recorder.close();
  await document("convert", dir, temp("instructed-lerobot"), "--format", "lerobot");
  const tasks: string[] = [];
  const reader = await openRlds(temp("instructed-lerobot"));
  for await (const { steps } of reader) tasks.push(...Array.from(steps, ({ task }) => task));
  await reader.close();
  expect(tasks).toEqual(["pick the cube", "pick the cube", "pick the cube", "tidy up", "tidy up", "tidy up"]);
});

/** Returns the actions of each episode. */
async function actionsOf(path: string): Promise<number[][]> {
  const reader = await openRlds(path);
  const actions: number[][] = [];
  for await (const { steps } of reader) actions.push(Array.from(steps, ({ action }) => action[0]));
  await reader.close();
  return actions;
}

test.runIf(whole)("conversions distinguish final observations from final transitions in LeRobot and Minari", async () => {
  const dir = temp("ends");
  const recorder = await open({ dir, fps: 10, spec: { observation: f32(2), action: f32(1) } });
  for (const end of [{}, { final: { observation: [3, 3] } }, { terminated: true }]) {
    for (let i = 1; i < 3; i++) recorder.step({ observation: [i, i], action: [i] });
    await recorder.endEpisode(end);
  }
  recorder.step({ observation: [1, 1], action: [1] }); // The recording is cut off after this step.
  await recorder.close();
  const said = ["transition", "observation", "transition", "transition"];
  const finalSteps = async (path: string) => (await contentOf(path)).episodes.map(({ metadata }) => metadata.final_step);
  expect(await finalSteps(dir)).toEqual(said);

  const [lerobot, minari] = [temp("ends-lerobot"), temp("ends-minari")];
  const own = [[1, 2], [1, 2], [1, 2], [1]];
  const padded = own.map((actions) => [...actions, 0]);
  await document("convert", dir, lerobot, "--format", "lerobot");
  expect(await actionsOf(lerobot)).toEqual(own);
  await document("convert", dir, minari, "--format", "minari", "--id", "a-v0");
  expect(await actionsOf(join(minari, "a-v0"))).toEqual(padded);
  // The written file describes its final steps, so further conversions lose nothing.
  expect(await finalSteps(lerobot)).toEqual(said.map(() => "transition"));
  expect(await finalSteps(join(minari, "a-v0"))).toEqual(said.map(() => "observation"));
  await document("convert", lerobot, minari, "--format", "minari", "--id", "b-v0");
  expect(await actionsOf(join(minari, "b-v0"))).toEqual(padded);
  await document("convert", join(minari, "b-v0"), temp("ends-again"), "--format", "lerobot", "--fps", "10");
  expect(await actionsOf(temp("ends-again"))).toEqual(own);
  await document("convert", dir, temp("ends.jsonl"));
  expect(await finalSteps(temp("ends.jsonl"))).toEqual(said);

  // An option takes precedence over the data.
  await document("convert", dir, temp("ends-frames"), "--format", "lerobot", "--final-step", "transition");
  expect(await actionsOf(temp("ends-frames"))).toEqual([[1, 2], [1, 2, 0], [1, 2], [1]]);
  await document("convert", dir, minari, "--format", "minari", "--id", "c-v0", "--final-step", "transition");
  expect(await actionsOf(join(minari, "c-v0"))).toEqual([
    [1, 2, 0],
    [1, 2, 0, 0],
    [1, 2, 0],
    [1, 0],
  ]);
});

test("convert rejects options that do not fit the format", async () => {
  const line = async (...words: string[]) => (await failure(2, "convert", CARTPOLE, ...words)).line;
  expect(await line(temp("b"), "--format", "lerobot")).toMatch(/--fps is required for LeRobot/);
  expect(await line(temp("b"), "--format", "minari", "--fps", "5")).toMatch(/--fps works only with LeRobot, but .*b would be written as Minari/);
  expect(await line(temp("b.jsonl"), "--format", "minari")).toMatch(/ends with \.jsonl, but --format is minari/);
  expect((await reprise("convert", CARTPOLE, temp("b"), "--format", "webm")).status).toBe(2);
  expect((await reprise("convert", CARTPOLE, temp("b"), "--format", "lerobot", "--fps", "0")).status).toBe(2);
  expect(existsSync(temp("b"))).toBe(false);
  expect((await document("convert", CARTPOLE, temp("parts"), "--format", "parquet", "--from-split", "train[:1]")).files).toEqual(["part-00000.parquet"]);
});

test("an existing file is replaced only with --overwrite", async () => {
  const to = temp("kept.jsonl");
  expect((await reprise("convert", CARTPOLE, to, "--from-split", "train[:2]")).stdout).toMatch(/kept\.jsonl \(jsonl\): 2 episodes, 168 steps, .* in 1 file\n/);
  expect((await failure(1, "convert", CARTPOLE, to)).line).toMatch(/IO: the file already exists. Pass --overwrite to replace it/);
  expect((await document("inspect", to)).episodes).toBe(2);
  await document("convert", CARTPOLE, to, "--overwrite");
  expect((await document("inspect", to)).episodes).toBe(40);
});

test("convert rejects an unknown ending of a file, but not of a folder", async () => {
  for (const name of ["out.tsv", "out.npy", "out.JSON"])
    expect((await failure(2, "convert", CARTPOLE, temp(name))).line).toMatch(
      /ends with \.(tsv|npy|json), but the name of a dataset file must end with \.parquet, \.jsonl, \.ndjson, \.npz, \.hdf5, \.csv/,
    );
  expect(existsSync(temp("out.tsv"))).toBe(false);
  expect((await document("convert", CARTPOLE, `${temp("out.tsv")}/`, "--from-split", "train[:1]")).format).toBe("tfds");
  expect((await document("convert", CARTPOLE, temp("out.tsv"), "--from-split", "train[:1]", "--overwrite")).format).toBe("tfds");
});

test("convert rejects wrong options as wrong usage, and writes nothing", async () => {
  expect((await failure(2, "convert", CARTPOLE, temp("a.parquet"), "--shards", "2")).line).toMatch(
    /--shards works only with TFDS, but .*a\.parquet would be written as Parquet/,
  );
  expect((await reprise("convert", CARTPOLE, temp("a"), "--mode", "mend")).status).toBe(2);
  expect((await reprise("convert", CARTPOLE, temp("a"), "--shards", "0")).status).toBe(2);
  expect((await reprise("convert", CARTPOLE, temp("a"), "--name", "no name")).status).toBe(2);
  expect((await reprise("convert", CARTPOLE)).status).toBe(2);
  expect(existsSync(temp("a")) || existsSync(temp("a.parquet"))).toBe(false);
});

test.runIf(whole)("Ctrl-C leaves no partial files", async () => {
  const server = await serve(join(DATA, "tfds"), /half_cheetah.*-00002-of/);
  const { child, ended } = started("convert", `${server.address}/half_cheetah/1.0.0/`, temp("interrupted", "a.jsonl"), "--json");
  await server.held;
  child.kill("SIGINT");
  const { status, stdout, stderr } = await ended;
  server.close();
  expect([status, stderr]).toEqual([130, expect.stringMatching(/^reprise: INTERRUPTED: .*a\.jsonl was not written\n$/)]);
  expect(JSON.parse(stdout).error.code).toBe("INTERRUPTED");
  expect(existsSync(temp("interrupted")) ? readdirSync(temp("interrupted")) : []).toEqual([]);
});

test("a journal that needs --mode repair is converted to JSON lines, Parquet and TFDS", async () => {
  const from = join(DATA, "golden/journal");
  const { error } = await failure(1, "convert", from, temp("open.jsonl"));
  expect(error).toMatchObject({ code: "INVALID_DATA", episode: 0 });
  // RLDS adds a final observation to these episodes.
  for (const [to, wanted] of [
    [temp("a.jsonl"), 36],
    [temp("a.parquet"), 36],
    [temp("a-tfds"), 43],
  ] as const) {
    const repeated = wanted === 43 ? 7 : 0;
    expect(await document("convert", from, to, "--mode", "repair")).toMatchObject({ episodes: 7, steps: wanted, finalSteps: { repeated, dropped: 0 } });
    const reader = await openRlds(to);
    let steps = 0;
    for await (const episode of reader) steps += episode.steps.length;
    expect(steps).toBe(wanted);
    await reader.close();
  }
});

test("unread parts are listed as losses, rejected by --strict, and not named in the target", async () => {
  const source = join(DATA, "wild/obj_info.npz");
  const unread: string[] = (await document("inspect", source)).about.unread;
  expect(unread.length).toBeGreaterThan(0);
  for (const verb of ["convert", "edit"]) {
    const to = temp(`unread-${verb}.jsonl`);
    const { losses } = await document(verb, source, to);
    for (const what of unread) expect(losses).toContainEqual({ what, reason: "not read from the source; no option reads it" });
    expect((await document("inspect", to)).about).not.toHaveProperty("unread");
    const { error } = await failure(1, verb, source, temp(`strict-${verb}.jsonl`), "--strict");
    expect(error).toMatchObject({ code: "UNSUPPORTED", message: expect.stringContaining(`${unread[0]}: not read from the source`) });
    expect(existsSync(temp(`strict-${verb}.jsonl`))).toBe(false);
  }
});

test("an error in strict mode names the flag that repairs the fault", async () => {
  const path = temp("endless.jsonl");
  const flags = { is_first: true, is_last: false, is_terminal: false };
  const spec = Object.fromEntries(["action", "reward"].map((name) => [name, { dtype: "f32", shape: [] }]));
  const stepSpec = { ...spec, ...Object.fromEntries(Object.keys(flags).map((name) => [name, { dtype: "bool", shape: [] }])) };
  const lines = [
    { rlds: 1, stepSpec, metadataSpec: {} },
    { episode: {} },
    { step: { action: 1, reward: 1, ...flags } },
    { step: { action: 1, reward: 1, ...flags } },
  ];
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  for (const verb of ["convert", "edit"]) {
    const { line } = await failure(1, verb, path, temp(`${verb}-endless.parquet`));
    expect(line).toMatch(/--mode repair to .*, or --mode drop to leave such episodes out/);
    expect(line).not.toContain("importRlds");
  }
});

test.each([
  [["convert", "a.jsonl", "b", "--format", "lerobt"], 'Allowed choices are tfds, lerobot, minari, parquet, jsonl, npz, hdf5, csv. Did you mean "lerobot"?'],
  [["convert", "a.jsonl", "b", "--mode", "salvge"], 'Did you mean "salvage"?'],
  [["edit", "a.jsonl", "b", "--final-step", "dropp"], 'Did you mean "drop"?'],
  [["edit", join(DATA, "wild/epcols.jsonl"), "b.jsonl", "--cast", "action=f23"], 'got "action=f23". Did you mean "f32"?'],
])("an unknown word suggests the nearest known word: %j", async (args, hint) => {
  const { status, stderr } = await reprise(...args);
  expect([status, stderr]).toEqual([2, expect.stringContaining(hint)]);
  expect((await reprise("convert", "a.jsonl", "b", "--format", "x")).stderr).not.toContain("Did you mean");
});
