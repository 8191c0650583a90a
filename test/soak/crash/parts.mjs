// Splits runs of one kind into processes of some hundred runs, because V8 releases the address space of unused WebAssembly memories late: `node parts.mjs KIND
// FIRST RUNS SEED`.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { damage } from "./damage.mjs";
import { fullDisk } from "./full-disk.mjs";

const HERE = fileURLToPath(import.meta.url);
const KINDS = { damage, fullDisk };
/** The maximum number of runs per process. */
const PART = 300;

/** Runs all parts one after the other. Returns the sum of their counts, and the number that passed. */
export function inParts(kind, runs, seed) {
  const counts = {};
  const failures = [];
  for (let first = 0; first < runs; first += PART) {
    const some = Math.min(PART, runs - first);
    const said = execFileSync(process.execPath, [HERE, kind, first, some, seed].map(String), { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
    const part = JSON.parse(said);
    for (const [what, count] of Object.entries(part.counts)) counts[what] = (counts[what] ?? 0) + count;
    failures.push(...part.failures);
  }
  return { counts, passed: runs - failures.length, failures };
}

if (process.argv[1] === HERE) {
  const [kind, ...numbers] = process.argv.slice(2);
  process.stdout.write(JSON.stringify(await KINDS[kind](...numbers.map(Number))), () => process.exit());
}
