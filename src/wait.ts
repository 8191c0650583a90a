/** Calls that wait until something is possible: woken by the calls that could make it so, ended by a signal or a time-out. */
import { finite, ReplayError } from "./error.ts";

export interface WaitOptions {
  /** Ends the wait with its reason. */
  readonly signal?: AbortSignal;
  /** Ends the wait with a TIMEOUT error after so many milliseconds. */
  readonly timeoutMs?: number;
}

/** Longer ones go off at once: setTimeout counts in 31 bits. */
const MOST_MS = 0x7fffffff;

interface Waiter {
  /** Tries, and ends the wait where that gives a result, or throws. */
  attempt(): void;
  reject(reason: unknown): void;
}

export class Waiters {
  readonly #waiting = new Set<Waiter>();
  #waking = false;
  #again = false;

  /** Tries all that wait, in the order in which they came; again, where what one did may help another. */
  wake(): void {
    if (this.#waiting.size === 0) return;
    this.#again = true;
    // An attempt's own call comes here as well.
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
   * What `attempt` gives, at once where it is not `undefined`, else as a promise.
   * @param what for the time-out's message
   */
  until<T>(attempt: () => T | undefined, what: () => string, options: WaitOptions = {}): T | Promise<T> {
    const { signal, timeoutMs } = options;
    if (timeoutMs !== undefined) finite("timeoutMs", timeoutMs, 0, MOST_MS);
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
      const late = () => waiter.reject(new ReplayError("TIMEOUT", `${what()} was not possible within ${timeoutMs} ms`));
      const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
      signal?.addEventListener("abort", aborted);
      this.#waiting.add(waiter);
    });
    // Nobody has to await it: a rejection that nobody sees must not end the program.
    promise.catch(() => {});
    return promise;
  }
}
