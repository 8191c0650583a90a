// R2D2's memory: sequences with burn-in, and the recurrent state stored with each step. The task: a cue of -1
// or 1 is shown only in the first step. The action of the last step, 12 to 20 steps later, must fit it.
// Run: node docs/recipes/r2d2.js [episodes]
import { f32, i32, prioritized, Replay, shared } from "reprise";

const EPISODES = Number(process.argv[2] ?? 1_000);
const [BURN_IN, LENGTH, STRIDE, N] = [4, 13, 4, 3]; // R2D2 has 40, 121, 40 and 5
const [GAMMA, BATCH, LEARNING_RATE, ETA] = [0.9, 16, 0.05, 0.9];

let seed = 1;
const random = () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

const replay = new Replay({
  spec: { observation: f32(), action: i32(), reward: f32(), state: shared("state", f32()) }, // stored once
  tables: { sequences: { maxSize: 2_000, sampler: prioritized(0.9) } },
  seed: 1,
});
const { sequences } = replay.tables;
const rule = { length: LENGTH, burnIn: BURN_IN, stride: STRIDE };
const writer = replay.writer({ items: [{ table: "sequences", sequence: rule }] });
const view = sequences.sequences({ gamma: GAMMA, n: N, state: ["state"] });

// In place of a recurrent network: one unit that sums weighted observations, and a value for each action.
const net = { weight: 0.5, values: [0, 0] };
const next = (state = 0, observation = 0) => state + net.weight * observation;
const greedy = (state = 0) => (net.values[0] * state >= net.values[1] * state ? 0 : 1);

/** One gradient step on each learning step, and new priorities. */
const into = view.batch(BATCH, { beta: 0.6 });
const errors = new Float32Array(BATCH * LENGTH);
function learn() {
  const { observation, action, state, returns, discounts, bootstraps, learningMask, weights, keys } = view.sample(
    BATCH,
    { into, beta: 0.6 },
  );
  for (let i = 0; i < BATCH; i++) {
    const first = i * LENGTH;
    const states = [next(state.data[i], observation.data[first])]; // from the state of the actor at this step
    for (let t = 1; t < LENGTH; t++) states.push(next(states[t - 1], observation.data[first + t]));
    for (let t = 0; t < LENGTH; t++) {
      const at = first + t;
      if (!learningMask.data[at]) continue;
      const then = states[bootstraps.data[at]];
      const target = returns.data[at] + discounts.data[at] * net.values[greedy(then)] * then;
      errors[at] = target - net.values[action.data[at]] * states[t];
      net.values[action.data[at]] += LEARNING_RATE * weights.data[i] * errors[at] * states[t];
    }
  }
  sequences.updatePriorities(keys, view.prioritiesOf(into, errors, { eta: ETA }));
}

let right = 0;
for (let episode = 0; episode < EPISODES; episode++) {
  const [cue, last] = [random() < 0.5 ? -1 : 1, 12 + Math.floor(random() * 8)];
  const epsilon = episode < EPISODES / 2 ? 0.5 : 0;
  let [state, result] = [0, 0];
  for (let t = 0; t <= last; t++) {
    const observation = t === 0 ? cue : 0;
    const seen = next(state, observation);
    const action = random() < epsilon ? Math.floor(2 * random()) : greedy(seen);
    result = t < last ? 0 : action === (cue === 1 ? 0 : 1) ? 1 : -1;
    // Store the state before the step, because a sequence may begin here.
    writer.append({ observation, action, reward: result, state });
    state = seen;
  }
  writer.endEpisode({ final: { observation: 0 }, terminated: true });
  if (episode > 20) learn();
  if (episode >= (3 * EPISODES) / 4) right += Number(result === 1);
}
console.log(`right answers in the last quarter: ${((100 * right) / Math.ceil(EPISODES / 4)).toFixed(0)} %`);
console.log(`sequences: ${sequences.stats().inserts}, steps in memory: ${replay.stats().steps}`);
