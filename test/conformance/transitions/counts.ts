/** Runs PrioritizedBuffer cases of PFRL whose results are compared as counts. Values are episodes of one step. */
import { PrioritizedEpisodicReplayBuffer } from "../../../src/pfrl/index.ts";
import { scaled } from "../../support/size.ts";
import { isObject } from "../case.ts";
import type { Args } from "./world.ts";

export interface Counted {
  readonly value: unknown;
  readonly priority: number | undefined;
}

/** Draws `repeat` samples (fewer in a short run). Returns how often each value was drawn first in a sample, how often in total, and the number of samples. */
export function countsOf(
  appended: readonly Counted[],
  { capacity, initial_max_priority = 1 }: Args,
  { n, repeat, uniform_ratio = 0, seed = 0 }: Args,
): unknown {
  const values = appended.slice(typeof capacity === "number" ? -capacity : 0);
  const buffer = new PrioritizedEpisodicReplayBuffer({
    uniformRatio: uniform_ratio as number,
    waitPriorityAfterSampling: false,
    seed: seed as number,
    defaultPriorityFunc: ([step]) => step?.reward ?? 1,
  });
  values.forEach(({ priority = initial_max_priority as number }, state) => {
    buffer.append({ state, action: 0, reward: priority, isStateTerminal: true });
  });
  const counts = { counts_first: values.map(() => 0), counts_any: values.map(() => 0) };
  const draws = scaled(repeat as number);
  for (let i = 0; i < draws; i++) {
    const { state } = buffer.sampleEpisodes(n as number);
    for (let k = 0; k < (n as number); k++) {
      const value = state.data[k];
      if (k === 0) counts.counts_first[value] = (counts.counts_first[value] as number) + 1;
      counts.counts_any[value] = (counts.counts_any[value] as number) + 1;
    }
  }
  return { ...counts, repeat: draws };
}

const SIGMA = 4;

/** Checks that our counts are likely, given the exact probabilities. */
export function countsDifference(expected: unknown, got: unknown): string | undefined {
  if (!isObject(expected) || !isObject(got)) return `expected counts, got ${JSON.stringify(got)}`;
  const n = got.repeat as number;
  for (const which of ["first", "any"]) {
    const exact = expected[`exact_${which}`] as number[] | undefined;
    const counts = got[`counts_${which}`] as number[];
    for (const [i, p] of (exact ?? []).entries()) {
      const spread = SIGMA * Math.sqrt(n * p * (1 - p));
      if (Math.abs((counts[i] as number) - n * p) > spread) return `counts_${which}[${i}]: expected about ${n * p} of ${n}, got ${counts[i]}`;
    }
  }
  return undefined;
}
