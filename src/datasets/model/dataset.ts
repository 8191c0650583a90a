/** What an RLDS dataset is: episodes, each of steps and metadata. Anything that yields this shape works. */
import type { Leaf, TextLeaf } from "../../schema/leaf.ts";
import type { Nest } from "../../schema/nest.ts";

/** What can be gone through, at once or as it comes. */
export type MaybeAsyncIterable<T> = Iterable<T> | AsyncIterable<T>;

// biome-ignore lint/suspicious/noExplicitAny: what is in a file is known to who reads it: say it by a type of steps, as in openRlds<S>
export type AnyValue = any;

/** One step, under the names that RLDS has for its fields; fields beside these are metadata. Action, reward and discount belong to the observation that they stand beside. */
export interface RldsStep {
  readonly observation: AnyValue;
  readonly action: AnyValue;
  readonly reward: AnyValue;
  readonly discount: AnyValue;
  readonly is_first: AnyValue;
  readonly is_last: AnyValue;
  readonly is_terminal: AnyValue;
  readonly [metadata: string]: AnyValue;
}

/** Steps, and whatever is known of the episode as a whole. */
export interface RldsEpisode<S = RldsStep> {
  readonly steps: MaybeAsyncIterable<S>;
  readonly [metadata: string]: unknown;
}

export type StepLeaf = Leaf | TextLeaf;

/** What one step is: as a Spec, and text. */
export type StepSpec = Nest<StepLeaf>;

/** A dataset; going through it again begins anew, but for those that are a generator. */
export type RldsDataset<S = RldsStep> = MaybeAsyncIterable<RldsEpisode<S>> & {
  /** What a step is, where that is known before any step is read. */
  readonly stepSpec?: StepSpec;
  /** What an episode has beside its steps. */
  readonly metadataSpec?: { readonly [name: string]: StepSpec };
};

export interface DatasetForm {
  readonly stepSpec?: StepSpec;
  readonly metadataSpec?: { readonly [name: string]: StepSpec };
}

/** A dataset that asks for its episodes anew each time that it is gone through. */
export function rldsDataset<S = RldsStep>(
  episodes: () => MaybeAsyncIterable<RldsEpisode<S>>,
  schema: DatasetForm = {},
): RldsDataset<S> & AsyncIterable<RldsEpisode<S>> {
  return {
    ...schema,
    async *[Symbol.asyncIterator]() {
      yield* episodes() as AsyncIterable<RldsEpisode<S>>;
    },
  };
}
