/** Batches of a table as an iterable. */
import { integer } from "./error.ts";
import { MAX_LENGTH } from "./limits.ts";
import type { SampleOptions } from "./sample.ts";
import type { WaitOptions } from "./wait.ts";

export interface DatasetOptions<Path extends string = string, C = object> extends SampleOptions<Path, C> {
  readonly batchSize: number;
  /** Ends the iteration by throwing its reason. */
  readonly signal?: AbortSignal;
  /** Ends an async iteration, without an error, if the next batch is not ready within this many milliseconds. */
  readonly timeoutMs?: number;
  /** Number of batches to draw ahead. Ignored with `into`. The timeout of a batch starts when it is requested ahead. Default: 0. */
  readonly prefetch?: number;
}

/** The source of batches: a table. */
export interface BatchSource<B> {
  ready(n: number, options: SampleOptions): boolean;
  sample(n: number, options: SampleOptions): B & { readonly count: number };
  sampleWhenReady(n: number, options: SampleOptions & WaitOptions): Promise<B>;
}

/**
 * `for (const batch of dataset)` continues while the table can give whole batches at once, and then ends.
 * `for await (const batch of dataset)` waits for the rate limiter, until the signal, the timeout or `break` ends it.
 */
export interface Dataset<B> extends Iterable<B>, AsyncIterable<B> {}

export function datasetOf<B>(table: BatchSource<B>, options: DatasetOptions): Dataset<B> {
  const { batchSize, signal, timeoutMs, prefetch = 0, ...sample } = options;
  const n = integer("batchSize", batchSize, 1, MAX_LENGTH);
  const ahead = options.into === undefined ? integer("prefetch", prefetch, 0, 1024) : 0;

  /** The next batch; undefined if none came in time. */
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
        // Draws may use items up, so the last batch may be shorter. Give it before the end.
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
            // It may fail long before it is awaited, or never be awaited.
            promise.catch(() => {});
            under.push(promise);
          }
          const batch = await under.shift();
          if (batch === undefined) return;
          yield batch;
        }
      } finally {
        // A batch that still waits would draw items that nobody sees.
        signal?.removeEventListener("abort", forward);
        stop.abort();
      }
    },
  };
}
