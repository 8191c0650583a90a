/** Combines the failures of several observers into one error. */
import { ReplayError } from "../../base/error.ts";

/** The failure of one observer. */
export interface ObserverFailure {
  /** The index of the observer: the row of the batch. */
  readonly index: number;
  readonly reason: unknown;
}

/**
 * The error of a call that failed in some observers. It is a ReplayError with the same code, a RangeError or a TypeError if the first failure is one, and
 * otherwise an Error. `cause` is the reason of the first failure.
 */
export interface ObserversError extends Error {
  /** The failures, in the order of the observers. */
  readonly failures: readonly ObserverFailure[];
}

/** The maximum number of observers that a message lists in addition to the first observer. */
const MAX_SHOWN = 8;

/** Returns the error of a call that failed in some observers. */
export function observersError(failures: readonly ObserverFailure[]): ObserversError {
  const sorted = [...failures].sort((a, b) => a.index - b.index);
  const [{ index, reason }, ...others] = sorted as [ObserverFailure, ...ObserverFailure[]];
  const names = others.slice(0, MAX_SHOWN).map((failure) => `observers[${failure.index}]`);
  const rest = others.length > MAX_SHOWN ? `, and ${others.length - MAX_SHOWN} more` : "";
  const more = others.length === 0 ? "" : ` (so did ${names.join(", ")}${rest})`;
  const error = errorLike(reason, `observers[${index}] failed${more}: ${reason instanceof Error ? reason.message : String(reason)}`);
  return Object.assign(error, { cause: reason, failures: sorted });
}

function errorLike(reason: unknown, message: string): Error {
  if (reason instanceof ReplayError) return new ReplayError(reason.code, message);
  if (reason instanceof RangeError) return new RangeError(message);
  return reason instanceof TypeError ? new TypeError(message) : new Error(message);
}
