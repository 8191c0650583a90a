// Compares the clients of Reprise and Python on the same real Reverb server: `npm run bench:reverb [-- WORDS]`. bench/README.md describes the method.
//   --rounds N   repetitions of each side (default: 15)
//   --check      exit with 1 if a threshold is missed
import { join } from "node:path";
import { parseArgs } from "node:util";
import { python } from "../../build/interop.mjs";
import { median } from "../measure.mjs";
import { Variant } from "../peers/variant.mjs";
import { workloads } from "./workloads.mjs";

const ROUNDS = 15;
const REPETITION_MS = 400;
const WARM_MS = 2000;

const { values, positionals } = parseArgs({ options: { rounds: { type: "string" }, check: { type: "boolean" } }, allowPositionals: true });
const rounds = Number(values.rounds ?? ROUNDS);
const { program, missing } = python();
if (missing !== undefined) throw new Error(missing);

/** Runs the sides in separate processes, in turn. Returns the median time per item of each side, in nanoseconds. */
async function race(sides, port) {
  const variants = [];
  try {
    for (const one of sides) {
      const arg = JSON.stringify({ ...one.task, port });
      const file = (name) => join(import.meta.dirname, name);
      const variant = new Variant(
        one,
        one.program === "ours" ? { program: process.execPath, args: [file("ours.mjs"), arg] } : { program, args: [file("python.py"), arg] },
      );
      variants.push(variant);
      await variant.ready();
      if (variant.says.skipped !== undefined) throw new Error(`${one.name}: ${variant.says.skipped}`);
      await calibrate(variant);
    }
    for (let round = 0; round < rounds; round++) {
      // The first side changes in each round, so that no side always goes first.
      for (let k = 0; k < variants.length; k++) {
        const variant = variants[(round + k) % variants.length];
        variant.samples.push((await variant.repeat()).ns);
      }
    }
    return variants.map(({ one, samples }) => ({ side: `${one.program === "ours" ? "ours" : "Python's"} ${one.name}`, name: one.name, ns: median(samples) }));
  } finally {
    for (const variant of variants) variant.end();
  }
}

/** Determines the number of items per repetition. This also warms the process up. */
async function calibrate(variant) {
  variant.n = 200;
  for (const until = performance.now() + WARM_MS; ; ) {
    const ms = ((await variant.repeat()).ns * variant.n) / 1e6;
    if (performance.now() > until && ms >= REPETITION_MS / 2) return;
    variant.n = Math.ceil(variant.n * Math.min(Math.max(REPETITION_MS / Math.max(ms, 0.01), 0.5), 10));
  }
}

const chosen = workloads.filter(({ name }) => positionals.every((word) => name.includes(word)));
const server = new Variant({}, { program, args: [join(import.meta.dirname, "server.py")] });
await server.ready();
if (server.says.skipped !== undefined) throw new Error(server.says.skipped);
let missed = 0;
try {
  for (const { name, sides, thresholds } of chosen) {
    console.log(`\n${name}`);
    const found = await race(sides, server.says.port);
    for (const { side, ns } of found)
      console.log(
        `  ${side.padEnd(44)} ${Math.round(1e9 / ns)
          .toLocaleString("en")
          .padStart(8)} items/s`,
      );
    for (const { ours, to, least } of thresholds) {
      const of = (wanted) => found.find(({ name: side }) => side === wanted).ns;
      const ratio = of(to) / of(ours);
      if (ratio < least) missed++;
      console.log(`  ${ratio >= least ? "holds " : "MISSED"} ${ours}: ${ratio.toFixed(2)} × ${to}, at least ${least}`);
    }
  }
} finally {
  server.end();
}
if (values.check && missed > 0) process.exitCode = 1;
