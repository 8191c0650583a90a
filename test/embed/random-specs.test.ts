/** Random specs, tables, rules and views: the public API on one side, embed.wasm alone on the other. */
import { expect, test } from "vitest";
import { TestRandom } from "../support/random.ts";
import { scaled } from "../support/size.ts";
import type { Build } from "./host.ts";
import { Twin } from "./twin.ts";
import { worldOf } from "./world.ts";

const CALLS = 60;

test.each<[Build, number]>([
  ["embed", scaled(1000)],
  ["embed.scalar", scaled(100)],
])("%s gives the bytes, the counts and the refusals of the public API, for %i random specs", (build, specs) => {
  let [made, refused, batches] = [0, 0, 0];
  for (let seed = 1; seed <= specs; seed++) {
    const random = new TestRandom(seed);
    const twin = new Twin(random, worldOf(random), build);
    try {
      if (!twin.begin()) continue;
      made++;
      for (let i = 0; i < CALLS; i++) twin.play(i);
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
    }
    refused += twin.refused;
    batches += twin.batches;
  }
  // What is tried is mostly something.
  expect(made).toBeGreaterThan(0.6 * specs);
  expect(batches).toBeGreaterThan(made * 5);
  expect(refused).toBeGreaterThan(made);
});
