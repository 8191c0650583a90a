/** `npx reprise …` */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import v8 from "node:v8";
import { run } from "./program.ts";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string };

// Rows become arrays that live for a moment, and V8 would collect the old ones only when its heap is four times as large as what is alive (docs/decisions.md).
try {
  v8.setFlagsFromString("--heap-growing-percent=20");
} catch {
  // Another engine grows as it does.
}

// The reader of the output may close the pipe early, as `head` does.
process.stdout.on("error", (error: { readonly code?: string }) => {
  if (error.code !== "EPIPE") throw error;
});
process.exitCode = await run(process.argv.slice(2), version, fileURLToPath(new URL(".", import.meta.url)));
