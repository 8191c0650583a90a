/** `reprise serve-page`: serves the page that shows a dataset, journal or snapshot on this machine, until Ctrl-C. */
import type { Command } from "commander";
import { wholeNumber } from "./arguments.ts";
import { UsageError } from "./exit.ts";
import { pageFolder } from "./page/page-folder.ts";
import type { Exclusions } from "./page/served-files.ts";
import { pageServer } from "./page/server.ts";
import type { Host, Result } from "./result.ts";
import { escapeText, number } from "./text.ts";

const EXAMPLES = `
The page is a separate package with the same version as reprise. Run npm install reprise-page
The address contains a token. Anyone who has it can read the files until you press Ctrl-C. No data leaves this machine.
Only files of the folder are served, without hidden files and links that lead out of it. Snapshots in a Hugging Face cache are such links:
serve a copy with the files instead (cp -rL SNAPSHOT FOLDER).

Examples:
  $ npx reprise serve-page lerobot/pusht
  $ npx reprise serve-page episodes.parquet --port 8000
`;

export function addServePage(command: Command): Command {
  return command
    .addHelpText("before", "  $ npx reprise serve-page lerobot/pusht\n")
    .description("Serves a page for your browser that shows a dataset, journal or snapshot on this machine: its episodes, faults and distributions.")
    .argument("<path>", "a file or folder")
    .option("--port <port>", "the port of 127.0.0.1 to listen on (default: a free one)", wholeNumber(0, 65535))
    .addHelpText("after", EXAMPLES);
}

export interface ServePageOptions {
  readonly port?: number;
}

export async function servePage(path: string, { port = 0 }: ServePageOptions, host: Host): Promise<Result | undefined> {
  if (/^https?:\/\//i.test(path)) throw new UsageError(`serve-page shows files on this machine. Open ${path} in the page itself`);
  const server = await pageServer({ page: pageFolder(host.version, host.program), path, port });
  try {
    const { address, exclusions } = server;
    await host.show({
      value: { address, leftOut: exclusions },
      text: `${address}\nOpen this address in your browser. Press Ctrl-C to stop.${exclusionsText(exclusions)}`,
    });
    await untilAborted(host.signal);
  } finally {
    await server.close();
  }
  return undefined;
}

function exclusionsText({ links, unreadable, names }: Exclusions): string {
  const line = (reason: string, [first, ...rest]: readonly string[], remedy = "") =>
    first === undefined ? "" : `\nNot served, ${reason}: ${escapeText(first)}${rest.length > 0 ? ` and ${number(rest.length)} more` : ""}.${remedy}`;
  return [
    line("because links may not lead out of the folder", links, " For a snapshot in a cache of Hugging Face, serve a copy: cp -rL SNAPSHOT FOLDER"),
    line("because you lack permission to read it", unreadable),
    line("because names may not contain a backslash or a drive", names),
  ].join("");
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
