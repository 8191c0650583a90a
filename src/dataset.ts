/** Batches of a table one after the other. */
import { integer } from "./error.ts";
import { MAX_LENGTH } from "./limits.ts";
import type { SampleOptions } from "./sample.ts";
import type { WaitOptions } from "./wait.ts";

export interface DatasetOptions<Path extends string = string, C = object> extends SampleOptions<Path, C> {
  readonly batchSize: number;
  /** Ends the iteration with its reason. */
  readonly signal?: AbortSignal;
  /** An async iteration ends, without an error, when the next batch has not come within so many milliseconds. */
  readonly timeoutMs?: number;
  /** Batches that are drawn ahead of the one that is asked for; 0 where it is left out. With `into` there are none. A time-out counts from when its batch is asked for ahead. */
  readonly prefetch?: number;
}

/** What batches come from: a table. */
export interface Source<B> {
  ready(n: number, options: SampleOptions): boolean;
  sample(n: number, options: SampleOptions): B & { readonly count: number };
  sampleWhenReady(n: number, options: SampleOptions & WaitOptions): Promise<B>;
}

/**
 * `for (const batch of dataset)` goes on while whole batches can be had at once, and then ends.
 * `for await (const batch of dataset)` waits for the rate limiter, until the signal, the time-out, or `break`.
 */
export interface Dataset<B> extends Iterable<B>, AsyncIterable<B> {}

export function datasetOf<B>(table: Source<B>, options: DatasetOptions): Dataset<B> {
  const { batchSize, signal, timeoutMs, prefetch = 0, ...sample } = options;
  const n = integer("batchSize", batchSize, 1, MAX_LENGTH);
  const ahead = options.into === undefined ? integer("prefetch", prefetch, 0, 1024) : 0;

  /** The next batch; undefined where none came in time. */
  const next = async (stop: AbortSignal): Promise<B | undefined> => {
    try {
      return await table.sampleWhenReady(n, { ...sample, timeoutMs, signal: stop });
    } catch (error) {
      if ((error as { code?: string }).code === "TIMEOUT") return undefined;
      throw error;
    }
  };

  return {
    *[Symbol.iterator](): Generator<B, void> {
      while (table.ready(n, sample)) {
        signal?.throwIfAborted();
        const batch = table.sample(n, sample);
        // Draws may use items up: what they gave is not lost, and it is the end.
        if (batch.count !== 0) yield batch;
        if (batch.count < n) return;
      }
    },

    async *[Symbol.asyncIterator](): AsyncGenerator<B, void> {
      const under: Promise<B | undefined>[] = [];
      const stop = new AbortController();
      const forward = () => stop.abort(signal?.reason);
      signal?.throwIfAborted();
      signal?.addEventListener("abort", forward);
      try {
        for (;;) {
          while (under.length <= ahead) {
            const promise = next(stop.signal);
            // It may fail long before its turn, or without one.
            promise.catch(() => {});
            under.push(promise);
          }
          const batch = await under.shift();
          if (batch === undefined) return;
          yield batch;
        }
      } finally {
        // What still waits would draw, and nobody would see it.
        signal?.removeEventListener("abort", forward);
        stop.abort();
      }
    },
  };
}
