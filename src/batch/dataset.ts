/** Implements the dataset of a table: its batches as an iterable. */

import { codeOf, flag, integer, mustBe, ReplayError } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import type { EpochState } from "./epoch-state.ts";
import { type EpochDataset, type EpochOptions, epochsOf } from "./epochs.ts";
import { type Dataset, type ElementSource, elementsOf } from "./iterate.ts";
import type { SampleOptions } from "./options.ts";
import { type DrawSource, Draws, type PendingBatch } from "./waiting.ts";

export interface DatasetOptions<Path extends string = string, C = object> extends SampleOptions<Path, C> {
  readonly batchSize: number;
  /** A signal that ends the iteration. The iteration throws the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * The maximum wait of an async iteration for the next full batch, in milliseconds. The iteration then ends without an error, after a short batch with the
   * items drawn so far, if there are any and `dropRemainder` is false. Default: no limit.
   */
  readonly timeoutMs?: number;
  /**
   * Whether an async iteration withholds a batch that did not fill in time. If the same iteration continues, its next batch begins with the withheld items.
   * With `epochs`, a short batch at the end of an epoch is dropped. Default: false.
   */
  readonly dropRemainder?: boolean;
  /**
   * The number of batches that an async iteration draws ahead. These batches show the table as it was when they were drawn, but count as samples only when the
   * loop receives them. Batches that the loop never receives change only the random state. Ignored with `into`. Nothing is drawn ahead from a table with
   * `maxTimesSampled`, or with a rate limiter that counts draws. At most 1024. Default: 0.
   */
  readonly prefetch?: number;
  /**
   * The number of epochs. Each epoch yields every item that is in the table at the start of the epoch once, in random order unless `shuffle` is false. The last
   * batch of an epoch may be short. Epochs exclude `beta`, `normalize`, `among`, `stratified` and `replacement: true`, as well as mixtures and tables with
   * `maxTimesSampled`. Default: none, for an endless series of independent draws.
   */
  readonly epochs?: number;
  /**
   * Whether the order of an epoch is random, with `epochs`. If false, the order is that of the slots, which is insertion order until an item is removed.
   * Default: true.
   */
  readonly shuffle?: boolean;
  /** The seed of the random orders, with `epochs`: an integer from 0 to 2^32 - 1. Default: 0. */
  readonly seed?: number;
  /** A result of `state()` from which this dataset continues, with `epochs`. Default: the beginning. */
  readonly state?: EpochState;
}

/** The type of the dataset that options produce: an EpochDataset if `epochs` is set, otherwise a Dataset. */
export type DatasetOf<B, O> = [O] extends [{ readonly epochs: number }] ? EpochDataset<B> : Dataset<B>;
const OF_EPOCHS = ["shuffle", "seed", "state"] as const;

export function datasetOf<B extends { readonly count: number; release?(): void }>(draws: DrawSource<B>, options: DatasetOptions): Dataset<B> {
  if (typeof options !== "object" || options === null) throw mustBe(TypeError, "the options of dataset", "an object with batchSize", options);
  if (options.epochs !== undefined) {
    if (!(draws instanceof Draws))
      throw new ReplayError("UNSUPPORTED", "a mixture has no epochs, because its sources have separate items. Iterate over one dataset per source");
    return epochsOf(draws, options as DatasetOptions & EpochOptions);
  }
  const lone = OF_EPOCHS.find((option) => options[option] !== undefined);
  if (lone !== undefined) throw mustBe(TypeError, lone, "omitted if epochs is omitted", options[lone]);
  const { batchSize, signal, timeoutMs, prefetch = 0, dropRemainder = false, ...others } = options;
  const { epochs: _, shuffle: __, seed: ___, state: ____, ...sample } = others;
  const n = integer("batchSize", batchSize, 1, MAX_LENGTH);
  const ahead = options.into === undefined ? integer("prefetch", prefetch, 0, 1024) : 0;
  const drops = flag("dropRemainder", dropRemainder) === 1;
  // Only batches with `recycle` are released after each iteration. A batch that the caller passes is released by its owner.
  const lends = sample.recycle === true || sample.recycle === "detach";
  const begin = (): ElementSource<B> => {
    let awaited: PendingBatch<B> | undefined;
    /** Whether the last batch was short. */
    let ended = false;
    /** Batches that the loop has not received yet. */
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
        if (aheads.delete(batch)) draws.passed(batch);
      },
      done: (batch) => {
        if (lends) batch.release?.();
      },
      later({ signal: stop }) {
        if (ended) {
          ended = false;
          return undefined;
        }
        const under = awaited ?? draws.awaited(n, sample);
        awaited = under;
        const whole = (batch: B) => {
          awaited = undefined;
          return batch;
        };
        const failed = (error: unknown) => {
          const late = codeOf(error) === "TIMEOUT";
          // The drawn items are kept: a later call returns them as the beginning of its batch.
          if (late && drops) return undefined;
          awaited = undefined;
          if (!late) throw under.ended(error, stop);
          const rest = under.rest();
          ended = rest !== undefined;
          return rest;
        };
        try {
          const batch = under.until({ signal: stop, timeoutMs });
          return batch instanceof Promise ? batch.then(whole, failed) : whole(batch);
        } catch (error) {
          return failed(error);
        }
      },
    };
  };
  return elementsOf(begin, { prefetch: ahead, ...(signal !== undefined && { signal }) });
}
