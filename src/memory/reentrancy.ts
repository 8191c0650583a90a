/** Implements the lock against reentrant calls: getters and proxies in a call's arguments run the caller's functions, which must not make other calls. */
import { ReplayError } from "../base/error.ts";

/** An object that rejects calls while it is locked. */
export interface Lockable {
  locked: boolean;
}

/** Reads arguments of the caller while calls are locked out. Hot paths set the flag themselves, because this function needs a closure. */
export function withLock<T>(target: Lockable, read: () => T): T {
  target.locked = true;
  try {
    return read();
  } finally {
    target.locked = false;
  }
}

/** Returns the error of a call from within a getter, a proxy or a reward function while another call was running. */
export function reentrancyError(): ReplayError {
  return new ReplayError(
    "OUT_OF_TURN",
    "the Replay was called while another call was reading its arguments, or computing its rewards. Wait until that call has returned",
  );
}
