// DQN on CartPole with TensorFlow.js: the program that docs/start/dqn.md arrives at.
// Run: node docs/start/cartpole.js [steps]
import * as tf from "@tensorflow/tfjs";
import { f32, i32, prioritized, Replay } from "reprise";
import { tensors } from "reprise/adapters/tfjs";

const STEPS = Number(process.argv[2] ?? 20_000);
const [GAMMA, LEARNING_RATE, BATCH, LEARN_FROM, SYNC_EVERY] = [0.99, 1e-3, 64, 500, 100];
const [HIDDEN, ACTIONS, TIME_LIMIT] = [64, 2, 500];

let state = 1;
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};

/** The cart with its pole: position, speed, angle, angular speed. The physics of Gymnasium's CartPole-v1. */
const reset = () => Array.from({ length: 4 }, () => 0.1 * random() - 0.05);
function act(from = [0], action = 0) {
  const [x = 0, speed = 0, angle = 0, spin = 0] = from;
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const push = ((action === 1 ? 10 : -10) + 0.05 * spin ** 2 * sin) / 1.1;
  const spinUp = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - (0.1 * cos ** 2) / 1.1));
  const speedUp = push - (0.05 * spinUp * cos) / 1.1;
  const next = [x + 0.02 * speed, speed + 0.02 * speedUp, angle + 0.02 * spin, spin + 0.02 * spinUp];
  return { next, reward: 1, terminated: Math.abs(next[0] ?? 0) > 2.4 || Math.abs(next[2] ?? 0) > Math.PI / 15 };
}

/** The weights of two hidden layers. */
const newNetwork = () =>
  [
    [4, HIDDEN],
    [HIDDEN, HIDDEN],
    [HIDDEN, ACTIONS],
  ].map(([from = 0, to = 0], i) => ({
    weights: tf.variable(tf.randomUniform([from, to], -(from ** -0.5), from ** -0.5, "float32", i + 1)),
    biases: tf.variable(tf.zeros([to])),
  }));
tf.enableProdMode();
const [online, target] = [newNetwork(), newNetwork()];
/** The value of each action, [batch, actions]. The defaults only name the types. */
const valuesOf = (network = online, x = tf.zeros([1, 4])) =>
  network.reduce((y, { weights, biases }, i) => tf.add(tf.matMul(i === 0 ? y : tf.relu(y), weights), biases), x);

const optimizer = tf.train.adam(LEARNING_RATE);
const replay = new Replay({
  spec: { observation: f32(4), action: i32(), reward: f32() },
  tables: { memory: { maxSize: 20_000, sampler: prioritized(0.6) } },
  seed: 1,
});
const { memory } = replay.tables;
const writer = replay.writer({ items: [{ table: "memory", nStep: 3 }] });
const transitions = memory.transitions({ gamma: GAMMA });

const greedy = (observation = [0]) =>
  tf.tidy(() => tf.argMax(valuesOf(online, tf.tensor2d([observation])), 1).dataSync()[0] ?? 0);
const into = transitions.batch(BATCH, { beta: 0.4 });
function learn() {
  const batch = transitions.sample(BATCH, { beta: 0.4, into });
  const errors = tf.tidy(() => {
    const { observation, action, returns, discounts, nextObservation, weights } = tensors(tf, batch);
    // The online network chooses the next action, and the target network gives its value (double DQN).
    const best = tf.oneHot(tf.argMax(valuesOf(online, nextObservation), 1), ACTIONS);
    const future = tf.sum(tf.mul(valuesOf(target, nextObservation), best), 1);
    const goal = tf.add(returns, tf.mul(discounts, future));
    const errorsOf = () => tf.sub(tf.sum(tf.mul(valuesOf(online, observation), tf.oneHot(action, ACTIONS)), 1), goal);
    optimizer.minimize(() => tf.mean(tf.mul(weights, tf.square(errorsOf()))));
    return errorsOf().dataSync();
  });
  memory.updatePriorities(
    batch.keys,
    errors.map((error) => Math.abs(error) + 0.01),
  );
}

let [observation, time] = [reset(), 0];
const lengths = [0];
for (let t = 1; t <= STEPS; t++) {
  const epsilon = Math.max(0.05, 1 - t / 4000);
  const action = random() < epsilon ? Math.floor(random() * ACTIONS) : greedy(observation);
  const { next, reward, terminated } = act(observation, action);
  const truncated = ++time === TIME_LIMIT;
  writer.append({ observation, action, reward });
  observation = next;
  if (terminated || truncated) {
    writer.endEpisode({ final: { observation }, terminated }); // after a time limit, the future still has a value
    lengths.push(time);
    [observation, time] = [reset(), 0];
  }
  if (t >= LEARN_FROM && t % 2 === 0) learn();
  if (t % SYNC_EVERY === 0)
    target.forEach(({ weights, biases }, i) => {
      weights.assign(online[i]?.weights ?? weights);
      biases.assign(online[i]?.biases ?? biases);
    });
  if (t % 2000 === 0) {
    const last = lengths.slice(-20);
    console.log(
      `${t} steps: the last 20 episodes lasted ${(last.reduce((a, b) => a + b, 0) / last.length).toFixed(0)} steps on average`,
    );
  }
}
