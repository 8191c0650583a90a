/** Measures TF-Agents replay buffers: windows of two steps, compared with engine samples of two-step items, and the cost of adding and storing a step. */
import { fullTable } from "../filled.mjs";
import { entry, Replay, withBytes } from "../package.mjs";
import { BATCH, block, SOURCE_STEPS, STEP_BYTES, STEPS, source, spec } from "../source.mjs";

const { EpisodicReplayBuffer, ReverbReplayBuffer, TFUniformReplayBuffer } = await entry("agents");
const LENGTH = 2;
/**
 * SMALL is the number of items in a small batch, and SMALL_STEPS the number of steps in the table from which it is drawn. Cases with small batches measure
 * garbage collection instead of memory access.
 */
const SMALL = 32;
const SMALL_STEPS = 100_000;
const ENVIRONMENTS = 8;
const EPISODE = 200;

/** Returns a full buffer with STEPS frames of `batchSize` environments, in which some frames were overwritten, and the function that adds frames to it. */
function fullUniform(batchSize) {
  const buffer = new TFUniformReplayBuffer(spec, { batchSize, maxLength: STEPS / batchSize, seed: 1 });
  const add = adding(buffer, batchSize);
  add(STEPS + SOURCE_STEPS * batchSize);
  return { buffer, add };
}

/** Returns a function that adds n frames with `addBatch`, which adds one frame of each environment per call. */
function adding(buffer, batchSize) {
  const batches = batchesOf(batchSize);
  return (n) => {
    for (let k = 0; k < n / batchSize; k++) buffer.addBatch(batches[k & (batches.length - 1)]);
    return buffer.numFrames();
  };
}

/** Returns the steps of the source in batches of `size`. */
function batchesOf(size) {
  const { columns } = source();
  const part = (array, i) => array.slice((i * size * array.length) / SOURCE_STEPS, ((i + 1) * size * array.length) / SOURCE_STEPS);
  return Array.from({ length: SOURCE_STEPS / size }, (_, i) => Object.fromEntries(Object.entries(columns).map(([name, array]) => [name, part(array, i)])));
}

function fullEpisodic() {
  const buffer = new EpisodicReplayBuffer(spec, { capacity: STEPS / EPISODE, beginEpisodeFn: () => true, endEpisodeFn: () => true, seed: 1 });
  const episode = block(source().columns, EPISODE);
  for (let k = 0; k < STEPS / EPISODE + 10; k++) buffer.addSequence(episode, -1);
  return buffer;
}

/** Returns a side that draws batches with getNext. Both sides of a case create new arrays for each batch. */
function drawing(buffer) {
  const options = { sampleBatchSize: BATCH, numSteps: LENGTH };
  return (n) => {
    let steps = 0;
    for (let k = 0; k < n; k++) steps += buffer.getNext(options)[0].reward.data.length;
    return steps;
  };
}

function sampling({ table }, size = BATCH) {
  const options = { length: LENGTH };
  return (n) => {
    let steps = 0;
    for (let k = 0; k < n; k++) steps += table.sample(size, options).steps.reward.data.length;
    return steps;
  };
}

/** Returns a side that reads n batches from the dataset of a ReverbReplayBuffer. */
function iterating({ replay, table }) {
  const options = { client: replay, tableName: table.name, sequenceLength: LENGTH };
  const dataset = new ReverbReplayBuffer(spec, options).asDataset({ sampleBatchSize: SMALL, numSteps: LENGTH });
  return (n) => {
    let left = n;
    for (const [steps] of dataset) if (--left === 0) return steps.reward.data[0];
  };
}

/** Returns the rival of `addBatch`: a side that appends the same batches to a writer with a lane per environment. */
function lanes() {
  const writer = new Replay({ spec }).writer({ lanes: ENVIRONMENTS, keep: STEPS / ENVIRONMENTS });
  const batches = batchesOf(ENVIRONMENTS);
  return (n) => {
    for (let k = 0; k < n / ENVIRONMENTS; k++) writer.append(batches[k & (batches.length - 1)]);
    return writer.length;
  };
}

/** Returns the bytes per step that a full buffer uses in addition to the row. Computed from the difference between buffers of STEPS and STEPS / 2 steps. */
function bytesBeyond() {
  const [half, whole] = [STEPS / 2, STEPS].map((maxLength) => {
    const { made, bytes } = withBytes(() => new TFUniformReplayBuffer(spec, { batchSize: 1, maxLength }));
    adding(made, 1)(maxLength);
    return { steps: made.numFrames(), bytes: bytes() };
  });
  return (whole.bytes - half.bytes) / (whole.steps - half.steps) - STEP_BYTES;
}

const against = { unit: "µs/batch", rivalName: "table.sample" };

export const cases = [
  {
    ...against,
    name: `getNext of ${BATCH} × ${LENGTH}, uniform`,
    limit: 1 / 1.2,
    ours: () => drawing(fullUniform(1).buffer),
    rival: () => sampling(fullTable(STEPS)),
  },
  {
    ...against,
    name: `getNext of ${BATCH} × ${LENGTH}, episodic`,
    ours: () => drawing(fullEpisodic()),
    rival: () => sampling(fullTable(STEPS)),
  },
  {
    ...against,
    name: `asDataset of ${SMALL} × ${LENGTH}, Reverb`,
    ours: () => iterating(fullTable(SMALL_STEPS)),
    rival: () => sampling(fullTable(SMALL_STEPS), SMALL),
  },
  {
    name: `addBatch of ${ENVIRONMENTS} environments`,
    unit: "ns/step",
    rivalName: "a writer with lanes",
    ours: () => fullUniform(ENVIRONMENTS).add,
    rival: lanes,
  },
  {
    name: "uniform buffer bytes per step beyond the row",
    unit: "bytes",
    rivalName: "limit",
    limit: 1,
    fact: () => ({ ours: bytesBeyond(), rival: 16.1 }),
  },
];
