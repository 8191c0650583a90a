/** `node examples/offline/main.js [DATASET]`, after `npm run build`: learns to act like the policy of a dataset, from pairs of steps drawn from a Replay (behaviour cloning). */
import { fileURLToPath } from "node:url";
import { program } from "commander";
import { Replay } from "reprise";
import { ReverbAddTrajectoryObserver } from "reprise/agents";
import { createTrajectoryDataSpec, filterEpisodes, openRlds, pushRldsToReverb, statistics } from "reprise/rlds";
import { seeded } from "../random.js";
import { Policy } from "./policy.js";

const HALF_CHEETAH = fileURLToPath(new URL("../../test/data/tfds/half_cheetah", import.meta.url));
const VALIDATION = 5; // every fifth episode
const BATCH = 256;
const RATE = 0.02; // decreases to 0
const NOISE = 0.1; // standard deviation of the noise in the recorded policy

program.name("node examples/offline/main.js").description("Learns to act like the policy of a dataset.");
program.argument("[dataset]", "a file or folder that openRlds can read, with actions in -1 … 1", HALF_CHEETAH);
program.option("--seed <number>", "seed of all random numbers", Number, 1);
program.option("--updates <number>", "number of batches to learn from", Number, 3000);
program.option("--json", "print only one JSON object, at the end");
const { seed, updates, json } = program.parse().opts();
if (![seed, updates].every((n) => Number.isSafeInteger(n) && n >= 0)) program.error("--seed and --updates take whole numbers");
const say = json ? () => {} : console.log;

const data = await openRlds(program.processedArgs[0]);
const parts = {
  training: filterEpisodes(data, (_, episode) => episode % VALIDATION !== 0),
  validation: filterEpisodes(data, (_, episode) => episode % VALIDATION === 0),
};
const spec = await createTrajectoryDataSpec(data);
const table = { maxSize: 1_000_000 };
const replay = new Replay({ spec, tables: { training: table, validation: table }, seed });
for (const [tableName, part] of Object.entries(parts)) {
  // In a pair, the first step is never the last one of an episode, whose action has no meaning.
  const pushed = await pushRldsToReverb(part, new ReverbAddTrajectoryObserver(replay, { tableName, sequenceLength: 2 }));
  say(`${tableName}: ${pushed} steps of ${data.name}, ${replay.table(tableName).size} of them with an action`);
}
const [{ elements }] = (await statistics(parts.training, { paths: ["observation"] })).leaves;
await data.close();

/** The columns of a batch: the first step of each pair. */
const columns = { observation: { leaf: "observation", at: 0 }, action: { leaf: "action", at: 0 } };
const arrays = ({ steps: { observation, action } }) => ({ observation: observation.data, action: action.data });

const policy = new Policy(elements, spec.action.shape[0], seeded(seed));
const { size } = replay.table("validation");
const held = arrays(replay.table("validation").sample(size, { columns, replacement: false }));
const before = policy.error(held);
for (let update = 0; update < updates; update++) {
  if (update % 500 === 0) say(`update ${update}: error ${policy.error(held).toFixed(5)}`);
  const batch = replay.table("training").sample(BATCH, { columns, recycle: true });
  policy.error(arrays(batch), RATE * (1 - update / updates));
  batch.release(); // the next batch is written to the same memory
}
const after = policy.error(held);
// The noise of an action within its bounds is unpredictable. An action that was cut to its bounds has none.
const within = held.action.filter((value) => Math.abs(value) < 1).length / held.action.length;
const floor = NOISE ** 2 * within;
say(`error of ${size} unseen actions: ${before.toFixed(5)} before, ${after.toFixed(5)} after; the noise in the data is about ${floor.toFixed(5)}`);
if (json) console.log(JSON.stringify({ seed, updates, validation: size, before, after, floor }));
