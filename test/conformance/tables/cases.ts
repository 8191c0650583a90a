/** Runs a case of the table family. */
import { Malformed, readTableCase, type TableCase, whyNotRun } from "../case.ts";
import { type Answer, difference } from "../compare.ts";
import { DEPARTURES } from "../departures.ts";
import { OPS } from "../ops.ts";
import type { Outcome } from "../outcome.ts";
import { World } from "../world.ts";

export async function runTableCase(raw: { readonly [key: string]: unknown }): Promise<Outcome> {
  const name = String(raw.name);
  const departs = Object.hasOwn(DEPARTURES, name);
  try {
    const test = readTableCase(raw);
    const unknown = test.ops.findIndex(([kind]) => !Object.hasOwn(OPS, kind));
    if (unknown >= 0) return { name, departs, state: "failed", why: `op ${unknown}: unknown op ${JSON.stringify(test.ops[unknown]?.[0])}` };
    const why = await run(test);
    return why === undefined ? { name, departs, state: "passed" } : { name, departs, state: "failed", why };
  } catch (error) {
    return {
      name,
      departs,
      state: "failed",
      why: whyNotRun(error),
    };
  }
}

/** Runs a case and returns its first difference. */
async function run(test: TableCase): Promise<string | undefined> {
  let world: World;
  try {
    world = new World(test);
  } catch (error) {
    if (error instanceof Malformed) throw error;
    const found = difference(test, -1, { error: test.error }, { error });
    return found === undefined ? undefined : `constructor: ${found}`;
  }
  try {
    if (test.error !== undefined) return `constructor: expected ${String(test.error.type)}, got none`;
    const departure = Object.hasOwn(DEPARTURES, test.name) ? DEPARTURES[test.name] : undefined;
    for (const [i, op] of test.ops.entries()) {
      const expected = departure?.results[i] ?? test.results[i];
      // If a recorded call never returned, the recording ends with it.
      if (expected === undefined && test.results.at(-1)?.hangs === true) return undefined;
      if (expected === undefined) throw new Malformed(`expect.results has nothing for op ${i}`);
      const found = difference(test, i, expected, await answer(world, op));
      if (found !== undefined) return `op ${i} ${JSON.stringify(op)}: ${found}`;
    }
    return undefined;
  } finally {
    world.end();
  }
}

async function answer(world: World, op: TableCase["ops"][number]): Promise<Answer> {
  try {
    const run = OPS[op[0]] as (typeof OPS)[string];
    return { result: await run(world, op[1], op) };
  } catch (error) {
    if (error instanceof Malformed) throw error;
    return { error };
  }
}
