/** Compares the reference pages with the source: codes, limits, selectors, rate limiters, and the messages that docs/guides/debug.md quotes. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as limits from "../../src/base/limits.ts";
import { f32, minSize, queueLimiter, Replay, SELECTORS, sampleToInsertRatio } from "../../src/index.ts";
import { MAX_RECENCY, SELECTOR_KINDS } from "../../src/schema/selector.ts";
import { root } from "../support/core.ts";

const read = (file: string) => readFileSync(join(root, file), "utf8");
const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
const texts = new Map(sources.map((file) => [file, read(join("src", file))]));

/** Returns the rows of a page's tables as cells. */
function rows(page: string): string[][] {
  const lines = page.split("\n").filter((line) => line.startsWith("| "));
  return lines.map((line) => line.slice(2, -2).split(" | "));
}

/** Returns the codes at the beginning of rows. */
const codesOf = (page: string) => rows(page).flatMap(([first]) => first?.match(/^`([A-Z_]+)`$/)?.[1] ?? []);

/** The members of the type ReplayErrorCode. */
const codes = [...(texts.get("base/error.ts")?.split("export type ReplayErrorCode =")[1]?.split(";")[0] ?? "").matchAll(/"([A-Z_]+)"/g)].map(
  ([, code]) => code as string,
);

test("the page of errors lists every code once", () => {
  expect(codes.length).toBeGreaterThan(14);
  const part = read("docs/reference/errors.md").split("## Codes")[1]?.split("\n## ")[0] as string;
  expect(codesOf(part)).toEqual([...codes].sort());
});

test("each code is thrown somewhere", () => {
  const all = [...texts].filter(([file]) => file !== "base/error.ts").map(([, text]) => text);
  const silent = codes.filter((code) => {
    const made = new RegExp(`(?:Error|mustBe|Must)\\(\\s*"${code}"|code: "${code}"|, "${code}"`);
    return code !== "CORRUPT" && !all.some((text) => made.test(text));
  });
  expect(silent).toEqual([]);
});

test("the page of limits states the numbers of the source", () => {
  const cells = rows(read("docs/reference/limits.md"));
  const limit = (name: RegExp) => cells.find(([first]) => name.test(first as string))?.[1];
  const grouped = (number: number) => number.toLocaleString("en-US");
  expect(limit(/^steps of an item/)).toBe(grouped(limits.MAX_LENGTH));
  expect(limit(/^items of one batch/)).toBe(grouped(limits.MAX_LENGTH));
  expect(limit(/items of a table/)).toBe(grouped(limits.MAX_ITEMS));
  expect(limit(/^leaves of a step/)).toBe(grouped(limits.MAX_LEAVES));
  expect(limit(/^levels of a nested spec/)).toBe(grouped(limits.MAX_NEST_DEPTH));
  expect(limit(/^bytes of one leaf/)).toBe(grouped(limits.MAX_LEAF_BYTES));
  expect(limit(/^bytes of a frame/)).toBe(`${grouped(limits.MAX_PACKED_BYTES)}, and at least ${limits.MIN_PACKED_BYTES}`);
  expect(limit(/^levels of a value/)).toBe(grouped(limits.MAX_VALUE_DEPTH));
  expect(limit(/^milliseconds/)).toBe(grouped(limits.MAX_TIMEOUT_MS));
  expect(limit(/^exponent of/)).toBe(String(MAX_RECENCY));
  expect(limits.MAX_REPLAY_BYTES).toBe(2 ** 32 - 2 ** 16);
  expect(limit(/^memory of one Replay/)).toBe("4 GiB − 64 KiB");
  const replay = new Replay({ spec: { x: f32() }, tables: { t: { maxSize: 1 } } });
  const most = (lanes: number) => () => replay.writer({ lanes });
  expect(limit(/^lanes/)).toBe("65,536");
  expect(most(65_537)).toThrow("65536");
  const burnIn = 32_767;
  expect(limit(/burn-in/)).toBe("32,766");
  expect(() => replay.writer({ items: [{ table: "t", sequence: { length: burnIn + 2, burnIn } }] })).toThrow("32766");
  expect(limit(/wait for a rate limiter/)).toBe("`maxPending`, 1,023 by default");
  expect(texts.get("schema/table-options.ts")).toContain("const DEFAULT_PENDING = 1023;");
});

test("the page of selectors lists each selector with its arguments", () => {
  const page = read("docs/reference/selectors-and-limiters.md");
  const part = page.split("## Selectors")[1]?.split("\n### ")[0] as string;
  const listed = rows(part).slice(1);
  expect(listed.map(([first]) => first?.match(/^`(\w+)\(/)?.[1])).toEqual([...SELECTORS]);
  for (const [i, name] of SELECTORS.entries()) {
    const { usesPriority, takesExponent, takesMin, samplesOnly } = SELECTOR_KINDS[name];
    const [call, picks, priorities] = listed[i] as string[];
    expect([name, priorities]).toEqual([name, usesPriority ? "yes" : "no"]);
    expect([name, call?.includes("exponent"), call?.includes("withMin")]).toEqual([name, takesExponent ?? false, takesMin ?? false]);
    expect([name, picks?.includes("only a sampler")]).toEqual([name, samplesOnly ?? false]);
  }
});

test("the table of rate limiters matches the functions", () => {
  const page = read("docs/reference/selectors-and-limiters.md").split("## Rate limiters")[1] as string;
  const [r, n, e, a, b] = [3, 7, 11, 5, 40];
  const values: { readonly [cell: string]: number } = {
    ...{ none: Number.MAX_VALUE, r, n, a, b, 0: 0, 1: 1 },
    ...{ "r × n − e": r * n - e, "r × n + e": r * n + e },
  };
  const limiters = [minSize(n), sampleToInsertRatio(r, n, e), sampleToInsertRatio(r, n, [a, b]), queueLimiter(n)];
  const listed = rows(page).filter((cells) => cells.length === 6 && /^`\w+\(/.test(cells[0] as string));
  const numbers = listed.map((cells) => cells.slice(2).map((cell, column) => (cell === "none" && column === 2 ? -Number.MAX_VALUE : values[cell])));
  expect(numbers).toEqual(limiters.map(({ samplesPerInsert, minSize, minDiff, maxDiff }) => [samplesPerInsert, minSize, minDiff, maxDiff]));
});

test("messages quoted in docs/guides/debug.md exist in the source", () => {
  const page = read("docs/guides/debug.md").replaceAll(/```[\s\S]*?```/g, "");
  const all = [...texts.values()].join("\n").replaceAll('\\"', '"');
  const quotes = [...page.matchAll(/`([^`]+)`/g)].map(([, quote]) => (quote as string).replaceAll("\n", " ")).filter((quote) => / \w+ \w+ \w+/.test(quote));
  expect(quotes.length).toBeGreaterThan(15);
  const isCode = (quote: string) => /^(items: \[|const |await |writer|replay|import )/.test(quote);
  const missing = quotes.filter((quote) => !isCode(quote)).flatMap((quote) => fragments(quote).filter((fragment) => !all.includes(fragment)));
  expect(missing).toEqual([]);
});

/** Returns the fixed words of a message, without quoted values and ellipses. */
function fragments(quote: string): string[] {
  return quote
    .split(/…|"t"|\(… MiB\)/)
    .map((part) => part.trim())
    .filter((part) => part.length > 9);
}
