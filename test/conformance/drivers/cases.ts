/** Runs a case of the driver family. */
import { isObject, Malformed, type Result, readOps, whyNotRun } from "../case.ts";
import { valueDifference } from "../compare.ts";
import { kindOf } from "../meaning.ts";
import type { Outcome } from "../outcome.ts";
import { DriverWorld } from "./world.ts";

type Raw = { readonly [key: string]: unknown };

/** The rule of a departure. The recorded driver treats `num_episodes=0` as an omitted argument, because Python treats 0 as false. */
const ZERO = "a run of 0 episodes returns at once";

export function runDriverCase(raw: Raw): Outcome {
  const name = String(raw.name);
  const told: { rule?: string } = {};
  try {
    const why = run(raw, told);
    const outcome = { name, departs: told.rule !== undefined, ...told };
    return why === undefined ? { ...outcome, state: "passed" } : { ...outcome, state: "failed", why };
  } catch (error) {
    return { name, state: "failed", why: whyNotRun(error) };
  }
}

function run(raw: Raw, told: { rule?: string }): string | undefined {
  const { expect } = raw;
  if (!isObject(expect)) throw new Malformed("expect must be an object");
  const made = tried(() => new DriverWorld(raw));
  if (isObject(expect.error) || "error" in made) {
    const found = errorDifference(expect.error, made);
    return found === undefined ? undefined : `constructor: ${found}`;
  }
  if (!Array.isArray(expect.results)) throw new Malformed("expect must have results, an array, or an error");
  for (const [i, [kind, args]] of readOps(raw.ops).entries()) {
    if (kind !== "run") return `op ${i}: unknown op ${JSON.stringify(kind)}`;
    const expected = expect.results[i];
    if (!isObject(expected)) throw new Malformed(`expect.results has nothing for op ${i}`);
    const got = tried(() => made.value.run(args));
    if (raw.class === "DynamicEpisodeDriver" && isObject(args.args) && args.args.num_episodes === 0) {
      told.rule = ZERO;
      // Our driver is now at another step than the recorded one, so the later ops are not compared.
      return "error" in got ? `op ${i}: ${String(got.error)}` : valueDifference(".calls", [], got.value.calls);
    }
    const found = isObject(expected.error) || "error" in got ? errorDifference(expected.error, got) : valueDifference("", expected, got.value as Result);
    if (found !== undefined) return `op ${i} ${kind}: ${found}`;
  }
  return undefined;
}

type Tried<T> = { readonly value: T } | { readonly error: unknown };

function tried<T>(call: () => T): Tried<T> {
  try {
    return { value: call() };
  } catch (error) {
    if (error instanceof Malformed) throw error;
    return { error };
  }
}

/** Returns the difference between an expected error and an outcome. A recorded TypeError requires a TypeError, and any other error requires a RangeError. */
function errorDifference(expected: unknown, got: Tried<unknown>): string | undefined {
  if (!isObject(expected)) return `expected no error, got ${String("error" in got ? (got.error as Error)?.stack : "")}`;
  const kind = expected.type === "TypeError" ? "TypeError" : "RangeError";
  if (!("error" in got)) return `expected ${kind}, got none`;
  return kindOf(got.error) === kind ? undefined : `expected ${kind}, got ${String(got.error)}`;
}
