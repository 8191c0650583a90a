// Checks that the real lerobot and minari open the datasets that Reprise writes for them, and read equal data. Also runs the tests of other writers with the
// real tools. Creates a Python environment in build/datasets, unless REPRISE_DATASETS_PYTHON names a Python that has the packages in .ci/exports.txt.
import { equal, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checks } from "./checks.mjs";
import { film } from "./film.mjs";
import { datasetsPython } from "./pythons.mjs";
import { dump, leaf } from "./synthetic.mjs";

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "reprise-datasets-"));
const MINARI = join(folder, "minari");

function run(command, args, env = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 28, env: { ...process.env, ...env } });
  if (status !== 0) throw new Error(error?.message ?? `${command} ${args.join(" ")}: exit ${status}\n${stdout.slice(-2000)}${stderr.slice(-4000)}`);
  return stdout;
}

const flags = { is_first: leaf("bool"), is_last: leaf("bool"), is_terminal: leaf("bool") };
const frameSpec = {
  observation: {
    images: { top: leaf("u8", [24, 32, 3]), wrist: leaf("u8", [16, 16, 3]) },
    gray: leaf("u8", [9, 7, 1]),
    clear: leaf("u8", [8, 8, 4]),
    state: leaf("f32", [7]),
    said: leaf("string"),
    matrix: leaf("f64", [2, 3]),
    cube: leaf("i16", [2, 1, 3]),
  },
  action: leaf("f32", [2]),
  reward: leaf("f64"),
  discount: leaf("f32"),
  ...flags,
  task: leaf("string"),
  ...{
    bools: leaf("bool", [3]),
    i8: leaf("i8"),
    u16: leaf("u16", [2]),
    i32: leaf("i32"),
    u32: leaf("u32"),
    i64: leaf("i64", [2]),
    u64: leaf("u64"),
    one: leaf("f64", [1]),
  },
};
const envSpec = {
  observation: {
    at: leaf("f64", [2]),
    deep: [leaf("i32"), { said: leaf("string"), grid: leaf("u8", [2, 3]) }],
    camera: leaf("u8", [32, 40, 3]),
    gray: leaf("u8", [33, 32]),
    stack: leaf("u8", [32, 32, 4]),
    small: leaf("u8", [4, 4, 1]),
    ...{ flag: leaf("bool"), flags: leaf("bool", [2]), big: leaf("u64"), whole: leaf("i64", [3]), f: leaf("f32") },
  },
  action: { way: leaf("i64"), force: leaf("f32", [1]), word: leaf("string") },
  reward: leaf("f32"),
  discount: leaf("f32"),
  ...flags,
  energy: leaf("f64"),
  note: leaf("string"),
  speed: leaf("f32", [2]),
};
const RANGES = { i8: [-128, 256], u8: [0, 256], i16: [-32768, 65536], u16: [0, 65536], i32: [-(2 ** 31), 2 ** 32], u32: [0, 2 ** 32] };
const TEXTS = ["", "pick the cube", "日本語", "\u{1f916} ünï", "x".repeat(200)];

/** Returns steps of a spec, which are the same in each run. */
function steps(spec, lengths, terminal = () => true) {
  let state = 99;
  const next = (below) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const element = (dtype) => {
    if (dtype === "string") return TEXTS[next(TEXTS.length)];
    if (dtype === "bool") return next(2) === 1;
    if (dtype === "u64") return BigInt(next(2 ** 31)) << 32n;
    if (dtype === "i64") return BigInt(next(2 ** 31)) - 2n ** 30n;
    if (dtype[0] === "f") return Math.fround(next(2 ** 24) / 977 - 5000);
    return RANGES[dtype][0] + next(RANGES[dtype][1]);
  };
  const value = (node) => {
    if (Array.isArray(node)) return node.map(value);
    if (typeof node.dtype !== "string") return Object.fromEntries(Object.entries(node).map(([name, part]) => [name, value(part)]));
    const size = node.shape.reduce((a, b) => a * b, 1);
    return node.shape.length === 0 ? element(node.dtype) : Array.from({ length: size }, () => element(node.dtype));
  };
  return lengths.map((length, k) => ({
    steps: Array.from({ length }, (_, i) => ({ ...value(spec), is_first: i === 0, is_last: i === length - 1, is_terminal: i === length - 1 && terminal(k) })),
    success: k % 2 === 0,
    operator: `operator ${k}`,
  }));
}

