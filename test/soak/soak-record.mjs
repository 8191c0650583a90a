// Records an hour at 30 frames per second from two cameras, as fast as possible: `npm run soak:record [-- --steps N]`. Memory must stay below 200 MB, the files
// must be at most 5 % larger than their frames, and reading them must return all data.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openRecording } from "reprise/record";

const { values } = parseArgs({ options: { steps: { type: "string", default: "108000" } } });
const steps = Number(values.steps);
const MEMORY = 200e6;
const OVERHEAD = 0.05;
const PROGRAM = fileURLToPath(new URL("record/hour.mjs", import.meta.url));

let passed = 0;
let failed = 0;
for (const images of ["raw", "png"]) {
  const dir = mkdtempSync(join(tmpdir(), "reprise-soak-record-"));
  try {
    await hour(dir, images);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function hour(dir, images) {
  const begun = performance.now();
  const { most, frameBytes, first } = JSON.parse(execFileSync(process.execPath, [PROGRAM, dir, images, "rows", String(steps)], { encoding: "utf8" }));
  const seconds = (performance.now() - begun) / 1000;
  const bytes = readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
  const over = bytes / frameBytes - 1;
  console.log(
    `${images}: ${steps} steps in ${seconds.toFixed(0)} s; at most ${(most / 1e6).toFixed(0)} MB of memory; ${(bytes / 1e6).toFixed(0)} MB of files, ${(100 * over).toFixed(2)} % more than the frames`,
  );
  check(`${images}: memory below ${MEMORY / 1e6} MB`, most < MEMORY);
  check(`${images}: files within ${100 * OVERHEAD} % of the frames`, Math.abs(over) < OVERHEAD);
  const opened = performance.now();
  const reader = await openRecording(dir);
  check(`${images}: ${steps} steps are listed`, reader.steps === steps);
  let read = 0;
  for await (const { steps: each, task, success, finished } of reader) {
    const place = read % 120;
    if (!finished || !success || task === "" || each.at(0).observation.state[0] !== read) break;
    if (place === 0 && Buffer.from(each.at(0).observation.front).toString("base64") !== first) break;
    read += each.length;
  }
  console.log(`${images}: read back in ${((performance.now() - opened) / 1000).toFixed(0)} s`);
  check(`${images}: all of them are read`, read === steps);
}

function check(what, holds) {
  if (holds) passed++;
  else failed++;
  if (!holds) console.error(`failed: ${what}`);
}
