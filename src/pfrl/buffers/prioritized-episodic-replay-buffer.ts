/** Replay of whole episodes in proportion to their errors: PFRL's PrioritizedEpisodicReplayBuffer. */
import { pointAtCallersOf } from "../../caller.ts";
import { finite, flag, mustBe } from "../../error.ts";
import { argumentsOf, capacityOf } from "../arguments.ts";
import { contentOfEpisodes } from "../files/episodes-history.ts";
import { Files } from "../files/files.ts";
import type { SaveTarget } from "../files/single-file.ts";
import type { WorkOptions } from "../files/work.ts";
import type { Listed } from "../rows/listed.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import type { AnyBatch, TransitionBatch, WeightedBatch } from "../rows/transition-batch.ts";
import { EndedEpisodes, type MadeEpisodes, type Weigh } from "../store/episodes.ts";
import type { Picker } from "../store/picker.ts";
import { Picks } from "../store/picks.ts";
import { Priorities, prioritiesOf } from "../store/priorities.ts";
import type { NormalizeByMax, WeighingOptions } from "../store/weighing.ts";
import type { AppendedTransition, Transition } from "../transition.ts";
import { behind } from "./behind.ts";
import { type EpisodeOptions, episodeArguments, type MaxLength } from "./episode-samples.ts";
import { type BufferOptions, type ListOptions, type SampleOptions, sampleOptions } from "./replay-buffer.ts";

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

