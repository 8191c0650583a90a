/** Measures the time before a program's first step: processes that create a Replay and processes of an empty module, in turn. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dist } from "../package.mjs";

const LAUNCHES = 51;

const PROGRAMS = {
  "empty.mjs": "",
  "replay.mjs": `import { f32, Replay } from ${JSON.stringify(new URL("index.js", dist))};
const replay = new Replay({ spec: { observation: f32(4), reward: f32() }, tables: { t: { maxSize: 1000 } } });
if (process.argv.includes("bytes")) console.log(replay.stats().bytes.used);
`,
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

/** Returns the milliseconds from launch to end of both processes, from the pair of consecutive processes with the median ratio. */
function launches() {
  return withPrograms((run) => {
    const timed = (file) => {
      const start = performance.now();
      run(file);
      return performance.now() - start;
    };
    const pairs = Array.from({ length: LAUNCHES }, () => ({ rival: timed("empty.mjs"), ours: timed("replay.mjs") }));
    return pairs.sort((a, b) => a.ours / a.rival - b.ours / b.rival)[LAUNCHES >> 1];
  });
}

const used = () => ({ ours: Number(withPrograms((run) => run("replay.mjs", "bytes"))), rival: 200_000 });

export const cases = [
  { name: "start: a process with a Replay of 1,000 items", unit: "ms", rivalName: "process of an empty module", limit: 1 / 1.3, fact: launches },
  { name: "start: bytes that this Replay takes", unit: "bytes", rivalName: "limit", limit: 1, fact: used },
];
