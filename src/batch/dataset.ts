/** Batches of a table as an iterable. */

import { codeOf, flag, integer, mustBe } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import { type Dataset, type ElementSource, elementsOf } from "./iterate.ts";
import type { SampleOptions } from "./options.ts";
import type { AwaitedBatch, Draws } from "./waiting.ts";

export interface DatasetOptions<Path extends string = string, C = object> extends SampleOptions<Path, C> {
  readonly batchSize: number;
  /** Ends the iteration by throwing its reason. */
  readonly signal?: AbortSignal;
  /** Ends an async iteration, without an error, if the next batch is not whole within this many milliseconds. */
  readonly timeoutMs?: number;
  /** Whether an async iteration leaves out what was drawn for a last batch that did not get whole in time. Default: false. */
  readonly dropRemainder?: boolean;
  /**
   * Number of batches that an async iteration draws ahead. They are as old as they were drawn, and count when the loop gets them: of those that it never gets only the
   * random state has changed. Ignored with `into`; nothing is drawn ahead from a table with `maxTimesSampled`, or with a rate limiter that counts draws. Default: 0.
   */
  readonly prefetch?: number;
}

export function datasetOf<B extends { readonly count: number; release?(): void }>(draws: Draws<B>, options: DatasetOptions): Dataset<B> {
  if (typeof options !== "object" || options === null) throw mustBe(TypeError, "the options of dataset", "an object with batchSize", options);
  const { batchSize, signal, timeoutMs, prefetch = 0, dropRemainder = false, ...sample } = options;
  const n = integer("batchSize", batchSize, 1, MAX_LENGTH);
  const ahead = options.into === undefined ? integer("prefetch", prefetch, 0, 1024) : 0;
  const drops = flag("dropRemainder", dropRemainder) === 1;
  // A batch that the caller gives may be lent by somebody else.
  const lends = sample.recycle === true || sample.recycle === "detach";
  const begin = (): ElementSource<B> => {
    let awaited: AwaitedBatch<B> | undefined;
    /** Whether the last batch was a short one. */
    let ended = false;
    /** Batches that the loop has not got yet. */
    const aheads = new Set<B>();
    return {
      next: () => draws.atOnce(n, sample),
      most: (prefetch) => draws.most(prefetch),
      ahead() {
        const batch = draws.ahead(n, sample);
        if (batch !== undefined) aheads.add(batch);
        return batch;
      },
      passed(batch) {
        if (aheads.delete(batch)) draws.sampler.passed(batch);
      },
      done: (batch) => {
        if (lends) batch.release?.();
      },
      async later({ signal: stop }) {
        if (ended) {
          ended = false;
          return undefined;
        }
        const under = awaited ?? draws.awaited(n, sample);
        awaited = under;
        try {
          const batch = await under.until({ ...(stop && { signal: stop }), ...(timeoutMs !== undefined && { timeoutMs }) });
          awaited = undefined;
          return batch;
        } catch (error) {
          const late = codeOf(error) === "TIMEOUT";
          // What is left out here is the beginning of the batch that a later call gives.
          if (late && drops) return undefined;
          awaited = undefined;
          if (!late) throw under.ended(error, stop);
          const rest = under.rest();
          ended = rest !== undefined;
          return rest;
        }
      },
    };
  };
  return elementsOf(begin, { prefetch: ahead, ...(signal !== undefined && { signal }) });
}
