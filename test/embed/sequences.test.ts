/** Tests sequence rules in the worlds of random-specs.test.ts, in which each rule of transitions is replaced with a sequence rule. */
import { expect, test } from "vitest";
import type { ItemRule } from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import { scaled } from "../support/size.ts";
import { Twin } from "./twin.ts";
import { type World, worldOf } from "./world.ts";

const SPECS = scaled(400, 8);
const CALLS = 50;

/** Converts an nStep rule to a sequence rule, which is occasionally invalid. */
function sequenceRule(random: TestRandom, { nStep, table, priority, finite }: ItemRule): ItemRule {
  const burnIn = random.pick([undefined, 0, 1, 2]);
  const longest = nStep as number;
  const stride = random.pick([undefined, 1, 1 + random.below(longest), random.below(20) === 0 ? longest + 1 : undefined]);
  const sequence = { length: longest + (burnIn ?? 0) + 1, ...(burnIn !== undefined && { burnIn }), ...(stride !== undefined && { stride }) };
  return { table, sequence, ...(priority !== undefined && { priority }), ...(finite !== undefined && { finite }) };
}

function sequencesOf(random: TestRandom, world: World): World {
  const writers = world.writers.map((writer) => ({
    ...writer,
    keep: undefined,
    items: writer.items.map((rule) => (rule.nStep === undefined ? rule : sequenceRule(random, rule))),
  }));
  return { ...world, writers };
}

test("embed.wasm creates the same sequences as the public API, and continues from snapshots", () => {
  let [made, batches] = [0, 0];
  for (let seed = 1; made < SPECS; seed++) {
    const random = new TestRandom(seed);
    const world = sequencesOf(random, worldOf(random));
    if (!world.writers.some(({ items }) => items.some(({ sequence }) => sequence !== undefined))) continue;
    const twin = new Twin(random, world, "embed");
    try {
      if (!twin.begin()) continue;
      made++;
      for (let i = 0; i < CALLS; i++) {
        if (i === 25) twin.exchange();
        if (i < 6) twin.append();
        else twin.play();
      }
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
    }
    batches += twin.batches;
  }
  expect(batches).toBeGreaterThan(made);
});
