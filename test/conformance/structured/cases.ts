/** Runs a case of the structured writers' family. */
import { isObject, Malformed, type Op, type Result, readOps, readTables, whyNotRun } from "../case.ts";
import { valueDifference } from "../compare.ts";
import { kindOf } from "../meaning.ts";
import type { Outcome } from "../outcome.ts";
import { Oracle } from "./departures.ts";
import { NoWriter, type StructuredCase, World } from "./world.ts";

type Raw = { readonly [key: string]: unknown };

export async function runStructuredCase(raw: Raw): Promise<Outcome> {
  const name = String(raw.name);
  try {
    const test = readStructuredCase(raw);
    const oracle = new Oracle(test);
    const departs = oracle.rules.size > 0 && differs(oracle, test);
    const why = await difference(test, departs ? oracle.results : test.results);
    return {
      name,
      departs,
      ...(departs ? { rule: [...oracle.rules].join("; ") } : {}),
      ...(why === undefined ? { state: "passed" } : { state: "failed", why }),
    };
  } catch (error) {
    return { name, state: "failed", why: whyNotRun(error) };
  }
}

/** Returns whether any answer that the rules predict differs from the recorded one. */
function differs({ results }: Oracle, test: StructuredCase): boolean {
  return results.some((result, i) => naiveDifference(test.results[i] ?? {}, result) !== undefined);
}

/** Returns the difference between a recorded answer and that of the naive writer. Two errors are equal, whatever their types and texts. */
export function naiveDifference(recorded: Result, result: Result | undefined): string | undefined {
  if (result === undefined) return "no writer";
  if (isObject(recorded.error) && isObject(result.error)) return undefined;
  return valueDifference("", { ...recorded, dtypes: undefined }, result);
}

/** @throws Malformed */
export function readStructuredCase(raw: Raw): StructuredCase {
  const { name, tables, step, configs, ops, expect } = raw;
  if (typeof name !== "string" || !isObject(configs) || !isObject(expect)) throw new Malformed("name must be a string, configs and expect objects");
  const error = isObject(expect.error) ? expect.error : undefined;
  const results = expect.results ?? (error === undefined ? undefined : []);
  if (!Array.isArray(results) || !results.every(isObject)) throw new Malformed("expect must have results, an array of objects, or an error");
  return { name, tables: readTables(tables), step, configs, ops: readOps(ops), error, results };
}

/** Runs a case and returns its first difference. */
async function difference(test: StructuredCase, results: readonly (Result | undefined)[]): Promise<string | undefined> {
  const world = new World(test);
  try {
    if (test.error !== undefined) return ofConstructor(test, world);
    for (const [i, op] of test.ops.entries()) {
      const expected = results[i];
      if (i >= results.length) throw new Malformed(`expect.results has nothing for op ${i}`);
      const answer = await answerOf(world, op);
      const found = expected === undefined ? undefined : opDifference(op, expected, answer);
      if (found !== undefined) return `op ${i} ${JSON.stringify(op).slice(0, 200)}: ${found}`;
    }
    return undefined;
  } finally {
    world.end();
  }
}

/** Checks a case whose configs could not be constructed in the recording. */
async function ofConstructor({ configs, error }: StructuredCase, world: World): Promise<string | undefined> {
  for (const config of Object.values(configs)) {
    const answer = await answerOf(world, ["create_config", { config }]);
    if ("error" in answer) return opDifference(["create_config", { config }], { error }, answer);
  }
  return `constructor: expected ${String(error?.type)}, got none`;
}

type Answer = { readonly result: Result } | { readonly error: unknown };

async function answerOf(world: World, op: Op): Promise<Answer> {
  try {
    return { result: await world.answer(op) };
  } catch (error) {
    if (error instanceof Malformed) throw error;
    return { error };
  }
}

function opDifference(op: Op, expected: Result, answer: Answer): string | undefined {
  if (isObject(expected.error)) {
    const kinds = accepted(op, expected.error);
    if (!("error" in answer)) return `expected ${kinds.join(" or ")}, got ${JSON.stringify(answer.result)}`;
    const kind = answer.error instanceof NoWriter ? "no writer" : kindOf(answer.error);
    return kind !== undefined && kinds.includes(kind) ? undefined : `expected ${kinds.join(" or ")}, got ${(answer.error as Error)?.stack ?? answer.error}`;
  }
  if ("error" in answer) return `expected ${JSON.stringify(expected)}, got ${(answer.error as Error)?.stack ?? answer.error}`;
  const { dtypes, ...rest } = expected as Result & { readonly dtypes?: readonly string[] };
  const { dtypes: own, ...result } = answer.result as Result & { readonly dtypes?: readonly string[] };
  // Booleans are stored as bytes.
  const plain = dtypes?.map((dtype) => (dtype === "bool" ? "uint8" : dtype));
  return valueDifference("", plain === undefined ? rest : { ...rest, dtypes: plain }, plain === undefined ? result : { ...result, dtypes: own });
}

/** Returns the kinds of our errors that are accepted for an expected error: its own `kind`, or those that correspond to its recorded `type`. */
function accepted([kind, args]: Op, { type, kind: own }: Result): readonly string[] {
  if (typeof own === "string") return [own];
  switch (type) {
    case "KeyError":
      return ["no writer"];
    case "TypeError":
      return ["TypeError"];
    case "DeadlineExceededError":
      return ["TIMEOUT"];
    case "RuntimeError":
      return kind === "append" ? ["SPEC_MISMATCH"] : ["NOT_FOUND"];
    case "InvalidArgumentError":
      return ["INVALID_DATA", "SPEC_MISMATCH", "RangeError"];
    default:
      if (kind === "append") return ["SPEC_MISMATCH"];
      // A pattern whose `at` is not an integer causes a TypeError.
      return kind === "pattern" && /"at":(?!-?\d+[,}])/.test(JSON.stringify(args)) ? ["TypeError"] : ["RangeError"];
  }
}
