import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as abi from "../../src/base/abi.ts";
import { Replay, type Spec, u8 } from "../../src/index.ts";
import { Core } from "../../src/memory/core.ts";
import { instance } from "../../src/memory/module.ts";
import { DTYPES } from "../../src/schema/dtype.ts";
import { HEAD_BYTES, NARROW, SHARED, WIDE } from "../../src/schema/layout.ts";
import { LIMITER_OPTIONS } from "../../src/schema/rate-limiter.ts";
import { SELECTOR_KINDS, SELECTORS } from "../../src/schema/selector.ts";
import { coreOf, moduleOf, root, type Target } from "../support/core.ts";
import { errorOf, expectError } from "../support/refused.ts";

const TARGETS: readonly Target[] = ["release", "scalar", "debug"];
const read = (file: string) => readFileSync(join(root, file), "utf8");

type Noun = readonly [noun: string, names: readonly string[]];

/** Returns each heading of a source, `// noun` or `// noun: description`, with the names below it. @param names finds the names in a part of the source */
function nouns(text: string, names: (part: string) => string[]): Noun[] {
  return text
    .split(/^ *\/\/ (?=\w+(?:: .*)?$)/m)
    .map((part, i): Noun => [i === 0 ? "" : (part.split("\n", 1)[0] as string), names(part).sort()])
    .filter(([, found]) => found.length > 0);
}

const PAGE = nouns(read("assembly/index.ts"), (part) =>
  [...part.matchAll(/^export \{([^}]*)\}/gm)]
    .flatMap((match) => (match[1] as string).split(","))
    .map((name) => name.trim())
    .filter((name) => name !== ""),
);
const [INTERFACE] = /export interface Exports \{[\s\S]*?\n\}/.exec(read("src/base/abi.ts")) as RegExpExecArray;
const MIRROR = nouns(INTERFACE, (part) =>
  [...part.matchAll(/^ {2}(?:readonly )?(\w+): /gm)].map((match) => match[1] as string).filter((name) => name !== "memory"),
);
const EXPORTS = PAGE.flatMap(([, names]) => names);

test("the ABI page and its mirror list the same nouns in order, and the same unique exports", () => {
  expect(MIRROR).toEqual(PAGE);
  expect(PAGE.length).toBeGreaterThan(10);
  expect(EXPORTS.length).toBeGreaterThan(100);
  expect(new Set(EXPORTS).size).toBe(EXPORTS.length);
});

test.each(TARGETS)("the %s core imports nothing, and exports exactly the names on the ABI page and its memory", (target) => {
  const module = moduleOf(target);
  expect(WebAssembly.Module.imports(module)).toEqual([]);
  const exported = WebAssembly.Module.exports(module).map(({ name }) => name);
  expect(exported.sort()).toEqual([...EXPORTS, "memory"].sort());
});

test.each(TARGETS.filter((target) => target !== "debug"))("the memory of the %s core is all zeros before the first call", (target) => {
  const { memory } = instance(moduleOf(target));
  expect(new Uint8Array(memory.buffer).some((byte) => byte !== 0)).toBe(false);
});

test("functions have as many parameters as in the mirror", () => {
  const counts = [...INTERFACE.matchAll(/^ {2}(\w+): Fn<\[(.*?)\]/gm)].map(([, name, args]) => [name, args === "" ? 0 : (args as string).split(",").length]);
  expect(counts.length).toBeGreaterThan(100);
  const exports = coreOf("release") as unknown as Record<string, () => void>;
  expect(counts.map(([name]) => [name, exports[name as string]?.length])).toEqual(counts);
});

test("ABI_VERSION matches, and arena_used returns a number instead of a BigInt", () => {
  const { exports } = new WebAssembly.Instance(moduleOf("release"), {});
  expect((exports.ABI_VERSION as WebAssembly.Global).value).toBe(abi.ABI_VERSION);
  expect(typeof (exports.arena_used as () => unknown)()).toBe("number");
});

/** Returns the integer constants in a source of the core, by name. */
function constants(file: string): { readonly [name: string]: number } {
  const found = [...read(`assembly/${file}`).matchAll(/^(?:export )?const (\w+): \w+ = (-?\w+|i32\.MAX_VALUE);/gm)];
  return Object.fromEntries(found.map(([, name, value]) => [name, value === "i32.MAX_VALUE" ? 2 ** 31 - 1 : Number(value)]));
}

/** Returns the offsets of the fields of a struct. */
function offsets(file: string, struct: string): { readonly [field: string]: number } {
  const [, body = ""] = new RegExp(`class ${struct} \\{\\n((?: {2}\\w+: \\w+;\\n)+)`).exec(read(`assembly/${file}`)) ?? [];
  let at = 0;
  return Object.fromEntries(
    [...body.matchAll(/(\w+): [uif](\d+);/g)].map(([, field, bits]) => {
      const offset = at;
      at += Number(bits) / 8;
      return [field, offset];
    }),
  );
}

test("the core and the host have the same table of selector kinds", () => {
  const source = read("assembly/selectors/kinds.ts");
  const traits = (name: string) => new RegExp(`case ${name}:\\n +return ([A-Z_ |0-9]+);`).exec(source)?.[1]?.split(" | ") ?? [];
  const word = (name: string) => new RegExp(`case ${name}:\\n +return "(\\w+)";`).exec(source)?.[1];
  for (const kind of SELECTORS) {
    const name = kind.replace(/[A-Z]/g, "_$&").toUpperCase();
    const { isDeterministic = false, weighs = false, takesExponent = false, takesMin = false } = SELECTOR_KINDS[kind];
    const found = new Set(traits(name));
    expect([found.has("DETERMINISTIC"), found.has("WEIGHS"), found.has("TAKES_EXPONENT"), found.has("TAKES_MIN")]).toEqual([
      isDeterministic,
      weighs,
      takesExponent,
      takesMin,
    ]);
    expect(word(name)).toBe(kind);
  }
  expect(source).toContain(`LAST_KIND: u32 = ${(SELECTORS.at(-1) as string).replace(/[A-Z]/g, "_$&").toUpperCase()};`);
});

