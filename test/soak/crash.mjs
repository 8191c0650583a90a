// Journals whose processes are killed, whose files are damaged, and whose disks fill up. `npm run crash [-- --runs N] [--seed N]`: N kills, 10 N damaged directories, 2 N
// full disks. Prints what it counted, and the seed of what failed.
import { parseArgs } from "node:util";
import { damage } from "./crash/damage.mjs";
import { fullDisk } from "./crash/full-disk.mjs";
import { kills } from "./crash/kills.mjs";

const { values } = parseArgs({ options: { runs: { type: "string", default: "50" }, seed: { type: "string", default: "1" } } });
const [runs, seed] = [Number(values.runs), Number(values.seed)];
const results = [await kills(runs, seed), await damage(10 * runs, seed), await fullDisk(2 * runs, seed)];
const passed = results.reduce((sum, one) => sum + one.passed, 0);
const failed = results.reduce((sum, one) => sum + one.failures.length, 0);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
