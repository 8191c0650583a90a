/** Runs a case of the Python buffer family. */
import { isObject, Malformed, type Op, type Result, readOps, whyNotRun } from "../case.ts";
import { valueDifference } from "../compare.ts";
import { kindOf } from "../meaning.ts";
import type { Outcome } from "../outcome.ts";
import { Listed } from "./departures.ts";
import { PY_BUFFER_OPS, PyBufferWorld } from "./ops.ts";

type Raw = { readonly [key: string]: unknown };

export function runPyBufferCase(raw: Raw): Outcome {
  const told: { rule?: string } = {};
  try {
    const why = run(raw, told);
    const outcome = { name: String(raw.name), departs: told.rule !== undefined, ...told };
    return why === undefined ? { ...outcome, state: "passed" } : { ...outcome, state: "failed", why };
  } catch (error) {
    return { name: String(raw.name), state: "failed", why: whyNotRun(error) };
  }
}

function run(raw: Raw, told: { rule?: string }): string | undefined {
  const { expect, buffer, spec } = raw;
  if (!isObject(expect)) throw new Malformed("expect must be an object");
  if (!isObject(buffer)) throw new Malformed("buffer must be an object");
  const ops = readOps(raw.ops);
  const unknown = ops.findIndex(([kind]) => !Object.hasOwn(PY_BUFFER_OPS, kind));
  if (unknown >= 0) return `op ${unknown}: unknown op ${JSON.stringify(ops[unknown]?.[0])}`;
  let world: PyBufferWorld;
  try {
    world = new PyBufferWorld(raw);
  } catch (error) {
    if (error instanceof Malformed) throw error;
    const kind = kindOf(error) ?? "";
    if (isObject(expect.error)) {
      const kinds = acceptedBy(expect.error);
      return kinds.includes(kind) ? undefined : `constructor: expected ${kinds.join(" or ")}, got ${String(error)}`;
    }
    if (buffer.capacity !== 0 || kind !== "RangeError") return `constructor: ${String(error)}`;
    told.rule = "every argument is checked at construction";
    return undefined;
  }
  if (isObject(expect.error)) return `constructor: expected ${acceptedBy(expect.error).join(" or ")}, got none`;
  if (!Array.isArray(expect.results)) throw new Malformed("expect must have results, an array, or an error");
  const listed = new Listed(buffer.capacity as number, spec);
  for (const [i, op] of ops.entries()) {
    const recorded = expect.results[i];
    if (!isObject(recorded)) throw new Malformed(`expect.results has nothing for op ${i}`);
    const ruled = listed.ruled(op, recorded);
    if (ruled !== undefined) told.rule = ruled.rule;
    const found = difference(op, ruled?.result ?? recorded, () => (PY_BUFFER_OPS[op[0]] as (typeof PY_BUFFER_OPS)[string])(world, op[1]));
    if (found !== undefined) return `op ${i} ${JSON.stringify(op)}: ${found}`;
  }
  return undefined;
}

/** Returns the kinds of our constructor's errors that are accepted for a recorded error. */
function acceptedBy({ type, kind }: Result): readonly string[] {
  if (typeof kind === "string") return [kind];
  return type === "TypeError" ? ["TypeError"] : type === "ValueError" ? ["RangeError", "SPEC_MISMATCH"] : ["SPEC_MISMATCH", "RangeError"];
}

function difference(op: Op, expected: Result, ask: () => Result): string | undefined {
  let got: Result;
  try {
    got = ask();
  } catch (error) {
    if (error instanceof Malformed) throw error;
    if (!isObject(expected.error)) return `expected ${JSON.stringify(expected)}, got ${String((error as Error).stack)}`;
    const kinds = accepted(op, expected.error);
    return kinds.includes(kindOf(error) ?? "") ? undefined : `expected ${kinds.join(" or ")}, got ${String(error)}`;
  }
  if (isObject(expected.error)) return `expected ${accepted(op, expected.error).join(" or ")}, got ${JSON.stringify(got)}`;
  if (expected.any === true) return undefined;
  if (expected.outcomes !== undefined) return valueDifference(".outcomes", sorted(expected.outcomes), sorted(got.outcomes));
  // Only the parts that the expected result contains are compared, because a rule may omit the others.
  const held = Object.fromEntries(Object.keys(expected).map((key) => [key, got[key]]));
  return valueDifference("", { ...expected, ...(expected.dtypes === undefined ? {} : { dtypes: asBytes(expected.dtypes) }) }, held);
}

function sorted(outcomes: unknown): unknown[] {
  return (outcomes as unknown[]).map((one) => JSON.stringify(inOrder(one))).sort();
}

/** Sorts the keys of all objects in a value, and converts booleans to numbers, so that values can be compared as JSON text. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isObject(value)) return typeof value === "boolean" ? Number(value) : value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, inOrder(value[key])]),
  );
}

function accepted([kind, { args }]: Op, error: Result): readonly string[] {
  if (typeof error.kind === "string") return [error.kind];
  if (kind === "add_batch") return ["SPEC_MISMATCH"];
  const steps = isObject(args) ? args.num_steps : undefined;
  return steps === 0 || error.type !== "ValueError" ? ["RangeError"] : ["RangeError", "TOO_FEW", "EMPTY"];
}

/** Replaces the dtype "bool" with "uint8", because our buffer stores booleans as bytes. */
function asBytes(dtypes: unknown): unknown {
  return JSON.parse(JSON.stringify(dtypes).replaceAll('"bool"', '"uint8"'));
}
