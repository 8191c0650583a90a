/** Draws uniform batches of transitions. */
import { transitions } from "./source.mjs";
import { contents, NO_RECYCLE, sampling, ways } from "./ways.mjs";

export function make({ way, batch, steps }) {
  const { table } = transitions(steps);
  const draw = ways(table, way, batch, {});
  if (draw === undefined) return NO_RECYCLE;
  return { run: sampling(draw, way), columns: contents(draw()) };
}
