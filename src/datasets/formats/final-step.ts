/** What the last step of an episode holds: what was seen last, or an action as well. */
import { mustBe } from "../../base/error.ts";
import type { StepLeaf } from "../model/dataset.ts";

/** What an episode's last step holds: the final observation alone, as in RLDS; or an action and a reward of its own, as in LeRobot. */
export type FinalStep = "observation" | "transition";

/** Where an episode's metadata say it: recordings and Replays know it of each episode. */
export const FINAL_STEP = "final_step";
export const FINAL_STEP_LEAF: StepLeaf = { dtype: "string", shape: [] };

/** @throws RangeError */
export function finalStepOf(value: unknown): FinalStep {
  if (!isFinalStep(value)) throw mustBe(RangeError, "finalStep", '"observation" or "transition"', value);
  return value;
}

interface Metadata {
  readonly [name: string]: unknown;
}

/** What an option says, or else the episode's metadata, or else the format. */
export function finalStepIn(metadata: Metadata, option: FinalStep | undefined, fallback: FinalStep): FinalStep {
  const value = option ?? metadata[FINAL_STEP];
  return isFinalStep(value) ? value : fallback;
}

/** The metadata of an episode that is written with another last step: where they say what it holds they say the new one. */
export function withFinalStep<M extends Metadata>(metadata: M, finalStep: FinalStep): M {
  return isFinalStep(metadata[FINAL_STEP]) ? { ...metadata, [FINAL_STEP]: finalStep } : metadata;
}

function isFinalStep(value: unknown): value is FinalStep {
  return value === "observation" || value === "transition";
}
