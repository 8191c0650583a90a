/** The kind of the last row of an episode, in tables that are not ours. */
import type { RldsStep } from "../../model/dataset.ts";
import { isAllZero } from "../../model/elements.ts";
import type { FinalStep } from "../../model/final-step.ts";
import type { StepColumns } from "../../model/step-columns.ts";

/**
 * A row of a table is a transition. Only with the flags of RLDS a last row may be a final observation: if it is_last, and its action and reward are the zeros that RLDS has there. An action or
 * a reward that somebody wrote down is never lost.
 * @param hasRldsFlags whether the table has is_first or is_last
 */
export function finalRowOf(steps: StepColumns<unknown>, hasRldsFlags: boolean): FinalStep {
  const last = steps.length === 0 || !hasRldsFlags ? undefined : (steps.at(steps.length - 1) as RldsStep);
  return last?.is_last === true && isAllZero([last.action, last.reward]) ? "observation" : "transition";
}
