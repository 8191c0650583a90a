// DQN with truncation done right. A corridor of eight places: each step at its right end is worth 1, a step beyond its
// left end terminates the episode. Time runs out after 20 steps, which truncates the episode and terminates nothing.
// Run: node docs/recipes/dqn.js [steps]
import { f32, i32, Replay } from "reprise";

const STEPS = Number(process.argv[2] ?? 20_000);
const [PLACES, ACTIONS, TIME_LIMIT] = [8, 2, 20];
const [GAMMA, LEARNING_RATE, BATCH, LEARN_FROM, SYNC_EVERY] = [0.9, 0.2, 32, 500, 50];

let state = 1;
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};

/** The environment: the result of an action, 0 to the left, 1 to the right. */
function act(place = 0, action = 0) {
  const next = Math.min(place + (action === 1 ? 1 : -1), PLACES - 1);
  return { next: Math.max(next, 0), reward: next === PLACES - 1 ? 1 : 0, terminated: next < 0 };
}

const replay = new Replay({
  spec: { observation: i32(), action: i32(), reward: f32() },
  tables: { memory: { maxSize: 10_000 } }, // uniform draws; the oldest transition leaves when it is full
  seed: 1,
});
const { memory } = replay.tables;
const writer = replay.writer({ items: [{ table: "memory", nStep: 1 }] });
const transitions = memory.transitions({ gamma: GAMMA });

// In place of networks: a value for each place and action, and a copy for the targets.
const online = new Float64Array(PLACES * ACTIONS);
const target = new Float64Array(PLACES * ACTIONS);
const best = (q = online, place = 0) => Math.max(...q.subarray(place * ACTIONS, (place + 1) * ACTIONS));
const greedy = (place = 0) => (online[place * ACTIONS] > online[place * ACTIONS + 1] ? 0 : 1);

const into = transitions.batch(BATCH); // each draw refills it
function learn() {
  const { observation, action, returns, discounts, nextObservation } = transitions.sample(BATCH, { into });
  for (let i = 0; i < BATCH; i++) {
    // discounts is gamma, or 0 if the episode terminated. A truncated episode bootstraps like any other step.
    const goal = returns.data[i] + discounts.data[i] * best(target, nextObservation.data[i]);
    const at = observation.data[i] * ACTIONS + action.data[i];
    online[at] += LEARNING_RATE * (goal - online[at]);
  }
}

let [place, time] = [3, 0];
for (let t = 1; t <= STEPS; t++) {
  const epsilon = Math.max(0.1, 1 - (2 * t) / STEPS);
  const action = random() < epsilon ? Math.floor(random() * ACTIONS) : greedy(place);
  const { next, reward, terminated } = act(place, action);
  const truncated = ++time === TIME_LIMIT;
  writer.append({ observation: place, action, reward });
  if (terminated || truncated) {
    writer.endEpisode({ final: { observation: next }, terminated }); // the last observation, and whether the world ends
    [place, time] = [3, 0];
  } else place = next;
  if (t >= LEARN_FROM) learn();
  if (t % SYNC_EVERY === 0) target.set(online);
}

// At the right end each step is worth 1, without end: 1 / (1 - gamma) = 10. As an end, truncation would lower it.
console.log(`value at the right end: ${best(online, PLACES - 1).toFixed(2)}`);
console.log(`policy: ${Array.from({ length: PLACES }, (_, at) => "<>"[greedy(at)]).join("")}`);
