/** Runs a case of the replay buffer family. */

import { isObject, Malformed, type Op, type Result, readOps, whyNotRun } from "../case.ts";
import type { Answer } from "../compare.ts";
import type { Departure } from "../departures.ts";
import type { Outcome } from "../outcome.ts";
import { bufferDifference, constructorDifference } from "./compare.ts";
import { BUFFERS } from "./departures.ts";
import { BUFFER_OPS } from "./ops.ts";
import { BufferWorld } from "./world.ts";

type Raw = { readonly [key: string]: unknown };

export function runBufferCase(raw: Raw): Outcome {
  const name = String(raw.name);
  const departure = Object.hasOwn(BUFFERS, name) ? BUFFERS[name] : undefined;
  const told = { name, departs: departure !== undefined, rule: departure?.rule };
  try {
    const why = run(raw, departure);
    return why === undefined ? { ...told, state: "passed" } : { ...told, state: "failed", why };
  } catch (error) {
    return { ...told, state: "failed", why: whyNotRun(error) };
  }
}

/** Returns the first difference. */
function run(raw: Raw, departure: Departure | undefined): string | undefined {
  const { expect } = raw;
  if (!isObject(expect)) throw new Malformed("expect must be an object");
  const ops = readOps(raw.ops);
  const unknown = ops.findIndex(([kind]) => !Object.hasOwn(BUFFER_OPS, kind));
  if (unknown >= 0) return `op ${unknown}: unknown op ${JSON.stringify(ops[unknown]?.[0])}`;
  let world: BufferWorld;
  try {
    world = new BufferWorld(raw);
  } catch (error) {
    if (error instanceof Malformed) throw error;
    const found = constructorDifference(expect.error, error);
    return found === undefined ? undefined : `constructor: ${found}`;
  }
  if (isObject(expect.error)) return `constructor: expected ${String(expect.error.type)}, got none`;
  if (!Array.isArray(expect.results)) throw new Malformed("expect must have results, an array, or an error");
  for (const [i, op] of ops.entries()) {
    const expected = (departure?.results[i] ?? expect.results[i]) as Result | undefined;
    if (!isObject(expected)) throw new Malformed(`expect.results has nothing for op ${i}`);
    const found = bufferDifference(world, op, expected, answer(world, op));
    if (found !== undefined) return `op ${i} ${JSON.stringify(op)}: ${found}`;
  }
  return undefined;
}

function answer(world: BufferWorld, [kind, args]: Op): Answer {
  try {
    const ask = BUFFER_OPS[kind] as (typeof BUFFER_OPS)[string];
    return { result: ask(world, args) };
  } catch (error) {
    if (error instanceof Malformed) throw error;
    return { error };
  }
}
