/**
 * Shared by the examples, runs in every runtime: Sutton and Barto's random walk (2018, example 7.1). From state 10 of 1 … 19 the walk
 * goes left or right at random. Leaving on the left gives -1, leaving on the right 1. What is the value of each state?
 */
import { f64, i32, Replay } from "reprise";
import { seeded } from "./random.js";

const STATES = 19;
const N = 4;

/** A replay with the last 2,000 n-step transitions of 100 walks. */
export function remember(seed) {
  const replay = new Replay({ spec: { state: i32(), reward: f64(), discount: f64() }, tables: { walks: { maxSize: 2000 } }, seed });
  const writer = replay.writer({ items: [{ table: "walks", length: N + 1 }] });
  const random = seeded(seed);
  for (let i = 0; i < 100; i++) walk(writer, random);
  return replay;
}

function walk(writer, random) {
  let state = (STATES + 1) / 2;
  while (state > 0 && state <= STATES) {
    const next = random() < 0.5 ? state - 1 : state + 1;
    const ends = next === 0 || next > STATES;
    writer.append({ state, reward: ends ? Math.sign(next - 1) : 0, discount: ends ? 0 : 1 });
    state = next;
  }
  writer.append({ state, reward: 0, discount: 0 }); // the final state; the last states before it have fewer than n steps left
  for (let length = Math.min(N, writer.length); length > 1; length--) writer.createItem("walks", { length });
  writer.endEpisode();
}

const OPTIONS = {
  recycle: true, // we release each batch, and the next one is written to the same memory
  columns: { state: { leaf: "state", at: 0 }, next: { leaf: "state", at: "bootstrap" } },
  nStep: { n: N, gamma: 1, reward: "reward", discount: "discount" },
};

/** The values of the states, learned from batches of 32 drawn from the replay. */
export function learn(replay, batches = 2000) {
  const values = new Float64Array(STATES + 2);
  for (let i = 0; i < batches; i++) {
    const batch = replay.table("walks").sample(32, OPTIONS);
    const { steps, nStep, count } = batch;
    for (let k = 0; k < count; k++) {
      const worth = nStep.returns[k] + nStep.discounts[k] * values[steps.next.data[k]];
      values[steps.state.data[k]] += 0.05 * (worth - values[steps.state.data[k]]);
    }
    batch.release();
  }
  return values.subarray(1, STATES + 1);
}

/** The error of the learned values against the true ones, (state - 10) / 10. */
export function report(replay) {
  const squares = learn(replay).map((value, i) => (value - (i - 9) / 10) ** 2);
  const error = Math.sqrt(squares.reduce((sum, square) => sum + square) / STATES);
  return `${replay.table("walks").size} transitions, values ${error.toFixed(3)} from the truth`;
}
