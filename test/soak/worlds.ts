/**
 * Compares random worlds with twins that only follow the documents: `npm run soak [-- --minutes N] [--seed S]` runs worlds for N minutes, or the worlds of one
 * seed. Each seed also has a world of sequences and a world of mixtures. If a world and its twin differ, the program prints the seed and the shortest list of
 * operations found that shows the difference.
 */
import { parseArgs } from "node:util";
import { MixtureWorld } from "../model/mixtures/world.ts";
import { SequenceWorld } from "../model/sequence-worlds.ts";
import { type Operation, type Plan, planOf } from "./worlds/plan.ts";
import { World } from "./worlds/world.ts";

/** The number of operations in a world of mixtures. */
const MIXTURE_OPERATIONS = 60;

/** The number of calls that failed for lack of memory. */
let refused = 0;

/** Returns the difference and the number of operations before it, or undefined if there is none. */
async function difference(
  plan: Plan,
  operations: readonly Operation[] = plan.operations,
): Promise<{ readonly at: number; readonly message: string } | undefined> {
  let at = 0;
  let world: World | undefined;
  try {
    world = await World.of(plan);
    for (; at < operations.length; at++) await world.run(operations[at] as Operation);
    return undefined;
  } catch (error) {
    return { at, message: (error as Error).stack ?? String(error) };
  } finally {
    refused += world?.refused ?? 0;
    world?.dispose();
  }
}

/** Returns fewer operations that still cause a difference: tries to omit halves, then quarters, and finally single operations. */
async function shortest(plan: Plan, at: number): Promise<readonly Operation[]> {
  let operations = plan.operations.slice(0, at + 1);
  for (let piece = operations.length >> 1; piece >= 1; piece >>= 1)
    for (let from = 0; from < operations.length; ) {
      const fewer = [...operations.slice(0, from), ...operations.slice(from + piece)];
      const found = await difference(plan, fewer);
      if (found === undefined) from += piece;
      else operations = fewer.slice(0, found.at + 1);
    }
  return operations;
}

/** Returns a difference between a mixture and separate draws of its sources, or undefined if there is none. */
async function mixtureDifference(seed: number): Promise<string | undefined> {
  const world = new MixtureWorld(seed);
  try {
    for (let op = 0; op < MIXTURE_OPERATIONS; op++) await world.run();
    return undefined;
  } catch (error) {
    return (error as Error).stack ?? String(error);
  } finally {
    world.dispose();
  }
}

const { values } = parseArgs({ options: { minutes: { type: "string", default: "2" }, seed: { type: "string" } } });
const until = performance.now() + Number(values.minutes) * 60_000;
const one = values.seed === undefined ? undefined : Number(values.seed);
let [worlds, done, failed] = [0, 0, 0];
for (let seed = one ?? Date.now() % 2 ** 31; failed < 5; seed = (seed + 1) % 2 ** 31) {
  const plan = planOf(seed);
  const found = await difference(plan);
  worlds++;
  // A separate kind of world has rules and views of sequences.
  const sequences = await new SequenceWorld(seed).run().catch((error: Error) => error);
  if (sequences instanceof Error) {
    failed++;
    console.log(`sequences of ${sequences.message}`);
  }
  done += found?.at ?? plan.operations.length;
  if (found !== undefined) {
    failed++;
    const operations = await shortest(plan, found.at);
    console.log(`seed ${seed}: ${(await difference(plan, operations))?.message}`);
    console.log(JSON.stringify({ tables: plan.tables, writers: plan.writers }));
    console.log(`after ${operations.map(({ kind, seed: by }) => `${kind}(${by})`).join(", ")}`);
  }
  const mixed = await mixtureDifference(seed);
  if (mixed !== undefined) {
    failed++;
    console.log(`seed ${seed}, mixtures: ${mixed}`);
  }
  if (one !== undefined || performance.now() > until) break;
}
console.log(`${worlds} worlds, ${done} operations, ${refused} of them refused for want of memory`);
console.log(`${Math.max(worlds - failed, 0)} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
