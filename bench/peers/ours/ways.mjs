/** The ways to a batch: into arrays that are kept, into arrays that come back, and into new ones. */
import { described } from "./source.mjs";

/**
 * Batches of one table. `draw` gives one batch, and `done` gives it back where it comes back.
 * @param options of `sample`, beside `into` and `recycle`; a program makes them anew each time, unless it keeps its arrays
 */
export function ways(table, way, batch, options, length = 1) {
  if (way === "into") {
    const kept = { ...options, into: table.batch(batch, { length, ...options }) };
    return () => table.sample(batch, kept);
  }
  if (way === "recycled") {
    if (!comesBack(table, batch)) return undefined;
    const { beta } = options;
    if (beta === undefined) return () => table.sample(batch, { recycle: true });
    return () => table.sample(batch, { beta, recycle: true });
  }
  const { beta } = options;
  if (beta === undefined) return () => table.sample(batch);
  return () => table.sample(batch, { beta });
}

/** Whether this build of the package has batches that come back. */
function comesBack(table, batch) {
  try {
    table.sample(batch, { recycle: true }).release();
    return true;
  } catch (error) {
    if (error.message.includes('no option "recycle"')) return false;
    throw error;
  }
}

export const NO_RECYCLE = { skipped: "this build has no option recycle" };

/** n batches, each given back where it can be. */
export function sampling(draw, way) {
  if (way === "recycled") {
    return (n) => {
      for (let k = 0; k < n; k++) draw().release();
    };
  }
  return (n) => {
    let count = 0;
    for (let k = 0; k < n; k++) count += draw().count;
    return count;
  };
}

/** What a batch holds: its leaves, and the weights where it has such. */
export function contents(batch) {
  const { weights } = batch.info;
  return described(weights === undefined ? batch.steps : { ...batch.steps, weights: { data: weights, shape: [weights.length] } });
}
