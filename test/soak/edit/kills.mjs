// Kills edits at random moments. The source must remain whole, even if it is also the target, and the next edit must finish the work.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { f32, i32, prioritized, Replay } from "reprise";
import { writeJsonl, writeLeRobot, writeMinari, writeParquet, writeTfds } from "reprise/rlds";
import { noiseOf } from "./noise.mjs";

const CLI = fileURLToPath(new URL("../../../dist/cli.js", import.meta.url));
const EPISODES = 60;
const EDIT = ["--overwrite", "--drop-episodes", "1-3", "--cast", "action=f64"];
/** The arguments that edit a Replay: they change the steps, and remove items from a table. */
const MEMORY_EDIT = ["--overwrite", "--cast", "action=f64", "--add", "mood=0:i32", "--max-size", "memory=3000"];
const STEPS = 8000;
const ASIDE = ".incomplete-";

/** Each format with the path of its dataset or Replay below the target folder, and the arguments with which `edit` writes it to another path. */
const FORMATS = [
  { name: "parquet", path: "all.parquet", write: (data, folder) => writeParquet(data, join(folder, "all.parquet")), out: "all.parquet", flags: [] },
  { name: "jsonl", path: "all.jsonl", write: (data, folder) => writeJsonl(data, join(folder, "all.jsonl")), out: "all.jsonl", flags: [] },
  { name: "lerobot", path: "all", write: (data, folder) => writeLeRobot(data, join(folder, "all"), { fps: 10 }), out: "all", flags: ["--format", "lerobot"] },
  { name: "tfds", path: "all/1.0.0", write: (data, folder) => writeTfds(data, folder, { name: "all", shards: 3 }), out: ".", flags: ["--format", "tfds"] },
  { name: "minari", path: "all-v0", write: (data, folder) => writeMinari(data, folder, { id: "all-v0" }), out: ".", flags: ["--format", "minari"] },
  { name: "snapshot", path: "all.snapshot", write: writeSnapshot, out: "all.snapshot", flags: [], edit: MEMORY_EDIT },
  { name: "journal", path: "all", write: writeJournal, out: "all", flags: [], edit: MEMORY_EDIT, digest: journalDigest },
];
/** The targets of the edit: its source, an existing dataset, or a new path. */
const PLACES = ["in place", "over another", "to a new place"];

function dataset() {
  const noise = noiseOf(9);
  const flags = (i, length) => ({ is_first: i === 0, is_last: i === length - 1, is_terminal: i === length - 1 });
  const episodes = Array.from({ length: EPISODES }, () => {
    const length = 20 + Math.floor(40 * noise());
    const step = (i) => ({
      observation: Float32Array.from({ length: 64 }, noise),
      action: Float32Array.of(noise(), noise()),
      reward: noise(),
      discount: 1,
      ...flags(i, length),
    });
    return { steps: Array.from({ length }, (_, i) => step(i)) };
  });
  return Object.assign(episodes, { metadataSpec: {} });
}

const MEMORY = {
  spec: { observation: f32(64), action: i32(), reward: f32() },
  tables: { memory: { maxSize: 5000, sampler: prioritized(0.6) }, rest: { maxSize: STEPS } },
};

function fill(replay) {
  const noise = noiseOf(9);
  const writer = replay.writer({ name: "game" });
  for (let t = 0; t < STEPS; t++) {
    writer.append({ observation: Float32Array.from({ length: 64 }, noise), action: t, reward: noise() });
    for (const name of ["memory", "rest"]) writer.createItem(name, { length: 1, priority: 1 + noise() });
    if (t % 100 === 99) writer.endEpisode({ terminated: true });
  }
}

async function writeSnapshot(_, folder) {
  const replay = new Replay(MEMORY);
  fill(replay);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "all.snapshot"), Buffer.concat([...replay.snapshot()]));
}

async function writeJournal(_, folder) {
  const replay = await Replay.open({ dir: join(folder, "all"), ...MEMORY, segmentBytes: 1 << 18 });
  fill(replay);
  replay.dispose();
}

