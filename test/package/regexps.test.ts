/** Checks that every regular expression of the package takes linear time for any text, because most of them are applied to untrusted data. */
import { readFileSync } from "node:fs";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { files } from "../../build/steps.mjs";
import { slowness } from "../support/regexp-time.ts";
import { whole } from "../support/size.ts";

interface Found {
  readonly place: string;
  readonly text: string;
}

/** Returns the literals of a source, and the calls that create expressions from text. */
function expressionsIn(path: string): { readonly literals: Found[]; readonly made: Found[] } {
  const literals: Found[] = [];
  const made: Found[] = [];
  const source = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest);
  const visit = (node: ts.Node) => {
    const place = () => `${path}:${source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1}`;
    if (node.kind === ts.SyntaxKind.RegularExpressionLiteral) literals.push({ place: place(), text: node.getText(source) });
    if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText(source) === "RegExp")
      made.push({ place: place(), text: node.getText(source) });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { literals, made };
}

/** Matches the text before a literal in formatted code. A quick run parses only the sources with a match, which are a fifth of them. */
const MAY_HAVE_ONE = /(?:[=(,:!&|?{};[>]|\breturn|\bcase)\s*\/(?![/*])|\bRegExp\b/;
const sources = files("src", ".ts").filter((path) => whole || MAY_HAVE_ONE.test(readFileSync(path, "utf8")));

const split = (literal: string) => [literal.slice(1, literal.lastIndexOf("/")), literal.slice(literal.lastIndexOf("/") + 1)] as const;

describe("in src/", () => {
  const found = sources.map(expressionsIn);

  it("each regular expression takes linear time", () => {
    const literals = found.flatMap(({ literals: each }) => each);
    expect(literals.length).toBeGreaterThan(30);
    const slow = literals.flatMap(({ place, text }) => {
      const what = slowness(...split(text));
      return what === undefined ? [] : [`${place} ${text} is ${what}`];
    });
    expect(slow).toEqual([]);
  });

  it("no regular expression is created from text", () => {
    expect(found.flatMap(({ made }) => made)).toEqual([]);
  });
});

describe("the check", () => {
  it.each([
    [String.raw`/(a+)+$/`, "exponential"],
    [String.raw`/^(a*)*$/`, "exponential"],
    [String.raw`/^(?:a|a)*b/`, "exponential"],
    [String.raw`/^(?:a?b?)*c/`, "exponential"],
    [String.raw`/['"]shape['"]\s*:\s*\(((?:\s*\d{1,15}L?\s*,?)*)\)/`, "exponential"],
    [String.raw`/\s*\n\s*/g`, "quadratic"],
    [String.raw`/a+\b/`, "quadratic"],
    [String.raw`/\0+$/`, "quadratic"],
    [String.raw`/[^/]*$/`, "quadratic"],
    [String.raw`/a(?:.*b)?/g`, "quadratic"],
    [String.raw`/^a*a*b/`, "quadratic"],
    [String.raw`/^[a-m]*[k-z]*!/`, "quadratic"],
    [String.raw`/^\s*[A-Z]*[^a]*$/i`, "quadratic"],
    [String.raw`/"(?:[^"\\]|\\.)*"/g`, "quadratic"],
    [String.raw`/[\p{Cc}\u2028]+$/u`, "quadratic"],
    [String.raw`/^[^\P{L}a]*[a-z]*!/u`, "quadratic"],
    [String.raw`/^[^\p{L}\d]*é*!/u`, "quadratic"],
    [String.raw`/^[^é]*ä*!/`, "quadratic"],
  ])("finds %s to be %s", (text, what) => {
    expect(slowness(...split(text))).toBe(what);
  });

  it.each([
    String.raw`/\d+/g`,
    String.raw`/\W+/g`,
    String.raw`/^(-?[\d.]+)(%|shard)?$/`,
    String.raw`/^[A-Za-z0-9+/]*={0,2}$/`,
    String.raw`/\{([^{}]*)\}/g`,
    String.raw`/\.(jsonl|ndjson)$/i`,
    String.raw`/^.*\) /s`,
    String.raw`/^(?:ab|ac)*$/`,
    String.raw`/^\d{2,5}-\d{3,}$/`,
    String.raw`/^[^\x00-\x1f]*$/`,
    String.raw`/[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029]/gu`,
    String.raw`/^\P{L}*[a-z]*!/u`,
    String.raw`/^[^\P{Cc}\n]*\n*!/u`,
  ])("finds %s to be linear", (text) => {
    expect(slowness(...split(text))).toBe(undefined);
  });

  it("throws for syntax that it cannot analyze", () => {
    for (const source of ["a(?=b)", "(?<!a)b", "a\\1", "\\p{L}", "(a", "a)"]) expect(() => slowness(source, "")).toThrow(/does not know/);
  });
});
