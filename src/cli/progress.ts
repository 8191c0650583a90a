/** Progress bars on stderr, if that is a terminal. */
import { SingleBar } from "cli-progress";
import type { Progress } from "./answer.ts";
import { number } from "./text.ts";

const SILENT: Progress = { at() {}, end() {} };

export function progressOn(stream: NodeJS.WriteStream, what: string): Progress {
  if (!stream.isTTY) return SILENT;
  let bar: SingleBar | undefined;
  return {
    at(done, of) {
      if (bar === undefined) {
        const format = of === undefined ? `${what} {value}` : `${what} {bar} {percentage} %  {value} of {total}`;
        bar = new SingleBar({ stream, format, barCompleteChar: "█", barIncompleteChar: "░", hideCursor: true, clearOnComplete: true, formatValue: shown });
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

function shown(value: number, _: unknown, type: string): string {
  return type === "value" || type === "total" ? number(value) : String(value);
}
