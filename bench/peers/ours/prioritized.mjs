/** Draws prioritized batches with importance weights. `cycle` also updates priorities by key. */
import { prioritized } from "../../package.mjs";
import { ALPHA, BETA, prioritySets, transitions } from "./source.mjs";
import { contents, NO_RECYCLE, sampling, ways } from "./ways.mjs";

export function make({ way, batch, steps, cycle }) {
  const { table } = transitions(steps, prioritized(ALPHA));
  const draw = ways(table, way, batch, { beta: BETA });
  if (draw === undefined) return NO_RECYCLE;
  return { run: cycle ? cycling(table, draw, way, batch) : sampling(draw, way), columns: contents(draw()) };
}

function cycling(table, draw, way, batch) {
  const sets = prioritySets(batch);
  const comesBack = way === "recycled";
  return (n) => {
    let found = 0;
    for (let k = 0; k < n; k++) {
      const drawn = draw();
      found += table.updatePriorities(drawn.info.keys, sets[k & (sets.length - 1)]);
      if (comesBack) drawn.release();
    }
    return found;
  };
}
