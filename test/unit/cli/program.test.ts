/** Tests the program independently of its verbs: help, usage errors, failures as JSON, and pipes that close early. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../support/core.ts";
import { whole } from "../../support/size.ts";
import { CLI, HALF_CHEETAH, reprise, temporary } from "./support.ts";

const temp = temporary();
const VERBS = ["inspect", "check", "convert", "push", "sample", "stats", "serve-page"];

test("the program has a shebang line, permission to execute and the version of the package", async () => {
  expect(readFileSync(CLI, "utf8").split("\n")[0]).toBe("#!/usr/bin/env node");
  expect(statSync(CLI).mode & 0o111).toBe(0o111);
  const { bin, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  expect(bin).toEqual({ reprise: "dist/cli.js" });
  expect(await reprise("--version")).toEqual({ status: 0, stdout: `${version}\n`, stderr: "" });
});

test("help lists verbs and exit codes, and each verb has its own help with examples", async () => {
  const { status, stdout } = await reprise("--help");
  expect(status).toBe(0);
  for (const verb of VERBS) expect(stdout).toMatch(new RegExp(`^  ${verb} `, "m"));
  expect(stdout).toContain("Exit codes: 0 done, 1 the data or a file is wrong, 2 wrong usage, 130 interrupted.");
  for (const verb of VERBS) {
    const help = await reprise(verb, "--help");
    expect([help.status, help.stderr]).toEqual([0, ""]);
    expect(help.stdout).toMatch(new RegExp(`^  \\$ npx reprise ${verb} .*\n\nUsage: reprise ${verb} [^]*--json[^]*Examples:\\n  \\$ npx reprise ${verb} `));
    expect(await reprise("help", verb)).toEqual(help);
  }
});

test("the examples in the help use only documented options", async () => {
  for (const verb of VERBS) {
    const { stdout } = await reprise(verb, "--help");
    const [options, examples] = stdout.split("Examples:") as [string, string];
    for (const [option] of examples.matchAll(/(?<=\s)--?[a-z][a-z-]*/g)) expect(options).toMatch(new RegExp(`(^|[\\s,])${option}[\\s,]`));
  }
});

test.each([[[]], [["frobnicate"]], [["inspect"]], [["inspect", "a", "b"]], [["inspect", "--frob", "a"]]])("%j is wrong usage", async (args) => {
  const { status, stdout, stderr } = await reprise(...args);
  expect([status, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/--help/);
  const asJson = await reprise(...args, "--json");
  expect(asJson.status).toBe(2);
  expect(JSON.parse(asJson.stdout).error).toEqual({ code: "USAGE", message: expect.any(String) });
});

test("every verb rejects a repeated option unless its help allows repetition", async () => {
  const values: { readonly [option: string]: string } = {
    "--format": "jsonl",
    "--mode": "salvage",
    "--final-step": "observation",
    "--sampler": "fifo",
    "--fps": "5",
    "--lerobot-version": "2.1",
  };
  for (const verb of VERBS) {
    const { stdout } = await reprise(verb, "--help");
    // Descriptions are wrapped, so each one ends where the next option begins.
    const options = (stdout.split("Options:")[1] as string).split("Examples:")[0] as string;
    for (const [, option, described] of options.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+) <[^>]*>([\s\S]*?)(?=^ {2}-|^$)/gm) as Iterable<string[]>) {
      if (described?.replaceAll(/\s+/g, " ").includes("may be repeated")) continue;
      const value = values[option as string] ?? "7";
      const { status, stderr, stdout: printed } = await reprise(verb, HALF_CHEETAH, option as string, value, option as string, value);
      expect([verb, option, status, printed]).toEqual([verb, option, 2, ""]);
      expect(stderr).toMatch(new RegExp(`^error: option '(-[a-z], )?${option} <`));
      expect(stderr).toContain(`accepts only one value, got "${value}" and "${value}". Pass it once`);
    }
  }
});

