/** Replay of whole episodes and of their transitions: PFRL's EpisodicReplayBuffer. */

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
  /** The maximum number of transitions. Whole episodes are evicted, oldest first. Default: null, as many as memory holds */
  readonly capacity?: number | null;
}

/** The batch form of episodes. Every call returns new arrays, since the lengths of episodes differ. */
export interface EpisodeOptions {
  readonly form?: "batch";
}

export type MaxLength = number | null | EpisodeOptions | ListOptions;

/** Returns the arguments after n: a maximum length and options, both optional. */
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

  /** The number of episodes that ended. */
  get nEpisodes(): number {
    return this.#stored.episodes;
  }

  /**
   * Samples n different episodes uniformly. For an episode longer than maxLength, returns a run of that length, chosen uniformly.
   * @throws TypeError, RangeError · ReplayError EMPTY, TOO_FEW
   */
  sampleEpisodes(n: number, options: ListOptions): SampleList<Transition[]>;
  sampleEpisodes(n: number, maxLength: number | null | undefined, options: ListOptions): SampleList<Transition[]>;
  sampleEpisodes(n: number, maxLength?: number | null | EpisodeOptions, options?: EpisodeOptions): TransitionBatch<S>;
  sampleEpisodes(n: number, maxLength?: MaxLength, options?: EpisodeOptions | ListOptions): TransitionBatch<S> | SampleList<Transition[]> {
    return this.#stored.sampleEpisodes(n, episodeArguments(maxLength, options)) as unknown as TransitionBatch<S> | SampleList<Transition[]>;
  }

  /** Returns all episodes in PFRL's form, oldest first. */
  episodes(): Iterable<Transition[]> {
    return this.#stored.all();
  }
}
