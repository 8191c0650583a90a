/** Measures cost by table size: the three calls of a learner's loop in tables of 10^3 … 10^7 items. */
import { fillRing, fullRing, fullTable, prioritizedTable } from "../filled.mjs";
import { BatchSumTree } from "../rivals/sum-tree.mjs";
import { BATCH, SOURCE_STEPS, source } from "../source.mjs";
import { cycle, ringCycle } from "./prioritized.mjs";
import { ringSampling, sampling } from "./sample.mjs";

const ROUNDS = 7;
const EXPONENTS = [3, 4, 5, 6, 7];

function appending(n) {
  const writer = fullTable(n).replay.writer({ items: [{ table: "t", length: 2 }] });
  const { steps } = source();
  return (count) => {
    for (let k = 0; k < count; k++) writer.append(steps[k & (SOURCE_STEPS - 1)]);
    return writer.length;
  };
}

function filling(n) {
  const ring = fullRing(n);
  const { columns } = source();
  return (count) => {
    fillRing(ring, columns, count);
    return ring.head;
  };
}

const rows = {
  "nested append + item": { unit: "ns/step", rivalName: "column ring, one by one", ours: appending, rival: filling },
  [`uniform sample of ${BATCH}`]: {
    unit: "µs/batch",
    rivalName: "column ring",
    ours: (n) => sampling(fullTable(n).table),
    rival: (n) => ringSampling(fullRing(n)),
  },
  "prioritized cycle": {
    unit: "µs/batch",
    rivalName: "JavaScript tree, batched, and column ring",
    ours: (n) => cycle(prioritizedTable(n).table),
    rival: (n) => ringCycle(n, BatchSumTree),
  },
};

export const cases = Object.entries(rows).flatMap(([name, { unit, rivalName, ours, rival }]) =>
  EXPONENTS.map((exponent) => ({
    name: `n = 10^${exponent}: ${name}`,
    unit,
    rivalName,
    rounds: ROUNDS,
    ours: () => ours(10 ** exponent),
    rival: () => rival(10 ** exponent),
  })),
);
