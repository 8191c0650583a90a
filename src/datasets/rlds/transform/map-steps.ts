/** Changes steps and episodes one by one, like `rlds.transformations.map_nested_steps` and `apply_nested_steps`. */
import { mustBe, onlyKeys } from "../../../base/error.ts";
import type { DatasetForm, RldsDataset, RldsEpisode, RldsStep, StepSpec } from "../../model/dataset.ts";
import { attachSchema, episodesOf } from "../../model/derive.ts";
import { mapIterable } from "../../model/maybe-async.ts";
import { checkEpisode } from "../../model/traversal.ts";
import { mapSpec } from "./map-spec.ts";

export interface MapOptions {
  /** The spec of the new steps, or a function that derives it from the old spec. */
  readonly stepSpec?: StepSpec | ((spec: StepSpec | undefined) => StepSpec | undefined);
}

/**
 * Changes each step. `change(step, index)` must return a new step without modifying the old step, for example `mapSteps(rlds, (step) => ({...step, reward:
 * step.reward / 10}))`. Without `stepSpec`, the new spec is inferred from the first step. The spec is undefined before that step is read, or if that step does
 * not determine it. `change` is called only with steps of the data. Works lazily, with O(1) memory.
 * @throws TypeError if an argument is invalid
 */
export function mapSteps<S = RldsStep, T = S>(rlds: RldsDataset<S>, change: (step: S, index: number) => T, options: MapOptions = {}): RldsDataset<T> {
  const { stepSpec } = onlyKeys("options", options, "stepSpec");
  if (typeof change !== "function") throw mustBe(TypeError, "change", "a function of (step, index)", change);
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

/**
 * Changes each episode as a whole. The result has the specs in `schema`. Works lazily.
 * @throws TypeError, possibly during iteration, if a value is not an episode
 */
export function mapEpisodes<S = RldsStep, T = S>(
  rlds: RldsDataset<S>,
  change: (episode: RldsEpisode<S>, index: number) => RldsEpisode<T>,
  schema: DatasetForm = {},
): RldsDataset<T> {
  onlyKeys("form", schema, "stepSpec, metadataSpec");
  if (typeof change !== "function") throw mustBe(TypeError, "change", "a function of (episode, index)", change);
  const mapped = mapIterable(episodesOf(rlds), (episode, index) => checkEpisode(change(checkEpisode(episode, index), index), index));
  return attachSchema<T>(mapped, schema);
}
