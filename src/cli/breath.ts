/** A way through episodes that lets others have their turn: without it, Ctrl-C waits until a file is at its end. */
import { setImmediate as turn } from "node:timers/promises";

const BREATH_MS = 50;

export async function* breathing<T>(each: AsyncIterable<T> | Iterable<T>, signal: AbortSignal): AsyncGenerator<T, void, undefined> {
  let next = performance.now() + BREATH_MS;
  for await (const value of each) {
    yield value;
    if (performance.now() < next) continue;
    await turn();
    signal.throwIfAborted();
    next = performance.now() + BREATH_MS;
  }
}
