// R2D2's memory: overlapping windows with burn-in, and the recurrent state stored with each step. The task: a cue of -1
// or 1 is shown in the first step alone, and the action of the last one, 12 to 20 steps later, must fit it.
// Run: node docs/recipes/r2d2.js [episodes]
import { f32, i32, prioritized, Replay } from "reprise";

const EPISODES = Number(process.argv[2] ?? 1_000);
const [BURN_IN, LENGTH, STRIDE] = [4, 9, 4]; // R2D2 has 40, 120 and 40
const [GAMMA, BATCH, LEARNING_RATE, ETA] = [0.9, 16, 0.05, 0.9];

let seed = 1;
const random = () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

const replay = new Replay({
  spec: { observation: f32(), action: i32(), reward: f32(), discount: f32(), state: f32() },
  tables: { windows: { maxSize: 2_000, sampler: prioritized(0.9) } },
  seed: 1,
});
const { windows } = replay.tables;
const writer = replay.writer({ items: [{ table: "windows", length: LENGTH, stride: STRIDE, priority: "max" }] });

// In place of a recurrent network: one unit that sums what it sees, weighted, and a value for each action.
const net = { weight: 0.5, values: [0, 0] };
const next = (state = 0, observation = 0) => state + net.weight * observation;
const greedy = (state = 0) => (net.values[0] * state >= net.values[1] * state ? 0 : 1);

/** One gradient step on each window's steps behind the burn-in, and new priorities. */
const into = windows.batch(BATCH, { length: LENGTH, beta: 0.6 });
function learn() {
  const { steps, lengths, info } = windows.sample(BATCH, { into, beta: 0.6 });
  const { observation, action, reward, discount, state } = steps;
  const priorities = Array.from(lengths, (length, i) => {
    const first = i * LENGTH;
    const states = [next(state.data[first], observation.data[first])]; // from the state that the actor had there
    for (let t = 1; t < length; t++) states.push(next(states[t - 1], observation.data[first + t]));
    const errors = [0];
    for (let t = Math.min(BURN_IN, length - 2); t < length - 1; t++) {
      const at = first + t;
      const value = net.values[greedy(states[t + 1])] * states[t + 1];
      const error = reward.data[at] + GAMMA * discount.data[at] * value - net.values[action.data[at]] * states[t];
      net.values[action.data[at]] += LEARNING_RATE * info.weights[i] * error * states[t];
      errors.push(Math.abs(error));
    }
    const mean = errors.reduce((sum, one) => sum + one) / Math.max(1, errors.length - 1);
    return ETA * Math.max(...errors) + (1 - ETA) * mean + 1e-3;
  });
  windows.updatePriorities(info.keys, priorities);
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
    // The state is the one before the step, with which a window may begin.
    writer.append({ observation, action, reward: result, discount: t < last ? 1 : 0, state });
    state = seen;
  }
  writer.endEpisode({ final: { observation: 0 }, terminated: true });
  // The rule's windows end at steps 9, 13, 17, …: one more ends with the episode. It overlaps the last one by more, or
  // is all of an episode that is shorter than a window. The final step is one of the episode's rows.
  const rows = last + 2;
  if (rows < LENGTH || (rows - LENGTH) % STRIDE !== 0)
    writer.createItem("windows", { length: Math.min(LENGTH, rows), priority: 1 });
  if (episode > 20) learn();
  if (episode >= (3 * EPISODES) / 4) right += Number(result === 1);
}
console.log(`right answers in the last quarter: ${((100 * right) / Math.ceil(EPISODES / 4)).toFixed(0)} %`);
console.log(`windows: ${windows.stats().inserts}, steps in memory: ${replay.stats().steps}`);
