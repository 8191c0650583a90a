/** Draws of windows choose a stream, one of its starts, and the rows from there on. */
import { random_below } from "../../memory/random";
import { Draw, PROBABILITY, SLOT, START } from "../draw";
import { draw_rows, OF_STREAMS } from "../row-matrix";
import { BY_STEPS, LEVEL, StreamSet } from "./streams";

/**
 * Returns the sum of the streams' weights for windows of `width` steps (LEVEL: the number of windows), or 0 if no stream is long enough. O(1), or O(n) if
 * a stream, the width or the weight has changed since the last call
 */
export function streams_total(set: usize, width: u32, weigh: u32): u32 {
  const s = changetype<StreamSet>(set);
  if (weigh != LEVEL) return s.total(width, weigh);
  const steps = s.stream(0).recent().count;
  return steps < width ? 0 : s.n * (steps - width + 1);
}

/**
 * Draws `ask` windows of `width` steps: first a stream that is long enough, by its weight (0 LEVEL, 1 ALIKE, 2 BY_STEPS), then uniformly one of its starts.
 * Fills SLOT (the stream), START, PROBABILITY (of this window), LENGTH and the rows. With width 0, the function draws streams without windows. Returns the
 * number of windows; 0 if no stream is long enough, or the draw has no room for `ask`. O(ask × (log n + width)), and O(n) if a stream, the width or the weight
 * has changed since the last draw.
 */
export function streams_draw(set: usize, draw: usize, ask: u32, width: u32, weigh: u32): u32 {
  const s = changetype<StreamSet>(set);
  const d = changetype<Draw>(draw);
  const steps = s.stream(0).recent().count;
  d.count = 0;
  const total = streams_total(set, width, weigh);
  if (total == 0 || !d.fits(ask, width)) return 0;
  for (let k: u32 = 0; k < ask; k++) {
    const rank = random_below(s.random(), total);
    let stream: u32 = 0;
    let start: u32 = 0;
    let probability: f64 = 1 / <f64>total;
    if (weigh == LEVEL) {
      const starts = steps - width + 1;
      stream = rank / starts;
      start = rank % starts;
    } else {
      stream = s.find(rank);
      const count = s.stream(stream).recent().count;
      const starts = width == 0 ? 1 : count - width + 1;
      if (width != 0) start = random_below(s.random(), starts);
      probability = (weigh == BY_STEPS ? <f64>count : 1) / (<f64>total * <f64>starts);
    }
    store<u32>(d.u32At(SLOT, k), stream);
    store<u32>(d.u32At(START, k), start);
    store<f64>(d.f64At(PROBABILITY, k), probability);
  }
  return draw_rows(draw, OF_STREAMS, set, ask, width, 0);
}
