// SAC with hindsight (HER): an agent walks to a cell of a grid, another one in each episode. The reward is -1 until it
// is there, so a failed episode teaches nothing about its goal. But it teaches how to reach the cells that it
// passed: 4 of 5 transitions of a batch are drawn with a goal that their episode achieved later. Steps are stored
// once, and goals are new in each batch. In place of networks: a table of values, and its softmax as policy.
// Run: node docs/recipes/her.js [episodes]
import { i32, Replay } from "reprise";

const EPISODES = Number(process.argv[2] ?? 600);
const [SIDE, CELLS, TIME_LIMIT, GAMMA, TEMPERATURE, BATCH, RATE] = [8, 64, 20, 0.95, 0.05, 64, 0.5];

let state = 1;
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};
const anyCell = () => Math.floor(CELLS * random());
/** The environment: the cell that a move leads to. Walls keep the agent where it is. */
const MOVES = [1, -1, SIDE, -SIDE];
function move(cell = 0, action = 0) {
  const next = cell + MOVES[action];
  const isWall = next < 0 || next >= CELLS || (action < 2 && Math.floor(next / SIDE) !== Math.floor(cell / SIDE));
  return isWall ? cell : next;
}
const rewardOf = (achieved = 0, goal = 0) => (achieved === goal ? 0 : -1);

const spec = { observation: { achieved: i32(), desired: i32() }, action: i32(), reward: i32() }; // for a robot: f32(3)
const replay = new Replay({ spec, tables: { memory: { maxSize: 100_000 } }, seed: 1 });
const writer = replay.writer({ items: [{ table: "memory", nStep: 1 }] });
const transitions = replay.tables.memory.transitions({
  gamma: GAMMA,
  relabel: {
    goal: "observation.desired",
    achieved: "observation.achieved",
    strategy: "future",
    share: 0.8,
    // All steps in one call: the achieved cell of each one, and its new goal.
    reward: ({ achieved, goal }) => Array.from(achieved.data, (cell, i) => rewardOf(+cell, Number(goal.data[i]))),
    terminated: ({ achieved, goal }) => Array.from(achieved.data, (cell, i) => Number(cell === goal.data[i])),
  },
});
const into = transitions.batch(BATCH); // each draw refills it
/** The critic, by goal, cell and action; the policy is exp(value / TEMPERATURE), to which the policy of SAC tends. */
const critic = new Float64Array(CELLS * CELLS * MOVES.length).fill(-1 / (1 - GAMMA)); // as if no move led there
const placeOf = (cell = 0, goal = 0) => MOVES.length * (CELLS * goal + cell);
const chances = (place = 0) => MOVES.map((_, a) => Math.exp(critic[place + a] / TEMPERATURE));
const softValue = (place = 0) => TEMPERATURE * Math.log(chances(place).reduce((sum, chance) => sum + chance));
function act(cell = 0, goal = 0) {
  const weights = chances(placeOf(cell, goal));
  let [action, rest] = [0, random() * weights.reduce((sum, weight) => sum + weight)];
  while (rest >= weights[action] && action + 1 < MOVES.length) rest -= weights[action++];
  return action;
}
function learn() {
  const { observation, action, returns, discounts, nextObservation } = transitions.sample(BATCH, { into });
  for (let i = 0; i < BATCH; i++) {
    const next = placeOf(nextObservation.achieved.data[i], nextObservation.desired.data[i]);
    const at = placeOf(observation.achieved.data[i], observation.desired.data[i]) + action.data[i];
    critic[at] += RATE * (returns.data[i] + discounts.data[i] * softValue(next) - critic[at]);
  }
}

/** Plays an episode, and returns whether it reached its goal. */
function play(learns = true) {
  let [achieved, desired, t] = [anyCell(), anyCell(), 0];
  for (; t < TIME_LIMIT && achieved !== desired; t++) {
    const action = act(achieved, desired);
    const next = move(achieved, action);
    if (learns) writer.append({ observation: { achieved, desired }, action, reward: rewardOf(next, desired) });
    achieved = next;
    if (learns && replay.tables.memory.size >= BATCH) learn();
  }
  const [isThere, final] = [achieved === desired, { observation: { achieved, desired } }];
  if (learns && t > 0) writer.endEpisode({ final, terminated: isThere });
  return isThere;
}
const shareOf = (n = 300) => Array.from({ length: n }, () => play(false)).filter(Boolean).length / n;
const before = shareOf();
for (let episode = 0; episode < EPISODES; episode++) play();
console.log(`reaches ${before.toFixed(2)} of all goals before, ${shareOf().toFixed(2)} after ${EPISODES} episodes`);
