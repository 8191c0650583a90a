/** Computes values only when they are first needed. */

/** Returns a function that calls `find` once and caches its result. A failure is not cached, so the next call tries again. */
export function lazy<T>(find: () => Promise<T>): () => Promise<T> {
  let pending: Promise<T> | undefined;
  return () => {
    pending ??= find().catch((error) => {
      pending = undefined;
      throw error;
    });
    return pending;
  };
}

/** Iterates over a source that is opened when the first value is requested. */
export async function* lazyIterable<T>(find: () => Promise<AsyncIterable<T>>): AsyncGenerator<T, void, undefined> {
  yield* await find();
}

/** Yields nothing. */
export async function* emptyIterable(): AsyncGenerator<never, void, undefined> {}
