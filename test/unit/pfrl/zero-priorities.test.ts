/** Tests episodes of priority 0, which only uniform draws select. */
import { expect, test } from "vitest";
import { PrioritizedEpisodicReplayBuffer } from "../../../src/pfrl/index.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { scaled } from "../../support/size.ts";

const LIST = { form: "list" } as const;
/** Creates ten episodes; only the first two have a positive priority. */
const made = (uniformRatio: number, seed = 0, more: object = {}) => {
  const defaultPriorityFunc = (episode: readonly { readonly action: unknown }[]) => ((episode[0]?.action as number) < 2 ? 1 : 0);
  const buffer = new PrioritizedEpisodicReplayBuffer({ defaultPriorityFunc, uniformRatio, waitPriorityAfterSampling: false, seed, ...more });
  for (let i = 0; i < 10; i++) buffer.append({ state: i, action: i, reward: 0, isStateTerminal: true });
  return buffer;
};
const drawn = (buffer: PrioritizedEpisodicReplayBuffer, n: number) => buffer.sampleEpisodes(n, LIST).map(([one]) => one?.action as number);

test.each([0.1, 0.5, 1])("a uniform ratio of %s allows any number of draws, without duplicates", (ratio) => {
  for (let seed = 0; seed < scaled(100, 8); seed++) {
    const buffer = made(ratio, seed);
    for (const n of [1, 2, 3, 5, 9, 10]) {
      const { weights, keys } = buffer.sampleEpisodes(n);
      expect(new Set(keys).size).toBe(n);
      expect([...weights].every((weight) => weight > 0 && weight <= 1)).toBe(true);
    }
    expect(drawn(buffer, 10).sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    // The draws do not change the priorities.
    expect([...buffer.priorities().priorities]).toEqual([1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  }
});

test("each episode is drawn according to its probability", () => {
  const buffer = made(0.4, 3);
  const counts = new Array(10).fill(0) as number[];
  const n = scaled(20_000, 2000);
  for (let i = 0; i < n; i++) for (const action of drawn(buffer, 1)) (counts[action] as number)++;
  counts.forEach((count, i) => {
    const p = 0.04 + (i < 2 ? 0.3 : 0);
    expect(Math.abs(count - n * p)).toBeLessThan(4 * Math.sqrt(n * p * (1 - p)));
  });
});

test("without a uniform ratio only episodes with a positive priority can be drawn", () => {
  const buffer = made(0);
  for (let i = 0; i < 3; i++)
    expectError(
      errorOf(() => buffer.sampleEpisodes(3)),
      "TOO_FEW",
      /at most 2, because there are only 2 items with a priority above 0/,
    );
  expect(drawn(buffer, 2).sort()).toEqual([0, 1]);
});
