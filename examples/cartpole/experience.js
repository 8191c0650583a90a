/** What the agent lived through: steps go in, prioritized n-step transitions come out. All of Reprise is in this file. */
import { f32, i32, minSize, prioritized, Replay } from "reprise";

const [N, HIGHEST] = [3, 10]; // rewards of a return, and the priority of what is new
const OPTIONS = {
  // What was seen and done, and what was seen where the return ends.
  columns: { state: { leaf: "observation", at: 0 }, action: { leaf: "action", at: 0 }, nextState: { leaf: "observation", at: "bootstrap" } },
  nStep: { n: N, gamma: 0.99, reward: "reward", discount: "discount" },
  beta: 0.4, // importance weights make up for drawing by priority
};

export class Experience {
  constructor({ capacity, batchSize, seed }) {
    this.replay = new Replay({
      spec: { observation: f32(4), action: i32(), reward: f32(), discount: f32() },
      tables: { transitions: { maxSize: capacity, sampler: prioritized(0.6), rateLimiter: minSize(500) } },
      seed,
    });
    // Every n + 1 steps in a row are an item: n rewards, and the observation after them.
    this.writer = this.replay.writer({ items: [{ table: "transitions", length: N + 1, priority: HIGHEST }] });
    this.table = this.replay.table("transitions");
    this.batch = this.table.batch(batchSize, { ...OPTIONS, length: N + 1 }); // filled again and again
  }

  add(observation, action, { observation: next, reward, terminated, ended }) {
    this.writer.append({ observation, action, reward, discount: terminated ? 0 : 1 });
    if (!ended) return;
    // The last observation; the items of the last steps are shorter, since they have fewer than n rewards to come.
    this.writer.append({ observation: next, action: 0, reward: 0, discount: 0 });
    for (let length = Math.min(N, this.writer.length); length > 1; length--) this.writer.createItem("transitions", { length, priority: HIGHEST });
    this.writer.endEpisode();
  }

  sample() {
    return this.table.sample(this.batch.lengths.length, { ...OPTIONS, into: this.batch });
  }

  /** What surprised is drawn more often; what is new, first of all. */
  update(errors) {
    this.table.updatePriorities(
      this.batch.info.keys,
      errors.map((error) => Math.min(Math.abs(error) + 0.01, HIGHEST)),
    );
  }
}
