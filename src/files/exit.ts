/**
 * Makes registered calls when the process ends, whether normally, through `process.exit` or with an uncaught error. No calls are made if the process is killed.
 */

/** The part of `process` that this file uses. Node, Deno and Bun have this object, but pages do not. */
interface Host {
  on?(event: "exit", listener: () => void): void;
}

const calls = new Set<() => void>();
let isListening = false;

/** Makes the call when the process ends, unless the call is cancelled before then. The call must be synchronous and must not throw. */
export function atExit(call: () => void): void {
  calls.add(call);
  if (isListening) return;
  isListening = true;
  (globalThis as { process?: Host }).process?.on?.("exit", () => {
    for (const pendingCall of [...calls]) pendingCall();
  });
}

export function cancelAtExit(call: () => void): void {
  calls.delete(call);
}
