/** While a call reads what it was given, functions of the caller may run: getters, proxies. No other call may come in between. */
import { ReplayError } from "../base/error.ts";

/** Rejects calls while it is locked. */
export interface Lockable {
  locked: boolean;
}

/** Reads arguments of the caller while calls are locked out. Hot paths set the flag themselves, since this takes a function. */
export function withLock<T>(target: Lockable, read: () => T): T {
  target.locked = true;
  try {
    return read();
  } finally {
    target.locked = false;
  }
}

/** Of a call that a getter, a proxy or a reward made, while another call was reading it. */
export function reentrancyError(): ReplayError {
  return new ReplayError(
    "OUT_OF_TURN",
    "this was called while another call was reading its arguments, or computing its rewards: call it after that has returned",
  );
}
