/** Errors of calls whose promises nobody has to read. */
import type { WaitOptions } from "../base/wait.ts";
import type { ItemPromise } from "./item-promise.ts";

/** Why a call failed, and the promise of it, if there is one. */
interface UntoldError {
  readonly reason: unknown;
  readonly answer: ItemPromise | undefined;
}

/** More at a time are not kept: the first ones say what is wrong. */
const MAX_ERRORS = 16;

/** Whether a call has failed because its wait was ended: that is what its caller asked for, and no news. */
export function isEndOfWait(reason: unknown, { signal }: WaitOptions): boolean {
  const { code } = (reason ?? {}) as { readonly code?: unknown };
  return code === "TIMEOUT" || code === "CLOSED" || (signal?.aborted === true && reason === signal.reason);
}

/** Kept until `flush` throws one, or whoever reads their promises has it: each is told once. */
export class UntoldErrors {
  #errors: UntoldError[] = [];

  get isEmpty(): boolean {
    return !this.#errors.some(isUntold);
  }

  /** @param answer tells the reason to whoever reads it */
  add(reason: unknown, answer?: ItemPromise): void {
    answer?.noteRefusal(reason);
    this.#errors = this.#errors.filter(isUntold);
    if (this.#errors.length < MAX_ERRORS) this.#errors.push({ reason, answer });
  }

  /** The reasons of which nobody knows, in their order; they are told with this. */
  take(): unknown[] {
    const untold = this.#errors.filter(isUntold);
    this.#errors = [];
    return untold.map(({ reason }) => reason);
  }

  /** @throws the first reason of which nobody knows; all others are forgotten */
  throwFirst(): void {
    const reasons = this.take();
    if (reasons.length > 0) throw reasons[0];
  }
}

function isUntold({ reason, answer }: UntoldError): boolean {
  return answer?.hasTold(reason) !== true;
}
