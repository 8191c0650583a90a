/** What a policy knew at each step: made of the step and the next one. */
import { isText, type RowLeaf, zeroOf } from "../../spec/leaf.ts";
import { map, valueAt } from "../../spec/nest.ts";
import type { Spec } from "../../spec/spec.ts";
import type { RldsStep, StepLeaf, StepSpec } from "../dataset/dataset.ts";
import { leavesOf } from "../dataset/leaves.ts";
import { type Place, RldsError } from "../dataset/rlds-error.ts";
import { stepSpecOf } from "../dataset/step-spec.ts";

/** Of the step after the very last one every field is zeros, and `is_first` is true. */
export type PolicyInfoFn<S = RldsStep, P = unknown> = (step: S, next: S) => P;

/** A step of zeros that begins an episode: what follows the last step of all. */
export function zeroStep(spec: StepSpec): RldsStep {
  return { ...(map(spec, zeroOf) as unknown as RldsStep), is_first: true };
}

/**
 * The spec of what a function makes of steps: the dtype of what it takes from a step as it is, and of all else as the values tell (numbers are f32).
 * @throws what the function throws · RldsError SPEC_MISMATCH where it gives nothing, or text
 */
export function policyInfoSpec(policyInfoFn: PolicyInfoFn | undefined, stepSpec: StepSpec, maxTextBytes: number | undefined): Spec {
  if (policyInfoFn === undefined) return [];
  const zero = zeroStep(stepSpec);
  const value = mustBeInfo(policyInfoFn(zero, zero));
  if (Array.isArray(value) && value.length === 0) return [];
  const taken = traced(policyInfoFn, stepSpec);
  const leaves = new Set<unknown>(leavesOf(stepSpec).map(({ leaf }) => leaf));
  const told = map(stepSpecOf(value), (leaf, keys) => {
    const from = valueAt(taken, keys);
    return leaves.has(from) ? (from as StepLeaf) : leaf;
  });
  return replayable(told, "policyInfo", maxTextBytes);
}

/** What the function gives for the spec itself instead of a step: leaves, where it only picks fields. */
function traced(policyInfoFn: PolicyInfoFn, stepSpec: StepSpec): unknown {
  try {
    return policyInfoFn(stepSpec as unknown as RldsStep, stepSpec as unknown as RldsStep);
  } catch {
    return undefined;
  }
}

/** @throws RldsError SPEC_MISMATCH */
export function mustBeInfo(value: unknown, place?: Place): unknown {
  if (value === undefined || value === null || missing(value))
    throw new RldsError("SPEC_MISMATCH", "policyInfoFn must return a value or nested values without undefined: is the name of a field misspelt?", place);
  if (typeof (value as Partial<PromiseLike<unknown>>).then === "function")
    throw new RldsError("SPEC_MISMATCH", "policyInfoFn must not be async, got a promise", place);
  return value;
}

function missing(value: unknown): boolean {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value === undefined || value === null;
  return Object.values(value).some(missing);
}

/**
 * A spec that a Replay can hold.
 * @param maxTextBytes of text whose leaf does not say it
 * @throws RldsError UNSUPPORTED for bytes, and for text without a limit
 */
export function replayable(spec: StepSpec, field: string, maxTextBytes: number | undefined): Spec {
  return map(spec, (leaf, keys): RowLeaf => {
    if (!isText(leaf)) return leaf;
    const { dtype, shape, maxBytes = maxTextBytes } = leaf;
    const named = [field, ...keys].join("/");
    if (dtype === "bytes")
      throw new RldsError("UNSUPPORTED", `${named} is bytes, which a Replay cannot hold: leave it out, or make numbers of it, with mapSteps`);
    if (maxBytes === undefined) throw new RldsError("UNSUPPORTED", `${named} is text: set maxTextBytes, the limit of a string, or leave it out with mapSteps`);
    return { ...leaf, dtype, shape, maxBytes };
  });
}
