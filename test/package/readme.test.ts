/** Checks that every example of README.md and docs/ runs unchanged, with the package's own name, and prints the output in its comments. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../support/core.ts";
import { some } from "../support/size.ts";
import { pages, programs, SERVER_PAGE } from "./programs.ts";

const all = programs("js");
const examples = all.filter(({ path }) => path !== SERVER_PAGE).map(({ path, heading, code }) => [`${path}: ${heading}`, code] as const);

/** Returns the output that a program is expected to print: the text after each `// →`. */
function said(code: string): string[] {
  return code.split("\n").flatMap((line) => line.split(" // → ").slice(1));
}

const FENCES = /^\s*```[\s\S]*?^\s*```$/gm;

/** Returns the anchors of a page: its headings as hosts of Markdown and the generated site spell them. */
function partsOf(path: string): Set<string> {
  const headings = [
    ...readFileSync(join(root, path), "utf8")
      .replaceAll(FENCES, "")
      .matchAll(/^#{1,6} (.+)$/gm),
  ].map(([, heading]) => heading as string);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

test("there are at least 13 examples, and every js block is a program", () => {
  expect(examples.length).toBeGreaterThanOrEqual(13);
  expect(pages.flatMap(({ text }) => text.match(/^```js$/gm) ?? []).length).toBe(all.length);
});

test.each(some(examples, 3))("%s", (_, code) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], { cwd: root, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(said(code).length).toBeGreaterThan(0);
  expect(stdout.trimEnd().split("\n")).toEqual(said(code));
});

test.each(pages)("scripts, files, headings and folders that $path names exist", ({ path, text }) => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const named = [...text.matchAll(/npm (?:run )?(test:all|test|start|build|check|bench|conformance|runtimes|soak:port|pages|interop|example:reverb)\b/g)].map(
    (match) => match[1] as string,
  );
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));
  for (const [, file] of text.matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)) expect(existsSync(join(root, dirname(path), file as string)), file).toBe(true);
  for (const [, file, part] of text.replaceAll(FENCES, "").matchAll(/\]\((?!https?:)([^)#]*)#([^)]+)\)/g)) {
    const target = file === "" ? path : join(dirname(path), file as string);
    if (target.endsWith(".md")) expect([...partsOf(target)], `${path}: ${target}#${part}`).toContain(part);
  }
  for (const [, folder] of text.matchAll(/^\| `([a-z/]+)\/` \|/gm)) expect(existsSync(join(root, folder as string)), folder).toBe(true);
});
