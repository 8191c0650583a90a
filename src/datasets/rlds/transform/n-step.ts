/** Computes n-step transitions. */
import { finite, integer, mustBe, onlyKeys } from "../../../base/error.ts";
import { MAX_LENGTH } from "../../../base/limits.ts";
import { isLeaf } from "../../../schema/leaf.ts";
import { createStepCopier } from "../../model/copy-steps.ts";
import type { RldsDataset, RldsStep, StepSpec } from "../../model/dataset.ts";
import { withSteps } from "../../model/derive.ts";
import { flagOf, numberOf } from "../../model/elements.ts";
import { applyStage, type Stage } from "../../model/maybe-async.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { withFinalObservations } from "./final-observations.ts";

export interface NStepTransitionOptions {
  /** The number of rewards in a full return. */
  readonly n: number;
  readonly gamma: number;
}

/** A step, and the result of its action after up to n steps. */
export type NStepTransition<S = RldsStep> = Omit<S, "reward" | "discount"> & {
  /** The n-step return r_0 + γ d_0 r_1 + … + γ^(k-1) d_0 … d_(k-2) r_(k-1). */
  readonly reward: number;
  /** The weight of the value of next_observation: γ^k d_0 … d_(k-1). 0 if next_observation is terminal. */
  readonly discount: number;
  /** The actual number of steps k, which is n, or less at the end of an episode. */
  readonly n_steps: number;
  readonly next_observation: S extends { readonly observation: infer O } ? O : unknown;
  readonly next_is_last: boolean;
  readonly next_is_terminal: boolean;
};

/**
 * Returns a transition for each step except final observations, with the names from the RLDS tutorial. A return never extends past the end of its episode. If
 * next_is_last is true and next_is_terminal is false, the episode was truncated, and the discount is not 0. The same rules apply to the n-step returns of a
 * table. Works lazily, and keeps n steps in memory. Each step costs O(n).
 * @throws TypeError, RangeError if an argument is invalid
 * @throws RldsError SPEC_MISMATCH during iteration if a reward or discount is not one number, or if a flag is invalid
 */
export function nStep<S = RldsStep>(rlds: RldsDataset<S>, options: NStepTransitionOptions): RldsDataset<NStepTransition<S>> {
  const { n, gamma } = onlyKeys("options", options, "n, gamma");
  integer("n", n, 1, MAX_LENGTH);
  finite("gamma", gamma);
  return withSteps(
    withFinalObservations(rlds),
    (steps, episode) => applyStage(steps, () => transitions(n, gamma, episode, createStepCopier(steps))),
    transitionSpec,
  ) as RldsDataset<NStepTransition<S>>;
}

/** A step whose numbers have been read. */
interface NumericStep {
  readonly step: unknown;
  readonly reward: number;
  readonly discount: number;
  readonly last: boolean;
  readonly terminal: boolean;
}

function transitions<S>(n: number, gamma: number, episode: number, keep: (step: RldsStep) => RldsStep): Stage<S, unknown> {
  // The steps are in order, oldest first.
  let waiting: NumericStep[] = [];
  let index = 0;
  const end = (output: unknown[]) => {
    for (let i = 0; i + 1 < waiting.length; i++) output.push(transition(waiting.slice(i), n, gamma));
    waiting = [];
  };
  return {
    push(step, output) {
      const next = parseStep(keep(step as RldsStep), { episode, step: index++ });
      waiting.push(next);
      if (next.last) end(output);
      else if (waiting.length > n) {
        output.push(transition(waiting, n, gamma));
        waiting.shift();
      }
      return true;
    },
    end,
  };
}

/** Returns an n-step transition. @param steps the step of the transition, followed by the steps after it */
function transition(steps: readonly NumericStep[], n: number, gamma: number): unknown {
  let reward = 0;
  let discount = 1;
  let k = 0;
  let next = steps[0] as NumericStep;
  while (k < n && k + 1 < steps.length) {
    const current = next;
    next = steps[++k] as NumericStep;
    reward += discount * current.reward;
    discount *= gamma * current.discount * Number(!next.terminal);
    if (next.terminal || current.discount === 0) break;
  }
  const { observation } = next.step as RldsStep;
  const more = { reward, discount, n_steps: k, next_observation: observation, next_is_last: next.last, next_is_terminal: next.terminal };
  // `Object.assign` is twenty times as fast as a literal that spreads the step and adds names (V8 11).
  return Object.assign({}, steps[0]?.step, more);
}

function parseStep(step: RldsStep, place: { readonly episode: number; readonly step: number }): NumericStep {
  const number = (field: string, value: unknown) => {
    const numeric = numberOf(value);
    // A NaN that is not the value itself means that the conversion failed.
    if (Number.isNaN(numeric) && typeof value !== "number")
      throw new RldsError("SPEC_MISMATCH", mustBe(TypeError, field, "a single number", value).message, place);
    return numeric;
  };
  const flag = (field: string, value: unknown) => {
    const flag = flagOf(value);
    if (flag === undefined) throw new RldsError("SPEC_MISMATCH", mustBe(TypeError, field, "a flag: true, false, 1 or 0", value).message, place);
    return flag;
  };
  return {
    step,
    reward: number("reward", step.reward),
    discount: number("discount", step.discount),
    last: flag("is_last", step.is_last),
    terminal: flag("is_terminal", step.is_terminal),
  };
}

function transitionSpec(spec: StepSpec): StepSpec | undefined {
  if (isLeaf(spec) || !("observation" in spec)) return undefined;
  const number = { dtype: "f64", shape: [] } as const;
  const flag = { dtype: "bool", shape: [] } as const;
  return {
    ...(spec as { readonly [field: string]: StepSpec }),
    reward: number,
    discount: number,
    n_steps: { dtype: "i32", shape: [] },
    next_observation: spec.observation as StepSpec,
    next_is_last: flag,
    next_is_terminal: flag,
  };
}
