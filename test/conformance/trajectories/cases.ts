/** Runs a case of the trajectory family: each op calls a function. */
import { isObject, Malformed, type Op, type Result, readOps, whyNotRun } from "../case.ts";
import { valueDifference } from "../compare.ts";
import { kindOf } from "../meaning.ts";
import type { Outcome } from "../outcome.ts";
import { ruled } from "./departures.ts";
import { TRAJECTORY_OPS, type TrajectoryCase } from "./ops.ts";

type Raw = { readonly [key: string]: unknown };

export function runTrajectoryCase(raw: Raw): Outcome {
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
  const { spec, form, expect } = raw;
  if (!isObject(spec)) throw new Malformed("spec must be an object");
  if (!isObject(expect) || !Array.isArray(expect.results)) throw new Malformed("expect must have results, an array");
  const test: TrajectoryCase = { spec, form };
  for (const [i, op] of readOps(raw.ops).entries()) {
    const ask = Object.hasOwn(TRAJECTORY_OPS, op[0]) ? TRAJECTORY_OPS[op[0]] : undefined;
    if (ask === undefined) return `op ${i}: unknown op ${JSON.stringify(op[0])}`;
    const recorded = expect.results[i];
    if (!isObject(recorded)) throw new Malformed(`expect.results has nothing for op ${i}`);
    const departure = ruled(op, spec, recorded, form);
    if (departure !== undefined) told.rule = departure.rule;
    const found = difference(op, departure?.result ?? recorded, () => ask(test, op[1]));
    if (found !== undefined) return `op ${i} ${op[0]}: ${found}`;
  }
  return undefined;
}

function difference(op: Op, expected: Result, ask: () => Result): string | undefined {
  let got: Result;
  try {
    got = ask();
  } catch (error) {
    if (error instanceof Malformed) throw error;
    if (!isObject(expected.error)) return `expected ${JSON.stringify(expected)}, got ${String(error)}`;
    const kinds = accepted(op, expected.error);
    return kinds.includes(kindOf(error) ?? "") ? undefined : `expected ${kinds.join(" or ")}, got ${String(error)}`;
  }
  if (isObject(expected.error)) return `expected ${accepted(op, expected.error).join(" or ")}, got ${JSON.stringify(got)}`;
  if (expected.any === true) return undefined;
  const { dtypes, ...rest } = expected;
  const { dtypes: own, ...mine } = got;
  return valueDifference("", rest, mine) ?? (dtypes === undefined ? undefined : valueDifference(".dtypes", dtypes, told(own, dtypes)));
}

/** Returns our dtypes in comparable form: for a plain number, which has no dtype, the expected dtype is returned. */
function told(own: unknown, expected: unknown): unknown {
  // Booleans are stored as bytes.
  if (own === null || (own === "uint8" && expected === "bool")) return expected;
  if (Array.isArray(own)) return own.map((part, i) => told(part, (expected as unknown[])[i]));
  if (!isObject(own)) return own;
  return Object.fromEntries(Object.entries(own).map(([key, part]) => [key, told(part, (expected as Raw)[key])]));
}

/**
 * Returns the accepted kinds of our error. We throw RangeError for a wrong rank and SPEC_MISMATCH for a wrong structure, shape or dtype; Python does not
 * distinguish these errors.
 */
function accepted([kind]: Op, { type }: Result): readonly string[] {
  if (kind === "replace") return ["RangeError"];
  if (type === "TypeError") return ["TypeError", "SPEC_MISMATCH"];
  return ["SPEC_MISMATCH", "RangeError"];
}
