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
  /** Tries; whether it is done. May throw: that ends the wait. */
  readonly attempt: () => boolean;
  readonly reject: (reason: unknown) => void;
}

export class Waiters {
  readonly #waiting = new Set<Waiter>();
  #waking = false;
  #again = false;

  get size(): number {
    return this.#waiting.size;
  }

  /** Tries all that wait, in the order in which they came; again, where what one did may help another. */
  wake(): void {
    this.#again = true;
    // An attempt's own call comes here as well.
    if (this.#waking) return;
    this.#waking = true;
    while (this.#again) {
      this.#again = false;
      for (const waiter of [...this.#waiting]) this.#try(waiter);
    }
    this.#waking = false;
  }

  rejectAll(reason: unknown): void {
    for (const waiter of [...this.#waiting]) waiter.reject(reason);
  }

  /**
   * `undefined` where `attempt` gives a result at once, else a promise of it.
   * @param what for the time-out's message
   */
  until<T>(attempt: () => T | undefined, what: () => string, options: WaitOptions = {}): T | Promise<T> {
    const { signal, timeoutMs } = options;
    if (timeoutMs !== undefined) finite("timeoutMs", timeoutMs, 0, MOST_MS);
    signal?.throwIfAborted();
    const first = attempt();
    if (first !== undefined) return first;
    const promise = new Promise<T>((resolve, reject) => {
      const done = () => {
        this.#waiting.delete(waiter);
        clearTimeout(timer);
        signal?.removeEventListener("abort", aborted);
      };
      const waiter: Waiter = {
        attempt: () => {
          const result = attempt();
          if (result === undefined) return false;
          done();
          resolve(result);
          return true;
        },
        reject: (reason) => {
          done();
          reject(reason);
        },
      };
      const aborted = () => waiter.reject(signal?.reason);
      const timer =
        timeoutMs === undefined
          ? undefined
          : setTimeout(() => waiter.reject(new ReplayError("TIMEOUT", `${what()} did not become possible within ${timeoutMs} ms`)), timeoutMs);
      signal?.addEventListener("abort", aborted, { once: true });
      this.#waiting.add(waiter);
    });
    // Nobody has to await it: a rejection that nobody sees must not end the program.
    promise.catch(() => {});
    return promise;
  }

  #try(waiter: Waiter): void {
    if (!this.#waiting.has(waiter)) return;
    try {
      waiter.attempt();
    } catch (error) {
      waiter.reject(error);
    }
  }
}
