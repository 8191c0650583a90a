/** Implements calls that wait until an action is possible. Other calls wake the waiting calls. A signal or a timeout ends a wait. */
import { finite, mustBe, ReplayError } from "./error.ts";
import { MAX_TIMEOUT_MS } from "./limits.ts";

export interface WaitOptions {
  /** A signal that ends the wait. The promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** The maximum wait in milliseconds, after which the promise rejects with TIMEOUT. At most 2^31 - 1, which is about 24 days. Default: no limit. */
  readonly timeoutMs?: number;
}

/** The result of the attempt in `untilAtMost` if the wait is over. `untilAtMost` returns undefined if its first attempt has this result. */
const RESOLVED: Promise<void> = Promise.resolve();

interface Waiter {
  /** Tries to complete the waiting call. A result or an error ends the wait. */
  attempt(): void;
  reject(reason: unknown): void;
}

export class Waiters {
  /** Whether a call is waiting. This is a separate field, because every step reads it, and reading the size of a set takes five loads. */
  hasWaiters = false;
  readonly #waiters = new Set<Waiter>();
  /** The calls that wait for draws, per table and in call order. Only the first call in each queue tries to draw. */
  readonly #queues = new Map<object, Set<Waiter>>();
  #isWaking = false;
  #needsRetry = false;

  /** Retries all waiting calls in order. Repeats if the success of one call may allow another call to succeed. */
  wake(): void {
    if (this.#waiters.size === 0) return;
    this.#needsRetry = true;
    // An attempt may itself call `wake`.
    if (this.#isWaking) return;
    this.#isWaking = true;
    while (this.#needsRetry) {
      this.#needsRetry = false;
      for (const waiter of this.#waiters) waiter.attempt();
    }
    this.#isWaking = false;
  }

  /** Rejects all waiting calls. @param reason returns a new reason per call, because the recipient may modify it */
  rejectAll(reason: () => unknown): void {
    for (const waiter of this.#waiters) waiter.reject(reason());
  }

  /**
   * Returns the result of `attempt`: immediately if it is not `undefined`, otherwise as a promise.
   * @param what describes the wait in the message of a timeout
   * @param queue if passed, calls with the same queue are served in call order
   */
  until<T>(attempt: () => T | undefined, what: () => string, options: WaitOptions = {}, queue?: object): T | Promise<T> {
    if (typeof options !== "object" || options === null) throw mustBe(TypeError, "options", "an object with keys signal, timeoutMs", options);
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
    // The next waiting call may already be able to succeed.
    if (wasFirst) this.wake();
  }

  #firstOf(queue: object): Waiter | undefined {
    return this.#queues.get(queue)?.values().next().value;
  }

  /**
   * Resolves when at most `max` items are waiting. Returns `undefined` if that is already true.
   * @param waiting counts the waiting items
   * @param what describes the wait in the message of a timeout
   */
  untilAtMost(
    waiting: () => number,
    options?: WaitOptions,
    max = 0,
    what = () => `items are still waiting for the rate limiter (${waiting()} in total)`,
  ): Promise<void> | undefined {
    const result = this.until(() => (waiting() <= max ? RESOLVED : undefined), what, options) as Promise<void>;
    return result === RESOLVED ? undefined : result;
  }
}

/** Checks the option `signal`. @throws TypeError if `signal` is not an AbortSignal */
export function checkSignal(signal: AbortSignal | undefined): void {
  if (signal === undefined || (typeof signal?.addEventListener === "function" && typeof signal.throwIfAborted === "function")) return;
  throw mustBe(TypeError, "signal", "an AbortSignal", signal);
}

/** Checks the options of a wait before a call changes anything. @throws TypeError, RangeError if an option is invalid · the reason of an aborted signal */
export function checkWait({ signal, timeoutMs }: WaitOptions): void {
  if (timeoutMs !== undefined) finite("timeoutMs", timeoutMs, 0, MAX_TIMEOUT_MS);
  checkSignal(signal);
  signal?.throwIfAborted();
}

/** Returns a promise that a signal or a timeout rejects. The underlying work continues. */
export function abortable<T>(promise: Promise<T>, what: string | (() => string), options: WaitOptions): Promise<T> {
  const describe = typeof what === "string" ? () => what : what;
  return abortablePromise<T>(describe, options, (resolve, reject) => {
    promise.then(resolve, reject);
    return () => {};
  });
}

/** Returns a promise that a signal or a timeout may reject. @param start receives the functions that settle it, and returns the clean-up */
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
  // The caller need not await the promise, and an unhandled rejection must not end the program.
  promise.catch(() => {});
  return promise;
}
