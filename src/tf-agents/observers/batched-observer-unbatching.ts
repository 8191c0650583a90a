/** Connects a batch of environments to one observer per environment. Corresponds to `BatchedObserverUnbatching` of TF-Agents. */
import { finite, flag, integer, mustBe, onlyKeys } from "../../base/error.ts";
import { MAX_TIMEOUT_MS } from "../../base/limits.ts";
import { abortable, checkSignal, type WaitOptions } from "../../base/wait.ts";
import { copySpec, type Spec } from "../../schema/spec.ts";
import { ItemPromise } from "../../tables/item-promise.ts";
import { UntoldErrors } from "../../tables/untold-errors.ts";
import { isPromise } from "../awaitable.ts";
import { BatchRows } from "./batch-rows.ts";
import { Callable } from "./callable.ts";
import { type ObserverFailure, type ObserversError, observersError } from "./failures.ts";

/** An observer of one environment: any function, or a function with the methods of this package's observers. */
export interface DelegatedObserver {
  (trajectory: never): unknown;
  /** The client of an observer that writes to a table. The client's spec describes one row. */
  readonly pyClient?: { readonly spec?: Spec };
  reset?(writeCachedSteps?: boolean): unknown;
  open?(): unknown;
  close?(): unknown;
  flush?(options?: WaitOptions): unknown;
}

export interface BatchedObserverOptions {
  /** The number of environments in a batch, which is also the number of observers that are created. */
  readonly batchSize: number;
  /**
   * The spec of one row. It is used to distinguish tuples from lists of rows, and to check shapes. Default: the spec of the first observer's client, if the
   * client has a spec.
   */
  readonly spec?: Spec;
}

/** A trajectory in which every leaf has a leading dimension of `batchSize`. It is nested, or a flat list of leaves. */
export type BatchedTrajectory = object;

/** An upper limit on the batch size, larger than the number of environments that one process can run. */
const MAX_BATCH = 65_536;

/**
 * An observer that passes row i of a batched trajectory to observer i. Every observer receives its row, even if another observer fails. A call returns
 * undefined, or a promise that resolves when all observers are done. If the promise is never read, `flush` reports its failures.
 */
export class BatchedObserverUnbatching<F extends DelegatedObserver = DelegatedObserver> extends Callable<
  (batchedTrajectory: BatchedTrajectory) => Promise<void> | undefined
> {
  /** The observers, indexed by the row of the batch. */
  readonly delegatedObservers: readonly F[];
  readonly #calls: ObserverCalls;

  /**
   * Creates the observer and its delegated observers.
   * @param createDelegatedObserverFn creates the observer of a row, with its own writer. It is called with 0, 1, …, batchSize - 1
   * @throws TypeError, RangeError if an argument is invalid
   * @throws the errors of the function. The observers created so far are closed first
   */
  constructor(createDelegatedObserverFn: (index: number) => F, options: BatchedObserverOptions) {
    if (typeof createDelegatedObserverFn !== "function") throw mustBe(TypeError, "createDelegatedObserverFn", "a function", createDelegatedObserverFn);
    const { batchSize, spec } = onlyKeys("options", options, "batchSize, spec");
    integer("batchSize", batchSize, 1, MAX_BATCH);
    const own = spec === undefined ? undefined : copySpec(spec);
    const observers = createObservers(createDelegatedObserverFn, batchSize);
    const rows = new BatchRows(batchSize, own ?? observers.find(({ pyClient }) => pyClient?.spec !== undefined)?.pyClient?.spec);
    const calls = new ObserverCalls(observers);
    super((batchedTrajectory) => {
      const trajectories = rows.of(batchedTrajectory);
      return calls.call((observer, i) => observer(trajectories[i] as never));
    });
    this.delegatedObservers = observers;
    this.#calls = calls;
  }

  /** Resets every observer that has a `reset` method. @throws ObserversError if an observer fails, after all were called */
  reset(writeCachedSteps = true): Promise<void> | undefined {
    flag("writeCachedSteps", writeCachedSteps);
    return this.#calls.call((observer) => observer.reset?.(writeCachedSteps));
  }

  /** Opens every observer that has an `open` method. @throws ObserversError if an observer fails, after all were called */
  open(): Promise<void> | undefined {
    return this.#calls.call((observer) => observer.open?.());
  }

  /** Closes every observer that has a `close` method. @throws ObserversError if an observer fails, after all were called */
  close(): Promise<void> | undefined {
    return this.#calls.call((observer) => observer.close?.());
  }

  /**
   * Waits until no observer has a waiting call or item.
   * @throws ObserversError if an observer fails, after all were called. The error also reports, once, the failures of earlier calls whose promises were never
   * read
   * @throws ReplayError TIMEOUT if the time limit ends the wait
   * @throws the signal's reason if the signal aborts
   */
  flush(options: WaitOptions = {}): Promise<void> | undefined {
    const { signal, timeoutMs } = onlyKeys("options", options, "signal, timeoutMs");
    checkSignal(signal);
    if (timeoutMs !== undefined) finite("timeoutMs", timeoutMs, 0, MAX_TIMEOUT_MS);
    return this.#calls.flush(options);
  }
}

