/** Implements the ways to get a batch: into existing arrays, into recycled arrays, and into new arrays. */
import { described } from "./source.mjs";

/**
 * Returns a function that draws one batch from a table in the given way. Returns undefined if this build of the package cannot recycle batches.
 * @param options the options of `sample`, in addition to `into` and `recycle`. Only the way "into" keeps one options object; the others create one per call
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

/** Returns whether this build of the package can recycle batches. */
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

/** Returns a function that draws n batches. If the way is `recycled`, it also releases each batch. */
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

/** Returns the contents of a batch: its leaves, and its weights if any. */
export function contents(batch) {
  const { weights } = batch.info;
  return described(weights === undefined ? batch.steps : { ...batch.steps, weights: { data: weights, shape: [weights.length] } });
}
