/** The terminal around a command: Ctrl-C, progress, width. */
import type { Host } from "./answer.ts";
import { progressOn } from "./progress.ts";

const WIDTH = 120;

/** @returns the host, and `release`, which stops handling Ctrl-C. A second Ctrl-C ends the program as usual. */
export function terminalHost(): { readonly host: Host; release(): void } {
  const interrupt = new AbortController();
  const onSignal = () => interrupt.abort();
  process.once("SIGINT", onSignal);
  return {
    host: { signal: interrupt.signal, width: process.stdout.columns ?? WIDTH, progress: (what) => progressOn(process.stderr, what) },
    release: () => process.removeListener("SIGINT", onSignal),
  };
}
