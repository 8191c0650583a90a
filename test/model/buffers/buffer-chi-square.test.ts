/** Tests how often windows and episodes are drawn: chi-square tests with fixed seeds, against the probabilities of the rules, which draws also report. */
import { describe, expect, test } from "vitest";
import { i32 } from "../../../src/index.ts";
import { EpisodicReplayBuffer, TFUniformReplayBuffer } from "../../../src/tf-agents/index.ts";
import { chiSquare } from "../../support/chi-square.ts";
import { scaled, some } from "../../support/size.ts";

const DRAWS = scaled(12_000);
/** The significance level. A correct implementation falls below this once per thousand runs. */
const LIKELY = 0.001;

/** Counts the first frames of draws, and the probability reported with each. */
function counted(firsts: Iterable<readonly [first: number, probability: number]>, outcomes: ReadonlyMap<number, number>): number[] {
  const counts = new Map<number, number>();
  for (const [first, probability] of firsts) {
    counts.set(first, (counts.get(first) ?? 0) + 1);
    expect(probability).toBeCloseTo(outcomes.get(first) ?? Number.NaN, 14);
  }
  return [...outcomes.keys()].map((first) => counts.get(first) ?? 0);
}

describe("windows of a uniform buffer", () => {
  test.each([
    { batchSize: 1, maxLength: 6, adds: 4, numSteps: 2 },
    { batchSize: 3, maxLength: 6, adds: 6, numSteps: 1 },
    { batchSize: 3, maxLength: 6, adds: 17, numSteps: 3 },
    { batchSize: 2, maxLength: 5, adds: 23, numSteps: 5 },
    { batchSize: 5, maxLength: 1, adds: 9, numSteps: 1 },
  ])("are equally likely: $batchSize segments of $maxLength, $adds added, $numSteps steps", ({ batchSize, maxLength, adds, numSteps }) => {
    const buffer = new TFUniformReplayBuffer(i32(), { batchSize, maxLength, seed: 7 });
    for (let t = 0; t < adds; t++) buffer.addBatch(Array.from({ length: batchSize }, (_, s) => 1000 * s + t));
    const steps = Math.min(adds, maxLength);
    const starts = steps - numSteps + 1;
    const outcomes = new Map<number, number>();
    for (let s = 0; s < batchSize; s++) for (let i = 0; i < starts; i++) outcomes.set(1000 * s + adds - steps + i, 1 / (batchSize * starts));
    const [items, { probabilities }] = buffer.getNext({ sampleBatchSize: DRAWS, numSteps });
    const firsts = Array.from({ length: DRAWS }, (_, i) => [items.data[i * numSteps] as number, probabilities.data[i] as number] as const);
    expect(chiSquare(counted(firsts, outcomes), [...outcomes.values()])).toBeGreaterThan(LIKELY);
  });
});

describe("an episodic buffer", () => {
  const LENGTHS = [3, 1, 5, 2, 8];

  function filled(completedOnly: boolean) {
    // The first two of seven episodes are overwritten, and the last episode is open.
    const ends = [true, true, true, true, true, true, false];
    let i = 0;
    const buffer = new EpisodicReplayBuffer(i32(), { capacity: 5, completedOnly, seed: 11, beginEpisodeFn: () => true, endEpisodeFn: () => ends[i] });
    for (const length of [4, 4, ...LENGTHS]) {
      buffer.addSequence(
        Array.from({ length }, (_, t) => 100 * i + t),
        -1,
      );
      i++;
    }
    return buffer;
  }

  test.each([
    { completedOnly: false, numSteps: 1 },
    { completedOnly: false, numSteps: 2 },
    { completedOnly: false, numSteps: 5 },
    { completedOnly: true, numSteps: 2 },
    { completedOnly: true, numSteps: 3 },
  ])("draws an episode in proportion to its length, then a start: $numSteps steps, completedOnly $completedOnly", ({ completedOnly, numSteps }) => {
    const episodes = LENGTHS.map((length, i) => ({ first: 100 * (i + 2), length })).slice(0, completedOnly ? 4 : 5);
    const long = episodes.filter(({ length }) => length >= numSteps);
    const total = long.reduce((sum, { length }) => sum + length, 0);
    const outcomes = new Map<number, number>();
    for (const { first, length } of long)
      for (let start = 0; start <= length - numSteps; start++) outcomes.set(first + start, length / total / (length - numSteps + 1));
    const [items, { probabilities, ids }] = filled(completedOnly).getNext({ sampleBatchSize: DRAWS, numSteps });
    const firsts = Array.from({ length: DRAWS }, (_, i) => [items.data[i * numSteps] as number, probabilities.data[i] as number] as const);
    expect(chiSquare(counted(firsts, outcomes), [...outcomes.values()])).toBeGreaterThan(LIKELY);
    for (const [i, id] of (ids as { data: Float64Array }).data.entries()) expect(Math.floor((items.data[i * numSteps] as number) / 100)).toBe(id);
  });

  test.each(some([false, true], 1))("draws whole episodes equally often, completedOnly %s", (completedOnly) => {
    const count = completedOnly ? 4 : 5;
    const outcomes = new Map(LENGTHS.slice(0, count).map((_, i) => [100 * (i + 2), 1 / count]));
    const firsts: [number, number][] = [];
    for (const [items, { probabilities }] of filled(completedOnly).asDataset()) {
      expect(items.shape).toEqual([LENGTHS[Math.floor((items.data[0] as number) / 100) - 2]]);
      firsts.push([items.data[0] as number, probabilities.data[0] as number]);
      if (firsts.length === 4000) break;
    }
    expect(chiSquare(counted(firsts, outcomes), [...outcomes.values()])).toBeGreaterThan(LIKELY);
  });
});
