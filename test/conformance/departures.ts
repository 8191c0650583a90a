/** Lists the cases in which our answer differs from the recorded one (POLICY.md, departures.md). Each case is checked against the answer in this file. */
import type { Result } from "./case.ts";

export interface Departure {
  /** The rule of POLICY.md. */
  readonly rule: string;
  /** Our own answers by the number of the op. The other ops keep their recorded answers. */
  readonly results: { readonly [op: number]: Result };
}

const sample = (value: unknown, table_size: number, priority = 1, times_sampled = 1) => ({ value, probability: 1, table_size, priority, times_sampled });
/** Returns the expected result of sampling a queue until it is empty. */
const drained = (values: readonly unknown[]): Result => ({ samples: values.map((value, i) => sample(value, values.length - i)) });

/** Departures by the name of the case. */
export const DEPARTURES: { readonly [name: string]: Departure } = {
  sampler_Prioritized_negative: {
    rule: "a negative priority is refused before anything changes, and nothing hangs",
    results: { 1: { error: { kind: "RangeError" } }, 2: { value: 1 }, 3: { n: 20, outcomes: [{ value: 1, priority: 2, probability: 1 }] } },
  },
  update_negative: {
    rule: "a negative priority is refused before anything changes",
    results: { 2: { error: { kind: "RangeError" } }, 3: { samples: [sample(1, 1, 1, 2)] } },
  },
  writer_slices: {
    rule: "an index out of a history's range is an error, a strided slice is the steps that it names",
    results: {
      12: { shapes: { x: "[3]" } },
      20: { error: { kind: "RangeError" } },
      23: drained([[0, 1, 2, 3, 4], [3, 4], [0, 1], [1, 2, 3], [0, 1, 2], [1, 2], [0, 2, 4], [4, 3, 2, 1, 0], [0, 4, 2], 4, 0, 0]),
    },
  },
  writer_repeat: {
    rule: "an item may name a step twice",
    results: { 6: { samples: [sample([0, 0, 1], 2), sample([0, 1], 1, 2.5)] } },
  },
  writer_close: {
    rule: "closing a writer loses no item that was created",
    results: { 6: { value: 1 } },
  },
};
