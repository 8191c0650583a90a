/**
 * Defines rate limiters, which decide when inserts and draws must wait. Every rate limiter is Reverb's state machine with four numbers. Its cursor, inserts ×
 * samplesPerInsert - samples, must stay in minDiff … maxDiff. With fewer than minSize items, inserts always pass, and draws never pass.
 */
import { described, finite, integer, mustBe } from "../base/error.ts";

export interface RateLimiter {
  readonly samplesPerInsert: number;
  readonly minSize: number;
  readonly minDiff: number;
  readonly maxDiff: number;
}

/** A limiter without limits. Its keys are the options of every rate limiter, in the order of LIMITER_OPTIONS in assembly/tables/rate-limiter.ts. */
export const NO_LIMIT: RateLimiter = { samplesPerInsert: 1, minSize: 1, minDiff: -Number.MAX_VALUE, maxDiff: Number.MAX_VALUE };
export const LIMITER_OPTIONS = Object.keys(NO_LIMIT) as readonly (keyof RateLimiter)[];

/**
 * Returns a limiter that makes draws wait until the table contains `minSize` items (1 by default). Inserts never wait. @throws TypeError, RangeError if
 * `minSize` is not a whole number of at least 1
 */
export function minSize(minSize = 1): RateLimiter {
  integer("minSize", minSize, 1);
  return { ...NO_LIMIT, minSize };
}

/**
 * Returns a limiter that keeps the ratio of draws to inserts near `samplesPerInsert`. It limits a cursor: inserts × samplesPerInsert - draws. Draws wait until
 * the table contains `minSize` items.
 * @param errorBuffer the maximum deviation of the cursor from `samplesPerInsert * minSize` in both directions, or the range [minDiff, maxDiff] of the cursor
 * @throws TypeError, RangeError if an argument is invalid, or if the range is narrower than 2 × max(1, samplesPerInsert) or begins above samplesPerInsert ×
 * minSize
 */
export function sampleToInsertRatio(samplesPerInsert: number, minSize: number, errorBuffer: number | readonly [number, number]): RateLimiter {
  if (finite("samplesPerInsert", samplesPerInsert) <= 0) throw mustBe(RangeError, "samplesPerInsert", "> 0", samplesPerInsert);
  integer("minSize", minSize, 1);
  const middle = samplesPerInsert * minSize;
  const [minDiff, maxDiff] = Array.isArray(errorBuffer) ? errorBuffer : [middle - finite("errorBuffer", errorBuffer), middle + (errorBuffer as number)];
  finite("errorBuffer[0]", minDiff);
  finite("errorBuffer[1]", maxDiff);
  const minRange = 2 * Math.max(1, samplesPerInsert);
  // In a smaller range, inserts and draws would block each other. In a higher range, the first draw would never pass.
  if (minDiff <= middle && maxDiff - minDiff >= minRange) return { samplesPerInsert, minSize, minDiff, maxDiff };
  throw mustBe(RangeError, "errorBuffer", `a range at least ${minRange} wide that starts at or below ${middle}`, described(`${minDiff} … ${maxDiff}`));
}

/**
 * Returns a limiter that makes the table a queue of `size` items. Inserts wait while the queue is full, and draws wait while the queue is empty. Use the
 * limiter with `maxTimesSampled: 1`.
 * @throws TypeError, RangeError if `size` is not a whole number of at least 1
 */
export function queueLimiter(size: number): RateLimiter {
  return { ...NO_LIMIT, minDiff: 0, maxDiff: integer("size", size, 1) };
}

/** Returns whether a call may have to wait because of the number of draws so far. */
export function waitsForDraws({ minDiff, maxDiff }: Pick<RateLimiter, "minDiff" | "maxDiff">): boolean {
  return minDiff > NO_LIMIT.minDiff || maxDiff < NO_LIMIT.maxDiff;
}

/**
 * Checks a rate limiter from any source. @throws TypeError if one of the four numbers is missing or not finite, or if minSize is not a whole number of at least
 * 1 · RangeError if samplesPerInsert is not above 0, or if minDiff exceeds maxDiff
 */
export function checkRateLimiter(subject: string, value: unknown): void {
  const limiter = (value ?? {}) as RateLimiter;
  const { samplesPerInsert, minSize, minDiff, maxDiff } = limiter;
  if (!LIMITER_OPTIONS.every((option) => Number.isFinite(limiter[option])) || minSize < 1)
    throw mustBe(TypeError, subject, "a rate limiter, such as minSize()", value);
  integer(`${subject}.minSize`, minSize, 1);
  if (samplesPerInsert <= 0) throw mustBe(RangeError, `${subject}.samplesPerInsert`, "> 0", samplesPerInsert);
  if (minDiff > maxDiff) throw mustBe(RangeError, `${subject}.minDiff`, `<= maxDiff (${maxDiff})`, minDiff);
}
