/** What samplers are, of whatever tables, and their options. */
import { integer, mustBe } from "../../base/error.ts";
import { MAX_TIMEOUT_MS } from "../../base/limits.ts";
import type { WaitOptions } from "../../base/wait.ts";
import type { DrawnItem } from "./sample.ts";

/** How a table is drawn from. -1 is what it is where an option is left out. */
export interface SamplerOptions {
  /** Items at most. Default: no limit. */
  readonly maxSamples?: number;
  /** So long it waits for the rate limiter, and then is at its end. Default: for ever. */
  readonly rateLimiterTimeoutMs?: number;
  /** Items that a server may have on their way to a stream. In this process nothing is drawn ahead: checked, and without effect, like those below. */
  readonly maxInFlightSamplesPerWorker?: number;
  /** Streams from a server. */
  readonly numWorkersPerIterator?: number;
  /** Items of one stream, before another one takes its place. */
  readonly maxSamplesPerStream?: number;
}

export interface Sampler {
  /**
   * The next item, at once or as a promise; undefined after `maxSamples`.
   * @throws ReplayError TIMEOUT where the rate limiter lets none pass within `rateLimiterTimeoutMs` · NOT_FOUND, CLOSED, or the signal's reason
   */
  next(options?: Pick<WaitOptions, "signal">): DrawnItem | undefined | Promise<DrawnItem | undefined>;
  /** Ends the streams. What was not asked for in this process is still in the table. @param reason what who waits is told; CLOSED where it is left out */
  close(reason?: unknown): void;
}

/** The options of a sampler, checked. @throws TypeError, RangeError */
export function checkSampler(options: SamplerOptions): SamplerOptions {
  const count = (name: keyof SamplerOptions, open: boolean) => {
    const value = options[name];
    if (value === undefined || (open && value === -1)) return;
    if (!Number.isInteger(value) || value < 1) throw mustBe(kindFor(value), name, `an integer >= 1${open ? ", or -1" : ""}`, value);
  };
  count("maxInFlightSamplesPerWorker", false);
  count("numWorkersPerIterator", true);
  count("maxSamplesPerStream", true);
  count("maxSamples", true);
  integer("rateLimiterTimeoutMs", options.rateLimiterTimeoutMs ?? -1, -1, MAX_TIMEOUT_MS);
  return options;
}

function kindFor(value: unknown): typeof TypeError | typeof RangeError {
  return Number.isInteger(value) ? RangeError : TypeError;
}
