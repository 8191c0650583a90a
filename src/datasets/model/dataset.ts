/** Defines the types of an RLDS dataset, which consists of episodes with steps and metadata. Any object with this structure works. */
import type { Leaf, TextLeaf } from "../../schema/leaf.ts";
import type { Nest } from "../../schema/nest.ts";

/** A synchronous or asynchronous iterable. */
export type MaybeAsyncIterable<T> = Iterable<T> | AsyncIterable<T>;

// biome-ignore lint/suspicious/noExplicitAny: the content of a file is known only to the caller, who sets the type of steps, as in openRlds<S>
export type AnyValue = any;

/**
 * A step with the field names of RLDS. Additional fields are metadata. The action, the reward and the discount follow from the observation of the same step.
 */
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

/** An episode with its steps and its metadata. */
export interface RldsEpisode<S = RldsStep> {
  readonly steps: MaybeAsyncIterable<S>;
  readonly [metadata: string]: unknown;
}

export type StepLeaf = Leaf | TextLeaf;

/** The spec of a step. Unlike a Spec, it may contain text without a limit. */
export type StepSpec = Nest<StepLeaf>;

/** A dataset, which is an iterable of episodes. Each iteration starts from the first episode, unless the dataset is a generator. */
export type RldsDataset<S = RldsStep> = MaybeAsyncIterable<RldsEpisode<S>> & {
  /** The spec of the steps, if it is known before a step is read. */
  readonly stepSpec?: StepSpec;
  /** The spec of an episode's metadata. */
  readonly metadataSpec?: { readonly [name: string]: StepSpec };
};

export interface DatasetForm {
  readonly stepSpec?: StepSpec;
  readonly metadataSpec?: { readonly [name: string]: StepSpec };
}

/** Returns a dataset that calls `episodes` at the beginning of each iteration. */
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
