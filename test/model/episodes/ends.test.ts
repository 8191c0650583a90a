/** Compares the items that writers create from episodes with a final observation to those of a naive twin. */
import { describe, expect, test } from "vitest";
import { TestRandom } from "../../support/random.ts";
import { some } from "../../support/size.ts";
import { type Options, SPECS, TwinEnds } from "./twin-ends.ts";

const AUTORESETS = ["nextStep", "sameStep", "disabled"] as const;

function optionsOf(random: TestRandom, spec: string): Options {
  const rules = Array.from({ length: 1 + random.below(3) }, () =>
    random.below(3) === 0 ? { length: 1 + random.below(4), stride: 1 + random.below(3) } : { nStep: 1 + random.below(5) },
  );
  return { spec: SPECS[spec] as never, lanes: random.pick([1, 1, 2, 3, 7]), autoreset: random.pick(AUTORESETS), rules };
}

describe.each(Object.keys(SPECS))("items from episodes of %s steps match those of a naive twin", (spec) => {
  const seeds = Array.from({ length: 40 }, (_, seed) => seed);
  test.each(some(seeds, 2))("seed %i", (seed) => {
    const random = new TestRandom(seed);
    const twin = new TwinEnds(optionsOf(random, spec), random);
    const rate = random.pick([0.02, 0.2, 0.6]);
    for (let call = 0; call < 60; call++) {
      const dice = random.below(12);
      if (dice === 0) twin.restore();
      else if (dice < 5) twin.block(1 + random.below(random.pick([3, 40])), rate);
      else twin.append(rate);
      if (dice % 4 === 0) twin.compare();
    }
    twin.compare();
    twin.close();
    twin.compare();
  });
});

test("each step starts exactly one transition, of n steps or up to the final observation", () => {
  for (const n of [1, 2, 3, 5]) {
    const random = new TestRandom(n);
    const twin = new TwinEnds({ spec: SPECS.narrow as never, lanes: 1, autoreset: "disabled", rules: [{ nStep: n }] }, random);
    while (twin.finals.size < 50) twin.append(0.15);
    const steps = Math.max(...twin.finals.keys());
    const starts = twin.items[0]?.map(([first]) => first).filter((id) => (id as number) < steps) ?? [];
    expect(new Set(starts).size).toBe(starts.length);
    for (let id = 1; id < steps; id++) if (!twin.finals.has(id)) expect(starts).toContain(id);
    for (const item of twin.items[0] ?? []) {
      const inner = item.slice(0, -1);
      expect(inner.some((id) => twin.finals.has(id))).toBe(false);
      if (!twin.finals.has(item[item.length - 1] as number)) expect(item.length).toBe(n + 1);
    }
    twin.compare();
  }
});
