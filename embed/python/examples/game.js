// Implements a game whose replay memory Python learns from (learn.py). `node game.js collect SNAPSHOT` plays at random and saves its memory. `node game.js play
// SNAPSHOT NETWORK` opens Python's snapshot, and continues with the trained network.
import { readFile, writeFile } from "node:fs/promises";
import { f32, i32, prioritized, Replay } from "reprise";

const [WIDTH, HEIGHT] = [13, 14];
const ACTIONS = [-1, 0, 1];
const [verb, snapshot, network] = process.argv.slice(2);

async function collect() {
  const replay = new Replay({
    spec: { observation: f32(2), action: i32(), reward: f32() },
    tables: { memory: { maxSize: 50_000, sampler: prioritized(0.6) } },
    seed: 1,
  });
  const writer = replay.writer({ items: [{ table: "memory", nStep: 3, priority: "max" }] });
  const caught = play(writer, 2000, () => random(ACTIONS.length));
  await writeFile(snapshot, replay.snapshot());
  return { size: replay.tables.memory.size, caught };
}

async function goOn() {
  const replay = Replay.restore(await readFile(snapshot));
  const [first, second] = JSON.parse(await readFile(network, "utf8"));
  const caught = play([...replay.writers][0], 500, (observation) => {
    const values = layer(second, layer(first, observation).map(Math.tanh));
    return values.indexOf(Math.max(...values));
  });
  const { priorities } = replay.tables.memory.sample(256).info;
  return { size: replay.tables.memory.size, caught, priorities: new Set(priorities).size };
}

const layer = ([weights, biases], input) => biases.map((bias, i) => weights[i].reduce((sum, weight, k) => sum + weight * input[k], bias));

// Plays a number of balls, which a paddle must catch. Returns the fraction of caught balls.
function play(writer, balls, act) {
  let caught = 0;
  for (let i = 0; i < balls; i++) {
    let paddle = random(WIDTH);
    const ball = random(WIDTH);
    for (let y = 0; y < HEIGHT; y++) {
      const observation = [(ball - paddle) / 2, y / HEIGHT];
      const action = act(observation);
      paddle = Math.min(Math.max(paddle + ACTIONS[action], 0), WIDTH - 1);
      const reward = y < HEIGHT - 1 ? 0 : Math.abs(ball - paddle) <= 1 ? 1 : -1;
      if (reward === 1) caught++;
      writer.append({ observation, action, reward });
    }
    writer.endEpisode({ final: { observation: [(ball - paddle) / 2, 1] }, terminated: true });
  }
  return caught / balls;
}

// Returns a random integer below n (xorshift32).
let state = 1;
function random(n) {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % n;
}

console.log(JSON.stringify(await (verb === "collect" ? collect() : goOn())));
