/** Iterates until a signal aborts, even if the next value is still pending. */

/** @throws the signal's reason. The source is closed once its current work is done */
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
    // A cancelled caller does not wait for the source to close.
    const closing = iterator.return?.()?.then(undefined, () => undefined);
    if (!signal.aborted) await closing;
  }
}
