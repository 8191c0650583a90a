// Fills a Replay with recorded screens and draws from it, in the same way in Node and in a page.

const SIDE = 84;
export const PIXELS = SIDE * SIDE;
const STACK = 4;
export const BATCH = 32;
const ROUNDS = 60;
/** The number of frames that are read from a recording per call. */
const CHUNK = 500;

/**
 * Fills a Replay with `total` transitions, with a lane for each game. Returns the time of an append in µs.
 * @param lib reprise
 * @param leaf "packed" or "shared"
 * @param recorded returns frames of a game from `first` on, and whether an episode ends with each: (name, first, count) => { frames, ends }
 */
export async function filled({ Replay, f32, i32, u8, ...lib }, leaf, total, names, recorded) {
  const replay = new Replay({
    spec: { observation: lib[leaf]("frames", u8(SIDE, SIDE), STACK), action: i32(), reward: f32() },
    tables: { memory: { maxSize: total } },
  });
  const lanes = names.map((name) => ({ name, stack: new Uint8Array(STACK * PIXELS), writer: replay.writer({ items: [{ table: "memory", nStep: 1 }] }) }));
  let ms = 0;
  const each = Math.floor(total / names.length);
  for (let first = 0; first < each; first += CHUNK) {
    const count = Math.min(CHUNK, each - first);
    const parts = await Promise.all(names.map((name) => recorded(name, first, count)));
    const start = performance.now();
    for (let t = 0; t < count; t++)
      for (const [i, { stack, writer }] of lanes.entries()) {
        const { frames, ends } = parts[i];
        stack.copyWithin(0, PIXELS);
        stack.set(frames.subarray(t * PIXELS, (t + 1) * PIXELS), (STACK - 1) * PIXELS);
        writer.append({ observation: stack, action: t & 3, reward: 1 });
        if (ends[t] === 0) continue;
        writer.endEpisode({ terminated: true });
        stack.fill(0);
      }
    ms += performance.now() - start;
  }
  return { replay, appendUs: (ms * 1000) / total };
}

/** Returns a function that draws batches of transitions into the same arrays. */
export function drawing({ replay }) {
  const view = replay.tables.memory.transitions({ gamma: 0.99 });
  const into = view.sample(BATCH);
  return (times) => {
    for (let i = 0; i < times; i++) view.sample(BATCH, { into });
  };
}

/** Returns thousands of transitions per second of each side, measured in turn: the median of the faster half of all rounds. */
export function rates(sides) {
  const times = sides.map(() => []);
  for (let round = 0; round < ROUNDS; round++)
    for (const [i, side] of sides.entries()) {
      const start = performance.now();
      side(10);
      times[i].push((performance.now() - start) / 10);
    }
  return times.map((all) => BATCH / all.sort((a, b) => a - b)[ROUNDS >> 2]);
}

/** Returns the bytes of the packed frames and of the rows that refer to them (`stored`), all bytes in use, and the compression ratio. */
export function memoryOf({ replay }) {
  const { packed, bytes } = replay.stats();
  const { frames } = packed;
  return { stored: frames.bytes + 24 * frames.frames, used: bytes.used, ratio: frames.ratio };
}
