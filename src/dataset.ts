/** Batches of a table one after the other. */
import { integer } from "./error.ts";
import type { SampleOptions } from "./reader.ts";
import type { WaitOptions } from "./wait.ts";

export interface DatasetOptions<Path extends string = string, C = object> extends SampleOptions<Path, C> {
  readonly batchSize: number;
  /** Ends the iteration with its reason. */
  readonly signal?: AbortSignal;
  /** An async iteration ends, without an error, when the next batch has not come within so many milliseconds. */
  readonly timeoutMs?: number;
  /** Batches that are drawn ahead of the one that is asked for; 0 where it is left out. With `into` there are none. */
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
export class Dataset<B> implements Iterable<B>, AsyncIterable<B> {
  readonly #table: Source<B>;
  readonly #n: number;
  readonly #sample: SampleOptions;
  readonly #wait: WaitOptions;
  /** Batches under way at a time. */
  readonly #most: number;

  constructor(table: Source<B>, options: DatasetOptions) {
    const { batchSize, signal, timeoutMs, prefetch = 0, ...sample } = options;
    this.#table = table;
    this.#n = integer("batchSize", batchSize, 1, 0xffffff);
    this.#most = 1 + (options.into === undefined ? integer("prefetch", prefetch, 0, 1024) : 0);
    this.#sample = sample as SampleOptions;
    this.#wait = { signal, timeoutMs };
  }

  *[Symbol.iterator](): Generator<B, void> {
    while (this.#table.ready(this.#n, this.#sample)) {
      this.#wait.signal?.throwIfAborted();
      const batch = this.#table.sample(this.#n, this.#sample);
      // Draws may use items up: what they gave is not lost, and it is the end.
      if (batch.count !== 0) yield batch;
      if (batch.count < this.#n) return;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<B, void> {
    const { signal } = this.#wait;
    const ahead: Promise<B | undefined>[] = [];
    const stop = new AbortController();
    const forward = () => stop.abort(signal?.reason);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", forward);
    try {
      for (;;) {
        while (ahead.length < this.#most) {
          const next = this.#next(stop.signal);
          // It may fail long before its turn, or without one.
          next.catch(() => {});
          ahead.push(next);
        }
        const batch = await ahead.shift();
        if (batch === undefined) return;
        yield batch;
      }
    } finally {
      // What still waits would draw, and nobody would see it.
      signal?.removeEventListener("abort", forward);
      stop.abort();
    }
  }

  /** The next batch; undefined where none came in time. */
  async #next(signal: AbortSignal): Promise<B | undefined> {
    try {
      return await this.#table.sampleWhenReady(this.#n, { ...this.#sample, ...this.#wait, signal });
    } catch (error) {
      if ((error as { code?: string }).code === "TIMEOUT") return undefined;
      throw error;
    }
  }
}
