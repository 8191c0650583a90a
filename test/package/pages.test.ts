/**
 * Checks the form of pages that teach: short paragraphs, a link to the next page at the end, and the other rules of the style sheet that a program can check.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { groupsOf, INDEX, REST, titleOf } from "../../build/docs-index.mjs";
import { root } from "../support/core.ts";
import { pages } from "./programs.ts";

const FOLDERS = /^docs\/((start|guides|recipes|data|embed|migrate|reference|explain)\/|[^/]+\.md$)|^README\.md$/;
/** The pages that are not checked: the index of the documents. */
const OTHERS = ["docs/README.md"];
const teaching = pages.filter(({ path }) => FOLDERS.test(path) && !OTHERS.includes(path));

/** Returns paragraphs of prose, without code, tables, headings and lists. */
function paragraphs(text: string): string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, "");
  return prose.split(/\n\s*\n/).filter((part) => part.trim() !== "" && !/^\s*([#|<!-]|\d+\.|- )/.test(part));
}

const words = (text: string) => text.split(/\s+/).filter(Boolean).length;

it("there are more than 30 pages", () => {
  expect(teaching.length).toBeGreaterThan(30);
});

describe.each(teaching)("$path", ({ path, text }) => {
  it("has paragraphs of at most 80 words", () => {
    expect(paragraphs(text).filter((part) => words(part) > 80)).toEqual([]);
  });

  it("has only a language in the first line of a code block", () => {
    expect(text.match(/^```\w+ .*$/gm)).toBe(null);
  });

  it("has one first-level heading, and starts with a sentence", () => {
    const lines = text.replaceAll(/^```[\s\S]*?^```$/gm, "").split("\n");
    expect(lines.filter((line) => line.startsWith("# "))).toHaveLength(1);
    expect(text).toMatch(/^# .+\n\n(\*\*)?[A-Z`]/);
  });

  it.runIf(path !== "README.md")("ends with links to the next pages", () => {
    expect(text.split(/^## /m).at(-1)).toMatch(/^Next\n\n- \[/);
  });
});

const bench = ["bench/README.md", "bench/peers/README.md", "test/README.md"].map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

it.each([...pages, ...bench])("$path has no blank line in a table", ({ text }) => {
  const lines = text.split("\n");
  const isRow = (line: string | undefined) => line?.startsWith("|") ?? false;
  const torn = lines.filter((line, i) => line === "" && isRow(lines[i - 1]) && isRow(lines[i + 1]) && !lines[i + 2]?.startsWith("|-"));
  expect(torn).toEqual([]);
});

test("the index lists every page of docs/ once, and its groups are the navigation of the site", () => {
  const groups = groupsOf(readFileSync(join(root, `${INDEX}.md`), "utf8"));
  expect(groups.map(({ title }) => title)).toContain(REST);
  const named = groups.flatMap(({ paths }) => paths).filter((path) => path.startsWith("docs/"));
  const there = pages.map(({ path }) => path.replace(/\.md$/, "")).filter((path) => path.startsWith("docs/") && path !== INDEX);
  expect([...named].sort()).toEqual(there.sort());
  const titles = pages.map(({ text }) => titleOf(text));
  expect(new Set(titles).size).toBe(pages.length);
  expect(groupsOf("# T\n\n## A\n\n- [x](x.md#part), [y](../y.md)\n\n## B\n\n- [x](x.md)\n")).toEqual([
    { title: "A", paths: ["docs/x", "y"] },
    { title: "B", paths: [] },
  ]);
});
