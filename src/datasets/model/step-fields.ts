/** Checks the seven fields that every RLDS step has. */
import { mustBe } from "../../base/error.ts";
import { isLeaf } from "../../schema/leaf.ts";
import type { RldsStep, StepSpec } from "./dataset.ts";
import { flagOf as oneFlag } from "./elements.ts";
import { type Place, RldsError } from "./rlds-error.ts";

export const STEP_FIELDS = ["observation", "action", "reward", "discount", "is_first", "is_last", "is_terminal"] as const;

/** Returns the step unchanged. @throws RldsError SPEC_MISMATCH if a field is missing */
export function mustBeStep(step: unknown, place?: Place): RldsStep {
  const record = (typeof step === "object" && step !== null ? step : {}) as RldsStep;
  if (STEP_FIELDS.every((field) => record[field] !== undefined)) return record;
  const fields = Object.keys(record).filter((field) => record[field] !== undefined);
  throw new RldsError(
    "SPEC_MISMATCH",
    `an RLDS step must have the fields ${STEP_FIELDS.join(", ")}, got ${fields.length === 0 ? "none" : fields.join(", ")}`,
    place,
  );
}

/** Returns the spec unchanged. @throws RldsError SPEC_MISMATCH if it does not have the seven fields */
export function mustBeStepSpec(spec: StepSpec): { readonly [field: string]: StepSpec } {
  if (isLeaf(spec)) throw new RldsError("SPEC_MISMATCH", `the spec of RLDS steps must be an object with ${STEP_FIELDS.join(", ")}, got a single leaf`);
  return mustBeStep(spec) as unknown as { readonly [field: string]: StepSpec };
}

/** Returns a flag of a step. The value may be a boolean, 0 or 1, or an array with one such value. @throws RldsError SPEC_MISMATCH for any other value */
export function flagOf(step: RldsStep, field: "is_first" | "is_last" | "is_terminal", place: Place): boolean {
  const flag = oneFlag(step[field]);
  if (flag !== undefined) return flag;
  throw new RldsError("SPEC_MISMATCH", mustBe(TypeError, field, "a flag: true, false, 1 or 0", step[field]).message, place);
}
