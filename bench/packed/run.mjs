// Compares packed frames with unpacked frames: the compression ratios of recorded games, drawing and appending in the same run, and the same draws in Python
// libraries.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ISOLATED } from "../../build/pages.mjs";
import { root } from "../../build/step.mjs";
import { venv } from "../../build/venv.mjs";
import { Browsers } from "../../test/everywhere/browsers.mjs";
import { entry } from "../package.mjs";
import { BATCH, drawing, filled, memoryOf, PIXELS, rates } from "./filling.mjs";
import { games } from "./games.mjs";

const lib = await entry("index");

const { values, positionals } = parseArgs({
  options: { frames: { type: "string", default: "100000" }, million: { type: "boolean", default: false } },
  allowPositionals: true,
});
const SCRATCH = "build/packed";
/** The number of recorded frames for each game in games.mjs. Each of the other games has OTHER_FRAMES frames. */
const MIXED_FRAMES = 40_000;
const OTHER_FRAMES = 4_000;
const NOISE_FRAMES = 20_000;

const folder = positionals[0] ?? record();
const recordings = new Map();
const MILLION = 1_000_000;

/** Records all games once, in a separate Python environment. Returns their folder. */
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
      .filter((name) => !games.includes(name)),
  );
  if (missingOf(games).length > 0) run(MIXED_FRAMES, missingOf(games));
  if (others.length > 0) run(OTHER_FRAMES, others);
  return data;
}

/** Returns the frames of a game from `first` on, cyclically, and whether an episode ends with each. */
function recorded(name, first, count) {
  if (!recordings.has(name)) recordings.set(name, { frames: readFileSync(join(folder, `${name}.bin`)), ends: readFileSync(join(folder, `${name}.ends`)) });
  const all = recordings.get(name);
  const at = first % all.ends.length;
  if (at + count > all.ends.length) throw new Error(`record a multiple of ${count} frames of ${name}: there are ${all.ends.length}`);
  const ends = Uint8Array.from(all.ends.subarray(at, at + count), (end, k) => Number(end !== 0 || at + k + 1 === all.ends.length));
  return { frames: all.frames.subarray(at * PIXELS, (at + count) * PIXELS), ends };
}

/** Returns frames of random noise, which cannot be compressed, in the form that `recorded` returns. No episode ends. */
function noise(_name, first, count) {
  let state = (first + 1) * 0x9e3779b9;
  const frames = new Uint32Array((count * PIXELS) / 4).map(() => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state;
  });
  return { frames: new Uint8Array(frames.buffer), ends: new Uint8Array(count) };
}

/** Responds to a page's requests for recordings: frames, then the ends of episodes. */
function bytesOf(url) {
  const { pathname, searchParams } = new URL(url, "http://127.0.0.1");
  if (pathname !== "/recorded") return undefined;
  const { frames, ends } = recorded(searchParams.get("name"), Number(searchParams.get("first")), Number(searchParams.get("count")));
  return Buffer.concat([frames, ends]);
}

const mebibytes = (bytes) => (bytes / 2 ** 20).toFixed(0);
const say = (name, text) => console.log(`${name.padEnd(44)} ${text}`);

const sayMemory = (name, { stored, used, ratio }) =>
  say(name, `entries and rows ${mebibytes(stored)} MiB, whole Replay ${mebibytes(used)} MiB, ratio ${ratio.toFixed(1)}`);

const all = readdirSync(folder)
  .filter((file) => file.endsWith(".ends"))
  .map((file) => file.slice(0, -5));
const ratios = [];
for (const name of all) {
  const { replay } = await filled(lib, "packed", OTHER_FRAMES, [name], recorded);
  // A screen that equals the previous one is stored once, but counts each time in the ratio.
  ratios.push({ name, ratio: (OTHER_FRAMES * PIXELS) / replay.stats().packed.frames.bytes });
}
ratios.sort((a, b) => a.ratio - b.ratio);
say(
  `ratio of ${ratios.length} games, ${OTHER_FRAMES} frames each`,
  `least ${ratios[0].ratio.toFixed(1)} (${ratios[0].name}), median ${ratios[ratios.length >> 1].ratio.toFixed(1)}`,
);
say("", ratios.map(({ name, ratio }) => `${name} ${ratio.toFixed(1)}`).join(", "));

const total = Number(values.frames);
const raw = await filled(lib, "shared", total, games, recorded);
const small = await filled(lib, "packed", total, games, recorded);
const sides = [drawing(raw), drawing(small)];
const large = values.million ? await filled(lib, "packed", MILLION, games, recorded) : undefined;
if (large !== undefined) {
  sides.push(drawing(large));
  sayMemory("a million frames of ten games", memoryOf(large));
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
const noises = [];
for (const leaf of ["shared", "packed"]) noises.push(await filled(lib, leaf, NOISE_FRAMES, ["noise"], noise));
const [rawNoise, packedNoise] = rates(noises.map(drawing));
const [rawBytes, packedBytes] = noises.map(({ replay }) => replay.stats().bytes.used);
say(
  `noise, ${NOISE_FRAMES} frames`,
  `draws as they are ${rawNoise.toFixed(0)} k/s, packed ${packedNoise.toFixed(0)} k/s: ${(rawNoise / packedNoise).toFixed(2)} × the time, ${(packedBytes / rawBytes).toFixed(3)} × the memory`,
);
if (values.million) {
  const browsers = new Browsers();
  for (const name of ["chromium", "firefox"]) {
    const path = `/bench/packed/page.html?total=${MILLION}&names=${games}`;
    const { rate, ...memory } = await browsers.lines(name, root, { path, headers: ISOLATED, bytesOf, minutes: 15 });
    sayMemory(`a million frames in ${name}`, memory);
    say("", `append ${memory.appendUs.toFixed(1)} µs, draws ${rate.toFixed(0)} k/s`);
  }
  await browsers.close();
}
const home = join(SCRATCH, "python");
const python = process.env.REPRISE_PACKED_PYTHON ?? (existsSync(home) ? join(home, "bin/python") : undefined);
if (python !== undefined) spawnSync(python, [join(import.meta.dirname, "peers.py"), folder, String(total), ...games], { stdio: "inherit" });
