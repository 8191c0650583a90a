/** Elements one after the other, as a dataset: for `for` and `for await`. */
import type { Dataset } from "../../dataset.ts";
import type { Waiters, WaitOptions } from "../../wait.ts";

/** Where elements come from: `undefined` is the end. */
export interface ElementSource<E> {
  next(): E | undefined;
  /** The same for async iterations, where they may wait. */
  later?(options: WaitOptions): Promise<E | undefined>;
}

export interface ElementsOptions {
  readonly prefetch?: number;
  readonly signal?: AbortSignal;
}

/** @param begin each iteration has a source of its own */
export function elementsOf<E extends object>(begin: () => ElementSource<E>, { prefetch = 0, signal }: ElementsOptions): Dataset<E> {
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
      signal?.addEventListener("abort", forward);
      try {
        for (;;) {
          signal?.throwIfAborted();
          while (under.length <= prefetch) {
            const promise = source.later?.({ signal: stop.signal }) ?? once(source);
            // It may fail long before it is awaited, or never be awaited.
            promise.catch(() => {});
            under.push(promise);
          }
          const element = await under.shift();
          if (element === undefined) return;
          yield element;
        }
      } finally {
        // A batch that still waits would draw items that nobody sees.
        signal?.removeEventListener("abort", forward);
        stop.abort();
      }
    },
  };
}

async function once<E>(source: ElementSource<E>): Promise<E | undefined> {
  return source.next();
}

/** The elements of a generator. */
export function passing<E>(elements: Iterator<E, void>): ElementSource<E> {
  return {
    next() {
      const { done, value } = elements.next();
      return done ? undefined : value;
    },
  };
}

/** Draws without end; with a time-out an async iteration waits until one can be had. */
export function endless<E>(draw: () => E, waiters: Waiters, timeoutMs: number | undefined): ElementSource<E> {
  if (timeoutMs === undefined) return { next: draw };
  const attempt = (): E | undefined => {
    try {
      return draw();
    } catch (error) {
      if (codeOf(error) === "EMPTY" || codeOf(error) === "TOO_FEW") return undefined;
      throw error;
    }
  };
  return {
    next: draw,
    async later({ signal }) {
      try {
        return await waiters.until(attempt, () => "a draw from the buffer", { signal, timeoutMs });
      } catch (error) {
        if (codeOf(error) === "TIMEOUT") return undefined;
        throw error;
      }
    },
  };
}

/** What kind of error it is: a ReplayError's code. */
export function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}