const metadataSpec = { success: leaf("bool"), operator: leaf("string") };
const data = (spec, lengths, terminal) => Object.assign(steps(spec, lengths, terminal), { stepSpec: spec, metadataSpec });

/** Limits the action `way` to three values, because demonstrations have only a few discrete choices. */
function choices(episodes) {
  for (const { steps: own } of episodes) for (const [i, step] of own.entries()) step.action.way = BigInt(i % 3);
  return episodes;
}

async function gathered(reader) {
  const episodes = [];
  for await (const { steps: own, ...metadata } of reader) episodes.push({ ...metadata, steps: [...own] });
  return episodes;
}

const cases = [];
const results = new Map();

function expected(name, kind, path, spec, episodes, more = {}) {
  const all = episodes.flatMap((episode) => episode.steps);
  const lengths = episodes.map((episode) => episode.steps.length);
  // Minari does not store discounts.
  const { discount, ...others } = spec;
  const shown = kind === "minari" || discount === undefined ? others : spec;
  cases.push({ name, kind, path, lengths, steps: dump(folder, name.replaceAll(/\W/g, "-"), shown, all), ...more });
}

function found(name) {
  const result = results.get(name);
  ok(result !== undefined, `Python said nothing of ${name}`);
  ok(result.ok, result.message);
}

const names = {
  lerobot: [
    "copies of films",
    "films under another name",
    "films that were cut",
    "cartpole_pixels",
    "everything, a file an episode",
    "observations that are final left out",
    "the command line",
    "a recording",
    "films",
  ],
  minari: ["half_cheetah", "everything", "steps that have an action each", "images that no PNG has", "the command line", "a recording"],
};
let interpreter;

