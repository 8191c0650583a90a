/** Generates valid RLDS episodes, and introduces faults into them. */
import type { RldsEpisode, RldsStep, StepSpec } from "../../src/datasets/rlds/index.ts";
import { StepColumns } from "../../src/datasets/rlds/index.ts";
import type { TestRandom } from "./random.ts";

export interface TestStep extends RldsStep {
  observation: { state: Float32Array; goal: number };
  action: Float32Array;
  reward: number;
  discount: number;
  is_first: boolean;
  is_last: boolean;
  is_terminal: boolean;
  tag: string;
}

export const TEST_SPEC: StepSpec = {
  observation: { state: { dtype: "f32", shape: [3] }, goal: { dtype: "i32", shape: [] } },
  action: { dtype: "f32", shape: [2] },
  reward: { dtype: "f64", shape: [] },
  discount: { dtype: "f32", shape: [] },
  is_first: { dtype: "bool", shape: [] },
  is_last: { dtype: "bool", shape: [] },
  is_terminal: { dtype: "bool", shape: [] },
  tag: { dtype: "string", shape: [] },
};

/** Returns an episode. Each step has a distinct state, so that steps cannot be confused. The action and reward of the last step are zeros. */
export function goodEpisode(length: number, number: number, terminal = false): TestStep[] {
  return Array.from({ length }, (_, i) => {
    const isLast = i === length - 1;
    return {
      observation: { state: new Float32Array([number + 1, i + 1, 0.5]), goal: i },
      action: new Float32Array(isLast ? [0, 0] : [i, -1]),
      reward: isLast ? 0 : number + i / 8,
      discount: terminal && i >= length - 2 ? 0 : 1,
      is_first: i === 0,
      is_last: isLast,
      is_terminal: isLast && terminal,
      tag: `${number}/${i}`,
    };
  });
}

/** Returns episodes of random lengths, some of them terminated. */
export function goodEpisodes(random: TestRandom, count: number): TestStep[][] {
  return Array.from({ length: count }, (_, number) => goodEpisode(1 + random.below(8), number, random.next() < 0.5));
}

/** The forms that the steps of an episode may have. */
export const FORMS = {
  array: (steps: readonly TestStep[]) => steps,
  generator: function* (steps: readonly TestStep[]) {
    yield* steps;
  },
  later: async function* (steps: readonly TestStep[]) {
    yield* steps;
  },
  columns: (steps: readonly TestStep[]) => columnsOfSteps(steps),
} satisfies { readonly [name: string]: (steps: readonly TestStep[]) => RldsEpisode<TestStep>["steps"] };

export function columnsOfSteps(steps: readonly TestStep[]): StepColumns<TestStep> {
  const flag = (name: "is_first" | "is_last" | "is_terminal") => Uint8Array.from(steps, (step) => Number(step[name]));
  const data = [
    Float32Array.from(steps.flatMap((step) => [...step.action])),
    Float32Array.from(steps, (step) => step.discount),
    flag("is_first"),
    flag("is_last"),
    flag("is_terminal"),
    Int32Array.from(steps, (step) => step.observation.goal),
    Float32Array.from(steps.flatMap((step) => [...step.observation.state])),
    Float64Array.from(steps, (step) => step.reward),
    steps.map((step) => step.tag),
  ];
  return new StepColumns<TestStep>(TEST_SPEC, data, steps.length);
}
