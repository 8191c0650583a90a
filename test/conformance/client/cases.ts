/** Runs a case of the client family or the dataset family. */
import { isObject, Malformed, type Op, type Result, readTableCase, type TableCase, whyNotRun } from "../case.ts";
import { valueDifference } from "../compare.ts";
import { accepted as acceptedOfTables, kindOf } from "../meaning.ts";
import type { Outcome } from "../outcome.ts";
import { DATASET_OPS } from "./dataset-ops.ts";
import { infoSpec, ruleFor } from "./departures.ts";
import { CLIENT_OPS } from "./ops.ts";
import { comparable } from "./values.ts";
import { ClientWorld } from "./world.ts";

type Raw = { readonly [key: string]: unknown };
type Ops = typeof CLIENT_OPS;

export function runClientCase(raw: Raw): Promise<Outcome> {
  return run(raw, CLIENT_OPS);
}

export function runDatasetCase(raw: Raw): Promise<Outcome> {
  return run(raw, DATASET_OPS);
}

async function run(raw: Raw, ops: Ops): Promise<Outcome> {
  const name = String(raw.name);
  const rules = new Set<string>();
  try {
    const why = await difference(readTableCase(raw), ops, rules);
    const departs = rules.size > 0;
    const rule = departs ? { rule: [...rules].join("; ") } : {};
    return { name, departs, ...rule, ...(why === undefined ? { state: "passed" } : { state: "failed", why }) };
  } catch (error) {
    return { name, state: "failed", why: whyNotRun(error) };
  }
}

/** Returns the first difference. */
async function difference(test: TableCase, ops: Ops, rules: Set<string>): Promise<string | undefined> {
  let world: ClientWorld;
  try {
    world = new ClientWorld(test);
  } catch (error) {
    if (error instanceof Malformed || test.error === undefined) throw error;
    return errorDifference(["RangeError"], error);
  }
  try {
    if (test.error !== undefined) return `constructor: expected ${String(test.error.type)}, got none`;
    for (const [i, op] of test.ops.entries()) {
      const recorded = test.results[i];
      // A call that never returned ended the recording.
      if (recorded === undefined && test.results.at(-1)?.hangs === true) return undefined;
      if (recorded === undefined) throw new Malformed(`expect.results has nothing for op ${i}`);
      const found = await opDifference(test, world, ops, i, recorded, rules);
      if (found !== undefined) return `op ${i} ${JSON.stringify(op).slice(0, 300)}: ${found}`;
    }
    return undefined;
  } finally {
    world.end();
  }
}

async function opDifference(test: TableCase, world: ClientWorld, ops: Ops, i: number, recorded: Result, rules: Set<string>): Promise<string | undefined> {
  const op = test.ops[i] as Op;
  const rule = ruleFor(world, op, recorded);
  if (rule !== undefined) rules.add(rule.rule);
  const expected = rule?.expected ?? recorded;
  const sizes = () => JSON.stringify(test.tables.map(({ name }) => world.table(name).size));
  const before = rule?.after === undefined ? "" : sizes();
  const answer = await answerOf(world, ops, op);
  if (rule?.after !== undefined && sizes() !== before) return `a refused call changed the sizes of tables: ${before}, then ${sizes()}`;
  const found = found_(test, i, expected, answer);
  if (found === undefined) await rule?.after?.();
  return found;
}

type Answer = { readonly result: Result } | { readonly error: unknown };

async function answerOf(world: ClientWorld, ops: Ops, [kind, args]: Op): Promise<Answer> {
  const run = Object.hasOwn(ops, kind) ? ops[kind] : undefined;
  if (run === undefined) throw new Malformed(`unknown op ${JSON.stringify(kind)}`);
  try {
    return { result: await run(world, args, [kind, args]) };
  } catch (error) {
    if (error instanceof Malformed) throw error;
    return { error };
  }
}

