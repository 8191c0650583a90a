/** The terminal around a verb: Ctrl-C, progress, its width. */
import type { Host } from "./answer.ts";
import { progressOn } from "./progress.ts";

const WIDTH = 120;

/** @returns also what gives Ctrl-C back; a second one ends the program as it would without us */
export function terminalHost(): { readonly host: Host; release(): void } {
  const interrupt = new AbortController();
  const onSignal = () => interrupt.abort();
  process.once("SIGINT", onSignal);
  return {
    host: { signal: interrupt.signal, width: process.stdout.columns ?? WIDTH, progress: (what) => progressOn(process.stderr, what) },
    release: () => process.removeListener("SIGINT", onSignal),
  };
}
