/** reprise/rlds beside Python's tensorflow_datasets, over the same files. Python is REPRISE_PYTHON; without it those rows are left out. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openTfds } from "../../dist/rlds.js";

const FOLDER = fileURLToPath(new URL("../../test/data/tfds/half_cheetah/1.0.0", import.meta.url));
const RIVAL = fileURLToPath(new URL("../rivals/tfds.py", import.meta.url));
const PYTHON = process.env.REPRISE_PYTHON;
const STEPS = 10_040;
const ROUNDS = 15;
const PYTHON_ROUNDS = 5;
const SHARDS = 10;
/** Of the smaller dataset each shard has so many times the records of the first. */
const REPEATS = 3;
/** How often memory is looked at on the way. */
const LOOKS = 200;
const MIB = 2 ** 20;

if (PYTHON === undefined && !process.argv.includes("--row"))
  console.error("SKIPPED: the rows beside tensorflow_datasets. Set REPRISE_PYTHON to a python that has it.");

/** Goes through every step as an object. */
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

/** Only the columns, as the rival that makes no steps. */
async function columns() {
  let count = 0;
  for await (const episode of await openTfds(FOLDER)) count += episode.steps.length;
  if (count !== STEPS) throw new Error(`there must be ${STEPS} steps, got ${count}`);
}

/** Nanoseconds a step of each side: the least of several rounds. Python's compiler and caches are warm from its first. */
async function beside(ours, way) {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    await ours();
    best = Math.min(best, ((performance.now() - start) * 1e6) / STEPS);
  }
  const { stdout, status } = spawnSync(PYTHON, [RIVAL, FOLDER, way, String(PYTHON_ROUNDS)], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  if (status !== 0) throw new Error(`${PYTHON} ended with exit code ${status}`);
  const found = JSON.parse(stdout.trim().split("\n").at(-1));
  if (found.steps !== STEPS) throw new Error(`tensorflow_datasets must find ${STEPS} steps, got ${found.steps}`);
  return { ours: best, rival: found.ns };
}

/** The records of the first shard again and again, in ten shards. */
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

/** The most bytes in use after a collection, and the most that the system gave, while a dataset is gone through. */
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

/** By how many bytes a peak grows where there is ten times the data. */
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

const python =
  PYTHON === undefined
    ? []
    : [
        {
          name: "rlds steps of half_cheetah",
          unit: "ns/step",
          rivalName: "tensorflow_datasets, a batch an episode, without step objects",
          limit: 3,
          fact: () => beside(steps, "batched"),
        },
        {
          name: "rlds steps of half_cheetah, dicts by hand",
          unit: "ns/step",
          rivalName: "tensorflow_datasets, a batch an episode, then a dict a step",
          limit: 3,
          fact: () => beside(steps, "rows"),
        },
        {
          name: "rlds steps of half_cheetah, nested iterator",
          unit: "ns/step",
          rivalName: "tensorflow_datasets, as_numpy_iterator over an episode's steps",
          limit: 3,
          fact: () => beside(steps, "nested"),
        },
        {
          name: "rlds columns of half_cheetah",
          unit: "ns/step",
          rivalName: "tensorflow_datasets, a batch an episode",
          limit: 3,
          fact: () => beside(columns, "batched"),
        },
      ];

export const cases = [
  ...python,
  {
    name: "rlds bytes in use that 10 × the data (100 MB) adds",
    unit: "bytes",
    rivalName: "limit",
    limit: 1,
    // The small data's files are of one block each; of the large ones some blocks of 1 MiB are on their way, or wait to be freed.
    fact: async () => ({ ours: await growth("used"), rival: 8 * MIB }),
  },
  {
    name: "rlds resident bytes that 10 × the data (100 MB) adds",
    unit: "bytes",
    rivalName: "limit",
    limit: 1,
    fact: async () => ({ ours: await growth("resident"), rival: 32 * MIB }),
  },
];
