/** Iteration that ends as soon as a signal says so, though the next value is still on its way. */

/** @throws what the signal says; the source is closed once it has done what it is doing */
export async function* stoppable<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void, undefined> {
  const iterator = source[Symbol.asyncIterator]();
  let abort: () => void = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
  });
  aborted.catch(() => undefined);
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await Promise.race([iterator.next(), aborted]);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", abort);
    // Who is called off does not wait for it.
    const closing = iterator.return?.()?.then(undefined, () => undefined);
    if (!signal.aborted) await closing;
  }
}
