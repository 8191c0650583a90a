// Kills recorders at random moments. Acknowledged steps must be read unchanged, and recording must continue.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openRecording } from "reprise/record";
import { noiseOf, successOf, taskOf, wrongIn } from "./step.mjs";

const WRITER = fileURLToPath(new URL("writer.mjs", import.meta.url));
export const STORAGES = [
  ["raw", "rows"],
  ["png", "rows"],
  ["raw", "files"],
  ["png", "files"],
];
const MODES = ["always", "often", "manual"];
/** The number of kills per directory. */
const EACH = 5;
const MOST_MS = 400;

/** @returns the counts for each storage */
export async function kills(runs, seed) {
  const counts = STORAGES.map((storage) => ({
    name: storage.join(" in "),
    kills: 0,
    opening: 0,
    episodes: 0,
    steps: 0,
    found: 0,
    foundSteps: 0,
    failures: [],
  }));
  let next = 0;
  const lane = async () => {
    while (next < runs) {
      const first = next;
      next += Math.min(EACH, runs - next);
      const storage = (first / EACH) % STORAGES.length;
      await sessions(first, Math.min(EACH, runs - first), seed, STORAGES[storage], counts[storage]);
    }
  };
  await Promise.all([lane(), lane()]);
  return counts;
}

/** Kills recorders of one directory, one after the other. */
async function sessions(first, count, seed, storage, counts) {
  const noise = noiseOf(Math.imul(seed + first, 2654435761));
  const random = (n) => (noise() >>> 8) % n;
  const dir = mkdtempSync(join(tmpdir(), "reprise-crash-record-"));
  /** The state of each episode: the number of steps that were acknowledged or found, whether it ended, and whether it is to be discarded. */
  const acknowledged = new Map();
  try {
    for (let i = 0; i < count; i++) {
      const mode = MODES[random(MODES.length)];
      await killed([dir, ...storage, mode, String(seed * 1000 + first + i)], random, acknowledged, counts);
      counts.kills++;
      try {
        await found(dir, acknowledged, counts, i === count - 1);
      } catch (error) {
        counts.failures.push(`seed ${seed}, kill ${first + i} (${counts.name}, ${mode}): ${error.message}`);
        console.error(counts.failures.at(-1));
        return;
      }
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Starts a recorder and kills it. */
async function killed(args, random, acknowledged, counts) {
  const child = spawn(process.execPath, [WRITER, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.on("data", (chunk) => {
    said += chunk;
  });
  const ended = new Promise((resolve) => child.on("close", (_, signal) => resolve(signal)));
  // Some recorders are killed while they open.
  const isEarly = random(6) === 0;
  const begun = Date.now();
  while (!isEarly && !said.includes("\n") && child.exitCode === null && Date.now() - begun < 60_000) await pause(2);
  await pause(random(MOST_MS));
  child.kill("SIGKILL");
  const signal = await ended;
  if (signal !== "SIGKILL") throw new Error(`the recorder ended by itself, with ${child.exitCode}`);
  if (!said.includes("\n")) counts.opening++;
  // The last line may have been cut off.
  for (const line of said.split("\n").slice(0, -1)) {
    const [what, ...numbers] = line.split(" ");
    const [episode, steps, discarded] = numbers.map(Number);
    if (what === "step") acknowledged.set(episode, { steps, ended: false, discarded: discarded === 1 });
    if (what === "episode") acknowledged.set(episode, { steps, ended: true, discarded: false });
    if (what === "episode") counts.episodes++;
    if (what === "episode") counts.steps += steps;
    // The number is reused.
    if (what === "discarded") acknowledged.delete(episode);
  }
  for (const { steps, ended, counted = false } of acknowledged.values()) if (!ended && !counted) counts.steps += steps;
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param last whether the acknowledged data is counted now */
async function found(dir, acknowledged, counts, last) {
  let episode = 0;
  let steps = 0;
  const reader = await openRecording(dir).catch((error) => {
    if (["NOT_FOUND", "EMPTY"].includes(error.code)) return undefined;
    throw error;
  });
  for await (const read of reader ?? []) {
    const [, , , length, discarded] = read.steps.at(0).observation.numbers;
    if (read.finished && discarded) throw new Error(`episode ${episode} was discarded, and is there`);
    if (read.finished && read.steps.length !== length) throw new Error(`episode ${episode} has ${read.steps.length} steps of ${length}`);
    if (read.finished && (read.task !== taskOf(episode) || read.success !== successOf(episode, length))) throw new Error(`episode ${episode} ended otherwise`);
    for (let i = 0; i < read.steps.length; i++) {
      const wrong = wrongIn(read.steps.at(i), episode, i);
      if (wrong !== undefined) throw new Error(`${wrong} of episode ${episode}, step ${i}, is not what was recorded`);
    }
    const said = acknowledged.get(episode);
    if (said?.ended && !read.finished) throw new Error(`episode ${episode} was acknowledged as ended, and is not`);
    // Another attempt may have replaced an episode that was to be discarded.
    const isSame = said !== undefined && said.discarded === (discarded === 1);
    if (isSame && read.steps.length < said.steps) throw new Error(`episode ${episode} has ${read.steps.length} steps, ${said.steps} were acknowledged`);
    acknowledged.set(episode, { steps: read.steps.length, ended: read.finished, discarded: false, counted: true });
    episode++;
    steps += read.steps.length;
  }
  for (const [number, { discarded }] of acknowledged) if (number >= episode && discarded) acknowledged.delete(number);
  const lost = [...acknowledged.keys()].find((number) => number >= episode);
  if (lost !== undefined) throw new Error(`episode ${lost} was acknowledged, and ${episode} are there`);
  if (!last) return;
  counts.found += episode;
  counts.foundSteps += steps;
}
