/**
 * Measures the cost of Reprise in the frames of a game. Each frame appends a step, takes a batch and sets new priorities. The first frames, which a player
 * notices, are measured separately from later frames. Frames that only spin for the same time run in turn with the later frames, and show how the machine
 * disturbs any loop.
 */
const OBSERVATION = 4;
/** The number of frames after which the host's event loop gets a turn. */
const TURN = 50;
/** The number of later frames, and then of spinning frames, that are measured in turn. Also the number of steps per append while the table is filled. */
const BLOCK = 1000;
const STEPS = 1e6;
const BATCH = 64;
const FRAMES = 20_000;
/** The number of times that `play` runs all frames, so that enough garbage collections can be counted. */
const ROUNDS = 5;
/** The Replays of the warm-up. There are several, because code compiled for only one is discarded when a second is created. */
const SMALL = { memories: 5, steps: 5000, frames: 5000 };

/**
 * @param lib the package
 * @param pause lets the host continue
 * @param warmUp whether frames with small Replays run first, as a game can do while it loads
 * @returns {first, warm, idle}: {p50, p999, worst} in ms
 */
export async function measure(lib, pause, { steps = STEPS, frames = FRAMES, warmUp = false } = {}) {
  if (warmUp) for (let k = 0; k < SMALL.memories; k++) await timed(filled(lib, SMALL.steps), SMALL.frames, pause);
  const frame = filled(lib, steps);
  const first = await timed(frame, frames, pause);
  const warm = new Float64Array(frames);
  const idle = new Float64Array(frames);
  const spin = spinning(median(first));
  for (let from = 0; from < frames; from += BLOCK) {
    warm.set(await timed(frame, BLOCK, pause), from);
    idle.set(await timed(spin, BLOCK, pause), from);
  }
  return { first: told(first), warm: told(warm), idle: told(idle) };
}

/** Plays warm frames, or the same number of empty frames, for a caller that counts garbage collections from outside. @param works whether frames do work */
export async function play(lib, pause, works, { steps = STEPS, frames = FRAMES } = {}) {
  const frame = filled(lib, steps);
  await timed(frame, frames, pause);
  for (let round = 0; round < ROUNDS; round++) await timed(works ? frame : () => {}, frames, pause);
}

/** Returns a frame that spins for `ms` milliseconds. */
const spinning = (ms) => () => {
  for (const end = performance.now() + ms; performance.now() < end; );
};

/** Returns a frame that uses a full Replay. */
function filled({ f32, i32, prioritized, Replay }, steps) {
  const spec = { observation: f32(OBSERVATION), action: i32(), reward: f32() };
  const replay = new Replay({ spec, tables: { memory: { maxSize: steps, sampler: prioritized(0.6) } }, seed: 1 });
  const writer = replay.writer({ items: [{ table: "memory", length: 1 }] });
  const block = { observation: new Float32Array(OBSERVATION * BLOCK), action: new Int32Array(BLOCK), reward: new Float32Array(BLOCK) };
  for (let at = 0; at < steps; at += BLOCK) writer.appendColumns(block);
  const { memory } = replay.tables;
  const options = { into: memory.batch(BATCH, { length: 1, beta: 0.4 }), beta: 0.4 };
  const priorities = Float64Array.from({ length: BATCH }, (_, i) => (1 + i) / BATCH);
  let k = 0;
  return () => {
    const step = writer.staged;
    step.observation[0] = k;
    step.action = k++ & 7;
    step.reward = 1;
    writer.append();
    memory.updatePriorities(memory.sample(BATCH, options).info.keys, priorities);
  };
}

async function timed(frame, n, pause) {
  const times = new Float64Array(n);
  for (let k = 0; k < n; k++) {
    const start = performance.now();
    frame();
    times[k] = performance.now() - start;
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
