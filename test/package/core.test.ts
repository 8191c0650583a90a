import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ABI_VERSION } from "../../src/core/abi.ts";
import { imageOf } from "../../src/core/image.ts";
import { internals, Replay, type Spec, u8 } from "../../src/index.ts";
import { coreOf, moduleOf, root, type Target } from "../support/core.ts";
import { errorOf, expectError } from "../support/refused.ts";

const TARGETS: readonly Target[] = ["release", "scalar", "debug", "tracking"];
const read = (file: string) => readFileSync(join(root, file), "utf8");

/** The modules: their pages, and the interfaces by which the wrapper knows them. */
const CORE = { page: "assembly/index.ts", file: "src/core/abi.ts", besides: ["memory"] };
const IMAGE = { page: "assembly/image.ts", file: "src/core/image.ts", besides: [] };
const PFRL = { page: "assembly/pfrl.ts", file: "src/core/pfrl-core.ts", besides: [] };
const WINDOWS = { page: "assembly/windows.ts", file: "src/core/windows-core.ts", besides: [] };
const JOURNAL = { page: "assembly/journal.ts", file: "src/core/tracking.ts", besides: [] };
const SECTIONS = { page: "assembly/sections.ts", file: "src/core/checksum.ts", besides: ["memory"] };
type Page = { readonly page: string; readonly file: string; readonly besides: readonly string[] };

/** What an ABI page exports. */
function onPage({ page }: Page): string[] {
  const names = [...read(page).matchAll(/^export \{([^}]*)\}/gm)].flatMap((match) => (match[1] as string).split(","));
  return names.map((name) => name.trim()).filter((name) => name !== "");
}

/** What the wrapper expects. */
function inInterface({ file }: Page): string[] {
  const body = /export interface \w*Exports \{([\s\S]*?)\n\}/.exec(read(file))?.[1] as string;
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+):/gm)].map((match) => match[1] as string);
}

test.each(TARGETS)("the %s core imports nothing and exports the ABI page", (target) => {
  const module = moduleOf(target);
  expect(WebAssembly.Module.imports(module)).toEqual([]);
  const exported = WebAssembly.Module.exports(module).map(({ name }) => name);
  expect(exported.sort()).toEqual([...onPage(CORE), "memory"].sort());
});

test.each([
  { target: "image", page: IMAGE },
  { target: "windows", page: WINDOWS },
  { target: "journal", page: JOURNAL },
  { target: "pfrl", page: PFRL },
] as const)("the $target module imports the core's memory and nothing else, holds no data, and exports its page", ({ target, page }) => {
  expect(WebAssembly.Module.imports(moduleOf(target))).toEqual([{ module: "env", name: "memory", kind: "memory" }]);
  expect(
    WebAssembly.Module.exports(moduleOf(target))
      .map(({ name }) => name)
      .sort(),
  ).toEqual(onPage(page).sort());
  const memory = new WebAssembly.Memory({ initial: 1 });
  new WebAssembly.Instance(moduleOf(target), { env: { memory } });
  expect(new Uint8Array(memory.buffer).some((byte) => byte !== 0)).toBe(false);
});

test("the sections module imports nothing, and exports its page", () => {
  const module = moduleOf("sections");
  expect(WebAssembly.Module.imports(module)).toEqual([]);
  const exported = WebAssembly.Module.exports(module).map(({ name }) => name);
  expect(exported.sort()).toEqual([...onPage(SECTIONS), "memory"].sort());
});

test.each([CORE, IMAGE, WINDOWS, PFRL, JOURNAL, SECTIONS])("$page and the wrapper's interface name the same exports, each once", (page) => {
  expect(onPage(page).length).toBeGreaterThan(page === SECTIONS ? 3 : 10);
  expect(new Set(onPage(page)).size).toBe(onPage(page).length);
  expect(inInterface(page).sort()).toEqual([...onPage(page), ...page.besides].sort());
});

test.each([CORE, IMAGE, WINDOWS, PFRL, JOURNAL])("functions of $page take as many arguments as the wrapper gives them", ({ file }) => {
  const core = coreOf("release");
  const journal = new WebAssembly.Instance(moduleOf("journal"), { env: { memory: core.memory } }).exports;
  const exports = { ...core, ...journal } as unknown as WebAssembly.Exports;
  const counts = [...read(file).matchAll(/^ {2}(\w+): Fn<\[(.*?)\]/gm)].map(([, name, args]) => [name, args === "" ? 0 : (args as string).split(",").length]);
  for (const [name, count] of counts) expect([name, (exports[name as string] as () => void).length]).toEqual([name, count]);
});

test("only numbers cross the ABI: no i64, which would be a BigInt", () => {
  const { exports } = new WebAssembly.Instance(moduleOf("release"), {});
  expect((exports.ABI_VERSION as WebAssembly.Global).value).toBe(ABI_VERSION);
  expect(typeof (exports.arena_used as () => unknown)()).toBe("number");
});

test("another version's core, or another module, is refused", () => {
  const options = { spec: u8() as Spec, tables: { t: { maxSize: 1 } } };
  // The smallest module there is: it exports nothing.
  const empty = new WebAssembly.Module(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));
  expectError(
    errorOf(() => new Replay({ ...options, module: empty })),
    "UNSUPPORTED",
    /ABI version 2/,
    /undefined/,
  );
  for (const target of TARGETS) expect(imageOf(internals.core(1 << 20, moduleOf(target))).arena_check()).toBe(0);
});
