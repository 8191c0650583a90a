/**
 * Implements a clock that counts turns of the event loop: each turn is a millisecond for timers and for `performance.now`. A client and its servers in one
 * process take the same number of turns on every machine, so their timeouts do not depend on the machine's load, and hours pass in seconds. Other processes and
 * `AbortSignal.timeout` keep real time.
 */
import { afterEach, beforeEach, vi } from "vitest";

/** Installs this clock for every test of the file. */
export function useTurnClock(): void {
  let isOver = false;
  const turn = () => {
    if (isOver) return;
    vi.advanceTimersByTime(1);
    setImmediate(turn);
  };
  beforeEach(() => {
    isOver = false;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    setImmediate(turn);
  });
  afterEach(() => {
    isOver = true;
    vi.useRealTimers();
  });
}

/** Like `AbortSignal.timeout`, with this clock. */
export function abortAfter(ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")), ms);
  return controller.signal;
}
