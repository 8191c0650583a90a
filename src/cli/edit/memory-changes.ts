/** Computes the changes to the spec, steps and tables of a snapshot or a journal from the options of `reprise edit`. */
import { didYouMean } from "../../base/error.ts";
import { MAX_REPLAY_BYTES } from "../../base/limits.ts";
import { isDtype } from "../../schema/dtype.ts";
import type { Spec } from "../../schema/spec.ts";
import type { ResolvedTableOptions } from "../../schema/table-options.ts";
import type { AnyStep, StateMigration } from "../../storage/migration/options.ts";
import { UsageError } from "../exit.ts";
import { Core, changedTables, isLeaf, layoutOf, leavesOf, planOf, removePath, setPath, valueAt } from "../program-parts.ts";
import { checkLimiters, tableChangesOf } from "./memory-tables.ts";
import { dtypesOf, type EditOptions, pairOf } from "./options.ts";

interface SavedOptions<T = object> {
  readonly spec: Spec;
  readonly tables: { readonly [name: string]: T };
  readonly maxBytes?: number | undefined;
  readonly storedBytes?: { readonly max: number } | undefined;
}

type Node = { [name: string]: unknown };

/**
 * Returns the new spec and tables, and the function that converts each step.
 * @param saved the options that the snapshot or journal stores
 * @throws UsageError if an option does not fit the leaves or tables, or if the new tables need too much memory
 * @throws RangeError if an option of a table is invalid
 */
export function changesOf(
  { spec: saved, tables: savedTables, maxBytes, storedBytes }: SavedOptions,
  { rename = [], without = [], only, cast = [], add = [], ...options }: EditOptions,
): StateMigration {
  // A spec is plain data, so JSON can copy it.
  const spec = JSON.parse(JSON.stringify(saved)) as Node;
  const paths = leavesOf(saved).map(({ path }) => path);
  const renames = Object.fromEntries(rename.map((text) => pairOf("--rename", text, "OLD=NEW, such as act=action").map(pathOf) as [string, string]));
  const names = without.map(pathOf);
  const kept = only?.map(pathOf);
  for (const name of [...names, ...(kept ?? []), ...Object.keys(renames)]) checkPath(name, paths);
  const isIn = (path: string, all: readonly string[]) => all.some((name) => path === name || path.startsWith(`${name}.`));
  const removed = paths.filter((path) => isIn(path, names) || (kept !== undefined && !isIn(path, kept)));
  if (removed.length === paths.length) throw new UsageError("--without and --only leave no leaf. Keep at least one");
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
  const tables = tableChangesOf(Object.keys(savedTables), options);
  const newTables = changedTables(savedTables, tables);
  checkLimiters(tables, newTables);
  checkMemory({ spec: spec as Spec, tables: newTables, maxBytes, storedBytes });
  return { spec: spec as Spec, rename: renames, migrate, tables };
}

/**
 * Checks that the changed Replay fits into its memory limit.
 * @throws UsageError if it needs more memory
 * @throws RangeError if an option of a table is invalid
 */
function checkMemory({ spec, tables, maxBytes = MAX_REPLAY_BYTES, storedBytes }: SavedOptions<ResolvedTableOptions>): void {
  const { bytes } = planOf(layoutOf(leavesOf(spec)), tables, new Core(maxBytes), 0, undefined, storedBytes?.max);
  if (bytes <= maxBytes) return;
  const remedy = maxBytes < MAX_REPLAY_BYTES ? ", or increase the limit with migrateSnapshot of reprise/storage" : "";
  throw new UsageError(`the tables and their steps would need ${bytes} bytes, but the limit of the Replay is ${maxBytes}. Pass a smaller --max-size${remedy}`);
}

function additionOf(text: string): { readonly path: string; readonly dtype: string; readonly value: number | boolean | bigint } {
  const [name, given] = pairOf("--add", text, "LEAF=VALUE, such as mood=0, or LEAF=VALUE:DTYPE, such as mood=0:i32 or seen=false:bool");
  const [word = "", dtype = "f32", ...more] = given.split(":");
  const value = word === "true" ? true : word === "false" ? false : Number(word);
  const isWrong =
    word.trim() === "" || (typeof value === "number" && !Number.isFinite(value)) || (typeof value === "boolean") !== (dtype === "bool") || more.length > 0;
  const isWide = dtype === "i64" || dtype === "u64";
  if (!isDtype(dtype) || isWrong || (isWide && !Number.isSafeInteger(value)))
    throw new UsageError(`--add requires LEAF=VALUE, such as mood=0, or LEAF=VALUE:DTYPE, such as mood=0:i32 or seen=false:bool, got ${JSON.stringify(text)}`);
  return { path: pathOf(name), dtype, value: isWide ? BigInt(value) : value };
}

function setNew(spec: Node, path: string, part: unknown, flag: string): void {
  const keys = path.split(".");
  for (let n = 1; n <= keys.length; n++) {
    const at = valueAt(spec, keys.slice(0, n));
    if (at !== undefined && (n === keys.length || isLeaf(at)))
      throw new UsageError(`${flag} ${path}: the spec already has ${keys.slice(0, n).join(".")}. Choose another name`);
  }
  setPath(spec, keys, part);
}

/** Converts a path with slashes, as in datasets, to a path with dots. */
function pathOf(name: string): string {
  return name.replaceAll("/", ".");
}

function checkPath(name: string, paths: readonly string[], isLeafOnly = false): void {
  if (!isLeafOnly && paths.some((path) => path === name || path.startsWith(`${name}.`))) return;
  throw new UsageError(`there is no leaf ${JSON.stringify(name)}.${didYouMean(name, paths)} Leaves: ${paths.join(", ")}`);
}
