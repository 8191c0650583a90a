/** Replay of whole episodes in proportion to their errors: PFRL's PrioritizedEpisodicReplayBuffer. */

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
  /** Transitions at most: whole episodes leave, the oldest first. None, or null: as many as memory holds. */
  readonly capacity?: number | null;
  /** What a new episode weighs, by its transitions; the largest priority so far where it is left out. */
  readonly defaultPriorityFunc?: ((episode: readonly Transition[]) => number) | null;
  /** Which part of the draws is by chance alone, in 0 … 1. */
  readonly uniformRatio?: number;
  /** Whether `sampleEpisodes` and `updateErrors` must alternate, as in PFRL; true where it is left out. */
  readonly waitPriorityAfterSampling?: boolean;
  /** Whether samples have importance weights; true where it is left out. Without them beta stays. */
  readonly returnSampleWeights?: boolean;
}

const NAMES = [
  ...["capacity", "alpha", "beta0", "betaSteps", "eps", "normalizeByMax", "defaultPriorityFunc", "uniformRatio"],
  ...["waitPriorityAfterSampling", "returnSampleWeights", "errorMin", "errorMax"],
];

/** An episode leaves whole, its transitions one by one: there may be some whose episode has left. */
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

  /** Episodes that ended. */
  get nEpisodes(): number {
    return this.#stored.episodes;
  }

  /**
   * n different episodes in proportion to their priorities, with importance weights; of those longer than maxLength a run of so many steps. Then `updateErrors` is due,
   * unless `waitPriorityAfterSampling` is false.
   * @throws TypeError, RangeError · ReplayError EMPTY, TOO_FEW, OUT_OF_TURN; and then nothing changed
   */
  sampleEpisodes(n: number, options: ListOptions): SampleList<Transition[]>;
  sampleEpisodes(n: number, maxLength: number | null | undefined, options: ListOptions): SampleList<Transition[]>;
  sampleEpisodes(n: number, maxLength?: number | null | EpisodeOptions, options?: EpisodeOptions): WeightedBatch<S>;
  sampleEpisodes(n: number, maxLength?: MaxLength, options?: EpisodeOptions | ListOptions): WeightedBatch<S> | SampleList<Transition[]> {
    return this.#stored.sampleEpisodes(n, episodeArguments(maxLength, options)) as unknown as WeightedBatch<S> | SampleList<Transition[]>;
  }

  /** All episodes in PFRL's form, oldest first. */
  episodes(): Iterable<Transition[]> {
    return this.#stored.all();
  }
}
