/** Defines the interface and the options of samplers. */
import { integer, mustBe } from "../../base/error.ts";
import { MAX_TIMEOUT_MS } from "../../base/limits.ts";
import type { WaitOptions } from "../../base/wait.ts";
import type { DrawnItem } from "./sample.ts";

/** The options for drawing from a table. -1 means the default of an option, except for `maxInFlightSamplesPerWorker`. */
export interface SamplerOptions {
  /** The maximum number of items. Default: no limit. */
  readonly maxSamples?: number;
  /** The time in milliseconds that the sampler waits for the rate limiter before it stops. Default: no limit. */
  readonly rateLimiterTimeoutMs?: number;
  /**
   * The maximum number of items in flight from a server per stream. In this process, nothing is prefetched, so this option and the two options below are
   * checked but have no effect.
   */
  readonly maxInFlightSamplesPerWorker?: number;
  /** The number of streams from a server. */
  readonly numWorkersPerIterator?: number;
  /** The number of items after which a new stream replaces a stream. */
  readonly maxSamplesPerStream?: number;
}

export interface Sampler {
  /**
   * Returns the next item, directly or as a promise. Returns undefined after `maxSamples` items.
   * @throws ReplayError TIMEOUT if the rate limiter allows no draw within `rateLimiterTimeoutMs`
   * @throws ReplayError NOT_FOUND if the table does not exist
   * @throws ReplayError CLOSED after `close`
   * @throws the signal's reason if the signal aborts
   */
  next(options?: Pick<WaitOptions, "signal">): DrawnItem | undefined | Promise<DrawnItem | undefined>;
  /**
   * Closes the sampler and ends its streams. In this process, items that were not requested remain in the table.
   * @param reason the error for waiting calls. Default: CLOSED
   */
  close(reason?: unknown): void;
}

/** Returns the checked options of a sampler. @throws TypeError, RangeError if an option is invalid */
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
