/** Draws of windows: which stream, which of its starts, and the rows from there on. */

import { random_below } from "../memory/random";
import { Draw, LENGTH, PROBABILITY, SLOT, STEPS as START } from "./draw";
import { LEVEL, STEPS, Windows } from "./streams";

/** The sum of the streams' weights for windows of `width` steps; 0 where no stream is long enough. O(1), or O(n) as a draw */
export function windows_total(windows: usize, width: u32, weigh: u32): u32 {
  const w = changetype<Windows>(windows);
  if (weigh != LEVEL) return w.total(width, weigh);
  const steps = w.stream(0).window().count;
  return steps < width ? 0 : w.n * (steps - width + 1);
}

/**
 * `ask` windows of `width` steps: a stream that has so many, by its weight (0 LEVEL, 1 ALIKE, 2 STEPS), then one of its starts, all alike. Fills SLOT (the
 * stream), STEPS (the start), PROBABILITY (of this window), LENGTH and the rows. With width 0 streams are drawn, without windows. How many; 0 where no stream is
 * long enough, or the draw has no room for so many. O(ask × (log n + width)), and O(n) where a window, the width or the weight has changed since the last draw.
 */
export function windows_draw(windows: usize, draw: usize, ask: u32, width: u32, weigh: u32): u32 {
  const w = changetype<Windows>(windows);
  const d = changetype<Draw>(draw);
  const steps = w.stream(0).window().count;
  d.count = 0;
  const total = windows_total(windows, width, weigh);
  if (total == 0 || !fits(d, ask, width)) return 0;
  for (let k: u32 = 0; k < ask; k++) {
    const rank = random_below(w.random(), total);
    let stream: u32 = 0;
    let start: u32 = 0;
    let probability: f64 = 1 / <f64>total;
    if (weigh == LEVEL) {
      const starts = steps - width + 1;
      stream = rank / starts;
      start = rank % starts;
    } else {
      stream = w.find(rank);
      const count = w.stream(stream).window().count;
      const starts = width == 0 ? 1 : count - width + 1;
      if (width != 0) start = random_below(w.random(), starts);
      probability = (weigh == STEPS ? <f64>count : 1) / (<f64>total * <f64>starts);
    }
    store<u32>(d.u32At(SLOT, k), stream);
    store<u32>(d.u32At(START, k), start);
    store<f64>(d.f64At(PROBABILITY, k), probability);
  }
  windows_read(windows, draw, ask, width);
  return ask;
}

/** The rows of windows that are named by the host, in SLOT and STEPS: `width` places each, those past the newest step empty; LENGTH tells how many are there. How many windows; 0 where the draw has no room for them, and then nothing is written. O(count × width) */
export function windows_read(windows: usize, draw: usize, count: u32, width: u32): u32 {
  const w = changetype<Windows>(windows);
  const d = changetype<Draw>(draw);
  if (!fits(d, count, width)) return 0;
  d.count = count;
  d.width = width;
  let row = <usize>d.rows;
  for (let k: u32 = 0; k < count; k++) {
    const stream = d.slot(k);
    // The host named it: one that is not there has no steps.
    const window = w.stream(min(stream, w.n - 1)).window();
    const start = load<u32>(d.u32At(START, k));
    const length = stream < w.n && start < window.count ? min(width, window.count - start) : 0;
    store<u32>(d.u32At(LENGTH, k), length);
    for (let j: u32 = 0; j < width; j++, row += 4) store<u32>(row, j < length ? window.get(start + j) : 0);
  }
  return count;
}

/** Whether a draw was made for so many windows of so many rows (`draw_init`): what is behind it is not its own. */
function fits(d: Draw, count: u32, width: u32): bool {
  return count <= d.stride >> 3 && <u64>count * <u64>width <= <u64>((d.selected - d.rows) >> 2);
}
