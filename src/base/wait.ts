/** Calls that wait until something is possible. Other calls wake them; a signal or a timeout ends them. */
import { finite, mustBe, ReplayError } from "./error.ts";
import { MAX_TIMEOUT_MS } from "./limits.ts";

export interface WaitOptions {
  /** Ends the wait by rejecting with its reason. */
  readonly signal?: AbortSignal;
  /** Ends the wait with a TIMEOUT error after this many milliseconds. */
  readonly timeoutMs?: number;
}

/** The result of `untilAtMost` if no wait is needed. */
const RESOLVED: Promise<void> = Promise.resolve();

interface Waiter {
  /** Tries again. A result or an error ends the wait. */
  attempt(): void;
  reject(reason: unknown): void;
}

export class Waiters {
  /** Whether somebody waits: a field, since each step asks it, and the size of a set is five loads away. */
  hasWaiters = false;
  readonly #waiters = new Set<Waiter>();
  /** The calls that wait for draws of one table, in the order of the calls: only the first one tries. */
  readonly #queues = new Map<object, Set<Waiter>>();
  #isWaking = false;
  #needsRetry = false;

  /** Retries all waiting calls in their order, and again if one of them may have helped another. */
  wake(): void {
    if (this.#waiters.size === 0) return;
    this.#needsRetry = true;
    // The call of an attempt comes here as well.
    if (this.#isWaking) return;
    this.#isWaking = true;
    while (this.#needsRetry) {
      this.#needsRetry = false;
      for (const waiter of this.#waiters) waiter.attempt();
    }
    this.#isWaking = false;
  }

  /** @param reason is made for each of them, who may add to it */
  rejectAll(reason: () => unknown): void {
    for (const waiter of this.#waiters) waiter.reject(reason());
  }

  /**
   * The result of `attempt`: at once if it is not `undefined`, else as a promise.
   * @param what for the message of a timeout
   * @param queue if given, calls with the same queue are served in the order in which they came
   */
  until<T>(attempt: () => T | undefined, what: () => string, options: WaitOptions = {}, queue?: object): T | Promise<T> {
    if (typeof options !== "object" || options === null) throw mustBe(TypeError, "options", "an object of signal, timeoutMs", options);
    checkWait(options);
    const first = queue !== undefined && this.#queues.has(queue) ? undefined : attempt();
    if (first !== undefined) return first;
    return abortablePromise<T>(what, options, (resolve, reject) => {
      const waiter: Waiter = {
        attempt: () => {
          if (queue !== undefined && this.#firstOf(queue) !== waiter) return;
          try {
            const result = attempt();
            if (result !== undefined) resolve(result);
          } catch (error) {
            reject(error);
          }
        },
        reject,
      };
      this.#waiters.add(waiter);
      this.hasWaiters = true;
      if (queue !== undefined) this.#queues.set(queue, (this.#queues.get(queue) ?? new Set()).add(waiter));
      return () => this.#remove(waiter, queue);
    });
  }

  #remove(waiter: Waiter, queue: object | undefined): void {
    this.#waiters.delete(waiter);
    this.hasWaiters = this.#waiters.size > 0;
    if (queue === undefined) return;
    const wasFirst = this.#firstOf(queue) === waiter;
    const remaining = this.#queues.get(queue) as Set<Waiter>;
    remaining.delete(waiter);
    if (remaining.size === 0) this.#queues.delete(queue);
    // What this one waited for may be there already for the next.
    if (wasFirst) this.wake();
  }

  #firstOf(queue: object): Waiter | undefined {
    return this.#queues.get(queue)?.values().next().value;
  }

  /**
   * Resolves when at most `max` items wait. Returns `undefined` if that already holds.
   * @param waiting how many do
   * @param what for the message of a timeout
   */
  untilAtMost(
    waiting: () => number,
    options?: WaitOptions,
    max = 0,
    what = () => `items still waiting for the rate limiter: ${waiting()}`,
  ): Promise<void> | undefined {
    const result = this.until(() => (waiting() <= max ? RESOLVED : undefined), what, options) as Promise<void>;
    return result === RESOLVED ? undefined : result;
  }
}

/** @throws TypeError for what is no AbortSignal */
export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal === undefined || (typeof signal?.addEventListener === "function" && typeof signal.throwIfAborted === "function")) return;
  throw mustBe(TypeError, "signal", "an AbortSignal", signal);
}

/** Checks the options of a wait before a call changes anything. @throws TypeError, RangeError · the reason of a signal that is aborted */
export function checkWait({ signal, timeoutMs }: WaitOptions): void {
  if (timeoutMs !== undefined) finite("timeoutMs", timeoutMs, 0, MAX_TIMEOUT_MS);
  checkSignal(signal);
  signal?.throwIfAborted();
}

/** A promise that a signal or a timeout rejects. The work behind it continues. */
export function abortable<T>(promise: Promise<T>, what: string | (() => string), options: WaitOptions): Promise<T> {
  const describe = typeof what === "string" ? () => what : what;
  return abortablePromise<T>(describe, options, (resolve, reject) => {
    promise.then(resolve, reject);
    return () => {};
  });
}

/** A promise that a signal or a timeout may reject. @param start receives the functions that settle it, and returns the clean-up */
function abortablePromise<T>(
  what: () => string,
  { signal, timeoutMs }: WaitOptions,
  start: (resolve: (value: T) => void, reject: (reason: unknown) => void) => () => void,
): Promise<T> {
  const promise = new Promise<T>((resolve, reject) => {
    const settleWith =
      <V>(settle: (value: V) => void) =>
      (value: V) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        stop();
        settle(value);
      };
    const fail = settleWith(reject);
    const stop = start(settleWith(resolve), fail);
    const onAbort = () => fail(signal?.reason);
    const onTimeout = () => fail(new ReplayError("TIMEOUT", `timed out after ${timeoutMs} ms: ${what()}`));
    const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeout, timeoutMs);
    signal?.addEventListener("abort", onAbort);
    if (signal?.aborted) onAbort();
  });
  // The caller need not await it, and an unhandled rejection must not end the program.
  promise.catch(() => {});
  return promise;
}
