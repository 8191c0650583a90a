/** Shifts fields between steps, like `rlds.transformations.shift_keys`. */
import { integer, mustBe } from "../../../base/error.ts";
import { MAX_LENGTH } from "../../../base/limits.ts";
import { createStepCopier } from "../../model/copy-steps.ts";
import type { RldsDataset, RldsStep } from "../../model/dataset.ts";
import { keepSpec, withSteps } from "../../model/derive.ts";
import { applyStage, type Stage } from "../../model/maybe-async.ts";

/**
 * Replaces the values of `keys` in step i of an episode with the values of step i + shift. Other fields do not change. An episode of n steps then has n -
 * |shift| steps, or no steps if n is less than |shift|. Works lazily, and keeps |shift| steps in memory.
 * - (s, a, r, s'): `shiftKeys(mapSteps(rlds, (step) => ({...step, next_observation: step.observation})), ["next_observation", "is_last", "is_terminal"], 1)`
 * - SARSA: as above, but with `next_action: step.action` in the step and `"next_action"` in the keys. The last action of an episode has no meaning.
 * - (a, r, s') in one step: `shiftKeys(rlds, ["observation", "is_last", "is_terminal"], 1)`
 *
 * Flags are ordinary fields, so a forward shift without `is_last` in the keys produces episodes without a last step.
 * @throws TypeError, RangeError if an argument is invalid
 * @throws RangeError during iteration if a step does not have a key
 */
export function shiftKeys<S = RldsStep>(rlds: RldsDataset<S>, keys: readonly (keyof S & string)[], shift: number): RldsDataset<S> {
  const distance = Math.abs(integer("shift", shift, -MAX_LENGTH, MAX_LENGTH));
  if (!Array.isArray(keys) || keys.some((key) => typeof key !== "string")) throw mustBe(TypeError, "keys", "an array of field names", keys);
  const names: readonly (keyof S & string)[] = keys;
  const stage = (keep: (step: S) => S): Stage<S, S> => {
    // The steps are in order, oldest first.
    const waiting: S[] = [];
    return {
      push(input, output) {
        mustHave(input, keys);
        const step = keep(input);
        waiting.push(step);
        if (waiting.length <= distance) return true;
        const old = waiting.shift() as S;
        const [base, shifted] = shift > 0 ? [old, step] : [step, old];
        output.push({ ...base, ...Object.fromEntries(names.map((key) => [key, shifted[key]])) });
        return true;
      },
    };
  };
  return withSteps(rlds, (steps) => applyStage(steps, () => stage(createStepCopier(steps))), keepSpec);
}

function mustHave(step: unknown, keys: readonly string[]): void {
  for (const key of keys)
    if (typeof step !== "object" || step === null || !(key in step))
      throw mustBe(RangeError, "a key", `a field of the steps (${Object.keys(step ?? {}).join(", ")})`, key, Object.keys(step ?? {}));
}
