/** Every example of README.md and docs/ runs as it stands, by the package's own name, and prints what its comments say. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../support/core.ts";
import { some } from "../support/size.ts";

const pages = ["README.md", ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).map((file) => `docs/${file}`)]
  .filter((path) => path.endsWith(".md"))
  .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

/** Each block of JavaScript, under the page and heading that it follows. */
const examples = pages.flatMap(({ path, text }) =>
  text.split(/^## /m).flatMap((part) => {
    const heading = part.slice(0, part.indexOf("\n"));
    return [...part.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map((match) => [`${path}: ${heading}`, match[1] as string] as const);
  }),
);

/** What follows each `// →`, a line each. */
function said(code: string): string[] {
  return code.split("\n").flatMap((line) => line.split(" // → ").slice(1));
}

test("there is an example in each part that shows the API", () => {
  expect(examples.length).toBeGreaterThanOrEqual(13);
  expect(pages.flatMap(({ text }) => text.match(/^```js/gm) ?? []).length).toBe(examples.length);
});

test.each(some(examples, 7))("%s", (_, code) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], { cwd: root, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(said(code).length).toBeGreaterThan(0);
  expect(stdout.trimEnd().split("\n")).toEqual(said(code));
});

test.each(pages)("what $path names is there", ({ path, text }) => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const named = [...text.matchAll(/npm (?:run )?(test:all|test|start|build|check|bench|conformance|runtimes|pages)\b/g)].map((match) => match[1] as string);
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));
  for (const [, file] of text.matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)) expect(existsSync(join(root, dirname(path), file as string)), file).toBe(true);
  for (const [, folder] of text.matchAll(/^\| `([a-z/]+)\/` \|/gm)) expect(existsSync(join(root, folder as string)), folder).toBe(true);
});
