// Behaviour cloning in epochs, as offline RL does it: recorded steps, each once per epoch, in a new random order; a run
// that stops in the middle of an epoch continues from a snapshot and a few numbers. The recorded player steers a cart
// to its place, and its hand trembles; the clone is a line that is fitted to its actions.
// Run: node docs/recipes/epochs.js [episodes]
import { f32, i32, Replay } from "reprise";

const EPISODES = Number(process.argv[2] ?? 100);
const [STEPS, BATCH, EPOCHS, LEARNING_RATE] = [25, 32, 6, 0.1];

let seed = 1;
const random = () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32 - 0.5;
};

/** The cart: the effect of the force on its place and speed. */
const move = (of = /** @type {ArrayLike<number>} */ ([0, 0]), force = 0) => [
  of[0] + 0.1 * of[1],
  0.9 * of[1] + 0.1 * force,
];
const player = (of = [0, 0]) => -0.8 * of[0] - 0.4 * of[1];

const spec = { observation: f32(2), action: f32(), id: i32() };
const replay = new Replay({ spec, tables: { memory: { maxSize: EPISODES * STEPS } } });
const writer = replay.writer({ items: [{ table: "memory", length: 1 }] });
for (let episode = 0; episode < EPISODES; episode++) {
  let state = [4 * random(), 4 * random()];
  for (let t = 0; t < STEPS; t++) {
    const action = player(state) + 0.4 * random();
    writer.append({ observation: state, action, id: episode * STEPS + t });
    state = move(state, action);
  }
  writer.endEpisode();
}

const weights = [0, 0];
const clone = (of = /** @type {ArrayLike<number>} */ ([0, 0])) => weights[0] * of[0] + weights[1] * of[1];
const times = new Uint8Array(EPISODES * STEPS); // how often the learner saw each step

/** One gradient step, of the squared error. The last batch of an epoch may be short: divide by `count`. */
function learn({ steps: { observation, action, id }, count } = replay.tables.memory.batch(BATCH, { length: 1 })) {
  const gradient = [0, 0];
  for (let i = 0; i < count; i++) {
    const seen = observation.data.subarray(2 * i, 2 * i + 2);
    const error = clone(seen) - action.data[i];
    for (const k of [0, 1]) gradient[k] += (error * seen[k]) / count;
    times[id.data[i]]++;
  }
  for (const k of [0, 1]) weights[k] -= LEARNING_RATE * gradient[k];
}

// The first half of an epoch. Then the program ends, and keeps a snapshot and the state of the dataset.
const options = { batchSize: BATCH, epochs: EPOCHS, recycle: true };
const first = replay.tables.memory.dataset({ ...options, seed: 7 });
let batches = 0;
for (const batch of first) {
  learn(batch);
  if (++batches * BATCH >= (EPISODES * STEPS) / 2) break;
}
const kept = { snapshot: [...replay.snapshot()], state: JSON.stringify(first.state()) };
console.log(`stopped after ${batches} batches of epoch ${first.state().epoch}`);

// Another day: the remaining batches of the epochs.
const restored = Replay.restore(kept.snapshot, { spec });
const rest = restored.table("memory").dataset({ ...options, state: JSON.parse(kept.state) });
for (const batch of rest) learn(batch);
const whole = times.every((n) => n === EPOCHS);
console.log(
  `after ${rest.state().epoch} epochs each step was seen ${whole ? `${EPOCHS} times` : "more or less often"}`,
);
console.log(`the player: -0.80 -0.40; the clone: ${weights.map((w) => w.toFixed(2)).join(" ")}`);

let state = [2, 0];
for (let t = 0; t < 200; t++) state = move(state, clone(state));
console.log(`the clone ends at ${Math.abs(state[0]).toFixed(3)}`);
