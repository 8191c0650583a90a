/**
 * Reimplements the replay memory of the TensorFlow.js snake example (tensorflow/tfjs-examples, snake-dqn/replay_memory.js, Apache-2.0, Google LLC): a ring of
 * whole transitions, and a list of all indices. Every sample shuffles the whole list and takes the first n indices. The batch is then copied into arrays, as in
 * the example before it creates tensors.
 */
import { put } from "./object-ring.mjs";

export class SnakeMemory {
  constructor(capacity) {
    this.capacity = capacity;
    this.buffer = new Array(capacity).fill(null);
    this.indices = Array.from({ length: capacity }, (_, i) => i);
    this.index = 0;
    this.length = 0;
  }

  append(transition) {
    this.buffer[this.index] = transition;
    this.length = Math.min(this.length + 1, this.capacity);
    this.index = (this.index + 1) % this.capacity;
  }

  /** Samples without replacement. The buffer must be full. */
  sample(random, n, out) {
    shuffle(random, this.indices);
    for (let i = 0; i < n; i++) {
      const [step, next] = this.buffer[this.indices[i]];
      put(step, out, 2 * i);
      put(next, out, 2 * i + 1);
    }
  }
}

/** Shuffles a list (Fisher–Yates). */
function shuffle(random, list) {
  for (let left = list.length; left > 1; left--) {
    const i = random.below(left);
    const last = list[left - 1];
    list[left - 1] = list[i];
    list[i] = last;
  }
}
