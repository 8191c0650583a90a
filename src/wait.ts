/** Calls that wait until something is possible. Other calls wake them; a signal or a timeout ends them. */
import { finite, ReplayError } from "./error.ts";

export interface WaitOptions {
  /** Ends the wait by rejecting with its reason. */
  readonly signal?: AbortSignal;
  /** Ends the wait with a TIMEOUT error after this many milliseconds. */
  readonly timeoutMs?: number;
}

/** setTimeout counts in 31 bits; longer timeouts would fire at once. */
const MAX_MS = 0x7fffffff;

interface Waiter {
  /** Tries again. A result or an error ends the wait. */
  attempt(): void;
  reject(reason: unknown): void;
}

export class Waiters {
  readonly #waiting = new Set<Waiter>();
  #waking = false;
  #again = false;

  /** Retries all waiting calls in their order, and again if one of them may have helped another. */
  wake(): void {
    if (this.#waiting.size === 0) return;
    this.#again = true;
    // The call of an attempt comes here as well.
    if (this.#waking) return;
    this.#waking = true;
    while (this.#again) {
      this.#again = false;
      for (const waiter of this.#waiting) waiter.attempt();
    }
    this.#waking = false;
  }

  rejectAll(reason: unknown): void {
    for (const waiter of this.#waiting) waiter.reject(reason);
  }

  /**
   * The result of `attempt`: at once if it is not `undefined`, else as a promise.
   * @param what for the message of a timeout
   */
  until<T>(attempt: () => T | undefined, what: () => string, options: WaitOptions = {}): T | Promise<T> {
    const { signal, timeoutMs } = options;
    if (timeoutMs !== undefined) finite("timeoutMs", timeoutMs, 0, MAX_MS);
    signal?.throwIfAborted();
    const first = attempt();
    if (first !== undefined) return first;
    const promise = new Promise<T>((resolve, reject) => {
      const ends =
        <V>(settle: (value: V) => void) =>
        (value: V) => {
          this.#waiting.delete(waiter);
          clearTimeout(timer);
          signal?.removeEventListener("abort", aborted);
          settle(value);
        };
      const done = ends(resolve);
      const waiter: Waiter = {
        attempt() {
          try {
            const result = attempt();
            if (result !== undefined) done(result);
          } catch (error) {
            waiter.reject(error);
          }
        },
        reject: ends(reject),
      };
      const aborted = () => waiter.reject(signal?.reason);
      const late = () => waiter.reject(new ReplayError("TIMEOUT", `timed out after ${timeoutMs} ms: ${what()}`));
      const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
      signal?.addEventListener("abort", aborted);
      this.#waiting.add(waiter);
    });
    // The caller need not await it, and an unhandled rejection must not end the program.
    promise.catch(() => {});
    return promise;
  }
}
