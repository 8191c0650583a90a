/** The kind of an episode's last step: a final observation, or a transition. */
import { mustBe } from "../../base/error.ts";
import type { StepLeaf, StepSpec } from "./dataset.ts";
import { numberLike } from "./episode-number.ts";

/**
 * The kind of an episode's last step. "observation": the final observation alone, as in RLDS. "transition": an action and a reward of its own, as in LeRobot; no data has the observation
 * that followed.
 */
export type FinalStep = "observation" | "transition";

/** The name under which an episode's metadata state it. Every reader does. */
export const FINAL_STEP = "final_step";
export const FINAL_STEP_LEAF: StepLeaf = { dtype: "string", shape: [] };

interface Metadata {
  readonly [name: string]: unknown;
}

/** The metadata's spec of a reader. */
export function finalStepSpec(spec: { readonly [name: string]: StepSpec } = {}): { readonly [name: string]: StepSpec } {
  return { ...spec, [FINAL_STEP]: spec[FINAL_STEP] ?? FINAL_STEP_LEAF };
}

/** @throws RangeError */
export function mustBeFinalStep(value: unknown): FinalStep {
  if (!isFinalStep(value)) throw mustBe(RangeError, "finalStep", '"observation" or "transition"', value);
  return value;
}

/** What an episode's metadata state; undefined if they do not. */
export function statedFinalStep(metadata: Metadata): FinalStep | undefined {
  const value = metadata[FINAL_STEP];
  return isFinalStep(value) ? value : undefined;
}

/** The kind of an episode's last step. RLDS decides where nothing states it: a step that is_last is a final observation. @param option overrides the metadata */
export function finalStepOf(metadata: Metadata, isLast: boolean, option?: FinalStep): FinalStep {
  return option ?? statedFinalStep(metadata) ?? (isLast ? "observation" : "transition");
}

/** An episode whose metadata state it. */
export function withFinalStep<M extends Metadata>(metadata: M, finalStep: FinalStep): M {
  return numberLike({ ...metadata, [FINAL_STEP]: finalStep }, metadata);
}

/** Metadata, or their spec, for a format that has one kind of last step alone. */
export function withoutFinalStep<M extends Metadata>(metadata: M): M {
  const { [FINAL_STEP]: _, ...rest } = metadata;
  return rest as M;
}

function isFinalStep(value: unknown): value is FinalStep {
  return value === "observation" || value === "transition";
}
