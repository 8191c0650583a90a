/** Steps and episodes, changed one by one: `rlds.transformations.map_nested_steps` and `apply_nested_steps`. */
import { mustBe, onlyKeys } from "../../../base/error.ts";
import type { DatasetForm, RldsDataset, RldsEpisode, RldsStep, StepSpec } from "../../model/dataset.ts";
import { attachSchema, episodesOf } from "../../model/derive.ts";
import { mapIterable } from "../../model/maybe-async.ts";
import { checkEpisode } from "../../model/traversal.ts";
import { mapSpec } from "./map-spec.ts";

export interface MapOptions {
  /** The spec of the new steps, or what makes it of the old one. */
  readonly stepSpec?: StepSpec | ((spec: StepSpec | undefined) => StepSpec | undefined);
}

/**
 * Each step, changed. `change(step, index)` gives a new step and leaves the old one as it is: `mapSteps(rlds, (step) => ({...step, reward: step.reward / 10}))`. Lazy; O(1) memory.
 * Where no `stepSpec` is given, the new one is known when the first step has come: undefined before, and where that step does not tell it. `change` is called with real steps only.
 * @throws TypeError
 */
export function mapSteps<S = RldsStep, T = S>(rlds: RldsDataset<S>, change: (step: S, index: number) => T, options: MapOptions = {}): RldsDataset<T> {
  const { stepSpec } = onlyKeys("options", options, "stepSpec");
  if (typeof change !== "function") throw mustBe(TypeError, "change", "a function (step, index)", change);
  let isFirst = stepSpec === undefined;
  let inferredSpec: StepSpec | undefined;
  const changed = (step: S, index: number): T => {
    const result = change(step, index);
    if (isFirst) {
      isFirst = false;
      const { stepSpec: old } = rlds;
      inferredSpec = old && mapSpec(old, step, result);
    }
    return result;
  };
  const schema = {
    get stepSpec() {
      return typeof stepSpec === "function" ? stepSpec(rlds.stepSpec) : (stepSpec ?? inferredSpec);
    },
    get metadataSpec() {
      return rlds.metadataSpec;
    },
  };
  const mapped = mapIterable(episodesOf(rlds), (episode, index) => ({ ...checkEpisode(episode, index), steps: mapIterable(episode.steps, changed) }));
  return attachSchema<T>(mapped, schema);
}

/** Each episode, changed as a whole. The form is what is given. Lazy. @throws TypeError, in passes too, for what is no episode */
export function mapEpisodes<S = RldsStep, T = S>(
  rlds: RldsDataset<S>,
  change: (episode: RldsEpisode<S>, index: number) => RldsEpisode<T>,
  schema: DatasetForm = {},
): RldsDataset<T> {
  onlyKeys("form", schema, "stepSpec, metadataSpec");
  if (typeof change !== "function") throw mustBe(TypeError, "change", "a function (episode, index)", change);
  const mapped = mapIterable(episodesOf(rlds), (episode, index) => checkEpisode(change(checkEpisode(episode, index), index), index));
  return attachSchema<T>(mapped, schema);
}
