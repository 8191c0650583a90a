/** Random specs, tables, rules and views: the public API on one side, embed.wasm alone on the other. */
import { expect, test } from "vitest";
import { TestRandom } from "../support/random.ts";
import { scaled } from "../support/size.ts";
import type { Build } from "./host.ts";
import { Twin } from "./twin.ts";
import { worldOf } from "./world.ts";

/** Random specs of a test, and calls of each. */
const SPECS = 100;
const CALLS = 60;

const hundreds = (many: number) => Array.from({ length: many }, (_, i) => SPECS * i);

test.each<[Build, number]>([...hundreds(10).map((seed) => ["embed", seed] as [Build, number]), ["embed.scalar", SPECS * 10]])(
  "%s gives the bytes, the counts and the refusals of the public API: a hundred random specs from %i on",
  (build, first) => {
    let [made, refused, batches] = [0, 0, 0];
    const specs = scaled(SPECS);
    for (let seed = first; seed < first + specs; seed++) {
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
    expect(made).toBeGreaterThan(0.3 * specs);
    expect(batches).toBeGreaterThan(made * 2);
    expect(refused).toBeGreaterThan(0);
  },
);
