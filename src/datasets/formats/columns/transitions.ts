/** From transitions, as environments give them, to RLDS's steps: flags and discounts, and a final step where there is one. */

import { pack, valueAt } from "../../../schema/nest.ts";
import type { RldsStep, StepSpec } from "../../model/dataset.ts";
import { FINAL_STEP, type FinalStep } from "../../model/final-step.ts";
import { leavesOf } from "../../model/leaves.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import { joined } from "./column.ts";

/** How an episode stops: the environment ended it, a time limit or the like did, or the data just ends. */
export type Ending = "terminated" | "truncated" | "open";

/** Observation, action and reward, perhaps a discount, and metadata beside them. */
export interface TransitionSpec {
  readonly observation: StepSpec;
  readonly action: StepSpec;
  readonly reward: StepSpec;
  readonly [metadata: string]: StepSpec;
}

export interface Transitions {
  /** A column a leaf of the TransitionSpec; one that is a row short of the steps has zeros there. */
  readonly data: readonly ColumnData[];
  /** Actions that were taken. */
  readonly length: number;
  /** Whether a step with the final observation follows. */
  readonly finalStep: boolean;
  readonly ending: Ending;
  /** Where rows say by themselves that the environment ended: a 1 each, also in the middle. */
  readonly terminated?: ColumnData;
}

const BOOL = { dtype: "bool", shape: [] } as const;

/** The steps of an episode, and the kind of the last one. */
export interface EndedSteps {
  readonly steps: StepColumns<RldsStep>;
  readonly [FINAL_STEP]: FinalStep;
}

/** What the steps are. @throws nothing: names that RLDS has for the flags give way to it */
export function stepSpecOf(transition: TransitionSpec): StepSpec {
  return { discount: { dtype: "f32", shape: [] }, ...transition, is_first: BOOL, is_last: BOOL, is_terminal: BOOL };
}

/**
 * The steps of an episode. The reward that led to the end stands beside the last observation but one, with a discount of 0 where the environment ended it;
 * the final step has zeros. Discounts that the data has stay as they are. Without a final step the last transition is the last step, and keeps its action and reward.
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
