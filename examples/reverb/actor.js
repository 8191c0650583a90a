/** An actor: `node actor.js HOST:PORT SEED`. Plays CartPole by the learner's newest weights, and writes what happens to a Reverb server; ends with its input. */
import { f32, i32 } from "reprise";
import { drive, ReverbAddTrajectoryObserver, ReverbVariableContainer, trajectorySpec } from "reprise/agents";
import { ReverbClient } from "reprise/reverb";
import { CartPole } from "../cartpole/cart-pole.js";
import { seeded } from "../random.js";
import { Network } from "./network.js";

process.stdin.on("end", () => process.exit()).resume();
const [address, seed] = process.argv.slice(2);
const random = seeded(Number(seed));
const spec = trajectorySpec({ observation: f32(4), action: i32() });
// With so few items on their way an actor soon waits for a learner that falls behind.
const client = new ReverbClient(address, { spec, maxInFlightItems: 32 });
const variables = new ReverbVariableContainer(client);
const observer = new ReverbAddTrajectoryObserver(client, { tableName: "experience", sequenceLength: 2 });

const world = new CartPole(random);
for (;;) {
  const { policy_variables, train_step } = await variables.pull(); // the newest; until the learner has pushed some this waits
  const network = new Network(policy_variables, Number(train_step.data[0]));
  const exploration = Math.max(0.05, 1 - network.updates / 2000);
  const policy = (observation) => (random() < exploration ? Math.floor(2 * random()) : network.best(observation));
  const { steps } = await drive(world, policy, [observer], { episodes: 1 });
  console.log(JSON.stringify({ return: steps, updates: network.updates }));
}
