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
  if (!(finite("samplesPerInsert", samplesPerInsert) > 0)) throw mustBe(RangeError, "samplesPerInsert", "> 0", samplesPerInsert);
  integer("minSize", minSize, 1);
  const middle = samplesPerInsert * minSize;
  const pair = Array.isArray(errorBuffer);
  if (pair && errorBuffer.length !== 2) throw mustBe(TypeError, "errorBuffer", "a number or a pair [minDiff, maxDiff]", errorBuffer);
  const minDiff = pair ? finite("errorBuffer[0]", errorBuffer[0]) : middle - finite("errorBuffer", errorBuffer);
  const maxDiff = pair ? finite("errorBuffer[1]", errorBuffer[1]) : middle + (errorBuffer as number);
  const room = 2 * Math.max(1, samplesPerInsert);
  if (!(maxDiff - minDiff >= room)) {
    throw new RangeError(
      `errorBuffer must leave a range of at least 2 * max(1, samplesPerInsert) = ${room}, or inserts and samples block each other, got ${minDiff} … ${maxDiff}`,
    );
  }
  if (minDiff > middle) {
    throw new RangeError(
      `errorBuffer must begin at or below samplesPerInsert * minSize = ${middle}, or the first sample waits for ever, got ${minDiff} … ${maxDiff}`,
    );
  }
  return { samplesPerInsert, minSize, minDiff, maxDiff };
}

/** A queue of `size` items: inserts wait while it is full, samples while it is empty. With `maxTimesSampled: 1`. */
export function queueLimiter(size: number): RateLimiter {
  return { samplesPerInsert: 1, minSize: 1, minDiff: 0, maxDiff: integer("size", size, 1) };
}

/** Whether a value has the four numbers. */
export function isRateLimiter(value: unknown): value is RateLimiter {
  const limiter = value as RateLimiter | null;
  return (
    typeof limiter === "object" && limiter !== null && [limiter.samplesPerInsert, limiter.minSize, limiter.minDiff, limiter.maxDiff].every(Number.isFinite)
  );
}
