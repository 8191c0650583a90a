/** An iteration that yields to the event loop from time to time. Without it, Ctrl-C would wait for the end of a file. */
import { setImmediate as turn } from "node:timers/promises";

const YIELD_MS = 50;

export async function* withYields<T>(iterable: AsyncIterable<T> | Iterable<T>, signal: AbortSignal): AsyncGenerator<T, void, undefined> {
  let next = performance.now() + YIELD_MS;
  for await (const value of iterable) {
    yield value;
    if (performance.now() < next) continue;
    await turn();
    signal.throwIfAborted();
    next = performance.now() + YIELD_MS;
  }
}
