import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ABI_VERSION } from "../../src/abi.ts";
import { internals, Replay, type Spec, u8 } from "../../src/index.ts";
import { moduleOf, root, type Target } from "../support/core.ts";
import { errorOf, expectError } from "../support/refused.ts";

const TARGETS: readonly Target[] = ["release", "scalar", "debug"];
/** A core's page and the image module's, each with the interface of the wrapper. */
const PAGES = [
  ["assembly/index.ts", "src/abi.ts", "Exports"],
  ["assembly/image/index.ts", "src/snapshot/image.ts", "ImageExports"],
] as const;
const read = (file: string) => readFileSync(join(root, file), "utf8");

/** What the ABI page exports. */
function onPage(page = "assembly/index.ts"): string[] {
  const names = [...read(page).matchAll(/^export \{([^}]*)\}/gm)].flatMap((match) => (match[1] as string).split(","));
  return names.map((name) => name.trim()).filter((name) => name !== "");
}

/** What the wrapper expects. */
function inInterface(file: string, name: string): string[] {
  const body = new RegExp(`export interface ${name} \\{([\\s\\S]*?)\\n\\}`).exec(read(file))?.[1] as string;
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+):/gm)].map((match) => match[1] as string);
}

test.each(TARGETS)("the %s core imports nothing and exports the ABI page", (target) => {
  const module = moduleOf(target);
  expect(WebAssembly.Module.imports(module)).toEqual([]);
  const exported = WebAssembly.Module.exports(module).map(({ name }) => name);
  expect(exported.sort()).toEqual([...onPage(), "memory"].sort());
});

test.each(PAGES)("%s and the interface in %s name the same exports, each once", (page, file, name) => {
  const names = onPage(page);
  expect(names.length).toBeGreaterThan(10);
  expect(new Set(names).size).toBe(names.length);
  expect(
    inInterface(file, name)
      .filter((one) => one !== "memory")
      .sort(),
  ).toEqual(names.sort());
});

test("the image module exports its page, and imports the core's memory", () => {
  const module = moduleOf("image");
  expect(WebAssembly.Module.imports(module)).toEqual([{ module: "env", name: "memory", kind: "memory" }]);
  expect(
    WebAssembly.Module.exports(module)
      .map(({ name }) => name)
      .filter((name) => name !== "memory")
      .sort(),
  ).toEqual(onPage("assembly/image/index.ts").sort());
});

test("functions of the core take as many arguments as the wrapper gives them", () => {
  const { exports } = new WebAssembly.Instance(moduleOf("release"), {});
  const counts = [...read("src/abi.ts").matchAll(/^ {2}(\w+): Fn<\[(.*?)\]/gm)].map(([, name, args]) => [
    name,
    args === "" ? 0 : (args as string).split(",").length,
  ]);
  for (const [name, count] of counts) expect([name, (exports[name as string] as () => void).length]).toEqual([name, count]);
});

test("only numbers cross the ABI: no i64, which would be a BigInt", () => {
  const { exports } = new WebAssembly.Instance(moduleOf("release"), {});
  expect((exports.ABI_VERSION as WebAssembly.Global).value).toBe(ABI_VERSION);
  expect(typeof (exports.arena_left as () => unknown)()).toBe("number");
});

test("another version's core, or another module, is refused", () => {
  const options = { spec: u8() as Spec, tables: { t: { maxSize: 1 } } };
  // The smallest module there is: it exports nothing.
  const empty = new WebAssembly.Module(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));
  expectError(
    errorOf(() => new Replay({ ...options, module: empty })),
    "UNSUPPORTED",
    /ABI version 1/,
    /undefined/,
  );
  for (const target of TARGETS) expect(internals.core(1 << 20, moduleOf(target)).x.arena_used()).toBeGreaterThan(0);
});
