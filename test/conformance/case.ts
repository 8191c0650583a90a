/** Reads cases of the table family in their file format (tfagents/README.md), and validates the parts on which the runner relies. */

export type Op = readonly [kind: string, args: { readonly [name: string]: unknown }];
export type Result = { readonly [field: string]: unknown };

export interface TableCase {
  readonly name: string;
  readonly tables: readonly TableArgs[];
  /** The spec of appends that do not specify their own. */
  readonly spec: unknown;
  readonly ops: readonly Op[];
  /** The error of the constructors. If there is an error, there are no results. */
  readonly error: Result | undefined;
  readonly results: readonly Result[];
}

export interface TableArgs {
  readonly name: string;
  readonly kind?: unknown;
  readonly sampler?: unknown;
  readonly remover?: unknown;
  readonly max_size?: unknown;
  readonly max_times_sampled?: unknown;
  readonly rate_limiter?: unknown;
  readonly signature?: unknown;
  readonly item_signature?: unknown;
}

/** A case or file that does not follow its README. */
export class Malformed extends Error {}

/** Returns why a case could not be run: an invalid file, or a bug in the runner. */
export function whyNotRun(error: unknown): string {
  return error instanceof Malformed ? `malformed: ${error.message}` : `the runner broke down: ${(error as Error)?.stack ?? error}`;
}

export function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @throws Malformed */
export function readTableCase(raw: { readonly [key: string]: unknown }): TableCase {
  const { name, tables, ops, spec, expect } = raw;
  if (typeof name !== "string") throw new Malformed(`name must be a string, got ${JSON.stringify(name)}`);
  if (!isObject(expect)) throw new Malformed("expect must be an object");
  const error = isObject(expect.error) ? expect.error : undefined;
  const results = expect.results ?? (error === undefined ? undefined : []);
  if (!Array.isArray(results) || !results.every(isObject)) throw new Malformed("expect must have results, an array of objects, or an error");
  return { name, tables: readTables(tables), spec, ops: readOps(ops), error, results };
}

/** @throws Malformed */
export function readOps(ops: unknown): Op[] {
  if (!Array.isArray(ops)) throw new Malformed("ops must be an array");
  return ops.map(readOp);
}

/** @throws Malformed */
export function readTables(tables: unknown): readonly TableArgs[] {
  if (!Array.isArray(tables) || !tables.every((table) => isObject(table) && typeof table.name === "string"))
    throw new Malformed("tables must be an array of objects with a name");
  return tables;
}

function readOp(op: unknown, i: number): Op {
  if (!Array.isArray(op) || typeof op[0] !== "string" || !(op[1] === undefined || isObject(op[1])))
    throw new Malformed(`op ${i} must be [name] or [name, {…}], got ${JSON.stringify(op)}`);
  return [op[0], op[1] ?? {}];
}

/** Parses a number of a case: NaN and the infinities are written as words. */
export function numberOf(value: unknown): unknown {
  return value === "NaN" || value === "Infinity" || value === "-Infinity" ? Number(value) : value;
}
