/** The experience of the agent: steps go in, prioritized n-step transitions come out. */
import { f32, i32, minSize, prioritized } from "reprise";
import { ReverbAddTrajectoryObserver, trajectorySpec } from "reprise/agents";

const [N, HIGHEST] = [3, 10]; // number of rewards in a return, and the priority of new items
const OPTIONS = {
  // The observation and the action, and the observation at which the return ends.
  columns: { state: { leaf: "observation", at: 0 }, action: { leaf: "action", at: 0 }, nextState: { leaf: "observation", at: "bootstrap" } },
  nStep: { n: N, gamma: 0.99, reward: "reward", discount: "discount" },
  beta: 0.4, // exponent of the importance weights, which correct for drawing by priority
};

export const memory = {
  spec: trajectorySpec({ observation: f32(4), action: i32() }),
  tables: { transitions: { maxSize: 20_000, sampler: prioritized(0.6), rateLimiter: minSize(500) } },
};

export class Experience {
  constructor(client, batchSize) {
    this.table = client.table("transitions");
    this.batch = this.table.batch(batchSize, { ...OPTIONS, length: N + 1 }); // refilled by each sample
    // Called with every step. An item is n + 1 consecutive steps: n rewards and the observation after them.
    this.add = new ReverbAddTrajectoryObserver(client, { tableName: "transitions", sequenceLength: N + 1, priority: HIGHEST });
  }

  sample() {
    return this.table.sample(this.batch.lengths.length, { ...OPTIONS, into: this.batch });
  }

  /** Items with larger errors are drawn more often. New items have the highest priority. */
  update(errors) {
    const priorities = errors.map((error) => Math.min(Math.abs(error) + 0.01, HIGHEST));
    this.table.updatePriorities(this.batch.info.keys, priorities);
  }
}
