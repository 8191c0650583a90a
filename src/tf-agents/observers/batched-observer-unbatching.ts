/** From batched environments to observers of one environment each: TF-Agents' `BatchedObserverUnbatching`. */
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

/** An observer of one environment: any function, or one with the methods of this package's observers. */
export interface DelegatedObserver {
  (trajectory: never): unknown;
  /** The client of an observer that writes to a table: its spec tells how rows look. */
  readonly pyClient?: { readonly spec?: Spec };
  reset?(writeCachedSteps?: boolean): unknown;
  open?(): unknown;
  close?(): unknown;
  flush?(options?: WaitOptions): unknown;
}

export interface BatchedObserverOptions {
  /** Environments in a batch. That many observers are created. */
  readonly batchSize: number;
  /** What one row is: it tells tuples from lists of rows, and shapes are checked. Default: the spec of the first observer's client, if it has one. */
  readonly spec?: Spec;
}

/** A trajectory whose every leaf has a leading dimension of `batchSize`: nested, or the flat list of leaves. */
export type BatchedTrajectory = object;

/** More environments than one process has. */
const MAX_BATCH = 65_536;

/**
 * Passes row i of a batched trajectory to observer i. Every observer gets its row even if another one fails. A call returns nothing, or a promise that resolves when all
 * observers are done. Who does not read it is told by `flush` what has failed.
 */
export class BatchedObserverUnbatching<F extends DelegatedObserver = DelegatedObserver> extends Callable<
  (batchedTrajectory: BatchedTrajectory) => Promise<void> | undefined
> {
  /** The observers, by the row of the batch. */
  readonly delegatedObservers: readonly F[];
  readonly #calls: ObserverCalls;

  /**
   * @param createDelegatedObserverFn called `batchSize` times with 0, 1, …: creates the observer of that row, each with its own writer
   * @throws TypeError, RangeError for an argument · what the function throws, after the observers before are closed
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

  /** Resets every observer that can be reset. @throws an `ObserversError`, after all were called */
  reset(writeCachedSteps = true): Promise<void> | undefined {
    flag("writeCachedSteps", writeCachedSteps);
    return this.#calls.call((observer) => observer.reset?.(writeCachedSteps));
  }

  /** Opens every observer that can be opened. @throws an `ObserversError`, after all were called */
  open(): Promise<void> | undefined {
    return this.#calls.call((observer) => observer.open?.());
  }

  /** Closes every observer that can be closed. @throws an `ObserversError`, after all were called */
  close(): Promise<void> | undefined {
    return this.#calls.call((observer) => observer.close?.());
  }

  /**
   * Waits until no call waits any more, and no item of any observer. @throws an `ObserversError`, after all were called: also, once, for what calls before have failed with whose
   * promises nobody has read · ReplayError TIMEOUT, the signal's reason
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
      const subject = `the result ${i} of createDelegatedObserverFn`;
      if (typeof observer !== "function") throw mustBe(TypeError, subject, "an observer, which is a function", observer);
      // Steps of several environments in one writer, or one file, would be one sequence. A function alone may be called for all rows.
      const same = keepsSteps(observer) ? rowOf.get(observer) : undefined;
      if (same !== undefined) throw new TypeError(`${subject} must be another observer for each row, with its own writer, got the one of row ${same}`);
      rowOf.set(observer, i);
      observers.push(observer);
    }
  } catch (error) {
    // Why the creation failed matters more than what closing throws.
    try {
      new ObserverCalls(observers).call((observer) => observer.close?.());
    } catch {}
    throw error;
  }
  return observers;
}

/** Whether it has a client, or what only an observer with a state needs. */
function keepsSteps(observer: DelegatedObserver): boolean {
  const { pyClient, reset, open, close, flush } = observer;
  return pyClient !== undefined || [reset, open, close, flush].some((method) => typeof method === "function");
}

/** Calls of all observers, whichever fails. */
class ObserverCalls {
  readonly #observers: readonly DelegatedObserver[];
  /** Calls that are not done. They settle without an error. */
  readonly #pending = new Set<Promise<void>>();
  /** Errors of calls whose promises nobody has to read. */
  readonly #errors = new UntoldErrors();

  constructor(observers: readonly DelegatedObserver[]) {
    this.#observers = observers;
  }

  /** @throws an `ObserversError`, at once if no observer has to wait */
  call(call: (observer: DelegatedObserver, index: number) => unknown): Promise<void> | undefined {
    const { failures, pending } = this.#callEach(call);
    const report = () => {
      if (failures.length > 0) throw observersError(failures, this.#observers.length);
    };
    if (pending.length > 0) return this.#answer(Promise.all(pending).then(report));
    report();
    return undefined;
  }

  /** @throws as `call`, also for calls before */
  flush(options: WaitOptions): Promise<void> | undefined {
    const before = this.#pending.size === 0 ? undefined : abortable(Promise.all(this.#pending), "letting all calls of the observers end", options);
    const { failures, pending } = this.#callEach((observer) => observer.flush?.(options));
    const report = () => {
      // The end of a wait is what the caller asked for, other failures are news.
      const { signal } = options;
      const own = signal?.aborted === true ? failures.filter(({ reason }) => reason !== signal.reason) : failures;
      for (const failure of this.#earlier()) if (!own.some(({ index }) => index === failure.index)) own.push(failure);
      if (own.length > 0) throw observersError(own, this.#observers.length);
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

  /** What calls before have failed with, and nobody knows of. */
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

  /** A promise that nobody has to read. */
  #answer(done: Promise<void>): Promise<void> {
    const answer = ItemPromise.of([done]);
    const ending = done.catch((reason) => this.#errors.add(reason, answer)).then(() => void this.#pending.delete(ending));
    this.#pending.add(ending);
    return answer;
  }
}
