/** Measures uniform samples of two-step items with their info into existing arrays. */
import { fullRing, fullTable } from "../filled.mjs";
import { uniform } from "../package.mjs";
import { Random } from "../random.mjs";
import { ColumnRing } from "../rivals/column-ring.mjs";
import { ObjectRing } from "../rivals/object-ring.mjs";
import { SnakeMemory } from "../rivals/tfjs-snake.mjs";
import { BATCH, SOURCE_STEPS, STEPS, source } from "../source.mjs";

const UNIT = "µs/batch";
/** LONG is the number of steps in a long item. LONG_STEPS is the number of items in the table of long items. */
const LONG = 4000;
const LONG_STEPS = 100_000;
/** The number of items in the tables from which small batches are drawn. These cases measure the loop instead of memory access. */
const LOOP_STEPS = 100_000;
const SMALL = 32;

export function sampling(table) {
  return drawing(table, { into: table.batch(BATCH, { length: 2 }) });
}

function drawing(table, options) {
  return (n) => {
    let count = 0;
    for (let k = 0; k < n; k++) count += table.sample(BATCH, options).count;
    return count;
  };
}

export function ringSampling(ring) {
  const random = new Random(3);
  const starts = new Int32Array(BATCH);
  const out = ColumnRing.batch(BATCH);
  return (n) => {
    for (let k = 0; k < n; k++) {
      ring.draw(random, BATCH, starts);
      ring.gather(starts, BATCH, out);
    }
    return out;
  };
}

/** Yields separate objects, like an environment that does not reuse them. */
function* objects(count) {
  const { steps } = source();
  for (let k = 0; k < count; k++) {
    const step = steps[k & (SOURCE_STEPS - 1)];
    yield { ...step, observation: step.observation.slice() };
  }
}

function objectSampling() {
  const ring = new ObjectRing(STEPS);
  for (const step of objects(STEPS)) ring.append(step);
  const random = new Random(3);
  const out = ColumnRing.batch(BATCH);
  return (n) => {
    for (let k = 0; k < n; k++) ring.sample(random, BATCH, out);
    return out;
  };
}

function snakeSampling() {
  const memory = new SnakeMemory(STEPS);
  let last;
  for (const step of objects(STEPS + 1)) {
    if (last !== undefined) memory.append([last, step]);
    last = step;
  }
  const random = new Random(3);
  const out = ColumnRing.batch(BATCH);
  return (n) => {
    for (let k = 0; k < n; k++) memory.sample(random, BATCH, out);
    return out;
  };
}

function against(name, rivalName, rival, rest) {
  return { name, unit: UNIT, rivalName, ours: () => sampling(fullTable(STEPS).table), rival, ...rest };
}

/** Returns a side that reads only the first and the last observation of each drawn item, into reused arrays. */
function ends(length) {
  const { table } = fullTable(LONG_STEPS, uniform(), length);
  const columns = { first: { leaf: "observation", at: 0 }, last: { leaf: "observation", at: -1 } };
  return drawing(table, { into: table.batch(BATCH, { length, columns }), columns });
}

/** Returns a side that reads batches of n items from a dataset with `for await`. */
function awaiting(n) {
  const { table } = fullTable(LOOP_STEPS);
  const dataset = table.dataset({ batchSize: n, length: 2 });
  return async (times) => {
    let left = times;
    for await (const { steps } of dataset) if (--left === 0) return steps.reward.data[0];
  };
}

/** Returns a rival that draws the same batches with a call to `sample` for each. */
function calling(n) {
  const { table } = fullTable(LOOP_STEPS);
  const options = { length: 2 };
  return (times) => {
    let sum = 0;
    for (let k = 0; k < times; k++) sum += table.sample(n, options).steps.reward.data[0];
    return sum;
  };
}

export const cases = [
  against(`uniform sample of ${BATCH}`, "column ring", () => ringSampling(fullRing(STEPS)), { limit: 1 }),
  against(`uniform sample of ${BATCH}, object ring`, "object ring", objectSampling, { again: true }),
  against(`uniform sample of ${BATCH}, tfjs snake`, "tfjs snake memory", snakeSampling, { again: true, rounds: 5 }),
  {
    name: `first and last of ${LONG} steps, ${BATCH} items`,
    unit: UNIT,
    rivalName: "items of 2 steps",
    limit: 1 / 1.2,
    ours: () => ends(LONG),
    rival: () => ends(2),
  },
  { name: `for await over batches of ${SMALL}`, unit: UNIT, rivalName: "table.sample", ours: () => awaiting(SMALL), rival: () => calling(SMALL) },
];
