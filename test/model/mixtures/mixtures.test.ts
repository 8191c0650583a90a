/** Compares mixtures with their sources drawn one by one in lock-step. */
import { expect, test } from "vitest";
import { scaled } from "../../support/size.ts";
import { MixtureWorld } from "./world.ts";

test("a mixture returns the same draws as its sources drawn separately, in random worlds", async () => {
  let [draws, refused] = [0, 0];
  for (let seed = 1; seed <= scaled(60, 2); seed++) {
    const world = new MixtureWorld(seed);
    try {
      for (let op = 0; op < 60; op++) await world.run();
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
    }
    draws += world.draws;
    refused += world.refused;
    world.dispose();
  }
  expect(draws).toBeGreaterThan(scaled(60, 2) * 10);
  expect(refused).toBeGreaterThan(0);
}, 600_000);