test("push to two servers and repeated options in --open are wrong usage", async () => {
  const two = await reprise("push", HALF_CHEETAH, "--server", "a:1", "--server=b:1", "--table", "t", "--json");
  expect([two.status, JSON.parse(two.stdout).error]).toEqual([
    2,
    { code: "USAGE", message: `error: option '--server <host:port>' accepts only one value, got "a:1" and "b:1". Pass it once` },
  ]);
  const open = await reprise("inspect", HALF_CHEETAH, "--open", "split=train", "--open", "split=test");
  expect([open.status, open.stderr]).toEqual([2, "reprise: USAGE: split is set twice by --open. Pass it once\n"]);
});

test("output contains no escape sequences if there is no terminal", async () => {
  const { stdout, stderr } = await reprise("inspect", HALF_CHEETAH);
  expect(stdout + stderr).not.toContain("\u001b");
});

test("output escapes terminal control characters in data, errors and arguments", async () => {
  // The last characters reverse the text direction, as in CVE-2021-42574.
  const controls = "\u001b]0;owned\u0007 \u009b31m \u007f \r\n faked: 9 \u202e\u2066\u200f\u061c\u2028";
  const step = { observation: 1, action: 1, reward: 1, is_first: true, is_last: true, is_terminal: true, [controls]: 1 };
  writeFileSync(temp("steered.jsonl"), JSON.stringify(step));
  const shown = await reprise("inspect", temp("steered.jsonl"));
  expect(shown.stdout).toMatch(/\n {2}\\u001b\]0;owned\\u0007 \\u009b31m \\u007f \\u000d\\u000a faked: 9 \\u202e\\u2066\\u200f\\u061c\\u2028 +i32/);
  const told = await reprise("inspect", temp("steered.jsonl"), "--json");
  expect(Object.keys(JSON.parse(told.stdout).stepSpec)).toContain(controls);
  writeFileSync(temp("steered.jsonl"), `{"${controls.replace(/\p{Cc}/gu, " ")}": \u009b\u001b[2J }`);
  const refused = await reprise("inspect", temp("steered.jsonl"), "--json", "--verbose");
  expect(refused.status).toBe(1);
  expect(refused.stderr).toContain("\\u001b");
  for (const { stdout, stderr } of [shown, told, refused, await reprise("inspect", "--\u001b[2J")])
    expect(stdout + stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}\u2028]/u);
});

test.runIf(process.platform !== "win32")("a pipe in place of a journal segment is an IO error, without blocking", async () => {
  mkdirSync(temp("piped"));
  execFileSync("mkfifo", [join(temp("piped"), "00000001.rpr")]);
  const { status, stderr } = await reprise("stats", temp("piped"));
  expect([status, stderr]).toEqual([1, expect.stringMatching(/^reprise: IO: opening .*00000001\.rpr failed: it is a pipe or a device, not a file/)]);
});

test("a terminal shows a progress bar and gets its cursor back", () => {
  const command = `stty cols 80; ${process.execPath} ${CLI} inspect ${HALF_CHEETAH} --json > /dev/null`;
  const { status, stdout, error } = spawnSync("script", ["-qec", command, "/dev/null"], { encoding: "utf8" });
  // Some systems do not have `script`.
  if (error !== undefined) return;
  expect(status).toBe(0);
  expect(stdout).toMatch(/reading .*%.* of 40/);
  expect(stdout.lastIndexOf("\u001b[?25h")).toBeGreaterThan(stdout.lastIndexOf("\u001b[?25l"));
});

test.runIf(whole)("a reader that closes stdout early ends the program without an error", async () => {
  const child = spawn(process.execPath, [CLI, "inspect", HALF_CHEETAH, "--json"], { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy();
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const status = await new Promise((resolve) => child.on("close", resolve));
  expect([status, said]).toEqual([0, ""]);
});
