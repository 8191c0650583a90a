/** Connects a command to the terminal. Handles Ctrl-C, shows the progress and determines the width of the terminal. */
import { SingleBar } from "cli-progress";
import type { Host, Progress } from "./result.ts";
import { number } from "./text.ts";

const WIDTH = 120;

/** Returns the host of a command. The first Ctrl-C aborts its signal, and a second Ctrl-C ends the program immediately. `release` stops handling Ctrl-C. */
export function terminalHost(parts: Pick<Host, "version" | "program" | "show">): { readonly host: Host; release(): void } {
  const interrupt = new AbortController();
  const onSignal = () => interrupt.abort();
  process.once("SIGINT", onSignal);
  return {
    host: { ...parts, signal: interrupt.signal, width: process.stdout.columns ?? WIDTH, progress: (what) => progressOn(process.stderr, what) },
    release: () => process.removeListener("SIGINT", onSignal),
  };
}

const SILENT: Progress = { at() {}, end() {} };

function progressOn(stream: NodeJS.WriteStream, what: string): Progress {
  if (!stream.isTTY) return SILENT;
  let bar: SingleBar | undefined;
  return {
    at(done, of) {
      if (bar === undefined) {
        const format = of === undefined ? `${what} {value}` : `${what} {bar} {percentage} %  {value} of {total}`;
        bar = new SingleBar({ stream, format, barCompleteChar: "█", barIncompleteChar: "░", hideCursor: true, clearOnComplete: true, formatValue });
        bar.start(of ?? 0, 0);
      }
      bar.update(done);
    },
    end() {
      bar?.stop();
      bar = undefined;
    },
  };
}

function formatValue(value: number, _: unknown, type: string): string {
  return type === "value" || type === "total" ? number(value) : String(value);
}
