/**
 * Implements the replay buffer of most JavaScript examples: an array of step objects, overwritten cyclically. A step owns a copy of its observation, because
 * environments reuse their observations. A sample draws with replacement, and copies two adjacent steps into batch arrays.
 */
export class ObjectRing {
  constructor(capacity) {
    this.capacity = capacity;
    this.steps = [];
    this.head = 0;
  }

  append({ observation, action, reward, discount, stepType }) {
    this.steps[this.head] = { observation: observation.slice(), action, reward, discount, stepType };
    this.head = this.head + 1 === this.capacity ? 0 : this.head + 1;
  }

  sample(random, n, out) {
    const { steps, capacity } = this;
    const oldest = steps.length === capacity ? this.head : 0;
    for (let i = 0; i < n; i++) {
      const at = (oldest + random.below(steps.length - 1)) % capacity;
      put(steps[at], out, 2 * i);
      put(steps[(at + 1) % capacity], out, 2 * i + 1);
    }
  }
}

/** Writes a step to row i of batch arrays. */
export function put(step, out, i) {
  const { observation } = step;
  for (let k = 0; k < 4; k++) out.observation[4 * i + k] = observation[k];
  out.action[i] = step.action;
  out.reward[i] = step.reward;
  out.discount[i] = step.discount;
  out.stepType[i] = step.stepType;
}
