// SAC with a warm start: recorded episodes fill the table, the learner begins with them, and live steps join them. The
// task: bring a point to 0, and push it little. The best gain is known (a linear quadratic regulator's), so that SAC's
// can be checked. In place of networks: one quadratic critic, and a policy that is a Gaussian around gain × place.
// Run: node docs/recipes/sac.js [live episodes]
import { f32, Replay } from "reprise";
import { pushEpisodes } from "reprise/rlds";

const EPISODES = Number(process.argv[2] ?? 400);
const [RECORDED, WARM_UPDATES, TIME_LIMIT, COST] = [40, 300, 5, 2];
const [GAMMA, TEMPERATURE, BATCH, CRITIC_RATE, POLICY_RATE, TAU] = [0.9, 0.2, 64, 0.03, 0.001, 0.02];

let state = 1;
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};
const gaussian = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** The environment: a place, and a push. Nothing terminates an episode; time truncates it. */
const act = (place = 0, push = 0) => ({ next: place + push, reward: -(place ** 2) - COST * push ** 2 });

/** Episodes of a clumsy policy, in the form of RLDS. In place of this: await openRlds("a file, a folder or a URL"). */
const recorded = Array.from({ length: RECORDED }, () => {
  let place = 2 * random() - 1;
  const steps = Array.from({ length: TIME_LIMIT + 1 }, (_, t) => {
    const [observation, action, is_last] = [place, 0.4 * gaussian() - 0.1 * place, t === TIME_LIMIT];
    const { next, reward } = act(place, action);
    place = next;
    return { observation, action, reward, discount: 1, is_first: t === 0, is_last, is_terminal: false };
  });
  return { steps };
});

const spec = { observation: f32(), action: f32(), reward: f32() }; // for a robot: f32(17) and f32(6), for example
const replay = new Replay({ spec, tables: { memory: { maxSize: 100_000 } }, seed: 1 });
const writer = replay.writer({ items: [{ table: "memory", nStep: 1 }] });
const transitions = replay.tables.memory.transitions({ gamma: GAMMA });
const into = transitions.batch(BATCH); // each draw refills it

const critic = new Float64Array(4); // of x², x × a, a², 1
const target = new Float64Array(4);
const value = (w = target, x = 0, a = 0) => w[0] * x * x + w[1] * x * a + w[2] * a * a + w[3];
const policy = { gain: 0.5, logDeviation: 0 };
const choose = (place = 0, noise = 0) => policy.gain * place + Math.exp(policy.logDeviation) * noise;

function learn() {
  const { observation, action, returns, discounts, nextObservation } = transitions.sample(BATCH, { into });
  for (let i = 0; i < BATCH; i++) {
    const [x, a, next] = [observation.data[i], action.data[i], nextObservation.data[i]];
    const [noise, own] = [gaussian(), gaussian()];
    const entropy = TEMPERATURE * (noise ** 2 / 2 + policy.logDeviation); // -log of the density, but for a constant
    // discounts is gamma, even if time ran out: the world continued from the last observation.
    const goal = returns.data[i] + discounts.data[i] * (value(target, next, choose(next, noise)) + entropy);
    const step = CRITIC_RATE * (goal - value(critic, x, a));
    for (const [k, feature] of [x * x, x * a, a * a, 1].entries()) critic[k] += step * feature;
    const slope = critic[1] * x + 2 * critic[2] * choose(x, own); // derivative of the critic by the action
    policy.gain += POLICY_RATE * slope * x;
    policy.logDeviation += POLICY_RATE * (slope * Math.exp(policy.logDeviation) * own + TEMPERATURE);
  }
  for (let k = 0; k < 4; k++) target[k] += TAU * (critic[k] - target[k]);
}

const { episodes, steps } = await pushEpisodes(recorded, writer); // the writer's rule makes transitions of them
for (let n = 0; n < WARM_UPDATES; n++) learn();
console.log(`warm start: ${steps} transitions of ${episodes} episodes, gain ${policy.gain.toFixed(2)}`);

for (let episode = 0; episode < EPISODES; episode++) {
  let place = 2 * random() - 1;
  for (let t = 0; t < TIME_LIMIT; t++) {
    const action = choose(place, gaussian());
    const { next, reward } = act(place, action);
    writer.append({ observation: place, action, reward }); // into the table of the recorded steps
    place = next;
    learn();
  }
  writer.endEpisode({ final: { observation: place }, terminated: false }); // the last observation; only time ran out
}
const { size } = replay.tables.memory;
console.log(`${size} transitions, ${size - steps} of them live; gain ${policy.gain.toFixed(2)}, the best one is -0.46`);
