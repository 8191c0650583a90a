/** Tests that passes over up to a million generated steps need only the memory of a single step or episode. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import {
  batch,
  checkRlds,
  importRlds,
  inspectRlds,
  mapSteps,
  nStep,
  type RldsDataset,
  rldsDataset,
  shiftKeys,
  statistics,
} from "../../../../src/datasets/rlds/index.ts";
import { goodEpisode, TEST_SPEC, type TestStep } from "../../../support/faulty-rlds.ts";
import { scaled, some } from "../../../support/size.ts";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;

const STEPS = scaled(1_000_000, 20_000);
/** The number of steps for a chain of transformations, which generates the steps five times. */
const FEWER = scaled(200_000);
/** The number of memory measurements during a pass. */
const LOOKS = scaled(10, 4);

/** Returns episodes of generated steps. Storing all of them would take about 600 bytes per step. */
function generated(total: number, episodes: number, watch: () => void): RldsDataset<TestStep> {
  const length = total / episodes;
  const [first, mid, last] = goodEpisode(3, 1) as [TestStep, TestStep, TestStep];
  function* steps() {
    for (let i = 0; i < length; i++) {
      if (i % (total / LOOKS) === total / LOOKS / 2) watch();
      const step = i === 0 ? first : i === length - 1 ? last : mid;
      yield { ...step, observation: { state: new Float32Array([1, i % 100, 0.5]), goal: i % 7 }, action: step.action.slice() };
    }
  }
  return rldsDataset<TestStep>(
    function* () {
      for (let id = 0; id < episodes; id++) {
        if (id % (episodes / LOOKS) === episodes / LOOKS - 1) watch();
        yield { id, steps: steps() };
      }
    },
    { stepSpec: TEST_SPEC },
  );
}

/** Returns the peak memory of a pass, minus the memory before it. */
async function growth(total: number, episodes: number, pass: (rlds: RldsDataset<TestStep>) => Promise<unknown>): Promise<number> {
  const used = () => {
    gc();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const before = used();
  let max = 0;
  let looks = 0;
  await pass(
    generated(total, episodes, () => {
      looks++;
      max = Math.max(max, used());
    }),
  );
  expect(looks).toBe(LOOKS);
  return max - before;
}

const PASSES: readonly [string, number, number, (rlds: RldsDataset<TestStep>) => Promise<unknown>, object][] = [
  ["inspectRlds, one episode", STEPS, 1, inspectRlds, { complete: true, steps: STEPS, transitions: STEPS - 1, faultyEpisodes: 0 }],
  ["checkRlds, one episode", STEPS, 1, checkRlds, { complete: true, clean: true, steps: STEPS, transitions: STEPS - 1 }],
  ["checkRlds, many episodes", STEPS, STEPS / 20, checkRlds, { complete: true, clean: true, episodes: STEPS / 20 }],
  ["statistics, one episode", STEPS, 1, (rlds) => statistics(rlds, { paths: ["reward", "observation/goal"] }), { steps: STEPS }],
  ["importRlds, an episode at a time", STEPS, 1000, (rlds) => counted(importRlds(rlds, { mode: "repair" })), { steps: STEPS }],
  [
    "a chain, one episode",
    FEWER,
    1,
    (rlds) =>
      counted(
        batch(
          shiftKeys(
            mapSteps(nStep(rlds, { n: 3, gamma: 0.9 }), ({ observation, reward }) => ({ observation, reward })),
            ["reward"],
            1,
          ),
          { size: 10 },
        ),
      ),
    { steps: Math.ceil((FEWER - 2) / 10) },
  ],
];

test.each(some(PASSES, 2))("uses less than 8 MB: %s", async (_, total, episodes, pass, wanted) => {
  let result: unknown;
  const grown = await growth(total, episodes, async (rlds) => {
    result = await pass(rlds);
  });
  expect(result).toMatchObject(wanted);
  expect(grown).toBeLessThan(8e6);
});

async function counted(rlds: RldsDataset<unknown>): Promise<{ steps: number }> {
  let steps = 0;
  for await (const episode of rlds) for (const _ of episode.steps as Iterable<unknown>) steps++;
  return { steps };
}
