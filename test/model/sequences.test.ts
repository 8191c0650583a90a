/** Compares sequence rules and views with a twin on lists, with lanes, short episodes, every kind of end, eviction, snapshots, journals and ports. */
import { expect, test } from "vitest";
import { scaled } from "../support/size.ts";
import { SequenceWorld } from "./sequence-worlds.ts";

const SEEDS = scaled(400, 15);

test.each(["append", "lanes", "nextStep", "columns", "port"].map((way, k) => [way, k] as const))(
  "sequences match a twin on lists for steps written with %s",
  async (_, k) => {
    let compared = 0;
    for (let seed = 5 + k; seed <= SEEDS + 5; seed += 5) compared += (await new SequenceWorld(seed).run()).compared;
    expect(compared).toBeGreaterThan(SEEDS);
  },
);
