/** Every example of README.md runs as it stands, by the package's own name, and prints what its comments say. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../support/core.ts";

const readme = readFileSync(join(root, "README.md"), "utf8");

/** Each block of JavaScript, under the heading that it follows. */
const examples = readme.split(/^## /m).flatMap((part) => {
  const heading = part.slice(0, part.indexOf("\n"));
  return [...part.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map((match) => [heading, match[1] as string] as const);
});

/** What follows each `// →`, a line each. */
function said(code: string): string[] {
  return code.split("\n").flatMap((line) => line.split(" // → ").slice(1));
}

test("there is an example in each part that shows the API", () => {
  expect(examples.length).toBeGreaterThanOrEqual(12);
  expect(readme.match(/^```js/gm)?.length).toBe(examples.length);
});

test.each(examples)("%s", (_, code) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], { cwd: root, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(said(code).length).toBeGreaterThan(0);
  expect(stdout.trimEnd().split("\n")).toEqual(said(code));
});

test("what it names is there", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const named = [...readme.matchAll(/npm (?:run )?(test|start|build|check|bench|conformance)\b/g)].map((match) => match[1] as string);
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));
  for (const [, file] of readme.matchAll(/\]\(([^)]+)\)/g)) expect(readFileSync(join(root, file as string)).length).toBeGreaterThan(0);
  for (const [, folder] of readme.matchAll(/^\| `([a-z/]+)\/` \|/gm)) expect(existsSync(join(root, folder as string))).toBe(true);
});
