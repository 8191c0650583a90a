/** `npx reprise …` */
import { readFileSync } from "node:fs";
import { run } from "./program.ts";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string };

// Whoever reads our output may have seen enough.
process.stdout.on("error", (error: { readonly code?: string }) => {
  if (error.code !== "EPIPE") throw error;
});
process.exitCode = await run(process.argv.slice(2), version);
