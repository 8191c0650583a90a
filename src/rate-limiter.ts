/**
 * Rate limiters: when a table lets items in and out. One state machine with four numbers (Reverb's); these are choices of the numbers.
 * The cursor is inserts × samplesPerInsert - samples; it must stay in minDiff … maxDiff. Below minSize inserts always pass, samples never.
 */
import { finite, integer, mustBe } from "./error.ts";

export interface RateLimiter {
  readonly samplesPerInsert: number;
  readonly minSize: number;
  readonly minDiff: number;
  readonly maxDiff: number;
}

/** Samples wait until the table holds `minSize` items; inserts never wait. */
export function minSize(minSize = 1): RateLimiter {
  integer("minSize", minSize, 1);
  return { samplesPerInsert: 1, minSize, minDiff: -Number.MAX_VALUE, maxDiff: Number.MAX_VALUE };
}

/**
 * Keeps the ratio of samples to inserts near `samplesPerInsert`.
 * @param errorBuffer how far the cursor may stray from `samplesPerInsert * minSize` to both sides, or the range [minDiff, maxDiff] itself
 */
export function sampleToInsertRatio(samplesPerInsert: number, minSize: number, errorBuffer: number | readonly [number, number]): RateLimiter {
  if (finite("samplesPerInsert", samplesPerInsert) <= 0) throw mustBe(RangeError, "samplesPerInsert", "> 0", samplesPerInsert);
  integer("minSize", minSize, 1);
  const middle = samplesPerInsert * minSize;
  const [minDiff, maxDiff] = Array.isArray(errorBuffer) ? errorBuffer : [middle - finite("errorBuffer", errorBuffer), middle + (errorBuffer as number)];
  finite("errorBuffer[0]", minDiff);
  finite("errorBuffer[1]", maxDiff);
  const room = 2 * Math.max(1, samplesPerInsert);
  // In less, inserts and samples block each other; above it, the first sample waits for ever.
  if (minDiff <= middle && maxDiff - minDiff >= room) return { samplesPerInsert, minSize, minDiff, maxDiff };
  throw mustBe(RangeError, "errorBuffer", `a range of at least ${room} that begins at or below ${middle}`, `${minDiff} … ${maxDiff}`);
}

/** A queue of `size` items: inserts wait while it is full, samples while it is empty. With `maxTimesSampled: 1`. */
export function queueLimiter(size: number): RateLimiter {
  return { samplesPerInsert: 1, minSize: 1, minDiff: 0, maxDiff: integer("size", size, 1) };
}

/** Whether a value has the four numbers. */
export function isRateLimiter(value: unknown): value is RateLimiter {
  const { samplesPerInsert, minSize, minDiff, maxDiff } = (value ?? {}) as RateLimiter;
  return minSize >= 1 && [samplesPerInsert, minSize, minDiff, maxDiff].every(Number.isFinite);
}
