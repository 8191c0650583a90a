/** What is still to be done when the process ends: by itself, by `process.exit`, or by an error that nobody caught. Not when it is killed. */

/** What is used of `process`: Node's, and what Deno and Bun have in its place. Pages have none. */
interface Host {
  on?(event: "exit", listener: () => void): void;
}

const calls = new Set<() => void>();
let isListening = false;

/** Makes the call when the process ends, unless it is cancelled before. It must not throw, and nothing asynchronous in it happens. */
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
