/** Draws batches with one half from each of two Replays. */
import { mixture } from "../../package.mjs";
import { transitions } from "./source.mjs";
import { contents, NO_RECYCLE, sampling, ways } from "./ways.mjs";

export function make({ way, batch, steps }) {
  const mix = mixture([transitions(steps / 2).table, transitions(steps / 2).table].map((from) => ({ from, share: 0.5 })));
  const draw = ways(mix, way, batch, {});
  if (draw === undefined) return NO_RECYCLE;
  return { run: sampling(draw, way), columns: contents(draw()) };
}