function found_(test: TableCase, i: number, expected: Result, answer: Answer): string | undefined {
  const [kind] = test.ops[i] as Op;
  // Our calls never hang. If the recorded call hangs, ours must throw.
  if (expected.hangs === true)
    return "error" in answer ? undefined : `expected an error where the real call never comes back, got ${JSON.stringify(answer.result)}`;
  const broken = isObject(expected.error) ? expected.error : undefined;
  const error = "error" in answer ? answer.error : answer.result.error;
  if (broken !== undefined && error === undefined) return `expected ${accepted(test, i, broken).join(" or ")}, got ${JSON.stringify(answer)}`;
  if (error !== undefined) {
    if (broken === undefined) return `expected ${JSON.stringify(expected)}, got ${(error as Error)?.stack ?? error}`;
    const wrong = errorDifference(accepted(test, i, broken), error);
    if (wrong !== undefined || "error" in answer) return wrong;
  }
  const { result } = answer as { readonly result: Result };
  return valueDifference("", held(kind, expected), { ...held(kind, result), error: undefined });
}

/** Returns the part of an answer that is compared. */
function held(kind: string, answer: Result): Result {
  if (kind === "sample_info") return { fields: answer.fields };
  const { how, ...rest } = comparable({ ...answer, error: undefined }) as Result;
  void how;
  if (kind === "dataset" && isObject(rest.info)) return { ...rest, info: infoSpec(rest.info) };
  return rest;
}

function errorDifference(kinds: readonly string[], error: unknown): string | undefined {
  const kind = kindOf(error);
  return kind !== undefined && kinds.includes(kind) ? undefined : `expected ${kinds.join(" or ")}, got ${(error as Error)?.stack ?? error}`;
}

/** Ops that need an existing table. */
const OF_TABLES = ["client_sample", "mutate_priorities", "reset", "dataset", "replay_buffer", "create_item_of", "items"];

/** Returns the error kinds of ours that match a recorded error, or the kind that a departure requires. */
function accepted(test: TableCase, i: number, { type, kind: own }: Result): readonly string[] {
  if (typeof own === "string") return [own];
  const [kind, args] = test.ops[i] as Op;
  const isThere = (name: unknown) => test.tables.some((table) => table.name === name);
  if (OF_TABLES.includes(kind) && typeof args.table === "string" && !isThere(args.table)) return ["NOT_FOUND"];
  const call = (args.args ?? {}) as { readonly [name: string]: unknown };
  switch (kind) {
    case "client_sample":
      if (call.num_samples !== undefined && call.num_samples !== -1 && !((call.num_samples as number) >= 1))
        return [type === "TypeError" ? "TypeError" : "RangeError"];
      return ["SPEC_MISMATCH"];
    case "insert_data": {
      const names = Object.keys((args.priorities ?? { t: 1 }) as object);
      return names.length === 0 ? ["RangeError"] : names.every(isThere) ? ["SPEC_MISMATCH", "RangeError"] : ["NOT_FOUND"];
    }
    case "column":
    case "history":
    case "history_iter":
      return type === "TypeError" ? ["TypeError"] : type === "KeyError" ? ["NOT_FOUND"] : type === "RuntimeError" ? ["EMPTY", "RangeError"] : ["RangeError"];
    case "of_column":
    case "again":
      return [type === "TypeError" ? "TypeError" : "RangeError"];
    case "create_item_of":
      if (type === "TypeError") return ["TypeError"];
      return test.tables.some((table) => table.item_signature !== undefined) ? ["RangeError", "SPEC_MISMATCH"] : ["RangeError"];
    case "table":
    case "replace":
    case "mutate_priorities":
      return [type === "TypeError" ? "TypeError" : "RangeError"];
    case "dataset":
    case "pattern_dataset":
    case "replay_buffer":
      if (type === "InvalidArgumentError") return ["SPEC_MISMATCH"];
      return type === "TypeError" ? ["TypeError"] : type === "KeyError" || type === "NotFoundError" ? ["NOT_FOUND"] : ["RangeError"];
    default:
      return acceptedOfTables(test, i, { type });
  }
}
