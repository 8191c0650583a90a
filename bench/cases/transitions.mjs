/** Compares batches of transitions with general samples of the same items. Both copy every row and leaf. */

import { fullTable } from "../filled.mjs";
import { counting } from "../measure.mjs";
import { mixture, uniform } from "../package.mjs";
import { BATCH, STEPS } from "../source.mjs";

const GAMMA = 0.99;
/** How often each item was drawn before, as with a learner that draws 32 items per 4 new ones. Items that were drawn store how their episodes end. */
const DRAWN = 8;
/** The number of steps per episode. If episodes ended at random steps, a processor could not predict where returns end. */
const EPISODE = 50;
/** The minimum ratios of the sample's time to the transitions' time: transitions may take 1.15 times as long, or 1.3 times with new arrays. */
const INTO = 0.87;
const NEW = 0.77;

function against(n, isNew) {
  // Both sides share one table, because memory placement affects the times.
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

/** The minimum ratio of the view's time to the mixture's time: a mixture may take 1.15 times as long as a view of one table. */
const MIXTURE = 0.87;

/** Compares a mixture of two tables with a view of one of them: the same number of rows of the same steps. */
function mixed(isNew) {
  let views;
  const made = () => {
    views ??= [0, 1].map(() => fullTable(STEPS, uniform(), 2, EPISODE).table.transitions({ gamma: GAMMA }));
    return views;
  };
  const counted = (of) => {
    const options = isNew ? {} : { into: of.batch(BATCH) };
    return counting(() => of.sample(BATCH, options));
  };
  const ours = () => counted(mixture(made().map((from) => ({ from, share: 0.5 }))));
  const rival = () => {
    // Draws half of the batches from each table, because a mixture also reads the memory of both.
    const [one, other] = made().map(counted);
    return (n) => one(n >> 1) + other(n - (n >> 1));
  };
  const name = `${BATCH} transitions of a mixture of two tables${isNew ? ", new arrays" : ""}`;
  return { name, unit: "µs/batch", rivalName: "sample of as many from one of them", ours, rival, limit: MIXTURE };
}

/** The minimum ratio of times: a batch of an epoch, which takes the next items of a shuffled order, may take 1.1 times as long as a uniform batch. */
const EPOCH = 0.9;
/** A limit above the number of iterations of any loop here. */
const ENDLESS = 0xffffffff;

function epochs() {
  let filled;
  const viewOf = () => {
    filled ??= fullTable(STEPS, uniform(), 2, EPISODE).table;
    return filled.transitions({ gamma: GAMMA });
  };
  const ours = () => {
    const view = viewOf();
    const batches = view.dataset({ batchSize: BATCH, epochs: ENDLESS, into: view.batch(BATCH) })[Symbol.iterator]();
    return counting(() => batches.next().value);
  };
  const rival = () => {
    const view = viewOf();
    const batches = view.dataset({ batchSize: BATCH, into: view.batch(BATCH) })[Symbol.iterator]();
    return counting(() => batches.next().value);
  };
  return { name: `${BATCH} transitions of an epoch`, unit: "µs/batch", rivalName: "uniform ones", ours, rival, limit: EPOCH };
}

export const cases = [against(1, false), against(3, false), against(1, true), against(3, true), epochs(), mixed(false), mixed(true)];
