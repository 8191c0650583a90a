/** Runs the same program against a real server in Node, Deno and Bun, and compares the results. `npm run runtimes` installs Deno and Bun. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { runtimes } from "../../build/runtimes.mjs";
import { root } from "../support/core.ts";
import { type Peer, python, startServer } from "./peer.ts";

const here = runtimes();
const required = process.env.REPRISE_RUNTIMES === "all";
const MS = 600_000;

/** Returns the output of the program, except its requests to kill the server and restart it on the same port. */
async function run(program: string, args: readonly string[]): Promise<readonly string[]> {
  let peer: Peer = await startServer();
  const child = spawn(program, [...args, "test/interop/runtimes.mjs", peer.address], { cwd: root });
  const timer = setTimeout(() => child.kill("SIGKILL"), MS - 10_000);
  let said = "";
  child.stderr.on("data", (bytes) => {
    said += bytes;
  });
  const ended = new Promise<number | null>((resolve) => child.on("exit", resolve));
  const printed: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (line !== "restart") {
      printed.push(line);
      // Deno keeps reading its input, so it would not exit otherwise.
      child.stdin.end();
    } else {
      await peer.stop();
      peer = await startServer(Number(peer.address.split(":")[1]));
      child.stdin.write("done\n");
    }
  }
  const status = await ended;
  clearTimeout(timer);
  await peer.stop();
  expect({ status, said }, printed.join("\n")).toEqual({ status: 0, said: "" });
  return printed;
}

describe.skipIf(python === undefined)("a real server, called from", () => {
  let expected: readonly string[];

  it("Node", { timeout: MS }, async () => {
    expected = await run(here.node, []);
    expect(expected).toEqual(["written and drawn", "written over a restart", "sampled over a restart", expect.stringMatching(/^[\da-f]{64}$/)]);
  });

  it.runIf(required || here.deno !== undefined)("Deno", { timeout: MS }, async () => {
    expect(await run(here.deno ?? "deno", ["run", "--allow-read", "--allow-net=127.0.0.1"])).toEqual(expected);
  });

  it.runIf(required || here.bun !== undefined)("Bun", { timeout: MS }, async () => {
    expect(await run(here.bun ?? "bun", [])).toEqual(expected);
  });
});
