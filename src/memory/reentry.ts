/** While a call reads what it was given, functions of the caller may run: getters, proxies. No other call may come in between. */
import { ReplayError } from "../base/error.ts";

/** What refuses calls while it is barred. */
export interface Gate {
  barred: boolean;
}

/** Reads what the caller gave. Not for hot paths, which set the flag themselves: it takes a function. */
export function whileBarred<T>(gate: Gate, read: () => T): T {
  gate.barred = true;
  try {
    return read();
  } finally {
    gate.barred = false;
  }
}

/** Of a call that a getter or a proxy made, while another call was reading it. */
export function reentered(): ReplayError {
  return new ReplayError("OUT_OF_TURN", "this was called while another call was reading its arguments: call it after that has returned");
}