test("constants with the same name are equal on both sides of the ABI", () => {
  const { ABI_VERSION, E_OUT_OF_MEMORY, E_RATE_LIMITED, E_PRIORITY, E_LENGTH, E_KEYS_EXHAUSTED, BOOTSTRAP, DISTINCT, STRATIFIED } = abi;
  const { KEY, PROBABILITY, PRIORITY, WEIGHT, RETURN, DISCOUNT, SLOT, TIMES_SAMPLED, TABLE_SIZE, LENGTH, STEPS, TERMINATED, TRUNCATED, ROWS } = abi;
  const {
    OWN_NEXT: OWN,
    ENDS_BEHIND,
    NO_LEAF: NONE,
    LOWER,
    UPPER,
    UNIFORM: ALIKE,
    BY_STEPS,
    LEVEL,
    ABOUT_PRIORITY,
    ABOUT_KEY,
    ABOUT_LENGTH,
    ABOUT_FIRST,
    LAYOUT,
    LONGEST,
    SHORTEST,
    MAX_PRIORITY,
  } = abi;
  const { WITH_MIN } = abi;
  expect(constants("memory/layout.ts")).toMatchObject({ ABI_VERSION });
  expect(constants("memory/error.ts")).toMatchObject({ E_OUT_OF_MEMORY, E_RATE_LIMITED, E_PRIORITY, E_LENGTH, E_KEYS_EXHAUSTED });
  const columns = { KEY, PROBABILITY, PRIORITY, WEIGHT, RETURN, DISCOUNT, SLOT, TIMES_SAMPLED, TABLE_SIZE, LENGTH, STEPS, TERMINATED, TRUNCATED, ROWS };
  expect(constants("draw/draw.ts")).toMatchObject(columns);
  expect(abi.START).toBe(STEPS);
  const { OF_ITEMS, OF_STREAMS, OF_ROWS, FROM_ANY, FROM_START, CROSS } = abi;
  expect(constants("draw/row-matrix.ts")).toMatchObject({ OF_ITEMS, OF_STREAMS, OF_ROWS, FROM_ANY, FROM_START, CROSS });
  expect(constants("draw/output.ts")).toMatchObject({ BOOTSTRAP });
  expect(constants("draw/n-step.ts")).toMatchObject({ OWN, ENDS_BEHIND, NONE });
  expect(constants("draw/weights.ts")).toMatchObject({ LOWER, UPPER });
  expect(constants("draw/windows/streams.ts")).toMatchObject({ LEVEL, ALIKE, BY_STEPS });
  const selectors = Object.fromEntries(SELECTORS.map((name, i) => [name.replace(/[A-Z]/g, "_$&").toUpperCase(), i + 1]));
  expect(constants("selectors/kinds.ts")).toMatchObject({ ...selectors, WITH_MIN });
  expect(constants("selectors/selector.ts")).toMatchObject({ DISTINCT, STRATIFIED });
  expect([...read("assembly/tables/rate-limiter.ts").matchAll(/^ {2}(\w+): f64;$/gm)].map(([, name]) => name)).toEqual(LIMITER_OPTIONS);
  expect(constants("tables/growing-table.ts")).toMatchObject({ ABOUT_PRIORITY, ABOUT_KEY, ABOUT_LENGTH, ABOUT_FIRST });
  const counters = abi.COUNTERS.map((name, i) => [name.replace(/[A-Z]/g, "_$&").toUpperCase(), i]);
  expect(constants("tables/inspect.ts")).toEqual({ ...Object.fromEntries(counters), LAYOUT, LONGEST, SHORTEST, MAX_PRIORITY });
  expect(constants("rows/leaf.ts")).toMatchObject({ NARROW, WIDE, SHARED });
  expect(constants("rows/leaf.ts")).toMatchObject(Object.fromEntries(Object.entries(DTYPES).map(([name, { code }]) => [name.toUpperCase(), code])));
  expect(constants("rows/row.ts")).toMatchObject({ HEAD_BYTES });
  const { errorArgument, errorValue, changes } = offsets("memory/layout.ts", "Header");
  expect([errorArgument, errorValue, changes]).toEqual([4 * abi.ERROR_ARGUMENT, 8 * abi.ERROR_VALUE, 4 * abi.CHANGES]);
  expect(abi.COUNTS_WAIT).toBe((constants("tables/table.ts").SLOTS_AT as number) + (offsets("tables/slots.ts", "Slots").drawn as number));
  const { blocked, have, need, longest, layout } = offsets("draw/draw.ts", "Draw");
  expect([blocked, have, need, longest, layout]).toEqual([abi.BLOCKED, abi.HAVE, abi.NEED, abi.DRAW_LONGEST, abi.DRAW_LAYOUT].map((which) => 8 * which));
});

test("a Replay throws UNSUPPORTED for a module without an ABI version", () => {
  const options = { spec: u8() as Spec, tables: { t: { maxSize: 1 } } };
  // The module is the smallest valid one, and exports nothing.
  const empty = new WebAssembly.Module(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));
  expectError(
    errorOf(() => new Replay({ ...options, module: empty })),
    "UNSUPPORTED",
    new RegExp(`ABI version ${abi.ABI_VERSION}\\b`),
    /a module without a version/,
  );
  for (const target of TARGETS) expect(new Core(1 << 20, moduleOf(target)).x.arena_check()).toBe(0);
});