export class PrioritizedEpisodicReplayBuffer<const S extends StepSpec = StepSpec> {
  /** null where there is none. */
  readonly capacity: number | null;
  readonly #store: EndedEpisodes;
  readonly #files: Files;
  readonly #priorities: Priorities;
  readonly #byEpisode: Weigh["byEpisode"];
  readonly #weighted: boolean;

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
    pointAtCallersOf(new.target);
    const {
      capacity,
      alpha = 0.6,
      beta0 = 0.4,
      betaSteps = 2e5,
      eps = 1e-8,
      normalizeByMax = true,
      defaultPriorityFunc = null,
      uniformRatio = 0,
      waitPriorityAfterSampling = true,
      returnSampleWeights = true,
      errorMin = null,
      errorMax = null,
      spec,
      ...engine
    } = argumentsOf("PrioritizedEpisodicReplayBuffer", NAMES, args) as PrioritizedEpisodicReplayBufferOptions<S>;
    if (defaultPriorityFunc !== null && typeof defaultPriorityFunc !== "function")
      throw mustBe(TypeError, "defaultPriorityFunc", "a function, or null", defaultPriorityFunc);
    finite("uniformRatio", uniformRatio, 0, 1);
    flag("waitPriorityAfterSampling", waitPriorityAfterSampling);
    flag("returnSampleWeights", returnSampleWeights);
    const weighing = { alpha, beta0, betaSteps, eps, normalizeByMax, errorMin, errorMax };
    this.#priorities = new Priorities({ ...weighing, waitPriorityAfterSampling, uniformRatio, weighted: returnSampleWeights, engine });
    this.#priorities.zeros = defaultPriorityFunc !== null;
    this.#store = new EndedEpisodes({ capacity: capacityOf(capacity), prioritized: true, together: false, spec, engine });
    this.#byEpisode = defaultPriorityFunc ?? undefined;
    this.#weighted = returnSampleWeights;
    this.capacity = capacity ?? null;
    this.#files = new Files(contentOfEpisodes(this.#store, this.#priorities), engine.module);
    behind.set(this, { store: this.#store, priorities: this.#priorities });
  }

  /** Transitions of the episodes that ended. An episode leaves whole, its transitions one by one: there may be some whose episode has left. */
  get length(): number {
    return this.#store.size;
  }

  /** Episodes that ended. */
  get nEpisodes(): number {
    return this.#store.episodes;
  }

  /** What beta is now. */
  get beta(): number {
    return this.#priorities.weighing.beta;
  }

  /** The largest priority that an update ever set, 1 at least. */
  get maxPriority(): number {
    return this.#priorities.max;
  }

  /** Whether there was a sample that has not been updated since. */
  get waiting(): boolean {
    return this.#priorities.last.waiting;
  }

  /** Its keys. */
  get waitingKeys(): Float64Array {
    return this.#priorities.last.keys.slice();
  }

  /** Memory that is taken, of maxBytes; 0 before the spec is known. */
  get bytes(): number {
    return this.#store.made?.steps.bytes ?? 0;
  }

  /**
   * Appends one step of an environment. Its episode is seen once it has ended: with `isStateTerminal`, or by `stopCurrentEpisode`. O(bytes), and O(steps) at the end
   * @throws TypeError, RangeError · ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY; and then nothing changed
   */
  append(transition: AppendedTransition): void {
    this.#store.append(transition, this.#weigh());
  }

  /** Ends the running episode of an environment. Without one nothing happens. */
  stopCurrentEpisode(envId: unknown = 0): void {
    this.#store.stop(envId, this.#weigh());
  }

  /**
   * n different transitions, all alike; a list has them themselves, as PFRL's. They have no keys, and await no errors.
   * @throws TypeError, RangeError · ReplayError EMPTY, TOO_FEW
   */
  sample(n: number, options: ListOptions): Listed<Transition>;
  sample(n: number, options?: SampleOptions<TransitionBatch<S>>): TransitionBatch<S>;
  sample(n: number, options: SampleOptions<TransitionBatch<S>> | ListOptions = {}): TransitionBatch<S> | Listed<Transition> {
    return this.#store.draw(n, sampleOptions(options as SampleOptions<AnyBatch>)) as unknown as TransitionBatch<S> | Listed<Transition>;
  }

  /**
   * n different episodes in proportion to their priorities, with importance weights; of those longer than maxLength a run of so many steps. Then `updateErrors` is due,
   * unless `waitPriorityAfterSampling` is false.
   * @throws TypeError, RangeError · ReplayError EMPTY, TOO_FEW, OUT_OF_TURN; and then nothing changed
   */
  sampleEpisodes(n: number, options: ListOptions): Listed<Transition[]>;
  sampleEpisodes(n: number, maxLength: number | null | undefined, options: ListOptions): Listed<Transition[]>;
  sampleEpisodes(n: number, maxLength?: number | null | EpisodeOptions, options?: EpisodeOptions): WeightedBatch<S>;
  sampleEpisodes(n: number, maxLength?: MaxLength, options?: EpisodeOptions | ListOptions): WeightedBatch<S> | Listed<Transition[]> {
    const asked = episodeArguments(maxLength, options);
    const store = this.#store;
    const priorities = this.#priorities;
    const made = store.enoughEpisodes(n, asked.maxLength);
    priorities.maySample(made?.items, n);
    const { items, steps } = made as MadeEpisodes;
    const picks = new Picks(steps, n, this.#weighted);
    const drawn = items.drawing(() => {
      priorities.pick(items, store.picker as Picker, picks.draw, n, store.size);
      return store.read(made as MadeEpisodes, picks, asked);
    });
    priorities.sampled(drawn.keys, n);
    return drawn as unknown as WeightedBatch<S> | Listed<Transition[]>;
  }

  /**
   * New priorities by the errors of the last sample's episodes, once; or of any episodes by their keys, as late and as often as one likes: what has left meanwhile is skipped.
   * O(n log size)
   * @returns how many were there
   * @throws TypeError, RangeError (a priority must be finite and above 0) · ReplayError OUT_OF_TURN; and then nothing changed
   */
  updateErrors(errors: ArrayLike<number>, keys?: ArrayLike<number>): number {
    this.#store.check();
    return this.#priorities.update(this.#store.made?.items, errors, keys);
  }

  /** The priorities that errors would become. */
  priorityFromErrors(errors: ArrayLike<number>): number[] {
    return this.#priorities.fromErrors(errors, this.#store.made?.steps);
  }

  /** The importance weights of probabilities; `beta` goes on as by a sample. @param minProbability the least that the memory could give */
  weightsFromProbabilities(probabilities: ArrayLike<number>, minProbability: number): number[] {
    return this.#priorities.toWeights(probabilities, minProbability, this.length, this.#store.made?.steps);
  }

  /** Keys and priorities of all episodes, oldest first. O(episodes) */
  priorities(): { readonly keys: Float64Array; readonly priorities: Float64Array } {
    return prioritiesOf(this.#store.made?.items);
  }

  /**
   * Writes all stored items to a file, without running episodes; the file that was there stays until the new one is on the disk.
   * @throws ReplayError IO, UNSUPPORTED
   */
  save(file: SaveTarget): void {
    this.#files.save(file);
  }

  /** `save`, in pieces between which others run; the buffer must not change meanwhile. @throws the signal's reason too */
  saveAsync(file: SaveTarget, options?: WorkOptions): Promise<void> {
    return this.#files.saveAsync(file, options);
  }

  /**
   * Reads a file in the place of what is stored; running episodes go on. The buffer's own capacity rules from the next item on. Where it fails nothing changed.
   * @throws ReplayError NOT_FOUND, CORRUPT, SPEC_MISMATCH, INVALID_DATA, IO, UNSUPPORTED, OUT_OF_MEMORY
   */
  load(file: SaveTarget): void {
    this.#files.load(file);
  }

  /** `load`, in pieces between which others run; the buffer must not change meanwhile. @throws the signal's reason too */
  loadAsync(file: SaveTarget, options?: WorkOptions): Promise<void> {
    return this.#files.loadAsync(file, options);
  }

  /** All single transitions in PFRL's form, oldest first. */
  items(): Iterable<Transition> {
    return this.#store.transitions();
  }

  /** All episodes in PFRL's form, oldest first. */
  episodes(): Iterable<Transition[]> {
    return this.#store.all();
  }

  /** The running episodes, by environment. */
  running(): Map<unknown, Transition[]> {
    return this.#store.running();
  }

  #weigh(): Weigh {
    return { priority: this.#priorities.max, byEpisode: this.#byEpisode };
  }
}
