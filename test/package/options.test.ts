/** Checks that docs/reference/options.md lists exactly the options of the main entry, of reprise/remote and of reprise/reverb. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { root } from "../support/core.ts";
import { whole } from "../support/size.ts";

/** Matches the names of types that contain options. */
const IS_OPTIONS = /(Options|Limits|Rule|Ends|Roles|SampleTransitions)$/;

/** Returns the options of each exported type by name. */
function options(): Map<string, Set<string>> {
  const program = ts.createProgram(
    ["src/index.ts", "src/remote/index.ts", "src/reverb/index.ts"].map((file) => join(root, file)),
    { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022, allowImportingTsExtensions: true, noEmit: true, strict: true, types: [] },
  );
  const checker = program.getTypeChecker();
  const found = new Map<string, Set<string>>();
  for (const name of program.getRootFileNames()) {
    const entry = checker.getSymbolAtLocation(program.getSourceFile(name) as ts.SourceFile) as ts.Symbol;
    for (const exported of checker.getExportsOfModule(entry)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      const type = checker.getDeclaredTypeOfSymbol(symbol);
      if (!IS_OPTIONS.test(symbol.name) || type.isUnion()) continue;
      const isNever = (property: ts.Symbol) => /readonly \w+\?: never;/.test(property.valueDeclaration?.getText() ?? "");
      const own = checker.getPropertiesOfType(type).filter((property) => !isNever(property));
      found.set(symbol.name, new Set(own.map((property) => property.name)));
    }
  }
  return found;
}

interface Section {
  readonly own: Set<string>;
  /** The other types whose options belong to this type, according to the line "And all of …". */
  readonly also: readonly string[];
}

const page = readFileSync(join(root, "docs/reference/options.md"), "utf8");
const sections = new Map<string, Section>();
for (const part of page.split(/^## (?!Next$)/m).slice(1)) {
  const type = part.match(/(\w+)\n/)?.[1] as string;
  const own = [...part.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, names]) => (names as string).split(", ").map((name) => name.replaceAll("`", "")));
  const [before] = part.split("| option");
  const also = /And all of/.test(before as string)
    ? [...(before as string).matchAll(/`(\w+(?:Options|SampleTransitions)|SampleTransitions)`/g)].map(([, name]) => name as string)
    : [];
  sections.set(type, { own: new Set(own), also: also.filter((name) => name !== type) });
}

function written(type: string): Set<string> {
  const { own, also } = sections.get(type) ?? { own: [], also: [] };
  return new Set([...own, ...also.flatMap((name) => [...written(name)])]);
}

test.runIf(whole)("docs/reference/options.md lists every option by type, and no other", () => {
  const types = options();
  expect([...sections.keys()].sort()).toEqual([...types.keys()].sort());
  for (const [type, names] of types) {
    expect(
      [...names].filter((name) => !written(type).has(name)),
      `${type} has more than docs/reference/options.md`,
    ).toEqual([]);
    expect(
      [...(sections.get(type) as Section).own].filter((name) => !names.has(name)),
      `docs/reference/options.md has more than ${type}`,
    ).toEqual([]);
  }
});

test("links in docs/reference/options.md lead to its sections", () => {
  const anchor = (heading: string) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, "")
      .replaceAll(" ", "-");
  const anchors = [...page.matchAll(/^## (.*)$/gm)].map(([, heading]) => anchor(heading as string));
  for (const [, link] of page.matchAll(/\]\(#([^)]+)\)/g)) expect(anchors).toContain(link);
});
