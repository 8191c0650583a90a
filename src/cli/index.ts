/** Starts the command line program, `npx reprise`. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { run } from "./program.ts";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string };

// The reader of the output may close the pipe early, as `head` does.
process.stdout.on("error", (error: { readonly code?: string }) => {
  if (error.code !== "EPIPE") throw error;
});
process.exitCode = await run(process.argv.slice(2), version, fileURLToPath(new URL(".", import.meta.url)));
