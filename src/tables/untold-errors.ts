/** Keeps errors of calls whose promises the caller need not read. */
import type { WaitOptions } from "../base/wait.ts";
import type { ItemPromise } from "./item-promise.ts";

/** The reason why a call failed, and the promise that the call returned, if any. */
interface UntoldError {
  readonly reason: unknown;
  readonly answer: ItemPromise | undefined;
}

/** The maximum number of errors that are kept. The first errors suffice to show the cause. */
const MAX_ERRORS = 16;

/** Returns whether a call failed only because its wait ended early: by a timeout, by a signal, or because the Replay was closed. */
export function isEndOfWait(reason: unknown, { signal }: WaitOptions): boolean {
  const { code } = (reason ?? {}) as { readonly code?: unknown };
  return code === "TIMEOUT" || code === "CLOSED" || (signal?.aborted === true && reason === signal.reason);
}

/** Keeps errors until `flush` throws them or the readers of their promises receive them. Each error is reported once. */
export class UntoldErrors {
  #errors: UntoldError[] = [];

  get isEmpty(): boolean {
    return !this.#errors.some(isUntold);
  }

  /** Keeps the reason why a call failed. @param answer the promise that reports the reason to its readers */
  add(reason: unknown, answer?: ItemPromise): void {
    answer?.noteRefusal(reason);
    this.#errors = this.#errors.filter(isUntold);
    if (this.#errors.length < MAX_ERRORS) this.#errors.push({ reason, answer });
  }

  /** Returns the unreported reasons in order, and marks them as reported. */
  take(): unknown[] {
    const untold = this.#errors.filter(isUntold);
    this.#errors = [];
    return untold.map(({ reason }) => reason);
  }

  /** Throws the first unreported reason, if there is one. @throws the first unreported reason; all other reasons are forgotten */
  throwFirst(): void {
    const reasons = this.take();
    if (reasons.length > 0) throw reasons[0];
  }
}

function isUntold({ reason, answer }: UntoldError): boolean {
  return answer?.hasTold(reason) !== true;
}
