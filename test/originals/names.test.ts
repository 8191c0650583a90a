/** Checks that docs/reference/names-reverb.md and names-tf-agents.md list exactly the public names of the two packages, and that our names in them exist. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { root } from "../support/core.ts";
import { whole } from "../support/size.ts";
import { kept } from "./count.mjs";

const NAMES: { readonly [module: string]: readonly string[] } = kept().names;
const PAGES = { reverb: "names-reverb.md", tf_agents: "names-tf-agents.md" };

interface Row {
  readonly module: string;
  readonly names: readonly string[];
  readonly ours: string;
}

/** Returns the rows of a page's tables, each with the module in the heading of its section. Sections without a module are skipped. */
function rows(page: string): Row[] {
  const [, ...sections] = readFileSync(join(root, "docs/reference", page), "utf8").split(/^##+ /m);
  return sections.flatMap((section) => {
    const module = section.match(/^`([\w.]+)`\n/)?.[1];
    if (module === undefined) return [];
    return [...section.matchAll(/^\| (`[^|]*`) \| ([^|]*) \|$/gm)].map(([, names = "", ours = ""]) => ({
      module: module.replaceAll(".", "/"),
      names: names.split(", ").map((name) => name.replaceAll("`", "")),
      ours,
    }));
  });
}

/** Returns each exported name of the entries with its members: static and instance members of a class, or members of an interface or object. */
function exported(): Map<string, ReadonlySet<string>> {
  const program = ts.createProgram(
    ["src/index.ts", "src/reverb/index.ts", "src/tf-agents/index.ts", "src/datasets/rlds/index.ts"].map((file) => join(root, file)),
    { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022, allowImportingTsExtensions: true, noEmit: true, strict: true, types: [] },
  );
  const checker = program.getTypeChecker();
  const found = new Map<string, ReadonlySet<string>>();
  for (const file of program.getRootFileNames()) {
    const entry = checker.getSymbolAtLocation(program.getSourceFile(file) as ts.SourceFile) as ts.Symbol;
    for (const one of checker.getExportsOfModule(entry)) {
      const symbol = one.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(one) : one;
      const types = [
        ...(symbol.flags & ts.SymbolFlags.Type ? [checker.getDeclaredTypeOfSymbol(symbol)] : []),
        ...(symbol.valueDeclaration === undefined ? [] : [checker.getTypeOfSymbolAtLocation(symbol, symbol.valueDeclaration)]),
      ];
      // The entry of TF-Agents comes after the main entry, so the class `Table` of TF-Agents replaces the main entry's `Table`.
      found.set(one.name, new Set(types.flatMap((type) => checker.getPropertiesOfType(type).map(({ name }) => name))));
    }
  }
  return found;
}

test.each(Object.entries(PAGES))("every public name of %s is listed in %s, and no other name", (its, page) => {
  const all = rows(page);
  const modules = Object.keys(NAMES).filter((module) => module.startsWith(`${its}/`));
  expect([...new Set(all.map(({ module }) => module))].sort()).toEqual(modules.sort());
  for (const module of modules) {
    const named = all.filter((row) => row.module === module).flatMap(({ names }) => names);
    expect(named.sort(), module).toEqual([...(NAMES[module] as readonly string[])].sort());
  }
});

test.runIf(whole)("our names in both pages are exported, and so are their members", () => {
  const known = exported();
  const missing = Object.values(PAGES).flatMap((page) =>
    rows(page).flatMap(({ names, ours }) => {
      const [, head, member] = ours.match(/^`(\w+)(?:\.(\w+))?/) ?? [];
      if (head === undefined) return ours.startsWith("— ") ? [] : [`${page}: ${names[0]}: neither a name nor a reason`];
      const members = known.get(head);
      return members !== undefined && (member === undefined || members.has(member)) ? [] : [`${page}: ${names[0]}: ${ours}`];
    }),
  );
  expect(missing).toEqual([]);
});
