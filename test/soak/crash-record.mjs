// Kills processes that record: `npm run crash:record [-- --runs N] [--seed N]`. The N kills cover all ways to store frames. Prints its counts.
import { parseArgs } from "node:util";
import { kills } from "./record/kills.mjs";

const { values } = parseArgs({ options: { runs: { type: "string", default: "20" }, seed: { type: "string", default: "1" } } });
const counts = await kills(Number(values.runs), Number(values.seed));
for (const { name, kills, opening, episodes, steps, found, foundSteps, failures } of counts)
  console.log(
    `frames ${name}: ${kills} kills, ${opening} of them while opening; ${episodes} episodes and ${steps} steps acknowledged, ${found} and ${foundSteps} found, ${failures.length} runs failed`,
  );
const sum = (of) => counts.reduce((all, one) => all + of(one), 0);
const [killed, acknowledged] = [sum(({ kills }) => kills), sum(({ episodes }) => episodes)];
console.log(`${killed} kills: ${acknowledged} episodes acknowledged`);
// If nothing was acknowledged, nothing could be lost, and the test proves nothing.
const failed = acknowledged === 0 ? killed : sum(({ failures }) => failures.length);
console.log(`${killed - failed} passed, ${failed} failed`);
process.exit(failed === 0 && acknowledged > 0 ? 0 : 1);
