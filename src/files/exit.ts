/** What is still to be done when the process ends: by itself, by `process.exit`, or by an error that nobody caught. Not when it is killed. */

/** What is used of `process`: Node's, and what Deno and Bun have in its place. Pages have none. */
interface Host {
  on?(event: "exit", listener: () => void): void;
}

const calls = new Set<() => void>();
let listens = false;

/** The call is made at the end, unless it is given up before. It may not throw, and nothing that it leaves for later happens. */
export function atExit(call: () => void): void {
  calls.add(call);
  if (listens) return;
  listens = true;
  (globalThis as { process?: Host }).process?.on?.("exit", () => {
    for (const one of [...calls]) one();
  });
}

export function notAtExit(call: () => void): void {
  calls.delete(call);
}
