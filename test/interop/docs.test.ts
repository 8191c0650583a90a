/**
 * Runs the JavaScript and Python programs of docs/guides/reverb-server.md, in order, on the server of that page and on a second server, and compares their
 * output with their comments.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SERVER_PAGE } from "../package/programs.ts";
import { root } from "../support/core.ts";
import { python } from "./peer.ts";

const script = join(root, "examples/reverb/server.py");
const page = readFileSync(join(root, SERVER_PAGE), "utf8");
const fences = [...page.matchAll(/^```(js|python)\n([\s\S]*?)^```$/gm)].map(([, language, code]) => ({ language, code: code as string }));
const [server, ...programs] = fences;

it("the page contains examples/reverb/server.py unchanged, and programs in both languages", () => {
  expect(server).toEqual({ language: "python", code: readFileSync(script, "utf8") });
  expect(programs.filter(({ language }) => language === "js").length).toBeGreaterThanOrEqual(5);
  expect(programs.filter(({ language }) => language === "python").length).toBeGreaterThanOrEqual(3);
});

describe.skipIf(python === undefined)("on the server of the page", () => {
  const children: ChildProcess[] = [];
  let ports: string[];

  beforeAll(async () => {
    const started = [8000, 8001].map(async () => {
      const child = spawn(python as string, [script], { stdio: ["pipe", "pipe", "ignore"] });
      children.push(child);
      const [port] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), "line");
      return String(port);
    });
    ports = await Promise.all(started);
  }, 120_000);
  afterAll(async () => {
    for (const child of children) child.stdin?.end();
    await Promise.all(children.map(async (child) => child.exitCode ?? (await once(child, "exit"))));
  });

  it.each(programs.map(({ language, code }, i) => ({ name: `${i + 1}, ${language}`, language, code })))(
    "program $name prints the documented output",
    { timeout: 600_000 },
    ({ language, code }) => {
      const said = code.split("\n").flatMap((line) => line.split(/ {1,2}(?:\/\/|#) → /).slice(1));
      const text = code.replace(/localhost:800([01])/g, (_, i) => `127.0.0.1:${ports[i]}`);
      expect(text).not.toBe(code);
      const [command, args] = language === "js" ? [process.execPath, ["--input-type=module", "-e", text]] : [python as string, ["-c", text]];
      const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: "utf8", timeout: 500_000 });
      expect({ status, stdout: stdout.trimEnd().split("\n") }, stderr).toEqual({ status: 0, stdout: said });
    },
  );
});
