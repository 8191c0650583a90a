/** Tests edits that are killed at random moments; `npm run crash:edit` kills 100 edits. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { whole } from "../../support/size.ts";

test.runIf(whole)("a killed edit damages neither the source nor the target, and the next edit finishes", { timeout: 600_000 }, async () => {
  const script = join(import.meta.dirname, "../../soak/crash-edit.mjs");
  const child = spawn(process.execPath, [script, "--runs", "8", "--seed", "5"], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
  const [code] = await once(child, "exit");
  expect([code, said]).toEqual([0, expect.stringContaining("8 passed, 0 failed")]);
  expect(said).not.toMatch(/^0 kills/);
});
