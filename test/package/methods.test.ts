/** Checks that docs/reference/methods.md lists exactly the members of each class of the main entry. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { root } from "../support/core.ts";
import { whole } from "../support/size.ts";

/** The types with methods that are not listed: types that the program implements, and aliases of batches. */
const BROUGHT = new Set(["ByteChannel", "ChannelHandlers", "SocketLike", "AnySteps", "BatchOf", "MixtureBatch", "OpenReplay"]);
/** The members that only other modules of the package use. */
const INTERNAL = new Set(["Table.handle", "Writer.streams", "Journal.sessions", "Journal.renew()"]);
/** Matches columns whose names are roles. The page states below the table that they come from the spec. */
const ROLES = /^(Transition|Sequence)Batch\.(observation|nextObservation|action|reward)$/;

/** Returns the members of each class by name: methods with parentheses, static members with the name of the class. */
function members(): Map<string, string[]> {
  const program = ts.createProgram([join(root, "src/index.ts")], {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.esnext.d.ts"],
    allowImportingTsExtensions: true,
    noEmit: true,
    strict: true,
    types: [],
  });
  const checker = program.getTypeChecker();
  const found = new Map<string, string[]>();
  const isForPackage = (property: ts.Symbol) => ts.displayPartsToString(property.getDocumentationComment(checker)).includes("For the package's own modules");
  const listed = (type: ts.Type, owner: string) =>
    checker.getPropertiesOfType(type).flatMap((property) => {
      if (property.name.includes("#") || isForPackage(property)) return [];
      const isCall = checker.getTypeOfSymbol(property).getCallSignatures().length > 0;
      const name = `${property.name.replace(/^__@(\w+)@\d+$/, "[Symbol.$1]")}${isCall ? "()" : ""}`;
      return INTERNAL.has(`${owner}.${name}`) || ROLES.test(`${owner}.${name}`) ? [] : [name];
    });
  const entry = checker.getSymbolAtLocation(program.getSourceFile(join(root, "src/index.ts")) as ts.SourceFile) as ts.Symbol;
  for (const exported of checker.getExportsOfModule(entry)) {
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    const type = checker.getDeclaredTypeOfSymbol(symbol);
    const isClass = (symbol.flags & ts.SymbolFlags.Class) !== 0;
    const own = type.isUnion() || (!isClass && checker.getIndexInfosOfType(type).length > 0) ? [] : listed(type, exported.name);
    const isBuiltin = symbol.declarations?.some((declaration) => declaration.getSourceFile().fileName.includes("/lib.")) || own.includes("toLocaleString()");
    if (BROUGHT.has(exported.name) || isBuiltin || (!isClass && !own.some((name) => name.endsWith("()")))) continue;
    const statics = isClass && exported.name === "Replay" ? listed(checker.getTypeOfSymbol(symbol), exported.name).filter((name) => name !== "prototype") : [];
    found.set(exported.name, [...own, ...statics.map((name) => `${exported.name}.${name}`)]);
    const journal = exported.name === "Replay" ? type.getProperty("journal") : undefined;
    if (journal !== undefined) found.set("Journal", listed(checker.getNonNullableType(checker.getTypeOfSymbol(journal)), "Journal"));
  }
  return found;
}

const page = readFileSync(join(root, "docs/reference/methods.md"), "utf8");

/** Returns the members in the table of a section. A cell may contain several. */
function written(part: string): string[] {
  const cells = [...part.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, names]) =>
    [...(names as string).matchAll(/`([^`]+)`/g)].map(([, name]) => name as string),
  );
  return cells.filter((name) => !name.startsWith("new ")).map((name) => name.replace(/\(.*\)$/, "()"));
}

const sections = new Map(page.split(/^## /m).map((part) => [part.slice(0, part.indexOf("\n")), part]));

test.runIf(whole)("docs/reference/methods.md lists every class of the main entry with its members, and no other", () => {
  const classes = members();
  expect(
    [...sections.keys()]
      .slice(1)
      .filter((heading) => heading !== "Next")
      .sort(),
  ).toEqual([...classes.keys()].sort());
  for (const [name, own] of classes) expect(written(sections.get(name) as string).sort(), name).toEqual([...own].sort());
});

test("docs/reference/methods.md names only error codes that exist", () => {
  const codes = readFileSync(join(root, "docs/reference/errors.md"), "utf8");
  const named = new Set([...page.matchAll(/`([A-Z]+(?:_[A-Z]+)*)`/g)].map(([, code]) => code as string));
  expect(named.size).toBeGreaterThan(12);
  for (const code of named) expect(codes).toContain(`| \`${code}\` |`);
});
