// Fills a store for tests of the inspector with the steps of a game with pictures, in several lanes, from seeded random numbers.
import { f32, fifo, i32, prioritized, Replay, sampleToInsertRatio, text, u8 } from "../../dist/index.js";

export const spec = { image: u8(16, 16), pose: f32(6), action: i32(), reward: f32(), task: text({ maxBytes: 48 }) };

export function world({ maxSize = 4000 } = {}) {
  const replay = new Replay({
    spec,
    tables: {
      play: { maxSize, sampler: prioritized(0.6), remover: fifo(), rateLimiter: sampleToInsertRatio(2, 100, [-1e6, 1e6]) },
      "<img src=x onerror=alert(1)>": { maxSize: 50 },
    },
    seed: 7,
  });
  const writer = replay.writer({ items: [{ table: "play", length: 3, priority: 1 }] });
  const queue = replay.writer({ items: [{ table: "<img src=x onerror=alert(1)>", length: 1 }] });
  let steps = 0;
  let length = 0;
  let long = 12;
  /** Appends one step, and occasionally draws and updates the priorities. */
  const step = () => {
    const image = new Uint8Array(256);
    for (let i = 0; i < 256; i++) image[i] = (i * (1 + (steps % 7)) + steps) & 255;
    const pose = Float32Array.from({ length: 6 }, (_, i) => Math.sin((steps + i * 10) / 20));
    const one = { image, pose, action: steps % 4, reward: (steps % 5) / 4, task: "stack <b>the red</b> cube" };
    writer.append(one);
    if (steps % 10 === 0) queue.append(one);
    steps++;
    length++;
    if (length >= long) {
      writer.endEpisode(length % 3 === 0 ? { final: { image, pose }, terminated: true } : {});
      length = 0;
      long = 12 + (steps % 23);
    }
    if (steps % 16 === 0 && replay.tables.play.ready(16)) {
      const { info } = replay.tables.play.sample(16, { length: 1 });
      replay.tables.play.updatePriorities(
        info.keys,
        info.keys.map((key) => 0.05 + (key % 97) / 20),
      );
    }
  };
  return { replay, step, steps: () => steps };
}
