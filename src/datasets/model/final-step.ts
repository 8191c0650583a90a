/** Defines the two kinds of last steps of an episode, which are final observations and transitions. */
import { mustBe } from "../../base/error.ts";
import type { StepLeaf, StepSpec } from "./dataset.ts";
import { numberLike } from "./episode-number.ts";

/**
 * The kind of an episode's last step.
 * - "observation": the step is only a final observation, as in RLDS.
 * - "transition": the step has an action and a reward, as in LeRobot. Its next observation is not in the data.
 */
export type FinalStep = "observation" | "transition";

/** The key of the kind in an episode's metadata. Every reader sets it. */
export const FINAL_STEP = "final_step";
export const FINAL_STEP_LEAF: StepLeaf = { dtype: "string", shape: [] };

interface Metadata {
  readonly [name: string]: unknown;
}

/** Returns the spec of a reader's metadata with the key for the kind of the last step. */
export function finalStepSpec(spec: { readonly [name: string]: StepSpec } = {}): { readonly [name: string]: StepSpec } {
  return { ...spec, [FINAL_STEP]: spec[FINAL_STEP] ?? FINAL_STEP_LEAF };
}

/** Returns the value unchanged. @throws RangeError if it is not a kind of last step */
export function mustBeFinalStep(value: unknown): FinalStep {
  if (!isFinalStep(value)) throw mustBe(RangeError, "finalStep", '"observation" or "transition"', value);
  return value;
}

/** Returns the kind that the metadata of an episode state, or undefined. */
export function statedFinalStep(metadata: Metadata): FinalStep | undefined {
  const value = metadata[FINAL_STEP];
  return isFinalStep(value) ? value : undefined;
}

/**
 * Returns the kind of an episode's last step. If neither the option nor the metadata states the kind, the RLDS rule applies, under which a step with `is_last`
 * is a final observation. @param option overrides the metadata
 */
export function finalStepOf(metadata: Metadata, isLast: boolean, option?: FinalStep): FinalStep {
  return option ?? statedFinalStep(metadata) ?? (isLast ? "observation" : "transition");
}

/** Returns a copy of the metadata that states the kind. */
export function withFinalStep<M extends Metadata>(metadata: M, finalStep: FinalStep): M {
  return numberLike({ ...metadata, [FINAL_STEP]: finalStep }, metadata);
}

/** Returns a copy of the metadata, or of their spec, without the kind, for formats that support only one kind. */
export function withoutFinalStep<M extends Metadata>(metadata: M): M {
  const { [FINAL_STEP]: _, ...rest } = metadata;
  return rest as M;
}

function isFinalStep(value: unknown): value is FinalStep {
  return value === "observation" || value === "transition";
}
