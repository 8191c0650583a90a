/** Contains the shared parts of tests of observers: a Replay of trajectories, distinguishable steps, and a table's items as text. */

import { f32, fifo, i32, Replay, type TableOptions } from "../../../src/index.ts";
import { type Trajectory, trajectorySpec } from "../../../src/tf-agents/index.ts";

export const SPEC = trajectorySpec({ observation: f32(2), action: i32() });
export type Steps = typeof SPEC;

/** The options of a table that returns each item once, in order. */
export const ONCE: TableOptions = { maxSize: 1000, sampler: fifo(), maxTimesSampled: 1 };

export function replayOf<const N extends string = "t">(tables: { readonly [K in N]: TableOptions } = { t: ONCE } as never): Replay<Steps, N> {
  return new Replay<Steps, N>({ spec: SPEC, tables });
}

/** Returns step `n`, whose reward and action contain n. */
export function step(n: number, stepType = 1, nextStepType = stepType === 2 ? 0 : 1): Trajectory<number[], number, []> {
  return { stepType, observation: [n, -n], action: n, policyInfo: [], nextStepType, reward: n, discount: 1 };
}

/** Returns an episode as in the documentation's diagrams: F, M …, L, and its boundary step. The numbers start at `from`. */
export function episode(length: number, from = 0): Trajectory<number[], number, []>[] {
  return Array.from({ length: length + 1 }, (_, i) => step(from + i, i === length ? 2 : i === 0 ? 0 : 1, i === length ? 0 : i === length - 1 ? 2 : 1));
}

/** Draws and removes all items of a table in order. Returns their rewards as text, with P for padding. */
export function items<N extends string>(replay: Replay<Steps, N>, table: N = "t" as N): string[] {
  const found: string[] = [];
  for (;;) {
    const { count, steps } = replay.table(table).sample(1, { cross: true });
    if (count === 0) return found;
    const { reward, stepType, discount } = steps;
    const each = Array.from(reward.data, (value, i) => (stepType.data[i] === 2 && discount.data[i] === 0 ? "P" : `${value}`));
    found.push(each.join(" "));
  }
}
