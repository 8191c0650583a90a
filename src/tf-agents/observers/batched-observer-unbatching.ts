/** From batched environments to observers of one environment each: TF-Agents' `BatchedObserverUnbatching`. */
import { finite, flag, integer, mustBe, onlyKeys } from "../../base/error.ts";
import { MAX_TIMEOUT_MS } from "../../base/limits.ts";
import { checkSignal, type WaitOptions } from "../../base/wait.ts";
import { copySpec, type Spec } from "../../schema/spec.ts";
import { isPromise } from "../awaitable.ts";
import { BatchRows } from "./batch-rows.ts";
import { Callable } from "./callable.ts";
import { type ObserverFailure, observersError } from "./failures.ts";

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
 * observers are done.
 */
export class BatchedObserverUnbatching<F extends DelegatedObserver = DelegatedObserver> extends Callable<
  (batchedTrajectory: BatchedTrajectory) => Promise<void> | undefined
> {
  /** The observers, by the row of the batch. */
  readonly delegatedObservers: readonly F[];

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
    super((batchedTrajectory) => {
      const trajectories = rows.of(batchedTrajectory);
      return callAll(observers, (observer, i) => observer(trajectories[i] as never));
    });
    this.delegatedObservers = observers;
  }

  /** Resets every observer that can be reset. @throws an `ObserversError`, after all were called */
  reset(writeCachedSteps = true): Promise<void> | undefined {
    flag("writeCachedSteps", writeCachedSteps);
    return callAll(this.delegatedObservers, (observer) => observer.reset?.(writeCachedSteps));
  }

  /** Opens every observer that can be opened. @throws an `ObserversError`, after all were called */
  open(): Promise<void> | undefined {
    return callAll(this.delegatedObservers, (observer) => observer.open?.());
  }

  /** Closes every observer that can be closed. @throws an `ObserversError`, after all were called */
  close(): Promise<void> | undefined {
    return callAll(this.delegatedObservers, (observer) => observer.close?.());
  }

  /** Waits until no item of any observer waits. @throws an `ObserversError`, after all were called · the signal's reason */
  flush(options: WaitOptions = {}): Promise<void> | undefined {
    const { signal, timeoutMs } = onlyKeys("options", options, "signal, timeoutMs");
    checkSignal(signal);
    if (timeoutMs !== undefined) finite("timeoutMs", timeoutMs, 0, MAX_TIMEOUT_MS);
    return callAll(this.delegatedObservers, (observer) => observer.flush?.(options), signal);
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
      // Steps of several environments in one writer would be one sequence. Any other function may be called for all rows.
      const same = observer.pyClient === undefined ? undefined : rowOf.get(observer);
      if (same !== undefined) throw new TypeError(`${subject} must be another observer for each row, with its own writer, got the one of row ${same}`);
      rowOf.set(observer, i);
      observers.push(observer);
    }
  } catch (error) {
    // Why the creation failed matters more than what closing throws.
    try {
      callAll(observers, (observer) => observer.close?.());
    } catch {}
    throw error;
  }
  return observers;
}

/** Calls every observer, whichever fails. */
function callAll<F>(observers: readonly F[], call: (observer: F, index: number) => unknown, signal?: AbortSignal): Promise<void> | undefined {
  const failures: ObserverFailure[] = [];
  const pending: Promise<void>[] = [];
  observers.forEach((observer, index) => {
    const fail = (reason: unknown) => void failures.push({ index, reason });
    try {
      const result = call(observer, index);
      if (isPromise(result)) pending.push(result.then(() => {}, fail));
    } catch (reason) {
      fail(reason);
    }
  });
  const report = () => {
    if (failures.length === 0) return;
    // The end of a wait is what the caller asked for, other failures are news.
    const own = signal?.aborted === true ? failures.filter(({ reason }) => reason !== signal.reason) : failures;
    if (own.length === 0) throw signal?.reason;
    throw observersError(own, observers.length);
  };
  if (pending.length === 0) {
    report();
    return undefined;
  }
  const done = Promise.all(pending).then(report);
  // The caller need not await it, and an unhandled rejection must not end the program.
  done.catch(() => {});
  return done;
}
