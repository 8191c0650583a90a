/** What every writer of files takes and tells. */
import { internals } from "../index.ts";
import type { Each, RldsDataset, RldsEpisode, StepSpec } from "../rlds/dataset.ts";
import { RldsError } from "../rlds/rlds-error.ts";
import { StepColumns } from "../rlds/step-columns.ts";
import { stepSpecOf } from "../rlds/step-spec.ts";

/** So much is written so far. */
export interface WriteProgress {
  readonly episodes: number;
  readonly steps: number;
  readonly bytes: number;
}

export interface WriteOptions {
  readonly signal?: AbortSignal;
  /** Called after each episode. */
  readonly onProgress?: (progress: WriteProgress) => void;
  /** Whether a dataset that is there is replaced; else it is an error. Default: false */
  readonly overwrite?: boolean;
}

export interface WriteReport extends WriteProgress {
  /** The paths of the files, in the sink. */
  readonly files: readonly string[];
}

/** A dataset whose form is known. */
export interface FormedDataset {
  readonly stepSpec: StepSpec;
  readonly metadataSpec: { readonly [name: string]: StepSpec };
  readonly episodes: AsyncGenerator<RldsEpisode<unknown>, void>;
}

/**
 * The form of a dataset, and its episodes, which can be gone through once. Where it does not say its form, the first step tells, and the first episode's metadata;
 * episodes without steps before it wait.
 * @throws RldsError EMPTY where no step tells the form · SPEC_MISMATCH where the first one cannot
 */
export async function formed(rlds: RldsDataset<unknown>, signal?: AbortSignal): Promise<FormedDataset> {
  const source = episodesOf(rlds, signal);
  const held: RldsEpisode<unknown>[] = [];
  let { stepSpec, metadataSpec } = rlds;
  const episodes = async function* (): AsyncGenerator<RldsEpisode<unknown>, void> {
    try {
      while (held.length > 0) yield held.shift() as RldsEpisode<unknown>;
      yield* source;
    } finally {
      await source.return();
    }
  };
  try {
    while (stepSpec === undefined || metadataSpec === undefined) {
      const next = await source.next();
      if (next.done) throw new RldsError("EMPTY", "there is no step that could tell what a step is: give the dataset a stepSpec");
      const { steps, ...metadata } = next.value;
      metadataSpec ??= stepSpecOf(metadata, { episode: held.length }) as { readonly [name: string]: StepSpec };
      if (stepSpec === undefined) {
        const { first, all } = await peeked(steps);
        if (first !== undefined) stepSpec = first instanceof Known ? first.spec : stepSpecOf(first, { episode: held.length, step: 0 });
        held.push({ ...metadata, steps: all });
      } else held.push(next.value);
    }
  } catch (error) {
    await source.return();
    throw error;
  }
  return { stepSpec, metadataSpec, episodes: episodes() };
}

/** A spec that needs no first step. */
class Known {
  readonly spec: StepSpec;

  constructor(spec: StepSpec) {
    this.spec = spec;
  }
}

/** The first step, and all of them, that one again included. */
async function peeked(steps: Each<unknown>): Promise<{ readonly first: unknown; readonly all: Each<unknown> }> {
  if (steps instanceof StepColumns) return { first: steps.length === 0 ? undefined : new Known(steps.spec), all: steps };
  if (Array.isArray(steps)) return { first: steps[0], all: steps };
  const iterator = Symbol.asyncIterator in steps ? steps[Symbol.asyncIterator]() : steps[Symbol.iterator]();
  const first = await iterator.next();
  const all = (async function* () {
    try {
      for (let next = first; !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  })();
  return { first: first.done ? undefined : first.value, all };
}

async function* episodesOf(rlds: RldsDataset<unknown>, signal?: AbortSignal): AsyncGenerator<RldsEpisode<unknown>, void> {
  let episode = 0;
  for await (const value of rlds as AsyncIterable<RldsEpisode<unknown>>) {
    signal?.throwIfAborted();
    if (typeof value !== "object" || value === null || typeof value.steps !== "object" || value.steps === null)
      throw new RldsError("SPEC_MISMATCH", internals.mustBe(TypeError, "episode", "an object with steps", value).message, { episode });
    yield value;
    episode++;
  }
  signal?.throwIfAborted();
}
