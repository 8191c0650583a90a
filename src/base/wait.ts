/** Calls that wait until something is possible. Other calls wake them; a signal or a timeout ends them. */
import { finite, mustBe, ReplayError } from "./error.ts";
import { MAX_TIMEOUT_MS } from "./limits.ts";

export interface WaitOptions {
  /** Ends the wait by rejecting with its reason. */
  readonly signal?: AbortSignal;
  /** Ends the wait with a TIMEOUT error after this many milliseconds. */
  readonly timeoutMs?: number;
}

/** What says that nothing has to be waited for. */
const DONE: Promise<void> = Promise.resolve();

interface Waiter {
  /** Tries again. A result or an error ends the wait. */
  attempt(): void;
  reject(reason: unknown): void;
}

export class Waiters {
  /** Those who wait. */
  readonly waiting: ReadonlySet<unknown>;
  readonly #waiting = new Set<Waiter>();
  /** Those who wait for draws of the same table, in the order of their calls: only the first one tries. */
  readonly #lines = new Map<object, Set<Waiter>>();
  #waking = false;
  #again = false;

  constructor() {
    this.waiting = this.#waiting;
  }

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

  /** @param reason is made for each of them, who may add to it */
  rejectAll(reason: () => unknown): void {
    for (const waiter of this.#waiting) waiter.reject(reason());
  }

  /**
   * The result of `attempt`: at once if it is not `undefined`, else as a promise.
   * @param what for the message of a timeout
   * @param line for what: who came first is served first, and nobody else before
   */
  until<T>(attempt: () => T | undefined, what: () => string, options: WaitOptions = {}, line?: object): T | Promise<T> {
    if (typeof options !== "object" || options === null) throw mustBe(TypeError, "options", "an object of signal, timeoutMs", options);
    const { signal, timeoutMs } = options;
    if (timeoutMs !== undefined) finite("timeoutMs", timeoutMs, 0, MAX_TIMEOUT_MS);
    checkSignal(signal);
    signal?.throwIfAborted();
    const first = line !== undefined && this.#lines.has(line) ? undefined : attempt();
    if (first !== undefined) return first;
    return limited<T>(what, options, (resolve, reject) => {
      const waiter: Waiter = {
        attempt: () => {
          if (line !== undefined && this.#first(line) !== waiter) return;
          try {
            const result = attempt();
            if (result !== undefined) resolve(result);
          } catch (error) {
            reject(error);
          }
        },
        reject,
      };
      this.#waiting.add(waiter);
      if (line !== undefined) this.#lines.set(line, (this.#lines.get(line) ?? new Set()).add(waiter));
      return () => this.#leave(waiter, line);
    });
  }

  #leave(waiter: Waiter, line: object | undefined): void {
    this.#waiting.delete(waiter);
    if (line === undefined) return;
    const wasFirst = this.#first(line) === waiter;
    const left = this.#lines.get(line) as Set<Waiter>;
    left.delete(waiter);
    if (left.size === 0) this.#lines.delete(line);
    // What this one waited for may be there already for the next.
    if (wasFirst) this.wake();
  }

  #first(line: object): Waiter | undefined {
    return this.#lines.get(line)?.values().next().value;
  }

  /**
   * Waits until at most `max` items wait: `undefined` where it is so.
   * @param waiting how many do
   * @param what for the message of a timeout
   */
  untilFew(
    waiting: () => number,
    options?: WaitOptions,
    max = 0,
    what = () => `items still waiting for the rate limiter: ${waiting()}`,
  ): Promise<void> | undefined {
    const result = this.until(() => (waiting() <= max ? DONE : undefined), what, options) as Promise<void>;
    return result === DONE ? undefined : result;
  }
}

/** @throws TypeError for what is no AbortSignal */
export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal === undefined || (typeof signal?.addEventListener === "function" && typeof signal.throwIfAborted === "function")) return;
  throw mustBe(TypeError, "signal", "an AbortSignal", signal);
}

/** A promise that is given up by a signal or a timeout; what it waits for goes on. */
export function within<T>(promise: Promise<T>, what: string | (() => string), options: WaitOptions): Promise<T> {
  const told = typeof what === "string" ? () => what : what;
  return limited<T>(told, options, (resolve, reject) => {
    promise.then(resolve, reject);
    return () => {};
  });
}

/** A promise that a signal or a timeout may reject. @param begin is given what settles it, and gives what to do then */
function limited<T>(
  what: () => string,
  { signal, timeoutMs }: WaitOptions,
  begin: (resolve: (value: T) => void, reject: (reason: unknown) => void) => () => void,
): Promise<T> {
  const promise = new Promise<T>((resolve, reject) => {
    const ends =
      <V>(settle: (value: V) => void) =>
      (value: V) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", aborted);
        end();
        settle(value);
      };
    const rejected = ends(reject);
    const end = begin(ends(resolve), rejected);
    const aborted = () => rejected(signal?.reason);
    const late = () => rejected(new ReplayError("TIMEOUT", `timed out after ${timeoutMs} ms: ${what()}`));
    const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
    signal?.addEventListener("abort", aborted);
    if (signal?.aborted) aborted();
  });
  // The caller need not await it, and an unhandled rejection must not end the program.
  promise.catch(() => {});
  return promise;
}