/** Returns a digest of the content of a journal, independent of its files. It opens a copy, because opening writes. */
async function journalDigest(path) {
  if (!existsSync(path)) return undefined;
  const copy = mkdtempSync(join(tmpdir(), "reprise-journal-"));
  try {
    cpSync(path, copy, { recursive: true });
    const replay = await Replay.open({ dir: copy, takeOver: true, logger: null });
    const hash = createHash("sha256");
    for (const chunk of replay.snapshot()) hash.update(chunk);
    replay.dispose();
    return hash.digest("hex");
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** @param only the name of a format; default: all @returns the counts and the failures */
export async function kills(runs, seed, only) {
  const folder = mkdtempSync(join(tmpdir(), "reprise-crash-edit-"));
  // Slows the edit down if the machine is less busy than in the rehearsal, so that edits do not end before they are killed.
  const counts = { kills: 0, ended: 0, old: 0, new: 0, absent: 0, aside: 0, pace: 1, failures: [] };
  try {
    const data = dataset();
    const cases = [];
    for (const format of FORMATS.filter(({ name }) => only === undefined || name === only)) {
      const source = join(folder, "sources", format.name);
      await format.write(data, source);
      for (const place of PLACES) cases.push({ ...format, place, source });
    }
    // Each whole edit runs once to determine its result and duration.
    for (const one of cases) await rehearse(one, join(folder, "rehearsal"));
    const noise = noiseOf(seed);
    for (let run = 0; run < runs; run++) {
      const one = cases[Math.floor(noise() * cases.length)];
      const dir = join(folder, `run-${run}`);
      try {
        await killed(one, dir, noise, counts);
      } catch (error) {
        counts.failures.push(`seed ${seed}, run ${run} (${one.name} ${one.place}): ${error.message}`);
        console.error(counts.failures.at(-1));
      }
      rmSync(dir, { recursive: true, force: true });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return counts;
}

/** Prepares the folders of a run. Returns the paths of IN and OUT, and the arguments. */
function stage(one, dir) {
  const { edit = EDIT } = one;
  cpSync(one.source, join(dir, "in"), { recursive: true });
  const source = join(dir, "in", one.path);
  if (one.place === "in place") return { source, target: source, args: ["edit", source, source, ...edit] };
  const out = join(dir, "out");
  if (one.place === "over another") cpSync(one.source, out, { recursive: true });
  return { source, target: join(out, one.path), args: ["edit", source, join(out, one.out), ...one.flags, ...edit] };
}

async function rehearse(one, dir) {
  const { source, target, args } = stage(one, dir);
  const { digest = digestOf } = one;
  one.before = await digest(source);
  const begun = performance.now();
  const { code, said } = await started(args).ended;
  if (code !== 0) throw new Error(`${one.name} ${one.place}: ${said}`);
  one.ms = performance.now() - begun;
  one.after = await digest(target);
  if (one.after === one.before) throw new Error(`${one.name} ${one.place}: the edit changes nothing`);
  rmSync(dir, { recursive: true, force: true });
}

async function killed(one, dir, noise, counts) {
  const { source, target, args } = stage(one, dir);
  const { digest = digestOf } = one;
  const { child, ended } = started(args);
  // Half of the kills happen near the end, when the new dataset replaces the old one.
  const at = noise() < 0.5 ? noise() : 0.8 + 0.3 * noise();
  const begun = performance.now();
  let took = Number.POSITIVE_INFINITY;
  ended.then(() => {
    took = performance.now() - begun;
  });
  await new Promise((resolve) => setTimeout(resolve, at * one.ms * counts.pace));
  child.kill("SIGKILL");
  const { signal, code, said } = await ended;
  if (signal === "SIGKILL") counts.kills++;
  else if (code === 0) {
    counts.ended++;
    counts.pace = Math.min(counts.pace, took / one.ms);
  } else throw new Error(`the edit failed by itself: ${said}`);
  const isSame = one.place === "in place";
  if (!isSame && (await digest(source)) !== one.before) throw new Error("the source is damaged");
  const found = await digest(target);
  const aside = join(dirname(target), `${ASIDE}${target.slice(target.lastIndexOf("/") + 1)}-edit`, "old");
  if (found === one.after) counts.new++;
  else if (found === one.before && one.place !== "to a new place") counts.old++;
  else if (found === undefined && one.place === "to a new place") counts.absent++;
  else if (found === undefined && (await digest(aside)) === one.before) counts.aside++;
  else throw new Error("the target is neither the old nor the new one");
  if (isSame && found === one.after) return;
  const again = await started(args).ended;
  if (again.code !== 0) throw new Error(`the next edit fails: ${again.said}`);
  if ((await digest(target)) !== one.after) throw new Error("the next edit has another result");
  const left = readdirSync(dir, { recursive: true }).find((path) => path.includes(ASIDE));
  if (left !== undefined) throw new Error(`the next edit leaves ${left}`);
}

function started(args) {
  const child = spawn(process.execPath, [CLI, ...args], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  return { child, ended: new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal, said }))) };
}

/** Returns a digest of a file, or of all complete files of a folder; undefined if there is nothing. */
function digestOf(path) {
  if (!existsSync(path)) return undefined;
  const hash = createHash("sha256");
  const add = (at) => {
    if (statSync(at).isDirectory()) {
      for (const name of readdirSync(at).sort()) {
        if (name.startsWith(ASIDE)) continue;
        hash.update(name);
        add(join(at, name));
      }
    } else hash.update(readFileSync(at));
  };
  add(path);
  return hash.digest("hex");
}
