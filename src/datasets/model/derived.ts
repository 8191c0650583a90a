/** Datasets that are made of another one, episode by episode, as they are asked for. */
import type { DatasetForm, Each, RldsDataset, RldsEpisode, StepSpec } from "./dataset.ts";
import { eachOf, mapped } from "./each.ts";
import { checkedEpisode } from "./pass.ts";

/** Changes each episode's steps; what is known of the episode as a whole stays. O(1) an episode. */
export function withSteps<S, T>(
  rlds: RldsDataset<S>,
  change: (steps: Each<S>, index: number) => Each<T>,
  changeSpec: (spec: StepSpec) => StepSpec | undefined,
): RldsDataset<T> {
  const each = mapped(episodesOf(rlds), (episode, index) => ({ ...checkedEpisode(episode, index), steps: change(episode.steps, index) }));
  return formedAs<T>(each, formOf(rlds, changeSpec));
}

export const sameForm = (spec: StepSpec): StepSpec => spec;

/** @throws TypeError */
export function episodesOf<S>(rlds: RldsDataset<S>): Each<RldsEpisode<S>> {
  return eachOf<RldsEpisode<S>>("rlds", rlds);
}

/** A form that is found out when somebody asks: a spec may be a matter of calling functions of the user. */
export function formOf(rlds: DatasetForm, changeSpec: (spec: StepSpec) => StepSpec | undefined = sameForm): DatasetForm {
  return {
    get stepSpec() {
      const { stepSpec } = rlds;
      return stepSpec && changeSpec(stepSpec);
    },
    get metadataSpec() {
      return rlds.metadataSpec;
    },
  };
}

/** Gives episodes a form; its getters stay getters. */
export function formedAs<T>(each: Each<RldsEpisode<T>>, form: DatasetForm): RldsDataset<T> {
  return Object.defineProperties(each, Object.getOwnPropertyDescriptors(form)) as RldsDataset<T>;
}
