/** Measures the time before a program's first step: processes that create a Replay and processes of an empty module, in turn, and imports. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dist } from "../package.mjs";

const LAUNCHES = 51;

/** Returns a program that prints the milliseconds that an entry takes to import. */
const importing = (entry) => `const start = performance.now();
await import(${JSON.stringify(new URL(entry, dist))});
console.log(performance.now() - start);
`;

const PROGRAMS = {
  "empty.mjs": "",
  "replay.mjs": `import { f32, Replay } from ${JSON.stringify(new URL("index.js", dist))};
const replay = new Replay({ spec: { observation: f32(4), reward: f32() }, tables: { t: { maxSize: 1000 } } });
if (process.argv.includes("bytes")) console.log(replay.stats().bytes.used);
`,
  "import-main.mjs": importing("index.js"),
  "import-record.mjs": importing("record.js"),
};

/** Applies `measure` to a function that runs one of the programs in a separate process and returns its output. */
function withPrograms(measure) {
  const folder = mkdtempSync(join(tmpdir(), "reprise-start-"));
  try {
    for (const [file, text] of Object.entries(PROGRAMS)) writeFileSync(join(folder, file), text);
    return measure((file, ...args) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, file), ...args], { encoding: "utf8" });
      if (status !== 0) throw new Error(`${file} ended with exit code ${status}: ${stderr}`);
      return stdout;
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the milliseconds of both programs, from the pair of consecutive processes with the median ratio. @param timed runs a program and returns its time */
function medianPair(timed, ours, rival) {
  return withPrograms((run) => {
    const pairs = Array.from({ length: LAUNCHES }, () => ({ rival: timed(run, rival), ours: timed(run, ours) }));
    return pairs.sort((a, b) => a.ours / a.rival - b.ours / b.rival)[LAUNCHES >> 1];
  });
}

/** Returns the milliseconds from launch to end of a program. */
function whole(run, file) {
  const start = performance.now();
  run(file);
  return performance.now() - start;
}

/** Returns the milliseconds that a program measures itself. */
const printed = (run, file) => Number(run(file));

const starts = () => medianPair(whole, "replay.mjs", "empty.mjs");
const imports = () => medianPair(printed, "import-record.mjs", "import-main.mjs");
const used = () => ({ ours: Number(withPrograms((run) => run("replay.mjs", "bytes"))), rival: 200_000 });

export const cases = [
  { name: "start: a process with a Replay of 1,000 items", unit: "ms", rivalName: "process of an empty module", limit: 1 / 1.3, fact: starts },
  { name: "start: bytes that this Replay takes", unit: "bytes", rivalName: "limit", limit: 1, fact: used },
  { name: "start: import of reprise/record", unit: "ms", rivalName: "main entry", limit: 1 / 1.5, fact: imports },
];
