/** Batches of a table as an iterable. */
import { codeOf, integer, mustBe } from "./error.ts";
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

/** Where elements come from: `undefined` is the end. */
export interface ElementSource<E> {
  next(): E | undefined;
  /** The same for async iterations, where they may wait. */
  later?(options: WaitOptions): Promise<E | undefined>;
}

/** Elements one after the other. An async iteration ends, without an error, where one does not come in time. @param begin each iteration has a source of its own */
export function elementsOf<E>(begin: () => ElementSource<E>, { prefetch = 0, signal }: Pick<DatasetOptions, "prefetch" | "signal">): Dataset<E> {
  return {
    *[Symbol.iterator](): Generator<E, void> {
      const source = begin();
      for (;;) {
        signal?.throwIfAborted();
        const element = source.next();
        if (element === undefined) return;
        yield element;
      }
    },

    async *[Symbol.asyncIterator](): AsyncGenerator<E, void> {
      const source = begin();
      const under: Promise<E | undefined>[] = [];
      const stop = new AbortController();
      const forward = () => stop.abort(signal?.reason);
      const draw = async () => (source.later === undefined ? source.next() : source.later({ signal: stop.signal }));
      signal?.addEventListener("abort", forward);
      try {
        for (;;) {
          signal?.throwIfAborted();
          while (under.length <= prefetch) {
            const promise = draw();
            // It may fail long before it is awaited, or never be awaited.
            promise.catch(() => {});
            under.push(promise);
          }
          const element = await under.shift();
          if (element === undefined) return;
          yield element;
        }
      } catch (error) {
        if (codeOf(error) !== "TIMEOUT") throw error;
      } finally {
        // A batch that still waits would draw items that nobody sees.
        signal?.removeEventListener("abort", forward);
        stop.abort();
      }
    },
  };
}

export function datasetOf<B>(table: BatchSource<B>, options: DatasetOptions): Dataset<B> {
  if (typeof options !== "object" || options === null) throw mustBe(TypeError, "the options of dataset", "an object with batchSize", options);
  const { batchSize, signal, timeoutMs, prefetch = 0, ...sample } = options;
  const n = integer("batchSize", batchSize, 1, MAX_LENGTH);
  const ahead = options.into === undefined ? integer("prefetch", prefetch, 0, 1024) : 0;
  const begin = (): ElementSource<B> => {
    let ended = false;
    return {
      next() {
        if (ended || !table.ready(n, sample)) return undefined;
        const batch = table.sample(n, sample);
        // Draws may use items up, so the last batch may be shorter. Give it before the end.
        ended = batch.count < n;
        return batch.count === 0 ? undefined : batch;
      },
      later: (stop) => table.sampleWhenReady(n, { ...sample, timeoutMs, ...stop }),
    };
  };
  return elementsOf(begin, { prefetch: ahead, ...(signal && { signal }) });
}
