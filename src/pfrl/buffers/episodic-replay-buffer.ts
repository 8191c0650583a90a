/** Implements `EpisodicReplayBuffer` of PFRL: replay of whole episodes, and of their transitions. */

import { integer, mustBe, onlyKeys } from "../../base/error.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import { argumentsOf, capacityOf } from "../arguments.ts";
import { contentOfEpisodes } from "../files/episodes-history.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import type { SampleList, TransitionBatch } from "../rows/transition-batch.ts";
import { type EpisodeSampleOptions, EpisodeStore } from "../store/episodes.ts";
import type { Transition } from "../transition.ts";
import { type BufferOptions, type ListOptions, StoredBuffer } from "./stored-buffer.ts";

export interface EpisodicReplayBufferOptions<S extends StepSpec = StepSpec> extends BufferOptions<S> {
  /** The maximum number of transitions. Whole episodes are evicted, the oldest first. Default: null, for no limit except memory. */
  readonly capacity?: number | null;
}

/** The options for the batch form of episodes. The arrays of a batch of episodes are always new, since their length varies. */
export interface EpisodeOptions {
  readonly form?: "batch";
}

export type MaxLength = number | null | EpisodeOptions | ListOptions;

/** Reads the arguments after n: a maximum length, and options. Either argument may be omitted. */
export function episodeArguments(maxLength: MaxLength | undefined, options: EpisodeOptions | ListOptions | undefined): EpisodeSampleOptions {
  const isOptions = typeof maxLength === "object" && maxLength !== null;
  const { form = "batch" } = onlyKeys("options", (isOptions ? maxLength : options) ?? {}, "form") as { form?: unknown };
  if (form !== "batch" && form !== "list") throw mustBe(RangeError, "form", '"batch" or "list"', form);
  const max = isOptions ? undefined : (maxLength ?? undefined);
  return { maxLength: max === undefined ? undefined : integer("maxLength", max, 0), form };
}

export class EpisodicReplayBuffer<const S extends StepSpec = StepSpec> extends StoredBuffer<TransitionBatch<S>, Transition[]> {
  readonly #stored: EpisodeStore;

  constructor(options?: EpisodicReplayBufferOptions<S>);
  constructor(capacity?: number | null, options?: BufferOptions<S>);
  constructor(...args: unknown[]) {
    hideFrames(new.target);
    const { capacity, spec, ...engine } = argumentsOf("EpisodicReplayBuffer", ["capacity"], args) as EpisodicReplayBufferOptions<S>;
    const stored = new EpisodeStore({ capacity: capacityOf(capacity), spec, engine });
    super(stored, contentOfEpisodes(stored));
    this.#stored = stored;
  }

  /** The number of completed episodes. */
  get nEpisodes(): number {
    return this.#stored.episodes;
  }

  /**
   * Draws n different episodes uniformly. An episode longer than maxLength contributes a uniformly random run of maxLength steps.
   * @throws TypeError, RangeError if an argument is invalid
   * @throws ReplayError EMPTY if the buffer is empty
   * @throws ReplayError TOO_FEW if the buffer has fewer than n episodes
   */
  sampleEpisodes(n: number, options: ListOptions): SampleList<Transition[]>;
  sampleEpisodes(n: number, maxLength: number | null | undefined, options: ListOptions): SampleList<Transition[]>;
  sampleEpisodes(n: number, maxLength?: number | null | EpisodeOptions, options?: EpisodeOptions): TransitionBatch<S>;
  sampleEpisodes(n: number, maxLength?: MaxLength, options?: EpisodeOptions | ListOptions): TransitionBatch<S> | SampleList<Transition[]> {
    return this.#stored.sampleEpisodes(n, episodeArguments(maxLength, options)) as unknown as TransitionBatch<S> | SampleList<Transition[]>;
  }

  /** Iterates over all completed episodes, each as a list of transitions, oldest first. */
  episodes(): Iterable<Transition[]> {
    return this.#stored.all();
  }
}
