// Kills processes that edit: `npm run crash:edit [-- --runs N] [--seed N] [--format NAME]`. The edits cover all formats, snapshots and journals, in place and
// to other paths. Prints its counts.
import { parseArgs } from "node:util";
import { kills } from "./edit/kills.mjs";

const { values } = parseArgs({ options: { runs: { type: "string", default: "100" }, seed: { type: "string", default: "1" }, format: { type: "string" } } });
const counts = await kills(Number(values.runs), Number(values.seed), values.format);
console.log(
  `${counts.kills} kills, ${counts.ended} edits ended before; the target was as before ${counts.old} times, new ${counts.new}, not there ${counts.absent}, aside ${counts.aside}`,
);
console.log(`${Number(values.runs) - counts.failures.length} passed, ${counts.failures.length} failed`);
process.exitCode = counts.failures.length === 0 ? 0 : 1;
