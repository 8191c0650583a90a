/**
 * Compares reprise/rlds with Python's tensorflow_datasets on the same files. REPRISE_PYTHON selects the Python. Without it, the comparisons are skipped, except
 * when two builds are compared.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { now } from "../measure.mjs";
import { entry } from "../package.mjs";

const { openTfds } = await entry("rlds");
const FOLDER = fileURLToPath(new URL("../../test/data/tfds/half_cheetah/1.0.0", import.meta.url));
const RIVAL = fileURLToPath(new URL("../rivals/tfds.py", import.meta.url));
const PYTHON = process.env.REPRISE_PYTHON;
/** The reason why Python cannot be measured, or undefined. */
const skip = PYTHON === undefined ? "Set REPRISE_PYTHON to a python that has tensorflow_datasets." : undefined;
const STEPS = 10_040;
const ROUNDS = 15;
const PYTHON_ROUNDS = 5;
const SHARDS = 10;
/** How many times the smaller dataset repeats the records of the first shard in each shard. */
const REPEATS = 3;
/** The number of memory samples during a pass. */
const LOOKS = 200;
const MIB = 2 ** 20;

/** Reads the dataset and iterates over every step as an object. */
async function steps() {
  let count = 0;
  let sum = 0;
  for await (const episode of await openTfds(FOLDER)) {
    for (const step of episode.steps) {
      sum += step.reward;
      count++;
    }
  }
  if (count !== STEPS || !(sum > 0)) throw new Error(`there must be ${STEPS} steps, got ${count}`);
}

/** Reads only the columns, like the rival without step objects. */
async function columns() {
  let count = 0;
  for await (const episode of await openTfds(FOLDER)) count += episode.steps.length;
  if (count !== STEPS) throw new Error(`there must be ${STEPS} steps, got ${count}`);
}

/** Returns the nanoseconds per step of a function that reads the dataset once. */
async function timed(pass) {
  const start = now();
  await pass();
  return ((now() - start) * 1e6) / STEPS;
}

/** Returns the nanoseconds per step of each side: the minimum of several rounds. In Python, the first round warms the compiler and the caches. */
async function beside(ours, way) {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) best = Math.min(best, await timed(ours));
  const { stdout, status } = spawnSync(PYTHON, [RIVAL, FOLDER, way, String(PYTHON_ROUNDS)], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  if (status !== 0) throw new Error(`${PYTHON} ended with exit code ${status}`);
  const found = JSON.parse(stdout.trim().split("\n").at(-1));
  if (found.steps !== STEPS) throw new Error(`tensorflow_datasets must find ${STEPS} steps, got ${found.steps}`);
  return { ours: best, rival: found.ns };
}

/** Writes a dataset whose ten shards each contain the records of the first real shard `times` times. Returns its folder. */
function repeated(folder, times) {
  const records = readFileSync(join(FOLDER, "half_cheetah-train.tfrecord-00000-of-00003"));
  const info = JSON.parse(readFileSync(join(FOLDER, "dataset_info.json"), "utf8"));
  info.splits[0].shardLengths = Array.from({ length: SHARDS }, () => String(13 * times));
  mkdirSync(folder);
  writeFileSync(join(folder, "dataset_info.json"), JSON.stringify(info));
  writeFileSync(join(folder, "features.json"), readFileSync(join(FOLDER, "features.json")));
  const shard = Buffer.concat(Array.from({ length: times }, () => records));
  for (let i = 0; i < SHARDS; i++) writeFileSync(join(folder, `half_cheetah-train.tfrecord-${String(i).padStart(5, "0")}-of-000${SHARDS}`), shard);
  return folder;
}

/** Returns the peak bytes in use after a collection, and the peak resident bytes, while a dataset is read. */
async function peak(folder) {
  let [used, resident, episodes] = [0, 0, 0];
  const reader = await openTfds(folder);
  const every = Math.floor(reader.episodes / LOOKS);
  for await (const episode of reader) {
    if (episode.steps.length !== 251) throw new Error(`an episode must have 251 steps, got ${episode.steps.length}`);
    if (episodes++ % every !== 0) continue;
    resident = Math.max(resident, process.memoryUsage().rss);
    globalThis.gc();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    used = Math.max(used, heapUsed + arrayBuffers);
  }
  return { used, resident, episodes };
}

/** Returns by how many bytes a peak of memory grows if the dataset is ten times as large. @param which the peak: `used` or `resident` */
async function growth(which) {
  const folder = mkdtempSync(join(tmpdir(), "reprise-bench-"));
  try {
    const [small, large] = [repeated(join(folder, "small"), REPEATS), repeated(join(folder, "large"), 10 * REPEATS)];
    for (let warm = 0; warm < 3; warm++) await peak(small);
    const [one, ten] = [await peak(small), await peak(large)];
    if (ten.episodes !== 10 * one.episodes) throw new Error(`there must be ten times as many episodes, got ${ten.episodes} and ${one.episodes}`);
    return Math.max(0, ten[which] - one[which]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function row(name, rivalName, ours, way, again) {
  return { name, unit: "ns/step", rivalName, limit: 3, again, laps: true, ours: () => () => timed(ours), fact: () => beside(ours, way), skip };
}

function growthRow(name, which, limit) {
  return { name, unit: "bytes", rivalName: "limit", limit: 1, fact: async () => ({ ours: await growth(which), rival: limit }) };
}

export const cases = [
  row("rlds steps of half_cheetah", "tensorflow_datasets, one batch per episode, without step objects", steps, "batched"),
  row("rlds steps of half_cheetah, dicts by hand", "tensorflow_datasets, one batch per episode, then one dict per step", steps, "rows", true),
  row("rlds steps of half_cheetah, nested iterator", "tensorflow_datasets, as_numpy_iterator over an episode's steps", steps, "nested", true),
  row("rlds columns of half_cheetah", "tensorflow_datasets, one batch per episode", columns, "batched"),
  // The files of the small data have one block each. With the large data, some blocks of 1 MiB are in flight or waiting to be freed.
  growthRow("rlds bytes in use that 10 × the data (100 MB) adds", "used", 8 * MIB),
  growthRow("rlds resident bytes that 10 × the data (100 MB) adds", "resident", 32 * MIB),
];
