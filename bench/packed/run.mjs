// Packed frames beside frames as they are: ratios of recorded games, drawing and appending in one run, and the same draws by libraries in Python.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { venv } from "../../build/venv.mjs";
import { entry } from "../package.mjs";

const { f32, i32, packed, Replay, shared, u8 } = await entry("index");

const { values, positionals } = parseArgs({
  options: { frames: { type: "string", default: "100000" }, million: { type: "boolean", default: false } },
  allowPositionals: true,
});
const SCRATCH = "build/packed";
const SIDE = 84;
const PIXELS = SIDE * SIDE;
const STACK = 4;
const BATCH = 32;
/** The ten games that are mixed, and how many frames of each are recorded; of the others fewer. */
const MIXED = ["Pong", "Breakout", "SpaceInvaders", "Seaquest", "MsPacman", "Enduro", "Riverraid", "MontezumaRevenge", "Qbert", "BeamRider"];
const MIXED_FRAMES = 40_000;
const OTHER_FRAMES = 4_000;
const ROUNDS = 60;

const folder = positionals[0] ?? record();
const games = new Map();

/** Records all games once, with a Python of its own. Returns their folder. */
function record() {
  const data = join(SCRATCH, "games");
  const { program, missing } = venv(join(SCRATCH, "python"), join(import.meta.dirname, "requirements.txt"), ["3.11", "3.12", "3.13"]);
  if (program === undefined) throw new Error(`${missing}; or name a folder that record.py has filled`);
  mkdirSync(data, { recursive: true });
  const run = (count, names) => spawnSync(program, [join(import.meta.dirname, "record.py"), data, String(count), ...names], { stdio: ["ignore", 2, 2] });
  const { status, stdout } = spawnSync(program, [
    "-c",
    `import sys; sys.path.insert(0, ${JSON.stringify(import.meta.dirname)}); import record; print(*record.GAMES)`,
  ]);
  if (status !== 0) throw new Error("record.py cannot be loaded");
  const missingOf = (names) => names.filter((name) => !existsSync(join(data, `${name}.ends`)));
  const others = missingOf(
    String(stdout)
      .trim()
      .split(" ")
      .filter((name) => !MIXED.includes(name)),
  );
  if (missingOf(MIXED).length > 0) run(MIXED_FRAMES, missingOf(MIXED));
  if (others.length > 0) run(OTHER_FRAMES, others);
  return data;
}

/** The frames of a game, and whether its episode ends with each. */
function game(name) {
  if (!games.has(name)) games.set(name, { frames: readFileSync(join(folder, `${name}.bin`)), ends: readFileSync(join(folder, `${name}.ends`)) });
  return games.get(name);
}

/** A memory of so many transitions, one lane for each game; what an append took, in µs. */
function filled(leaf, total, names) {
  const replay = new Replay({
    spec: { observation: leaf("frames", u8(SIDE, SIDE), STACK), action: i32(), reward: f32() },
    tables: { memory: { maxSize: total } },
  });
  const lanes = names.map((name) => ({
    ...game(name),
    stack: new Uint8Array(STACK * PIXELS),
    writer: replay.writer({ items: [{ table: "memory", nStep: 1 }] }),
  }));
  const start = performance.now();
  for (let t = 0; t < total / names.length; t++)
    for (const { frames, ends, stack, writer } of lanes) {
      const at = t % ends.length;
      stack.copyWithin(0, PIXELS);
      stack.set(frames.subarray(at * PIXELS, (at + 1) * PIXELS), (STACK - 1) * PIXELS);
      writer.append({ observation: stack, action: t & 3, reward: 1 });
      if (ends[at] === 0 && at + 1 < ends.length) continue;
      writer.endEpisode({ terminated: true });
      stack.fill(0);
    }
  return { replay, appendUs: ((performance.now() - start) * 1000) / total };
}

/** Draws a batch again and again into the same arrays. */
function drawing({ replay }) {
  const view = replay.tables.memory.transitions({ gamma: 0.99 });
  const into = view.sample(BATCH);
  return (times) => {
    for (let i = 0; i < times; i++) view.sample(BATCH, { into });
  };
}

/** Thousands of transitions per second of each side, in turns; the median of the faster half of all rounds. */
function rates(sides) {
  const times = sides.map(() => []);
  for (let round = 0; round < ROUNDS; round++)
    for (const [i, side] of sides.entries()) {
      const start = performance.now();
      side(10);
      times[i].push((performance.now() - start) / 10);
    }
  return times.map((all) => BATCH / all.sort((a, b) => a - b)[ROUNDS >> 2]);
}

const mebibytes = (bytes) => (bytes / 2 ** 20).toFixed(0);
const say = (name, text) => console.log(`${name.padEnd(44)} ${text}`);

const all = readdirSync(folder)
  .filter((file) => file.endsWith(".ends"))
  .map((file) => file.slice(0, -5));
const ratios = all.map((name) => {
  const { replay } = filled(packed, OTHER_FRAMES, [name]);
  // A screen that equals the one before is stored once, and counts here as often as it was recorded.
  return { name, ratio: (OTHER_FRAMES * PIXELS) / replay.stats().packed.frames.bytes };
});
ratios.sort((a, b) => a.ratio - b.ratio);
say(
  `ratio of ${ratios.length} games, ${OTHER_FRAMES} frames each`,
  `least ${ratios[0].ratio.toFixed(1)} (${ratios[0].name}), median ${ratios[ratios.length >> 1].ratio.toFixed(1)}`,
);
say("", ratios.map(({ name, ratio }) => `${name} ${ratio.toFixed(1)}`).join(", "));

const total = Number(values.frames);
const raw = filled(shared, total, MIXED);
const small = filled(packed, total, MIXED);
const sides = [drawing(raw), drawing(small)];
const large = values.million ? filled(packed, 1_000_000, MIXED) : undefined;
if (large !== undefined) {
  const { packed: stats, bytes } = large.replay.stats();
  sides.push(drawing(large));
  say(
    "a million frames of ten games",
    `entries and rows ${mebibytes(stats.frames.bytes + 24 * stats.frames.frames)} MiB, whole Replay ${mebibytes(bytes.used)} MiB, ratio ${stats.frames.ratio.toFixed(1)}`,
  );
}
const [ours, packedRate, millionRate] = rates(sides);
say(
  `draws of ${BATCH}, ${total} frames of ten games`,
  `as they are ${ours.toFixed(0)} k/s, packed ${packedRate.toFixed(0)} k/s: ${(packedRate / ours).toFixed(2)} ×`,
);
if (millionRate !== undefined)
  say("the same, a million frames", `${millionRate.toFixed(0)} k/s: ${(millionRate / packedRate).toFixed(2)} × the rate of ${total}`);
say(
  "append of a stack of four",
  `as it is ${raw.appendUs.toFixed(1)} µs, packed ${small.appendUs.toFixed(1)} µs: ${(raw.appendUs / small.appendUs).toFixed(2)} ×`,
);
const home = join(SCRATCH, "python");
const python = process.env.REPRISE_PACKED_PYTHON ?? (existsSync(home) ? join(home, "bin/python") : undefined);
if (python !== undefined) spawnSync(python, [join(import.meta.dirname, "peers.py"), folder, String(total), ...MIXED], { stdio: "inherit" });
