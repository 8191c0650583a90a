// What a frame costs in Node and in Chromium: `npm run bench:frames [-- --check]`. Each launch is a process, or a page, of its own; figures are medians of all launches.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root } from "../../build/step.mjs";
import { Browsers } from "../../test/everywhere/browsers.mjs";

const LAUNCHES = 5;
/** What a player feels of the first frames, in ms. */
const WORST = 4;

/** What a page needs for clocks finer than 0.1 ms. */
const ISOLATED = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };

const browsers = new Browsers();
const hosts = {
  "Node.js": () =>
    JSON.parse(spawnSync(process.execPath, [join(import.meta.dirname, "node.mjs")], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).stdout),
  Chromium: () => browsers.lines("chromium", root, { path: "/bench/frames/page.html", headers: ISOLATED }),
};

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const ms = (value) => `${value.toFixed(3)} ms`;
let missed = 0;
for (const [host, launch] of Object.entries(hosts)) {
  const all = [];
  for (let k = 0; k < LAUNCHES; k++) all.push(await launch());
  const of = (part, figure) => median(all.map((result) => result[part][figure]));
  for (const part of ["first", "warm", "idle"]) {
    console.log(`${host.padEnd(9)} ${part.padEnd(6)} p50 ${ms(of(part, "p50"))}  p99.9 ${ms(of(part, "p999"))}  worst ${ms(of(part, "worst"))}`);
  }
  const held = {
    "warm p99.9 at most that of a loop that spins": of("warm", "p999") <= of("idle", "p999"),
    [`worst of the first below ${WORST} ms`]: of("first", "worst") < WORST,
  };
  for (const [what, holds] of Object.entries(held)) {
    console.log(`${holds ? "holds " : "MISSED"} ${host}: ${what}`);
    missed += Number(!holds);
  }
}
await browsers.close();
if (process.argv.includes("--check") && missed > 0) process.exitCode = 1;
