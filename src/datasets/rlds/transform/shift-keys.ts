/** Fields of a step from its neighbours: `rlds.transformations.shift_keys`. */
import { integer, mustBe } from "../../../base/error.ts";
import { MAX_LENGTH } from "../../../base/limits.ts";
import { keeperOf } from "../../model/copied.ts";
import type { RldsDataset, RldsStep } from "../../model/dataset.ts";
import { sameForm, withSteps } from "../../model/derived.ts";
import { type Stage, through } from "../../model/each.ts";

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
      push(given, out) {
        mustHave(given, keys);
        const step = keep(given);
        waiting.push(step);
        if (waiting.length <= distance) return true;
        const old = waiting.shift() as S;
        const [own, other] = shift > 0 ? [old, step] : [step, old];
        out.push({ ...own, ...Object.fromEntries(names.map((key) => [key, other[key]])) });
        return true;
      },
    };
  };
  return withSteps(rlds, (steps) => through(steps, () => stage(keeperOf(steps))), sameForm);
}

function mustHave(step: unknown, keys: readonly string[]): void {
  for (const key of keys)
    if (typeof step !== "object" || step === null || !(key in step))
      throw mustBe(RangeError, "keys", `fields of a step: ${Object.keys(step ?? {}).join(", ")}`, key);
}
