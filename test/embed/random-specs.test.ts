/** Tests random specs, tables, rules and views: the public API and embed.wasm must return the same results. */
import { expect, test } from "vitest";
import { TestRandom } from "../support/random.ts";
import { scaled, slow } from "../support/size.ts";
import type { Build } from "./host.ts";
import { Twin } from "./twin.ts";
import { worldOf } from "./world.ts";

/** The number of specs per test that both sides accept. CALLS is the number of calls for each spec. */
const SPECS = scaled(slow ? 60 : 30, 1);
const CALLS = 50;
/** The number of initial calls that append. EXCHANGE is the number of the call before which both sides continue with snapshots. */
const APPENDS = 6;
const EXCHANGE = 25;

function playAll(twin: Twin, random: TestRandom): void {
  for (let i = 0; i < CALLS; i++) {
    if (i === EXCHANGE && random.below(4) === 0) twin.closeAndGoOn();
    else if (i === EXCHANGE) twin.exchange();
    if (i < APPENDS) twin.append();
    else twin.play();
  }
}

/** The counts over all seeds, because a single test may have few of each. */
const all = { made: 0, refused: 0, batches: 0 };

const firsts = Array.from({ length: 10 }, (_, i) => 1000 * i);

test.each<[Build, number]>([...firsts.map((seed): [Build, number] => ["embed", seed]), ["embed.scalar", 10_000]])(
  "%s returns the bytes, counts and errors of the public API: random specs from seed %i",
  (build, first) => {
    let made = 0;
    for (let seed = first; made < SPECS; seed++) {
      const random = new TestRandom(seed);
      const twin = new Twin(random, worldOf(random), build);
      try {
        // Specs that both sides reject do not count towards SPECS.
        if (twin.begin()) {
          made++;
          all.made++;
          playAll(twin, random);
        }
      } catch (error) {
        throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
      }
      all.refused += twin.refused;
      all.batches += twin.batches;
      expect(seed - first).toBeLessThan(2 * SPECS + 20);
    }
  },
);

test("most specs produce batches, and some calls are rejected", () => {
  expect(all.batches).toBeGreaterThan(2 * all.made);
  expect(all.refused).toBeGreaterThan(0);
});
