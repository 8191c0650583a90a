/**
 * Compares two sides on a busy machine: takes short samples of both in turn, so that disturbances affect both. mitata measures one function completely before
 * the next one, so only its `do_not_optimize` is used.
 */
import { do_not_optimize } from "mitata";

const SAMPLE_MS = 20;
const ROUNDS = 15;
const WARM_MS = 300;

/** Returns wall-clock milliseconds. */
export let now = () => performance.now();

/** Makes `now` return the processor time of all threads of this process, so that other programs matter less, and waiting for a disk does not count. */
export function countProcessorTime() {
  now = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  };
}

/**
 * A side of a case, ready to be timed. A side does n operations and may return a promise. In a case with `laps`, it runs once and returns the nanoseconds per
 * operation itself, because some of its work is only preparation.
 */
export class Timed {
  #side;
  #laps;
  /** The number of operations per sample. */
  n = 1;

  constructor(side, laps = false) {
    this.#side = side;
    this.#laps = laps;
  }

  /** Returns the nanoseconds per operation of one sample. */
  async sample() {
    if (this.#laps) return this.#side();
    const start = now();
    // Prevents the result from being optimized away.
    do_not_optimize(await this.#side(this.n));
    return ((now() - start) * 1e6) / this.n;
  }

  /** Determines the number of operations per sample, and warms the function up. */
  async calibrate(sampleMs = SAMPLE_MS) {
    const until = now() + WARM_MS;
    let ms;
    do {
      ms = ((await this.sample()) * this.n) / 1e6;
      if (!this.#laps && ms < sampleMs) this.n = Math.ceil(this.n * Math.min(Math.max((1.2 * sampleMs) / Math.max(ms, 0.01), 1.1), 10));
    } while (now() < until || (!this.#laps && ms < sampleMs));
  }
}

/** Returns a side that draws n batches and returns their number of items. */
export function counting(draw) {
  return (n) => {
    let count = 0;
    for (let k = 0; k < n; k++) count += draw().count;
    return count;
  };
}

/** Returns the number of nanoseconds in a unit. */
export function scaleOf(unit) {
  return unit === "ms" ? 1e6 : unit.startsWith("µs") ? 1000 : 1;
}

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Returns the nanoseconds per operation of each side: the minimum of interleaved rounds, because noise only adds time. */
export async function race(ours, rival, { laps, rounds = ROUNDS }) {
  const sides = [ours, rival].map((side) => ({ timed: new Timed(side, laps), best: Number.POSITIVE_INFINITY }));
  for (const { timed } of sides) await timed.calibrate();
  for (let round = 0; round < rounds; round++) {
    // The sides take turns in going first.
    for (const one of round % 2 === 0 ? sides : sides.toReversed()) one.best = Math.min(one.best, await one.timed.sample());
  }
  return sides.map((one) => one.best);
}

/**
 * Returns by how many bytes the used heap grows in n calls, which `side(n)` makes in its own loop, like a program. The heap size is read often and only
 * increases count, so that collections in between subtract nothing. The minimum of three windows of n calls each excludes one-time garbage of the compiler.
 */
export function heapGrowth(side, n) {
  const READINGS = 50;
  const WINDOWS = 3;
  // The first pass compiles the code and allocates every array that is created lazily.
  grown(side, n, READINGS);
  globalThis.gc();
  globalThis.gc();
  // The first readings after a collection include some 150 KB from the collection itself.
  grown(side, n / 10, READINGS / 10);
  return Math.min(...Array.from({ length: WINDOWS }, () => grown(side, n, READINGS)));
}

function grown(side, n, readings) {
  let sum = 0;
  let before = process.memoryUsage().heapUsed;
  for (let reading = 0; reading < readings; reading++) {
    side(n / readings);
    const now = process.memoryUsage().heapUsed;
    sum += Math.max(now - before, 0);
    before = now;
  }
  return sum;
}
