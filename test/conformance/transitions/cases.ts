/** Runs a PFRL case (pfrl/README.md). */
import { isObject, Malformed, whyNotRun } from "../case.ts";
import { kindOf } from "../meaning.ts";
import type { Outcome } from "../outcome.ts";
import { countsDifference } from "./counts.ts";
import { type Expected, PFRL } from "./departures.ts";
import { COUNTED, OPS } from "./ops.ts";
import { Script, scripted } from "./script.ts";
import { differenceOf } from "./values.ts";
import { type Args, isTransition, World } from "./world.ts";

interface PfrlCase {
  readonly name: string;
  readonly class: string;
  readonly args: Args;
  readonly ops: readonly Args[];
  readonly expect: readonly Expected[];
  readonly expectNew: Expected;
}

/** The tiers of cases that are skipped, because POLICY.md does not require them, with the reason. */
const NOT_OWED: { readonly [tier: string]: string } = {
  internals: "not owed: PFRL's own trees and queues",
  numpy: "not owed: numpy's random stream",
};

/** The ops that are ignored in every tier, because they return details of PFRL's own storage. */
const LEFT_OUT: ReadonlySet<unknown> = new Set(["queue_maxlen", "q_maxlen", "files"]);

/** The classes for which a case creates no object of ours at its start. */
const NO_OBJECT: ReadonlySet<string> = new Set(["function", "ReplayUpdater", "PrioritizedBuffer"]);

export async function runPfrlCase(raw: Args): Promise<Outcome> {
  const name = String(raw.name);
  const notOwed = NOT_OWED[String(raw.tier)];
  if (notOwed !== undefined) return { name, state: "skipped", why: notOwed };
  const departure = Object.hasOwn(PFRL, name) ? PFRL[name] : undefined;
  const about = { name, departs: departure !== undefined, rule: departure?.rule };
  try {
    const why = await run(read(raw));
    return why === undefined ? { ...about, state: "passed" } : { ...about, state: "failed", why };
  } catch (error) {
    return { ...about, state: "failed", why: whyNotRun(error) };
  }
}

function read(raw: Args): PfrlCase {
  const { name, args = {}, ops, expect, expect_new = null } = raw;
  if (typeof raw.class !== "string") throw new Malformed("class must be a string");
  if (!Array.isArray(ops) || !ops.every((op) => isObject(op) && typeof op.op === "string")) throw new Malformed("ops must be objects with an op");
  if (!Array.isArray(expect) || expect.length !== ops.length) throw new Malformed("expect must have one for each op");
  const unknown = ops.findIndex((op) => !Object.hasOwn(OPS, op.op) && !LEFT_OUT.has(op.op));
  if (unknown >= 0) throw new Malformed(`op ${unknown}: unknown op ${JSON.stringify(ops[unknown].op)}`);
  return { name: String(name), class: raw.class, args: args as Args, ops, expect, expectNew: expect_new as Expected };
}

/** Runs a case and returns its first difference. */
async function run(test: PfrlCase): Promise<string | undefined> {
  const departure = Object.hasOwn(PFRL, test.name) ? PFRL[test.name] : undefined;
  const expectNew = departure?.expectNew ?? test.expectNew;
  const world = new World(test.args);
  try {
    const made = NO_OBJECT.has(test.class) ? null : await answer(() => world.make("a", test.class, test.args));
    const wrong = outcomeDifference(expectNew, made, () => undefined);
    if (wrong !== undefined) return `constructor: ${wrong}`;
    if (made !== null && "error" in made) return undefined;
    for (const [i, op] of test.ops.entries()) {
      if (LEFT_OUT.has(op.op)) continue;
      const expected = departure?.results !== undefined && i in departure.results ? (departure.results[i] as Expected) : (test.expect[i] as Expected);
      const found = await runOp(world, test, op, expected);
      if (found !== undefined) return `op ${i} ${JSON.stringify(op)}: ${found}`;
    }
    return undefined;
  } finally {
    await world.end();
  }
}

async function runOp(world: World, test: PfrlCase, op: Args, expected: Expected): Promise<string | undefined> {
  const { op: name, on = "a", draws, seed, ...args } = op;
  const run = OPS[name as string] as (typeof OPS)[string];
  const call = () => run(world, on as string, seed === undefined ? args : { ...args, seed });
  const script = draws === undefined ? undefined : new Script(draws as Args[]);
  const got = await answer(() => (script === undefined ? call() : scripted(world.stored(on as string), script, call)));
  return outcomeDifference(expected, got, (value) => {
    if (COUNTED.has(name as string)) return countsDifference(expected?.value, value);
    // PFRL always returns None as the capacity of this class, whatever capacity was requested (pfrl/README.md).
    if (name === "capacity" && world.on(on as string).constructor.name === "PrioritizedEpisodicReplayBuffer") return undefined;
    if (script !== undefined && script.left > 0) return `${script.left} draws were not asked for`;
    const sampled = name === "sample";
    const own = stored(test);
    const found = differenceOf("value", strip(expected?.value, sampled, own), strip(value, sampled, own));
    return found ?? (script === undefined ? undefined : differenceOf("calls", expected?.calls ?? [], script.calls));
  });
}

type Answer = { readonly value: unknown } | { readonly error: unknown };

async function answer(call: () => unknown): Promise<Answer> {
  try {
    return { value: await call() };
  } catch (error) {
    if (error instanceof Malformed) throw error;
    return { error };
  }
}

/** Checks that both calls fail or both succeed, and then compares the values, if any. Error types and texts are not compared, because Python's differ. */
function outcomeDifference(expected: Expected, got: Answer | null, compare: (value: unknown) => string | undefined): string | undefined {
  const raises = expected !== null && "raises" in expected;
  if (got !== null && "error" in got) {
    if (!raises) return `expected ${JSON.stringify(expected)}, got ${String(got.error)}`;
    return kindOf(got.error) === undefined ? `expected an error of ours, got ${(got.error as Error)?.stack ?? got.error}` : undefined;
  }
  if (raises) return `expected ${JSON.stringify(expected.raises)}, got ${JSON.stringify(got?.value)}`;
  return expected === null || !("value" in expected) ? undefined : compare(got?.value);
}

/** Returns whether the case itself stores an extra field named `weight`, the name that PFRL uses for weights. */
function stored({ ops }: PfrlCase): boolean {
  return ops.some(({ extras }) => isObject(extras) && "weight" in extras);
}

/**
 * Removes the weights that PFRL writes into its stored transitions, except those of each item's first transition in a sample. @param own whether the case
 * stores its own `weight`, so nothing is removed
 */
function strip(value: unknown, sampled: boolean, own: boolean): unknown {
  if (own) return value;
  const bare = (transition: Args): Args => {
    const { weight: _, ...rest } = transition;
    return rest;
  };
  if (isTransition(value)) return bare(value);
  if (!Array.isArray(value)) return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, part]) => [key, strip(part, false, own)])) : value;
  if (sampled) return value.map((item) => (Array.isArray(item) ? item.map((one, k) => (k === 0 ? one : strip(one, false, own))) : item));
  return value.map((part) => strip(part, false, own));
}
