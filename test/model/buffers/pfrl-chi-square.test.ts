/** Compares how often items are drawn with exact probabilities. Fixed seeds make the results reproducible. */
import { describe, expect, test } from "vitest";
import { EpisodicReplayBuffer, PrioritizedEpisodicReplayBuffer, PrioritizedReplayBuffer, ReplayBuffer } from "../../../src/pfrl/index.ts";
import { chiSquare } from "../../support/chi-square.ts";
import { scaled, some } from "../../support/size.ts";

const MIN_P = 1e-4;
const ROUNDS = scaled(20_000, 600);

const transition = (state: number, isStateTerminal = false) => ({ state, action: 0, reward: state, nextState: 0, isStateTerminal });

/** Returns how often each of `of` states was drawn first, and in total. */
function counts(of: number, n: number, draw: () => ArrayLike<number>): { first: number[]; any: number[] } {
  const found = { first: new Array<number>(of).fill(0), any: new Array<number>(of).fill(0) };
  for (let round = 0; round < ROUNDS; round++) {
    const states = draw();
    for (let i = 0; i < n; i++) {
      const state = states[i] as number;
      if (i === 0) found.first[state] = (found.first[state] as number) + 1;
      found.any[state] = (found.any[state] as number) + 1;
    }
  }
  return found;
}

/** Returns the inclusion probabilities of successive draws, each in proportion to the remaining weights. */
function successive(weights: readonly number[], n: number): number[] {
  const included = weights.map(() => 0);
  const go = (left: readonly number[], probability: number, k: number) => {
    if (k === 0) return;
    const total = left.reduce((sum, i) => sum + (weights[i] as number), 0);
    for (const i of left) {
      const own = (probability * (weights[i] as number)) / total;
      included[i] = (included[i] as number) + own;
      go(
        left.filter((j) => j !== i),
        own,
        k - 1,
      );
    }
  };
  go([...weights.keys()], 1, n);
  return included;
}

const alike = (of: number) => new Array<number>(of).fill(1 / of);
const shares = (weights: readonly number[]) => weights.map((weight) => weight / weights.reduce((sum, one) => sum + one));
/** Checks that the number of samples that contain an item is within 4 standard deviations of the expected number, for each item. */
function within(any: readonly number[], included: readonly number[]): void {
  any.forEach((count, i) => {
    const p = included[i] as number;
    expect(Math.abs(count - ROUNDS * p)).toBeLessThanOrEqual(4 * Math.sqrt(ROUNDS * p * (1 - p)));
  });
}

describe("uniform draws", () => {
  test.each(some([1, 3, 10], 2))("%s transitions of ten, after evictions", (n) => {
    const buffer = new ReplayBuffer(10, { seed: n });
    for (let i = 0; i < 27; i++) buffer.append(transition((i + 3) % 10));
    const { first, any } = counts(10, n, () => buffer.sample(n).state.data);
    expect(chiSquare(first, alike(10))).toBeGreaterThan(MIN_P);
    within(any, new Array(10).fill(n / 10));
  });

  test.each(some([1, 4], 1))("%s single transitions from episodes", (n) => {
    const buffer = new EpisodicReplayBuffer(9, { seed: n });
    for (let i = 0; i < 30; i++) buffer.append(transition(i % 9, i % 3 === 2));
    const { first, any } = counts(9, n, () => buffer.sample(n).state.data);
    expect(chiSquare(first, alike(9))).toBeGreaterThan(MIN_P);
    within(any, new Array(9).fill(n / 9));
  });

  test("episodes and the start of a window are drawn uniformly", () => {
    const buffer = new EpisodicReplayBuffer({ seed: 2 });
    // Episodes 0 … 4 and 5 … 6: the first has four starts of two steps, the second has one.
    for (let i = 0; i < 7; i++) buffer.append(transition(i, i === 4 || i === 6));
    const { first } = counts(7, 1, () => buffer.sampleEpisodes(1, 2).state.data);
    expect(chiSquare(first, [1 / 8, 1 / 8, 1 / 8, 1 / 8, 0, 1 / 2, 0])).toBeGreaterThan(MIN_P);
  });
});

describe("prioritized draws", () => {
  const errors = [1, 2, 4, 8, 0.5];

  test.each(some([1, 3], 1))("%s transitions, without replacement", (n) => {
    const buffer = new PrioritizedReplayBuffer(5, { alpha: 1, eps: 0, errorMax: null, seed: n, waitPriorityAfterSampling: false });
    // Evictions rotate the slots.
    for (let i = 0; i < 13; i++) buffer.append(transition((i + 2) % 5));
    const all = buffer.sample(5);
    buffer.updateErrors(Array.from(all.state.data as Float64Array, (state) => errors[state] as number));
    const { first, any } = counts(5, n, () => buffer.sample(n).state.data);
    expect(chiSquare(first, shares(errors))).toBeGreaterThan(MIN_P);
    within(any, successive(errors, n));
  });

  test.each(some([0, 0.5, 1], 2))("episodes with uniformRatio %s", (uniformRatio) => {
    const buffer = new PrioritizedEpisodicReplayBuffer({
      uniformRatio,
      waitPriorityAfterSampling: false,
      seed: 6,
      defaultPriorityFunc: ([step]) => errors[step?.reward ?? 0] as number,
    });
    for (let i = 0; i < 5; i++) buffer.append(transition(i, true));
    const { first } = counts(5, 1, () => buffer.sampleEpisodes(1).state.data);
    const mixed = shares(errors).map((share) => uniformRatio / 5 + (1 - uniformRatio) * share);
    expect(chiSquare(first, mixed)).toBeGreaterThan(MIN_P);
    // Neither path draws the same item twice.
    for (let round = 0; round < 500; round++) expect(new Set(buffer.sampleEpisodes(4).keys).size).toBe(4);
  });

  test("episodes of priority 0 are drawn only by the uniform part", () => {
    const buffer = new PrioritizedEpisodicReplayBuffer({
      uniformRatio: 0.5,
      waitPriorityAfterSampling: false,
      defaultPriorityFunc: ([step]) => step?.reward ?? 0,
    });
    for (let i = 0; i < 3; i++) buffer.append(transition(i, true));
    const { first } = counts(3, 1, () => buffer.sampleEpisodes(1).state.data);
    expect(chiSquare(first, [1 / 6, 1 / 6 + 1 / 6, 1 / 6 + 1 / 3])).toBeGreaterThan(MIN_P);
  });
});
