// Rainbow's memory: n-step returns, priorities, importance weights, beta from 0.4 to 1. The environment is the blind
// cliff walk of Schaul et al. (2016): one of two actions is right, which one depends on the place; the other one ends
// the episode. Only the last place has a reward, which random walks almost never see.
// Run: node docs/recipes/rainbow.js [steps]
import { f32, i32, prioritized, Replay } from "reprise";

const STEPS = Number(process.argv[2] ?? 20_000);
const [PLACES, ACTIONS] = [8, 2];
const [GAMMA, N_STEP, LEARNING_RATE, BATCH, LEARN_FROM, SYNC_EVERY] = [0.95, 3, 0.2, 32, 1_000, 100];

let state = 1;
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};

/** The environment: the right action leads to the next place. */
function act(place = 0, action = 0) {
  const right = action === place % 2;
  return {
    next: right ? place + 1 : place,
    reward: right && place === PLACES - 1 ? 1 : 0,
    terminated: !right || place === PLACES - 1,
  };
}

const replay = new Replay({
  spec: { observation: i32(), action: i32(), reward: f32() },
  tables: { memory: { maxSize: 2_000, sampler: prioritized(0.5) } }, // Rainbow's exponent
  seed: 1,
});
const { memory } = replay.tables;
// New transitions get the largest priority so far, so each is drawn soon. This is the default on a prioritized table.
const writer = replay.writer({ items: [{ table: "memory", nStep: N_STEP, priority: "max" }] });
const transitions = memory.transitions({ gamma: GAMMA });

const online = new Float64Array((PLACES + 1) * ACTIONS);
const target = new Float64Array((PLACES + 1) * ACTIONS);
const greedy = (place = 0) => (online[place * ACTIONS] > online[place * ACTIONS + 1] ? 0 : 1);

const into = transitions.batch(BATCH, { beta: 1 }); // with room for weights
const errors = new Float64Array(BATCH);
function learn(beta = 1) {
  const batch = transitions.sample(BATCH, { beta, into });
  const { observation, action, returns, discounts, nextObservation, weights, keys } = batch;
  for (let i = 0; i < BATCH; i++) {
    const next = nextObservation.data[i];
    const value = target[next * ACTIONS + greedy(next)]; // double Q: one table chooses, the other one evaluates
    const at = observation.data[i] * ACTIONS + action.data[i];
    const error = returns.data[i] + discounts.data[i] * value - online[at]; // discounts: gamma^k, k <= 3 steps
    online[at] += LEARNING_RATE * weights.data[i] * error;
    errors[i] = Math.abs(error) + 1e-3; // so that no item has priority 0
  }
  memory.updatePriorities(keys, errors);
}

let [place, solved] = [0, 0];
let beta = 0.4;
for (let t = 1; t <= STEPS; t++) {
  const epsilon = Math.max(0.01, 1 - (1.5 * t) / STEPS);
  const action = random() < epsilon ? Math.floor(random() * ACTIONS) : greedy(place);
  const { next, reward, terminated } = act(place, action);
  solved += reward;
  writer.append({ observation: place, action, reward });
  if (terminated) writer.endEpisode({ final: { observation: next }, terminated });
  place = terminated ? 0 : next;
  beta = 0.4 + (0.6 * t) / STEPS;
  if (t >= LEARN_FROM) learn(beta);
  if (t % SYNC_EVERY === 0) target.set(online);
}

const path = Array.from({ length: PLACES }, (_, at) => greedy(at) === at % 2);
console.log(`episodes that reached the end: ${solved}, beta: ${beta.toFixed(2)}`);
console.log(`right actions on the greedy path: ${path.filter(Boolean).length} of ${PLACES}`);
console.log(
  `value at the start: ${Math.max(online[0], online[1]).toFixed(2)}, in truth ${(GAMMA ** (PLACES - 1)).toFixed(2)}`,
);