function createObservers<F extends DelegatedObserver>(create: (index: number) => F, batchSize: number): readonly F[] {
  const observers: F[] = [];
  const rowOf = new Map<F, number>();
  try {
    for (let i = 0; i < batchSize; i++) {
      const observer = create(i);
      const subject = `result ${i} of createDelegatedObserverFn`;
      if (typeof observer !== "function") throw mustBe(TypeError, subject, "an observer function", observer);
      // Steps of several environments in one writer or one file would form a single sequence. A plain function, in contrast, may serve all rows.
      const same = keepsSteps(observer) ? rowOf.get(observer) : undefined;
      if (same !== undefined) throw new TypeError(`${subject} must be a different observer for each row, with its own writer, got the observer of row ${same}`);
      rowOf.set(observer, i);
      observers.push(observer);
    }
  } catch (error) {
    // An error while closing must not hide the error of the creation.
    try {
      new ObserverCalls(observers).call((observer) => observer.close?.());
    } catch {}
    throw error;
  }
  return observers;
}

/** Returns whether an observer has a client, or a method that only observers with a state have. */
function keepsSteps(observer: DelegatedObserver): boolean {
  const { pyClient, reset, open, close, flush } = observer;
  return pyClient !== undefined || [reset, open, close, flush].some((method) => typeof method === "function");
}

/** Calls all observers, even if one fails. */
class ObserverCalls {
  readonly #observers: readonly DelegatedObserver[];
  /** The calls that are not done yet. These promises never reject. */
  readonly #pending = new Set<Promise<void>>();
  /** The errors of calls whose promises the program does not have to read. */
  readonly #errors = new UntoldErrors();

  constructor(observers: readonly DelegatedObserver[]) {
    this.#observers = observers;
  }

  /** Makes a call to each observer. @throws an `ObserversError`, synchronously if no observer has to wait */
  call(call: (observer: DelegatedObserver, index: number) => unknown): Promise<void> | undefined {
    const { failures, pending } = this.#callEach(call);
    const report = () => {
      if (failures.length > 0) throw observersError(failures);
    };
    if (pending.length > 0) return this.#answer(Promise.all(pending).then(report));
    report();
    return undefined;
  }

  /**
   * Flushes each observer.
   * @throws an `ObserversError`, which includes the failures of earlier calls
   * @throws the signal's reason if the signal aborts
   * @throws ReplayError TIMEOUT if the time limit ends the wait
   */
  flush(options: WaitOptions): Promise<void> | undefined {
    const before = this.#pending.size === 0 ? undefined : abortable(Promise.all(this.#pending), "some calls to the observers have not ended", options);
    const { failures, pending } = this.#callEach((observer) => observer.flush?.(options));
    const report = () => {
      // The caller expects its own abort, but all other failures must be reported.
      const { signal } = options;
      const own = signal?.aborted === true ? failures.filter(({ reason }) => reason !== signal.reason) : failures;
      for (const failure of this.#earlier()) if (!own.some(({ index }) => index === failure.index)) own.push(failure);
      if (own.length > 0) throw observersError(own);
      if (failures.length > 0) throw signal?.reason;
    };
    if (before !== undefined || pending.length > 0)
      return this.#answer(
        Promise.all([before, ...pending])
          .finally(report)
          .then(() => {}),
      );
    report();
    return undefined;
  }

  /** Returns the failures of earlier calls whose promises were not read. */
  #earlier(): ObserverFailure[] {
    return this.#errors.take().flatMap((error) => (error as Partial<ObserversError>).failures ?? []);
  }

  #callEach(call: (observer: DelegatedObserver, index: number) => unknown): {
    readonly failures: ObserverFailure[];
    readonly pending: readonly Promise<void>[];
  } {
    const failures: ObserverFailure[] = [];
    const pending: Promise<void>[] = [];
    this.#observers.forEach((observer, index) => {
      const fail = (reason: unknown) => void failures.push({ index, reason });
      try {
        const result = call(observer, index);
        if (isPromise(result)) pending.push(result.then(() => {}, fail));
      } catch (reason) {
        fail(reason);
      }
    });
    return { failures, pending };
  }

  /** Returns a promise that the program does not have to read. */
  #answer(done: Promise<void>): Promise<void> {
    const answer = ItemPromise.of([done]);
    const ending = done.catch((reason) => this.#errors.add(reason, answer)).then(() => void this.#pending.delete(ending));
    this.#pending.add(ending);
    return answer;
  }
}
