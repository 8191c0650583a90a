/** The experience of the agent: steps go in, prioritized n-step transitions come out. */
import { f32, i32, prioritized } from "reprise";

const BETA = 0.4; // exponent of the importance weights, which correct for drawing by priority

export const memory = {
  spec: { observation: f32(4), action: i32(), reward: f32() },
  tables: { transitions: { maxSize: 20_000, sampler: prioritized(0.6) } },
};

export class Experience {
  constructor(client) {
    this.table = client.table("transitions");
    this.transitions = this.table.transitions({ gamma: 0.99 });
    this.writer = client.writer({ items: [{ table: "transitions", nStep: 3 }] });
  }

  /** Only where the pole fell is nothing to come: where time ran out, the value of what was seen last counts. */
  add(step, next, terminated, truncated) {
    this.writer.append(step);
    if (terminated || truncated) this.writer.endEpisode({ final: { observation: next }, terminated });
  }

  sample(n) {
    if (this.table.size < 500) return; // not enough to learn from yet
    return this.transitions.sample(n, { beta: BETA, recycle: true });
  }

  /** Transitions with larger errors are drawn more often. New ones have the largest priority so far. */
  update(batch, errors) {
    this.priorities = errors.map((error) => Math.abs(error) + 0.01);
    this.table.updatePriorities(batch.keys, this.priorities);
    batch.release(); // the next sample fills the same memory, and allocates none
  }
}
