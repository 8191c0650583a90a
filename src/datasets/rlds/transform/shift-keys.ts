/** Fields of a step from its neighbours: `rlds.transformations.shift_keys`. */
import { integer, mustBe } from "../../../base/error.ts";
import { MAX_LENGTH } from "../../../base/limits.ts";
import { createStepCopier } from "../../model/copy-steps.ts";
import type { RldsDataset, RldsStep } from "../../model/dataset.ts";
import { keepSpec, withSteps } from "../../model/derive.ts";
import { applyStage, type Stage } from "../../model/maybe-async.ts";

/**
 * In step i of an episode, the values of `keys` become those of step i + shift; all else stays. An episode of n steps has n - |shift| then, or none. Lazy; memory: |shift| steps.
 * - (s, a, r, s'): `shiftKeys(mapSteps(rlds, (step) => ({...step, next_observation: step.observation})), ["next_observation", "is_last", "is_terminal"], 1)`
 * - SARSA: the same with `next_action: step.action` beside it, and `"next_action"` among the keys; the last action of an episode has no meaning.
 * - (a, r, s') in one step: `shiftKeys(rlds, ["observation", "is_last", "is_terminal"], 1)`
 *
 * The flags are fields as all others: with a shift forward that leaves `is_last` where it is, no step that is left is a last one.
 * @throws TypeError, RangeError for an argument; passes raise a RangeError for a key that a step does not have
 */
export function shiftKeys<S = RldsStep>(rlds: RldsDataset<S>, keys: readonly (keyof S & string)[], shift: number): RldsDataset<S> {
  const distance = Math.abs(integer("shift", shift, -MAX_LENGTH, MAX_LENGTH));
  if (!Array.isArray(keys) || keys.some((key) => typeof key !== "string")) throw mustBe(TypeError, "keys", "an array of fields' names", keys);
  const names: readonly (keyof S & string)[] = keys;
  const stage = (keep: (step: S) => S): Stage<S, S> => {
    // The oldest first.
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
      throw mustBe(RangeError, "keys", `fields of a step: ${Object.keys(step ?? {}).join(", ")}`, key, Object.keys(step ?? {}));
}