try {
  await checks({
    "there is a Python with lerobot 0.4.4 and minari 0.5.4"() {
      interpreter = datasetsPython();
      run(process.execPath, ["build/run.mjs", "build"]);
    },
    "NumPy, h5py, robomimic, pandas and pyarrow read NPZ, HDF5, CSV and LeRobot 2.1"() {
      const tests = ["npz/write-npz", "hdf5/write-hdf5", "csv/write-csv", "lerobot/write-lerobot-v21"].map((file) => `unit/datasets/formats/${file}`);
      const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts", ...tests];
      run(process.execPath, vitest, { REPRISE_PYTHON: interpreter, REPRISE_PYTHON_REQUIRED: "1" });
    },
    async "Reprise writes real data and data with everything for LeRobot"() {
      const { openTfds, writeJsonl, writeLeRobot } = await import("../dist/rlds.js");
      const pixels = await openTfds(join(root, "test/data/tfds/cartpole_pixels"));
      const at = (name) => join(folder, "lerobot", name);
      await writeLeRobot(pixels, at("pixels"), { fps: 30, finalStep: "transition" });
      expected("lerobot cartpole_pixels", "lerobot", at("pixels"), pixels.stepSpec, await gathered(pixels), {
        fps: 30,
        task: "language_instruction",
        rename: {},
      });
      const all = data(frameSpec, [4, 1, 30, 2]);
      const images = ["observation/images/top", "observation/images/wrist", "observation/gray", "observation/clear"];
      await writeLeRobot(all, at("all"), { fps: 12.5, finalStep: "transition", images, fileBytes: 1, robotType: "made", names: { action: ["left", "right"] } });
      expected("lerobot everything, a file an episode", "lerobot", at("all"), frameSpec, all, {
        fps: 12.5,
        task: "task",
        names: { action: ["left", "right"] },
      });
      await writeLeRobot(all, at("final"), { fps: 10, images, task: "one task", finalStep: "observation", overwrite: true }).then(
        () => ok(false, "an episode of one step has no frame"),
        ({ code }) => equal(code, "INVALID_DATA"),
      );
      const longer = data(frameSpec, [4, 30]);
      await writeLeRobot(longer, at("final"), { fps: 10, images, task: "one task", finalStep: "observation" });
      const cut = longer.map(({ steps: own, ...more }) => ({
        ...more,
        steps: own.slice(0, -1).map((step, i) => (i === own.length - 2 ? { ...step, is_last: true, is_terminal: true } : step)),
      }));
      expected("lerobot observations that are final left out", "lerobot", at("final"), frameSpec, cut, { fps: 10, tasks: "one task" });
      await writeJsonl(all, join(folder, "all.jsonl"));
      const words = [
        "convert",
        join(folder, "all.jsonl"),
        at("line"),
        "--format",
        "lerobot",
        "--fps",
        "5",
        "--final-step",
        "transition",
        ...images.flatMap((image) => ["--image", image]),
      ];
      run(process.execPath, ["dist/cli.js", ...words]);
      expected("lerobot the command line", "lerobot", at("line"), frameSpec, all, { fps: 5, task: "task" });
    },
    async "the command line writes a recording for both: episodes that have a final step, and episodes that have none"() {
      const { f32, text, u8 } = await import("../dist/index.js");
      const { open, openRecording } = await import("../dist/record.js");
      const [dir, to] = [join(folder, "recording"), join(folder, "lerobot/recording")];
      const own = { observation: { front: u8(32, 32, 3), state: f32(2) }, action: f32(2), instruction: text({ maxBytes: 40 }) };
      const recorder = await open({ dir, fps: 20, spec: own, images: "png" });
      const seen = (i) => ({ front: Uint8Array.from({ length: 3072 }, (_, k) => (k * 7 + i * 31) % 256), state: [i, -i] });
      for (const [k, end] of [
        {},
        { final: { observation: seen(99) } },
        { terminated: true },
        { final: { observation: seen(98) }, terminated: true },
      ].entries()) {
        for (let i = 0; i < 3 + k; i++) recorder.step({ observation: seen(i), action: [i, k], instruction: `do ${k}` });
        await recorder.endEpisode(end);
      }
      await recorder.close();
      const recording = await openRecording(dir);
      const episodes = await gathered(recording);
      run(process.execPath, ["dist/cli.js", "convert", dir, to, "--format", "lerobot"]);
      const frames = episodes.map(({ steps, final_step }) => {
        const { is_last, is_terminal } = steps.at(-1);
        const kept = final_step === "observation" ? steps.slice(0, -1) : steps;
        return { steps: kept.map((step, i) => (i === kept.length - 1 ? { ...step, is_last, is_terminal } : step)) };
      });
      expected("lerobot a recording", "lerobot", to, recording.stepSpec, frames, { fps: 20, task: "instruction" });
      run(process.execPath, ["dist/cli.js", "convert", dir, MINARI, "--format", "minari", "--id", "made/recording-v0"]);
      const twice = episodes.map(({ steps, final_step }) => ({ steps: final_step === "observation" ? steps : [...steps, steps.at(-1)] }));
      expected("minari a recording", "minari", "made/recording-v0", recording.stepSpec, twice);
    },
    "the command line copies the films of a dataset that lerobot wrote"() {
      const original = join(root, "test/data/wild/lerobot_video");
      const front = "observation.images.front";
      for (const [name, rename] of [
        ["copies of films", {}],
        ["films under another name", { "observation.images.top": front, "observation.state": "observation.joints" }],
      ]) {
        const path = join(folder, "lerobot", name.replaceAll(" ", "-"));
        const words = Object.entries(rename).flatMap((pair) => ["--rename", pair.join("=")]);
        run(process.execPath, ["dist/cli.js", "convert", original, path, "--format", "lerobot", ...words]);
        cases.push({ name: `lerobot ${name}`, kind: "lerobot-copy", path, original, rename });
      }
    },
    "the command line cuts an episode out of such films"() {
      const original = join(root, "test/data/wild/lerobot_video");
      const path = join(folder, "lerobot/cut");
      run(process.execPath, ["dist/cli.js", "edit", original, path, "--drop-episodes", "1"]);
      cases.push({ name: "lerobot films that were cut", kind: "lerobot-cut", path, original, episodes: [0, 2] });
    },
    async "Chromium films two cameras by mediabunny"() {
      const { spec, episodes } = await film(join(folder, "lerobot/film"));
      const rest = { ...spec, observation: { state: spec.observation.state } };
      expected("lerobot films", "lerobot", join(folder, "lerobot/film"), rest, episodes, {
        fps: 30,
        tasks: "",
        films: dump(
          folder,
          "films",
          spec.observation.images,
          episodes.flatMap((one) => one.steps.map(({ observation }) => observation.images)),
        ),
      });
    },
    async "Reprise writes real data and data with everything for Minari"() {
      const { openTfds, writeJsonl, writeMinari } = await import("../dist/rlds.js");
      const cheetah = await openTfds(join(root, "test/data/tfds/half_cheetah"));
      await writeMinari(cheetah, MINARI, { id: "real/half-cheetah-v0" });
      const own = ({ observation, action, reward, ...rest }) => ({
        observation,
        action,
        reward,
        ...Object.fromEntries(Object.entries(flags).map(([name]) => [name, rest[name]])),
      });
      expected(
        "minari half_cheetah",
        "minari",
        "real/half-cheetah-v0",
        own(cheetah.stepSpec),
        (await gathered(cheetah)).map((one) => ({ ...one, steps: one.steps.map(own) })),
      );
      const { small: _, ...encoded } = envSpec.observation;
      const spec = { ...envSpec, observation: encoded };
      const lengths = [4, 2, 20];
      const all = choices(data(spec, lengths, (k) => k !== 1));
      await writeMinari(all, MINARI, { id: "made/all-v3", description: "all that there is", author: "reprise" });
      expected("minari everything", "minari", "made/all-v3", spec, all, { choices: 3 });
      await writeMinari(all, MINARI, { id: "each-v0", finalStep: "transition" });
      expected("minari steps that have an action each", "minari", "each-v0", spec, all, { choices: 3, repeats: true });
      const raw = choices(data(envSpec, lengths, (k) => k !== 1));
      const odd = { ...envSpec, observation: { ...envSpec.observation, odd: leaf("u8", [32, 32, 1]) } };
      for (const episode of raw) for (const step of episode.steps) step.observation.odd = Array.from({ length: 1024 }, (_, i) => i % 251);
      raw.stepSpec = odd;
      await writeMinari(raw, MINARI, { id: "made/raw-v0" });
      expected("minari images that no PNG has", "minari", "made/raw-v0", odd, raw, { choices: 3, raw: true });
      await writeJsonl(all, join(folder, "env.jsonl"));
      run(process.execPath, ["dist/cli.js", "convert", join(folder, "env.jsonl"), MINARI, "--format", "minari", "--id", "line/all-v0"]);
      expected("minari the command line", "minari", "line/all-v0", spec, all, { choices: 3 });
    },
    "Python reads all of it"() {
      writeFileSync(join(folder, "cases.json"), JSON.stringify(cases));
      const env = { HF_HOME: join(folder, "hf"), HF_HUB_OFFLINE: "1", MINARI_DATASETS_PATH: MINARI };
      for (const line of run(interpreter, [".ci/exports.py", join(folder, "cases.json")], env).split("\n"))
        if (line.startsWith("{")) results.set(JSON.parse(line).name, JSON.parse(line));
      equal(results.size, cases.length);
    },
    ...Object.fromEntries(
      Object.entries(names).flatMap(([tool, own]) => own.map((name) => [`${tool} reads ${name} as it was`, () => found(`${tool} ${name}`)])),
    ),
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
