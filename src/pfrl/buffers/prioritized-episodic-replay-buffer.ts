/** Implements `PrioritizedEpisodicReplayBuffer` of PFRL: replay of whole episodes in proportion to their errors. */

import { mustBe } from "../../base/error.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import { argumentsOf, capacityOf } from "../arguments.ts";
import { contentOfEpisodes } from "../files/episodes-history.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import type { SampleList, TransitionBatch, WeightedBatch } from "../rows/transition-batch.ts";
import { EpisodeStore } from "../store/episodes.ts";
import type { NormalizeByMax, WeighingOptions } from "../store/importance-weights.ts";
import { Priorities } from "../store/priorities.ts";
import type { Transition } from "../transition.ts";
import { type EpisodeOptions, episodeArguments, type MaxLength } from "./episodic-replay-buffer.ts";
import { PrioritizedBuffer } from "./prioritized-buffer.ts";
import type { BufferOptions, ListOptions } from "./stored-buffer.ts";

export interface PrioritizedEpisodicReplayBufferOptions<S extends StepSpec = StepSpec> extends BufferOptions<S>, WeighingOptions {
  /** The maximum number of transitions. Whole episodes are evicted, the oldest first. Default: null, for no limit except memory. */
  readonly capacity?: number | null;
  /** Returns the priority of a new episode, given its transitions: a finite number of at least 0. Default: the largest priority so far. */
  readonly defaultPriorityFunc?: ((episode: readonly Transition[]) => number) | null;
  /** The share of draws that are uniform, in 0 … 1. Default: 0. */
  readonly uniformRatio?: number;
  /** Whether `sampleEpisodes` and `updateErrors` must alternate, as in PFRL. Default: true. */
  readonly waitPriorityAfterSampling?: boolean;
  /** Whether samples have importance weights. Without them, beta does not change. Default: true. */
  readonly returnSampleWeights?: boolean;
}

const NAMES = [
  ...["capacity", "alpha", "beta0", "betaSteps", "eps", "normalizeByMax", "defaultPriorityFunc", "uniformRatio"],
  ...["waitPriorityAfterSampling", "returnSampleWeights", "errorMin", "errorMax"],
];

/**
 * A replay buffer of whole episodes with priorities. Episodes are evicted as a whole, but their transitions, which can also be drawn individually, are evicted
 * one by one. Some transitions may therefore outlive their episode.
 */
export class PrioritizedEpisodicReplayBuffer<const S extends StepSpec = StepSpec> extends PrioritizedBuffer<TransitionBatch<S>, Transition> {
  readonly #stored: EpisodeStore;

  constructor(options?: PrioritizedEpisodicReplayBufferOptions<S>);
  constructor(capacity?: number | null, options?: Omit<PrioritizedEpisodicReplayBufferOptions<S>, "capacity">);
  constructor(
    capacity?: number | null,
    alpha?: number,
    beta0?: number,
    betaSteps?: number | null,
    eps?: number,
    normalizeByMax?: NormalizeByMax,
    defaultPriorityFunc?: ((episode: readonly Transition[]) => number) | null,
    uniformRatio?: number,
    waitPriorityAfterSampling?: boolean,
    returnSampleWeights?: boolean,
    errorMin?: number | null,
    errorMax?: number | null,
    options?: BufferOptions<S>,
  );
  constructor(...args: unknown[]) {
    hideFrames(new.target);
    const options = argumentsOf("PrioritizedEpisodicReplayBuffer", NAMES, args) as PrioritizedEpisodicReplayBufferOptions<S>;
    const { capacity, defaultPriorityFunc = null, uniformRatio = 0, waitPriorityAfterSampling = true, returnSampleWeights = true, ...rest } = options;
    const { spec, maxBytes, seed, packed, module, ...weightOptions } = rest;
    if (defaultPriorityFunc !== null && typeof defaultPriorityFunc !== "function")
      throw mustBe(TypeError, "defaultPriorityFunc", "a function, or null", defaultPriorityFunc);
    const engine = { maxBytes, seed, packed, module };
    const fixedOptions = { waitPriorityAfterSampling, uniformRatio, returnSampleWeights, zeros: defaultPriorityFunc !== null, engine };
    const priorities = new Priorities({ eps: 1e-8, errorMin: null, errorMax: null, ...weightOptions, ...fixedOptions });
    const stored = new EpisodeStore({ capacity: capacityOf(capacity), spec, engine, priorities, byEpisode: defaultPriorityFunc ?? undefined });
    super(stored, contentOfEpisodes(stored), priorities);
    this.#stored = stored;
  }

  /** The number of completed episodes. */
  get nEpisodes(): number {
    return this.#stored.episodes;
  }

  /**
   * Draws n different episodes in proportion to their priorities. Unless `returnSampleWeights` is false, they have importance weights. An episode longer than
   * maxLength contributes a uniformly random run of maxLength steps. Call `updateErrors` before the next sample, unless `waitPriorityAfterSampling` is false.
   * If the call throws, nothing has changed.
   * @throws TypeError, RangeError if an argument is invalid
   * @throws ReplayError EMPTY if the buffer is empty
   * @throws ReplayError TOO_FEW if the buffer has fewer than n episodes
   * @throws ReplayError OUT_OF_TURN if the last sample still waits for its errors
   */
  sampleEpisodes(n: number, options: ListOptions): SampleList<Transition[]>;
  sampleEpisodes(n: number, maxLength: number | null | undefined, options: ListOptions): SampleList<Transition[]>;
  sampleEpisodes(n: number, maxLength?: number | null | EpisodeOptions, options?: EpisodeOptions): WeightedBatch<S>;
  sampleEpisodes(n: number, maxLength?: MaxLength, options?: EpisodeOptions | ListOptions): WeightedBatch<S> | SampleList<Transition[]> {
    return this.#stored.sampleEpisodes(n, episodeArguments(maxLength, options)) as unknown as WeightedBatch<S> | SampleList<Transition[]>;
  }

  /** Iterates over all completed episodes, each as a list of transitions, oldest first. */
  episodes(): Iterable<Transition[]> {
    return this.#stored.all();
  }
}
