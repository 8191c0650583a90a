/**
 * What Reprise costs in the frames of a game: each appends a step, takes a batch and gives its items new priorities. The first frames, which a player feels; later ones;
 * and frames in turns with these that only spin as long as one of them takes, which shows what the machine does to any loop.
 */
const OBSERVATION = 4;
/** Frames between two turns of the host's loop; and those that are measured in turns. */
const TURN = 50;
const BLOCK = 1000;

/**
 * @param lib the package
 * @param pause lets the host go on
 * @returns {first, warm, idle}: {p50, p999, worst} in ms
 */
export async function measure(lib, pause, { steps = 1e6, batch = 64, frames = 20_000 } = {}) {
  const frame = filled(lib, steps, batch);
  const clock = () => performance.now();
  const first = await timed(frame, frames, clock, pause);
  const warm = new Float64Array(frames);
  const idle = new Float64Array(frames);
  const spinning = median(first);
  const spin = () => {
    for (const end = clock() + spinning; clock() < end; );
  };
  for (let from = 0; from < frames; from += BLOCK) {
    warm.set(await timed(frame, BLOCK, clock, pause), from);
    idle.set(await timed(spin, BLOCK, clock, pause), from);
  }
  return { first: told(first), warm: told(warm), idle: told(idle) };
}

/** A frame over a memory that is full. */
function filled({ f32, i32, prioritized, Replay }, steps, batch) {
  const spec = { observation: f32(OBSERVATION), action: i32(), reward: f32() };
  const replay = new Replay({ spec, tables: { memory: { maxSize: steps, sampler: prioritized(0.6) } }, seed: 1 });
  const writer = replay.writer({ items: [{ table: "memory", length: 1 }] });
  const block = { observation: new Float32Array(OBSERVATION * BLOCK), action: new Int32Array(BLOCK), reward: new Float32Array(BLOCK) };
  for (let at = 0; at < steps; at += BLOCK) writer.appendColumns(block);
  const { memory } = replay.tables;
  const options = { into: memory.batch(batch, { length: 1, beta: 0.4 }), beta: 0.4 };
  const priorities = Float64Array.from({ length: batch }, (_, i) => (1 + i) / batch);
  let k = 0;
  return () => {
    const step = writer.staged;
    step.observation[0] = k;
    step.action = k++ & 7;
    step.reward = 1;
    writer.append();
    memory.updatePriorities(memory.sample(batch, options).info.keys, priorities);
  };
}

async function timed(frame, n, clock, pause) {
  const times = new Float64Array(n);
  for (let k = 0; k < n; k++) {
    const start = clock();
    frame();
    times[k] = clock() - start;
    if (k % TURN === TURN - 1) await pause();
  }
  return times;
}

const sorted = (times) => times.slice().sort();
const median = (times) => sorted(times)[times.length >> 1];

function told(times) {
  const order = sorted(times);
  return { p50: order[order.length >> 1], p999: order[Math.floor(0.999 * order.length)], worst: order.at(-1) };
}
