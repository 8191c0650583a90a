/** Batches of transitions beside general samples of the same items, whose every row and leaf these copy. */

import { fullTable } from "../filled.mjs";
import { uniform } from "../package.mjs";
import { BATCH, STEPS } from "../source.mjs";

const GAMMA = 0.99;
/** How often each item was drawn before: as often as by a learner that draws 32 of 4 new ones. Items remember then how their episodes end. */
const DRAWN = 8;
/** Steps of an episode. With a coin flip at each step a processor cannot foresee where returns end. */
const EPISODE = 50;
/** 1.15 times the sample's time, and 1.3 times with new arrays. */
const INTO = 0.87;
const NEW = 0.77;

function counting(draw) {
  return (n) => {
    let count = 0;
    for (let k = 0; k < n; k++) count += draw().count;
    return count;
  };
}

function against(n, isNew) {
  // One table for both, since where memory lies is felt.
  let filled;
  const tableOf = () => {
    if (filled !== undefined) return filled;
    filled = fullTable(STEPS, uniform(), n + 1, EPISODE).table;
    const view = filled.transitions({ gamma: GAMMA });
    const options = { into: view.batch(BATCH) };
    for (let k = 0; k < (DRAWN * STEPS) / BATCH; k++) view.sample(BATCH, options);
    return filled;
  };
  const ours = () => {
    const view = tableOf().transitions({ gamma: GAMMA });
    const options = isNew ? {} : { into: view.batch(BATCH) };
    return counting(() => view.sample(BATCH, options));
  };
  const rival = () => {
    const table = tableOf();
    const options = isNew ? {} : { into: table.batch(BATCH, { length: n + 1 }) };
    return counting(() => table.sample(BATCH, options));
  };
  const name = `${BATCH} transitions of ${n === 1 ? "one step" : `${n} steps`}${isNew ? ", new arrays" : ""}`;
  return { name, unit: "µs/batch", rivalName: "sample of the same items", ours, rival, limit: isNew ? NEW : INTO };
}

export const cases = [against(1, false), against(3, false), against(1, true), against(3, true)];
