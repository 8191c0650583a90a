/** Derives datasets from other datasets lazily, one episode at a time. */
import type { DatasetForm, MaybeAsyncIterable, RldsDataset, RldsEpisode, StepSpec } from "./dataset.ts";
import { checkIterable, mapIterable } from "./maybe-async.ts";
import { checkEpisode } from "./traversal.ts";

/** Changes the steps of each episode and keeps its metadata. O(1) per episode */
export function withSteps<S, T>(
  rlds: RldsDataset<S>,
  change: (steps: MaybeAsyncIterable<S>, index: number) => MaybeAsyncIterable<T>,
  changeSpec: (spec: StepSpec) => StepSpec | undefined,
): RldsDataset<T> {
  const episodes = mapIterable(episodesOf(rlds), (episode, index) => ({ ...checkEpisode(episode, index), steps: change(episode.steps, index) }));
  return attachSchema<T>(episodes, deriveSchema(rlds, changeSpec));
}

export const keepSpec = (spec: StepSpec): StepSpec => spec;

/** Returns the dataset unchanged. @throws TypeError if it is not iterable */
export function episodesOf<S>(rlds: RldsDataset<S>): MaybeAsyncIterable<RldsEpisode<S>> {
  return checkIterable<RldsEpisode<S>>("rlds", rlds);
}

/** Returns a derived schema whose specs are computed on first access, because computing a spec may call user functions. */
export function deriveSchema(
  rlds: DatasetForm,
  changeSpec: (spec: StepSpec) => StepSpec | undefined = keepSpec,
  changeMetadata: (spec: NonNullable<DatasetForm["metadataSpec"]>) => DatasetForm["metadataSpec"] = (spec) => spec,
): DatasetForm {
  return {
    get stepSpec() {
      const { stepSpec } = rlds;
      return stepSpec && changeSpec(stepSpec);
    },
    get metadataSpec() {
      const { metadataSpec } = rlds;
      return metadataSpec && changeMetadata(metadataSpec);
    },
  };
}

/** Attaches a schema to episodes. Getters remain getters. */
export function attachSchema<T>(episodes: MaybeAsyncIterable<RldsEpisode<T>>, schema: DatasetForm): RldsDataset<T> {
  return Object.defineProperties(episodes, Object.getOwnPropertyDescriptors(schema)) as RldsDataset<T>;
}
