// Kills processes with journals, damages their files, and fills up their disks: `npm run crash [-- --runs N] [--seed N]` tests N kills, 10 N damaged
// directories and 2 N full disks. Prints its counts, and the seed of each failure.
import { parseArgs } from "node:util";
import { mounted } from "./crash/full-disk.mjs";
import { kills } from "./crash/kills.mjs";
import { inParts } from "./crash/parts.mjs";

const { values } = parseArgs({ options: { runs: { type: "string", default: "50" }, seed: { type: "string", default: "1" } } });
const [runs, seed] = [Number(values.runs), Number(values.seed)];
const results = [await kills(runs, seed), damage(10 * runs), fullDisk(2 * runs), await mounted()];
const passed = results.reduce((sum, one) => sum + one.passed, 0);
const failed = results.reduce((sum, one) => sum + one.failures.length, 0);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

function damage(runs) {
  const result = inParts("damage", runs, seed);
  const { opened = 0, refused = 0, salvaged = 0, beyond = 0 } = result.counts;
  console.log(
    `damage: ${runs} directories; ${opened} opened, ${refused} refused; of these ${salvaged} salvaged, ${beyond} refused even so; ${result.failures.length} runs failed`,
  );
  return result;
}

function fullDisk(runs) {
  const result = inParts("fullDisk", runs, seed);
  const { calls = 0, refused = 0 } = result.counts;
  console.log(`full disks: ${runs}; ${calls} calls, ${refused} refused; ${result.failures.length} runs failed`);
  return result;
}
