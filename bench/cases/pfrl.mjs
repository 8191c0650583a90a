/** Compares reprise/pfrl with the underlying engine. */

import { EXPONENT, priority } from "../filled.mjs";
import { bool, entry, f32, fifo, i32, prioritized, Replay } from "../package.mjs";
import { Random } from "../random.mjs";
import { SOURCE_STEPS, STEPS, source } from "../source.mjs";

const { PrioritizedReplayBuffer, ReplayBuffer } = await entry("pfrl");
const BATCH = 32;
const BETA = 0.4;
/** The number of transitions in the buffers of cases with new arrays. Such cases measure garbage collection instead of memory access. */
const FRESH_STEPS = 100_000;
/** The number of precomputed batches of errors. It is a power of two, so that a mask limits an index. */
const SETS = 16;
/** The number of bytes in an Atari frame of 84 × 84 pixels. STACK is the number of frames in a state. */
const FRAME = 84 * 84;
const STACK = 4;
const ATARI_STEPS = 100_000;
const EPISODE = 1000;

const spec = { state: f32(4), action: i32(), reward: f32() };

function errors() {
  const random = new Random(11);
  return Array.from({ length: SETS }, () => Float64Array.from({ length: BATCH }, () => priority(random)));
}

const { observation, action, reward } = source().columns;

/** Returns transition k of the common source. Its arrays are views. */
function transitionAt(k) {
  const i = k % (SOURCE_STEPS - 1);
  const [state, nextState] = [i, i + 1].map((at) => observation.subarray(4 * at, 4 * at + 4));
  return { state, action: action[i], reward: reward[i], nextState, isStateTerminal: k % EPISODE === EPISODE - 1 };
}

/** Returns a side that runs the cycle of a learner: it samples with weights, and then updates the errors of the sampled items. */
function bufferCycle() {
  const buffer = new PrioritizedReplayBuffer(STEPS, { alpha: EXPONENT, spec, seed: 1 });
  for (let k = 0; k < STEPS; k++) buffer.append(transitionAt(k));
  const sets = errors();
  const options = { into: buffer.sample(BATCH) };
  buffer.updateErrors(sets[0]);
  return (n) => {
    for (let k = 0; k < n; k++) {
      buffer.sample(BATCH, options);
      buffer.updateErrors(sets[k & (SETS - 1)]);
    }
    return buffer.length;
  };
}

/** Returns a side that runs the same cycle with a table of the engine. */
function tableCycle() {
  const tables = { t: { maxSize: STEPS, sampler: prioritized(EXPONENT, { withMin: true }), remover: fifo() } };
  const replay = new Replay({ spec: { ...spec, nextState: f32(4), isStateTerminal: bool() }, tables, seed: 1 });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  for (let k = 0; k < STEPS; k++) writer.append(transitionAt(k));
  const table = replay.table("t");
  const sets = errors();
  const columns = Object.fromEntries(["state", "action", "reward", "nextState", "isStateTerminal"].map((leaf) => [leaf, { leaf, at: 0 }]));
  const into = table.batch(BATCH, { length: 1, beta: BETA, columns });
  const options = { into, beta: BETA, columns, length: 1 };
  return (n) => {
    for (let k = 0; k < n; k++) table.updatePriorities(table.sample(BATCH, options).info.keys, sets[k & (SETS - 1)]);
    return table.size;
  };
}

/** Returns a buffer with uniform draws. */
function uniformBuffer() {
  const buffer = new ReplayBuffer(FRESH_STEPS, { spec, seed: 1 });
  for (let k = 0; k < FRESH_STEPS; k++) buffer.append(transitionAt(k));
  return buffer;
}

/** Returns a side that draws samples into existing arrays if `isFilled`, or otherwise into new arrays. */
function bufferSampling(isFilled) {
  const buffer = uniformBuffer();
  const options = isFilled ? { into: buffer.sample(BATCH) } : {};
  return (n) => {
    let sum = 0;
    for (let k = 0; k < n; k++) sum += buffer.sample(BATCH, options).state.data[0];
    return sum;
  };
}

/** Returns a side that runs the cycle with new arrays for each sample, as in PFRL's learners. */
function freshCycle() {
  const buffer = new PrioritizedReplayBuffer(FRESH_STEPS, { alpha: EXPONENT, spec, seed: 1 });
  for (let k = 0; k < FRESH_STEPS; k++) buffer.append(transitionAt(k));
  const sets = errors();
  return (n) => {
    let sum = 0;
    for (let k = 0; k < n; k++) {
      sum += buffer.sample(BATCH).weights[0];
      buffer.updateErrors(sets[k & (SETS - 1)]);
    }
    return sum;
  };
}

/**
 * Returns the bytes per transition beyond the distinct frames, for stacks passed as arrays of frames, and the limit: 5 % of the frames and 64 bytes per
 * transition.
 */
function atariBytes() {
  const buffer = new ReplayBuffer(ATARI_STEPS);
  let distinct = 0;
  const frame = () => {
    distinct++;
    return new Uint8Array(new Uint32Array(FRAME / 4).fill(distinct * 0x9e3779b1).buffer);
  };
  for (let k = 0; k < ATARI_STEPS; ) {
    let state = Array.from({ length: STACK }, frame);
    for (let t = 0; t < EPISODE; t++, k++) {
      const nextState = [...state.slice(1), frame()];
      buffer.append({ state, action: k % 6, reward: 0, nextState, isStateTerminal: t === EPISODE - 1 });
      state = nextState;
    }
  }
  const frames = (distinct * FRAME) / ATARI_STEPS;
  return { ours: buffer.bytes / ATARI_STEPS - frames, rival: 0.05 * frames + 64 };
}

export const cases = [
  {
    name: "pfrl prioritized cycle",
    unit: "µs/batch",
    rivalName: "the engine's own table.sample and updatePriorities",
    limit: 1 / 1.3,
    ours: bufferCycle,
    rival: tableCycle,
  },
  {
    name: `pfrl sample of ${BATCH}, new arrays`,
    unit: "µs/batch",
    rivalName: "into one batch",
    ours: () => bufferSampling(false),
    rival: () => bufferSampling(true),
  },
  {
    name: "pfrl prioritized cycle, new arrays",
    unit: "µs/batch",
    rivalName: "into one batch",
    ours: freshCycle,
    rival: bufferCycle,
  },
  {
    name: "pfrl bytes per transition beyond its frames",
    unit: "bytes",
    rivalName: "limit",
    limit: 1,
    fact: atariBytes,
  },
];
