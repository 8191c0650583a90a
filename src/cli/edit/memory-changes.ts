/** What the options of `reprise edit` change in a snapshot or a journal. */
import { prioritized, recency, SELECTORS, type Selector } from "../../index.ts";
import { isDtype } from "../../schema/dtype.ts";
import type { SelectorName } from "../../schema/selector.ts";
import type { Spec } from "../../schema/spec.ts";
import type { TableOptions } from "../../schema/table-options.ts";
import type { AnyStep, StateMigration } from "../../storage/migration/options.ts";
import { UsageError } from "../exit.ts";
import { isLeaf, leavesOf, removePath, selectorOf, setPath, valueAt } from "../program-parts.ts";
import { dtypesOf, type EditOptions } from "./options.ts";

type Node = { [name: string]: unknown };

/** @param saved the spec of the snapshot or journal @throws UsageError */
export function changesOf(
  saved: Spec,
  { rename = [], without = [], only, cast = [], add = [], maxSize = [], sampler = [], remover = [] }: EditOptions,
): StateMigration {
  // A spec is plain data.
  const spec = JSON.parse(JSON.stringify(saved)) as Node;
  const paths = leavesOf(saved).map(({ path }) => path);
  const renames = Object.fromEntries(rename.map((text) => pairOf("--rename", text, "OLD=NEW").map(pathOf) as [string, string]));
  const names = without.map(pathOf);
  const kept = only?.map(pathOf);
  for (const name of [...names, ...(kept ?? []), ...Object.keys(renames)]) checkPath(name, paths);
  const isIn = (path: string, all: readonly string[]) => all.some((name) => path === name || path.startsWith(`${name}.`));
  const removed = paths.filter((path) => isIn(path, names) || (kept !== undefined && !isIn(path, kept)));
  if (removed.length === paths.length) throw new UsageError("--without and --only leave no leaf: keep one");
  for (const path of removed) removePath(spec, path.split("."));
  const moved = Object.entries(renames).map(([from, to]) => [to, valueAt(spec, from.split("."))] as const);
  for (const from of Object.keys(renames)) removePath(spec, from.split("."));
  for (const [to, part] of moved) setNew(spec, to, part, "--rename");
  for (const [name, dtype] of Object.entries(dtypesOf(cast))) {
    const path = pathOf(name);
    const leaf = valueAt(spec, path.split("."));
    if (!isLeaf(leaf))
      checkPath(
        name,
        leavesOf(spec as Spec).map((one) => one.path),
        true,
      );
    setPath(spec, path.split("."), { ...(leaf as object), dtype });
  }
  const added = add.map(additionOf);
  for (const { path, dtype } of added) setNew(spec, path, { dtype, shape: [] }, "--add");
  const absent = removed.filter((path) => !isIn(path, Object.keys(renames)));
  const migrate = (step: AnyStep): never => {
    for (const path of absent) removePath(step, path.split("."));
    for (const { path, value } of added) setPath(step, path.split("."), value);
    return step as never;
  };
  return { spec: spec as Spec, rename: renames, migrate, tables: tablesOf({ maxSize, sampler, remover }) };
}

function tablesOf(options: { readonly [K in "maxSize" | "sampler" | "remover"]: readonly string[] }): { readonly [name: string]: Partial<TableOptions> } {
  const tables: { [name: string]: { [option: string]: unknown } } = {};
  const put = (flag: string, texts: readonly string[], option: string, what: string, parse: (text: string) => unknown) => {
    for (const text of texts) {
      const [name, value] = pairOf(flag, text, what);
      tables[name] = { ...tables[name], [option]: parse(value) };
    }
  };
  put("--max-size", options.maxSize, "maxSize", "TABLE=ITEMS", (text) => {
    if (!/^[1-9]\d*$/.test(text)) throw new UsageError(`--max-size takes TABLE=ITEMS, a whole number from 1, got ${JSON.stringify(text)}`);
    return Number(text);
  });
  put("--sampler", options.sampler, "sampler", "TABLE=KIND", (text) => selector("--sampler", text));
  put("--remover", options.remover, "remover", "TABLE=KIND", (text) => selector("--remover", text));
  return tables;
}

function selector(flag: string, text: string): Selector {
  const [kind, exponent, ...more] = text.split(":") as [string, string?];
  const isNumber = exponent === undefined || (exponent.trim() !== "" && Number.isFinite(Number(exponent)));
  if (!SELECTORS.includes(kind as SelectorName) || !isNumber || more.length > 0)
    throw new UsageError(
      `${flag} takes TABLE=KIND, one of ${SELECTORS.join(", ")}, or prioritized:0.6 or recency:1 with an exponent, got ${JSON.stringify(text)}`,
    );
  if (exponent === undefined) return selectorOf(kind as SelectorName);
  if (kind === "prioritized") return prioritized(Number(exponent));
  if (kind === "recency") return recency({ exponent: Number(exponent) });
  throw new UsageError(`${flag} ${kind} has no exponent: leave :${exponent} out`);
}

function additionOf(text: string): { readonly path: string; readonly dtype: string; readonly value: number | boolean | bigint } {
  const [name, given] = pairOf("--add", text, "LEAF=VALUE");
  const [word = "", dtype = "f32", ...more] = given.split(":");
  const value = word === "true" ? true : word === "false" ? false : Number(word);
  const isWrong =
    word.trim() === "" || (typeof value === "number" && !Number.isFinite(value)) || (typeof value === "boolean") !== (dtype === "bool") || more.length > 0;
  const isWide = dtype === "i64" || dtype === "u64";
  if (!isDtype(dtype) || isWrong || (isWide && !Number.isSafeInteger(value)))
    throw new UsageError(`--add takes LEAF=VALUE, such as mood=0, or LEAF=VALUE:DTYPE, such as mood=0:i32 or seen=false:bool, got ${JSON.stringify(text)}`);
  return { path: pathOf(name), dtype, value: isWide ? BigInt(value) : value };
}

function setNew(spec: Node, path: string, part: unknown, flag: string): void {
  const keys = path.split(".");
  for (let n = 1; n <= keys.length; n++) {
    const at = valueAt(spec, keys.slice(0, n));
    if (at !== undefined && (n === keys.length || isLeaf(at)))
      throw new UsageError(`${flag} ${path}: the spec has ${keys.slice(0, n).join(".")} already. Choose another name`);
  }
  setPath(spec, keys, part);
}

function pairOf(flag: string, text: string, what: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1 || at === text.length - 1) throw new UsageError(`${flag} takes ${what}, got ${JSON.stringify(text)}`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Paths of datasets have slashes. */
function pathOf(name: string): string {
  return name.replaceAll("/", ".");
}

function checkPath(name: string, paths: readonly string[], isLeafOnly = false): void {
  if (!isLeafOnly && paths.some((path) => path === name || path.startsWith(`${name}.`))) return;
  throw new UsageError(`there is no leaf ${JSON.stringify(name)}: the spec has ${paths.join(", ")}`);
}
