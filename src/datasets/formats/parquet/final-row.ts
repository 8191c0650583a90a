/** Determines the kind of an episode's last row, in tables that Reprise did not write. */
import type { RldsStep } from "../../model/dataset.ts";
import { isAllZero } from "../../model/elements.ts";
import type { FinalStep } from "../../model/final-step.ts";
import type { StepColumns } from "../../model/step-columns.ts";

/**
 * Returns the kind of the last row. A row is a transition, except for the last row in a table with RLDS flags. That row is a final observation if it has
 * `is_last` set and its action and reward are zeros, as in RLDS. A recorded action or reward is never lost.
 * @param hasRldsFlags whether the table has is_first or is_last
 */
export function finalRowOf(steps: StepColumns<unknown>, hasRldsFlags: boolean): FinalStep {
  const last = steps.length === 0 || !hasRldsFlags ? undefined : (steps.at(steps.length - 1) as RldsStep);
  return last?.is_last === true && isAllZero([last.action, last.reward]) ? "observation" : "transition";
}
