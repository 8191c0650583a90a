/** Converts an environment's transitions to RLDS steps, with flags, discounts and an optional final step. */

import { pack, valueAt } from "../../../schema/nest.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { FINAL_STEP, type FinalStep } from "../../model/final-step.ts";
import { leavesOf } from "../../model/leaves.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import { joined } from "./column.ts";

/** How an episode ends: the environment terminated it, a time limit or a similar cause truncated it, or the data stops while the episode is still open. */
export type Ending = "terminated" | "truncated" | "open";

/** The specs of the observation, the action, the reward and metadata, and optionally of a discount. */
export interface TransitionSpec {
  readonly observation: StepSpec;
  readonly action: StepSpec;
  readonly reward: StepSpec;
  readonly [metadata: string]: StepSpec;
}

/** The transitions of one episode. */
export interface Transitions {
  /** One column per leaf of the TransitionSpec. If a column has one row fewer than the steps, a blank row is added. */
  readonly data: readonly ColumnData[];
  /** The number of actions. */
  readonly length: number;
  /** Whether a step with the final observation follows the last transition. */
  readonly finalStep: boolean;
  readonly ending: Ending;
  /** One flag per transition, which is 1 if the environment terminated there, even in the middle of an episode. Its discount is then 0. */
  readonly terminated?: ColumnData;
}

const BOOL = { dtype: "bool", shape: [] } as const;

/** The steps of an episode, and the kind of the last step. */
export interface EndedSteps {
  readonly steps: StepColumns<RldsStep>;
  readonly [FINAL_STEP]: FinalStep;
}

/** Returns the spec of the steps. Never throws, because the flags replace any fields with the same names. */
export function stepSpecOf(transition: TransitionSpec): StepSpec {
  return { discount: { dtype: "f32", shape: [] }, ...transition, is_first: BOOL, is_last: BOOL, is_terminal: BOOL };
}

/**
 * Returns the steps of an episode. A final step has zeros for all values that `data` lacks, including the action and the reward. The last transition has a
 * discount of 0 if the environment terminated. Discounts in `data` are not changed. If there is no final step, the last transition is the last step, and keeps
 * its action and reward.
 */
export function episodeSteps(transition: TransitionSpec, { data, length, finalStep, ending, terminated }: Transitions): EndedSteps {
  const steps = length + (finalStep ? 1 : 0);
  const columnsByField = pack(
    transition,
    leavesOf(transition).map(({ leaf }, i) => joined(leaf, [data[i] as ColumnData], steps)),
  ) as { readonly [name: string]: unknown };
  const discount = new Float32Array(steps).fill(1, 0, length);
  const [first, last, terminal] = [0, 1, 2].map(() => new Uint8Array(steps)) as [Uint8Array, Uint8Array, Uint8Array];
  if (steps > 0) first[0] = 1;
  if (ending !== "open" && steps > 0) last[steps - 1] = 1;
  if (ending === "terminated" && steps > 0) terminal[steps - 1] = 1;
  if (ending === "terminated" && length > 0) discount[length - 1] = 0;
  for (let i = 0; terminated !== undefined && i < length; i++) if (terminated[i] === 1) discount[i] = 0;
  const columns = { discount, ...columnsByField, is_first: first, is_last: last, is_terminal: terminal };
  const spec = stepSpecOf(transition);
  const stepData = leavesOf(spec).map(({ keys }) => valueAt(columns, keys) as ColumnData);
  return { steps: new StepColumns<RldsStep>(spec, stepData, steps), [FINAL_STEP]: finalStep ? "observation" : "transition" };
}
