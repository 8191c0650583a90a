// Measures the cost of a frame in Node and in Chromium, and in C: `npm run bench:frames [-- --check]`. Each launch is a separate process or page. Results are
// medians of all launches.
import { join } from "node:path";
import { ISOLATED } from "../../build/pages.mjs";
import { printed, root } from "../../build/step.mjs";
import { Browsers } from "../../test/everywhere/browsers.mjs";
import { median } from "../measure.mjs";
import { limits } from "../peers/limits.mjs";

const LAUNCHES = 5;
/** The limit on the longest of the first frames, which a player notices, in ms. */
const WORST = 4;

const browsers = new Browsers();
const node = (...args) => printed(import.meta.dirname, process.execPath, args);
const hosts = {
  "Node.js": (start) => JSON.parse(node("node.mjs", start)),
  Chromium: (start) => browsers.lines("chromium", root, { path: `/bench/frames/page.html?${start}`, headers: ISOLATED }),
};

/** Returns the number of garbage collections in a process, from V8's trace. */
const collections = (what) => node("--trace-gc", "node.mjs", what).match(/ ms: (Scavenge|Mark-Compact)/g).length;

const repeated = async (launch) => {
  const all = [];
  for (let k = 0; k < LAUNCHES; k++) all.push(await launch());
  return all;
};
const ms = (value) => `${value.toFixed(3)} ms`;
const missed = [];
const held = (what, holds) => {
  console.log(`${holds ? "holds " : "MISSED"} ${what}`);
  if (!holds) missed.push(what);
};

/** Measures and prints the medians of all launches. Returns a function that returns a median by part and figure. */
async function measured(host, start, launch) {
  const all = await repeated(() => launch(start));
  const of = (part, figure) => median(all.map((result) => result[part][figure]));
  for (const part of ["first", "warm", "idle"]) {
    const figures = `p50 ${ms(of(part, "p50"))}  p99.9 ${ms(of(part, "p999"))}  worst ${ms(of(part, "worst"))}`;
    console.log(`${host.padEnd(9)} ${start.padEnd(7)} ${part.padEnd(6)} ${figures}`);
  }
  return of;
}

for (const [host, launch] of Object.entries(hosts)) {
  for (const start of ["cold", "warmed"]) {
    const of = await measured(host, start, launch);
    held(`${host}, ${start}: warm p99.9 at most that of a loop that spins`, of("warm", "p999") <= of("idle", "p999"));
    held(`${host}, ${start}: worst of the first below ${WORST} ms`, of("first", "worst") < WORST);
  }
}
await browsers.close();

// Measures the same work in C: the minimum for a loop that reads the same amount of memory.
const { folder, missing } = limits(join(root, "build/peers"));
if (missing === undefined) await measured("C", "cold", () => JSON.parse(printed(folder, "./rows", ["frames", "64", "1000000"])));
else console.log(`C         left out: ${missing}`);

// The number of collections varies by chance between launches, so the minima are compared.
const [frames, nothing] = [await repeated(() => collections("frames")), await repeated(() => collections("nothing"))].map((counts) => Math.min(...counts));
console.log(`collections with frames ${frames}, without ${nothing}`);
held("Node.js: as many collections as without Reprise's work", frames <= nothing);
if (process.argv.includes("--check") && missed.length > 0) process.exitCode = 1;
