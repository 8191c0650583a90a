/**
 * Measuring two sides against each other on a machine that is not quiet: short samples of both in turns, so that what disturbs one disturbs the other.
 * mitata measures one function to its end and then the next one; of it only `do_not_optimize` is used.
 */
import { do_not_optimize } from "mitata";

const SAMPLE_MS = 20;
const ROUNDS = 15;
const WARM_MS = 300;

/** Keeps what a measured function returns from being optimised away. */
function timed(side, n) {
  const start = performance.now();
  do_not_optimize(side(n));
  return performance.now() - start;
}

/** How many operations make a sample; warms the function up on the way. */
function calibrate(side) {
  const until = performance.now() + WARM_MS;
  let n = 1;
  let ms = timed(side, n);
  while (ms < SAMPLE_MS || performance.now() < until) {
    if (ms < SAMPLE_MS) n = Math.ceil(n * Math.min(Math.max((1.2 * SAMPLE_MS) / Math.max(ms, 0.01), 1.1), 10));
    ms = timed(side, n);
  }
  return n;
}

/** Nanoseconds an operation of each side: the least of interleaved rounds. Noise only adds. */
export function race(ours, rival, rounds = ROUNDS) {
  const sides = [ours, rival].map((side) => ({ side, n: calibrate(side), best: Number.POSITIVE_INFINITY }));
  for (let round = 0; round < rounds; round++) {
    // Each goes first as often as the other.
    for (const one of round % 2 === 0 ? sides : sides.toReversed()) {
      one.best = Math.min(one.best, (timed(one.side, one.n) * 1e6) / one.n);
    }
  }
  return sides.map((one) => one.best);
}

/**
 * Bytes by which the used heap grows in n calls, which `side(n)` makes in a loop of its own as a program would, counted where it could hide: the heap is read often and only what it rises counts, so that a
 * collection in between takes nothing away. The least of three windows of n calls each: what a call allocates is in all of them,
 * what the compiler leaves behind once is not.
 */
export function heapGrowth(side, n) {
  const READINGS = 50;
  const WINDOWS = 3;
  // Compiled, and every lazy array made.
  grown(side, n, READINGS);
  globalThis.gc();
  globalThis.gc();
  // The first readings after a collection show some 150 KB that come with it, whatever is called.
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
