// Compares Reprise with the replay memories of other libraries, and with C code that does the same work: `npm run bench:peers [-- WORDS]`. README.md describes
// the method.
//   --rounds N   repetitions of each variant (default: 31)
//   --trial      use memories of a hundredth of the size, to check that everything runs; the figures are meaningless
//   --json       print the run as JSON
//   --save FILE  save the run as JSON to a file
//   --check      exit with 1 if a threshold is missed; with --from FILE, judge a saved run
//   --write      write the figures of this run, or of a saved run (--from FILE), into README.md and chart.svg
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { judged } from "./judge.mjs";
import { limits } from "./limits.mjs";
import { firstBuild } from "./old.mjs";
import { KEPT, write } from "./page.mjs";
import { python } from "./python.mjs";
import { race } from "./race.mjs";
import { lineOf, verdictOf } from "./text.mjs";
import { thresholds } from "./thresholds.mjs";
import { chosen } from "./workloads.mjs";

const ROUNDS = 31;
const TRIAL = 100;
const root = join(import.meta.dirname, "../..");
const scratch = join(root, "build/peers");

const { values, positionals } = parseArgs({
  options: {
    rounds: { type: "string" },
    trial: { type: "boolean" },
    json: { type: "boolean" },
    save: { type: "string" },
    check: { type: "boolean" },
    write: { type: "boolean" },
    from: { type: "string" },
  },
  allowPositionals: true,
});
const print = values.json ? console.error : console.log;

const run = values.from === undefined ? await measured() : JSON.parse(readFileSync(values.from, "utf8"));
if (values.save !== undefined) writeFileSync(values.save, JSON.stringify(run));
if (values.json) console.log(JSON.stringify(run));
if (run.trial && (values.check || values.write))
  throw new Error("the figures of a trial are not measurements, so they are neither checked nor written. Run without --trial");
if (values.write) {
  writeFileSync(join(import.meta.dirname, KEPT), `${JSON.stringify(run, null, 1)}\n`);
  write(import.meta.dirname, run);
}
const verdicts = judged(run.workloads, thresholds);
print("");
for (const one of verdicts) print(verdictOf(one));
if (values.check) process.exitCode = verdicts.length > 0 && verdicts.every(({ holds }) => holds) ? 0 : 1;

/** Measures the workloads selected by the words. */
async function measured() {
  const workloads = chosen(positionals).map((one) => (values.trial ? small(one) : one));
  const programs = { python: python(scratch), c: limits(scratch), old: workloads.some(isOld) ? firstBuild(scratch, root) : {} };
  for (const { missing } of Object.values(programs)) if (missing !== undefined) print(`SKIPPED: ${missing}`);
  const found = [];
  for (const workload of workloads) {
    print(`\n${workload.name}`);
    const missing = workload.task.screens?.find((file) => !existsSync(file));
    if (missing !== undefined) {
      print(`SKIPPED: there is no ${missing}. "npm run bench:packed" records it; REPRISE_SCREENS names another folder`);
      continue;
    }
    const variants = await race(workload, (of, one) => commandOf(of, one, programs), Number(values.rounds ?? ROUNDS));
    found.push({ name: workload.name, unit: workload.unit, each: workload.each, steps: workload.task.steps, variants });
    for (const one of variants) print(lineOf(workload, one));
  }
  return { date: new Date().toISOString().slice(0, 10), trial: values.trial ?? false, machine: machine(programs), workloads: found };
}

function isOld({ variants }) {
  return variants.some(({ old }) => old);
}

/** Returns the same workload with stores of a hundredth of the size. */
function small({ task, frames, ...rest }) {
  return { ...rest, task: { ...task, steps: task.steps / TRIAL }, frames: frames && frames / TRIAL };
}

function machine({ c }) {
  const memory = Math.round(totalmem() / 2 ** 30);
  return `Node ${process.versions.node}, ${cpus().length} × ${cpus()[0].model.trim()}, ${memory} GiB, Linux ${release()}, ${c.version ?? "no gcc"}`;
}

/** Returns the command that starts a variant, or the reason why it cannot be started. */
function commandOf({ task }, { side, task: own, words, env, old }, { python, c, old: built }) {
  if (side === "C") {
    if (c.missing !== undefined) return { missing: "no gcc" };
    const [program, ...rest] = words;
    return { program: join(c.folder, program), args: [...rest, task.batch, task.steps, ...(task.length === undefined ? [] : [task.length])].map(String) };
  }
  const arg = JSON.stringify({ ...task, ...own });
  if (side === "peer")
    return python.missing === undefined ? { program: python.program, args: [join(import.meta.dirname, "python/main.py"), arg], env } : { missing: "no Python" };
  if (old && built.missing !== undefined) return { missing: built.missing };
  return { program: process.execPath, args: ["--expose-gc", join(import.meta.dirname, "ours/main.mjs"), arg], env: old ? { REPRISE_DIST: built.dist } : {} };
}
