// Dreamer's memory: one endless stream of steps, cut into chunks that span the ends of episodes, each step in one of
// them. Latent states are written back, so that a chunk begins with the newest. The task: predict the reward of a step
// from the sum of what its episode has shown so far; a model of the world that does not reset cannot.
// Run: node docs/recipes/dreamer.js [episodes]
import { f32, i32, Replay } from "reprise";

const EPISODES = Number(process.argv[2] ?? 400);
const [LENGTH, BATCH, LEARNING_RATE] = [17, 8, 0.02]; // 16 learning steps, and the step to bootstrap from

let seed = 1;
const random = () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

const replay = new Replay({
  spec: { observation: f32(), action: i32(), reward: f32(), latent: f32() },
  tables: { chunks: { maxSize: 300 } },
  seed: 1,
});
const { chunks } = replay.tables;
const writer = replay.writer({ across: true, items: [{ table: "chunks", sequence: { length: LENGTH } }] });
const view = chunks.sequences({ gamma: 0.99 });

// In place of a world model: a latent that sums weighted observations, and predictions of reward and end.
const model = { weight: 0.5, reward: 0 };
let loss = 0;

/** One pass over a batch: the latent continues from step to step, and resets with each episode. */
const into = view.batch(BATCH);
const latents = new Float32Array(BATCH * LENGTH);
function learn() {
  const { observation, reward, latent, mask, isFirst, isLast } = view.sample(BATCH, { into });
  let [sum, count] = [0, 0];
  for (let i = 0; i < BATCH; i++) {
    let before = latent.data[i * LENGTH]; // the latent before the chunk, as last written
    for (let at = i * LENGTH; at < (i + 1) * LENGTH; at++) {
      if (!mask.data[at]) continue; // a chunk that would begin with a final step is one step shorter
      if (isFirst.data[at]) before = 0;
      latents[at] = before;
      before += model.weight * observation.data[at];
      if (isLast.data[at]) continue; // the final observation: it has no action and no result
      const error = reward.data[at] - model.reward * before;
      model.reward += LEARNING_RATE * error * before;
      sum += error * error;
      count++;
    }
  }
  loss = sum / count;
  chunks.writeSteps(into, { latent: latents });
}

let latent = 0;
let lengths = 0;
for (let episode = 0; episode < EPISODES; episode++) {
  const last = 1 + Math.floor(random() * 30);
  latent = 0;
  let total = 0;
  for (let t = 0; t <= last; t++) {
    const observation = random() - 0.5;
    total += observation;
    writer.append({ observation, action: 0, reward: 3 * total, latent });
    latent += model.weight * observation;
  }
  writer.endEpisode({ final: { observation: random() - 0.5, latent }, terminated: true });
  lengths += last + 2;
  if (episode > 20) learn();
}
console.log(`chunks: ${chunks.stats().inserts} of ${lengths} rows in ${EPISODES} episodes`);
console.log(`loss: ${loss.toFixed(6)}, weight of the reward: ${model.reward.toFixed(2)}`);
