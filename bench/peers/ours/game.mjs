/** Runs the frames of a game. Each frame appends a step, draws a batch and sets new priorities. Measures the frame times and counts garbage collections. */
import { PerformanceObserver } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import { prioritized } from "../../package.mjs";
import { staged } from "./add.mjs";
import { ALPHA, BETA, columns, prioritySets, transitions } from "./source.mjs";
import { contents, NO_RECYCLE, ways } from "./ways.mjs";

const PERCENTILES = { p50: 0.5, p99: 0.99, p999: 0.999, p9999: 0.9999 };

export function make({ way, batch, steps }) {
  const { replay, table } = transitions(steps, prioritized(ALPHA));
  const append = staged(replay.writer({ items: [{ table: "t", length: 1 }] }), columns());
  const draw = ways(table, way, batch, { beta: BETA });
  if (draw === undefined) return NO_RECYCLE;
  const sets = prioritySets(batch);
  const comesBack = way === "recycled";
  let times = new Float64Array(0);

  const frame = (k) => {
    append(1);
    const drawn = draw();
    table.updatePriorities(drawn.info.keys, sets[k & (sets.length - 1)]);
    if (comesBack) drawn.release();
  };
  const measure = async (n) => {
    if (times.length < n) times = new Float64Array(n);
    const begun = performance.now();
    for (let k = 0; k < n; k++) {
      const start = performance.now();
      frame(k);
      times[k] = performance.now() - start;
    }
    const ns = 1e6 * (performance.now() - begun);
    const sorted = times.subarray(0, n).sort();
    const percentiles = Object.entries(PERCENTILES).map(([name, share]) => [name, 1000 * sorted[Math.min(Math.floor(share * n), n - 1)]]);
    // Collections are counted separately, because the clock creates garbage.
    const collections = await collectionsOf(() => {
      for (let k = 0; k < n; k++) frame(k);
    });
    return { ns, ...Object.fromEntries(percentiles), collections };
  };
  return { measure, columns: contents(draw()) };
}

/** Returns the number of garbage collections during a call. */
async function collectionsOf(call) {
  let count = 0;
  const observer = new PerformanceObserver((list) => (count += list.getEntries().length));
  globalThis.gc();
  await setImmediate();
  observer.observe({ entryTypes: ["gc"] });
  call();
  // Entries arrive in later turns of the event loop.
  for (let turn = 0; turn < 3; turn++) await setImmediate();
  observer.disconnect();
  return count;
}
