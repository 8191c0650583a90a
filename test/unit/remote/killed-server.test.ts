/** Tests a real server with real sockets that is killed while it works. `npm run soak:sockets` kills it 200 times. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";

test("a server that is killed and restarted neither loses nor duplicates steps confirmed on disk", { timeout: 60_000 }, async () => {
  const script = join(import.meta.dirname, "../../soak/sockets.mjs");
  const child = spawn(process.execPath, [script, "2", "2", "4000"], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
  const [code] = await once(child, "exit");
  expect(said).toMatch(/2 actors, 4000 steps/);
  expect([code, said]).toEqual([0, expect.stringContaining("1 passed, 0 failed")]);
});
