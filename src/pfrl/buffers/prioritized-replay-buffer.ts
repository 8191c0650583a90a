/** Experience replay in proportion to errors (Schaul et al., 2016): PFRL's PrioritizedReplayBuffer. */
import { pointAtCallersOf } from "../../caller.ts";
import type { Draw } from "../../core/draw.ts";
import { flag, integer, mustBe } from "../../error.ts";
import { MAX_LENGTH } from "../../limits.ts";
import { argumentsOf, capacityOf } from "../arguments.ts";
import { Files } from "../files/files.ts";
import type { SaveTarget } from "../files/single-file.ts";
import { contentOfTransitions } from "../files/transitions-history.ts";
import type { WorkOptions } from "../files/work.ts";
import type { Listed } from "../rows/listed.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import type { AnyBatch, WeightedBatch } from "../rows/transition-batch.ts";
import type { Picker } from "../store/picker.ts";
import { Picks } from "../store/picks.ts";
import { Priorities, prioritiesOf } from "../store/priorities.ts";
import { listOf, type Made, Transitions } from "../store/transitions.ts";
import type { NormalizeByMax, WeighingOptions } from "../store/weighing.ts";
import type { AppendedTransition, Transition } from "../transition.ts";
import { behind } from "./behind.ts";
import { type BufferOptions, type ListOptions, type SampleOptions, sampleOptions } from "./replay-buffer.ts";

export interface PrioritizedReplayBufferOptions<S extends StepSpec = StepSpec> extends BufferOptions<S>, WeighingOptions {
  /** Transitions at most; none, or null: as many as memory holds. */
  readonly capacity?: number | null;
  /** Steps of a stored transition, for n-step updates; 1 where it is left out. */
  readonly numSteps?: number;
  /** Whether `sample` and `updateErrors` must alternate, as in PFRL; true where it is left out. */
  readonly waitPriorityAfterSampling?: boolean;
}

const NAMES = ["capacity", "alpha", "beta0", "betaSteps", "eps", "normalizeByMax", "errorMin", "errorMax", "numSteps"];

export class PrioritizedReplayBuffer<const S extends StepSpec = StepSpec> {
  /** null where there is none. */
  readonly capacity: number | null;
  readonly numSteps: number;
  readonly #store: Transitions;
  readonly #files: Files;
  readonly #priorities: Priorities;

  constructor(options?: PrioritizedReplayBufferOptions<S>);
  constructor(capacity?: number | null, options?: Omit<PrioritizedReplayBufferOptions<S>, "capacity">);
  constructor(
    capacity?: number | null,
    alpha?: number,
    beta0?: number,
    betaSteps?: number | null,
    eps?: number,
    normalizeByMax?: NormalizeByMax,
    errorMin?: number | null,
    errorMax?: number | null,
    numSteps?: number,
    options?: BufferOptions<S> & Pick<PrioritizedReplayBufferOptions, "waitPriorityAfterSampling">,
  );
  constructor(...args: unknown[]) {
    pointAtCallersOf(new.target);
    const {
      capacity,
      numSteps = 1,
      alpha = 0.6,
      beta0 = 0.4,
      betaSteps = 2e5,
      eps = 0.01,
      normalizeByMax = true,
      errorMin = 0,
      errorMax = 1,
      waitPriorityAfterSampling = true,
      spec,
      ...engine
    } = argumentsOf("PrioritizedReplayBuffer", NAMES, args, ["waitPriorityAfterSampling"]) as PrioritizedReplayBufferOptions<S>;
    this.numSteps = integer("numSteps", numSteps, 1, MAX_LENGTH);
    flag("waitPriorityAfterSampling", waitPriorityAfterSampling);
    const weighing = { alpha, beta0, betaSteps, eps, normalizeByMax, errorMin, errorMax };
    this.#priorities = new Priorities({ ...weighing, waitPriorityAfterSampling, uniformRatio: 0, weighted: true, engine });
    this.#store = new Transitions({ capacity: capacityOf(capacity), numSteps, prioritized: true, spec, engine });
    this.capacity = capacity ?? null;
    this.#files = new Files(contentOfTransitions(this.#store, this.#priorities), engine.module);
    behind.set(this, { store: this.#store, priorities: this.#priorities });
  }

  /** Stored items. */
  get length(): number {
    return this.#store.size;
  }

  /** What beta is now. */
  get beta(): number {
    return this.#priorities.weighing.beta;
  }

  /** With which new items are stored: the largest priority that an update ever set, 1 at least. */
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
   * Appends one step of an environment. With the last step of an episode comes `isStateTerminal`, or `stopCurrentEpisode` after it. O(bytes + numSteps log size)
   * @throws TypeError, RangeError · ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY; and then nothing changed
   */
  append(transition: AppendedTransition): void {
    if (this.capacity === 0) throw mustBe(RangeError, "capacity", "at least 1 to append", 0);
    this.#store.append(transition, this.#priorities.max);
  }

  /** The running episode of an environment was interrupted: its next step begins another one. Without a running episode nothing happens. */
  stopCurrentEpisode(envId: unknown = 0): void {
    this.#store.stop(envId, this.#priorities.max);
  }

  /**
   * n different items, in proportion to their priorities, with importance weights. Then `updateErrors` is due, unless `waitPriorityAfterSampling` is false. O(n log size)
   * @throws TypeError, RangeError · ReplayError EMPTY, TOO_FEW, OUT_OF_TURN; and then nothing changed
   */
  sample(n: number, options: ListOptions): Listed<Transition[]>;
  sample(n: number, options?: SampleOptions<WeightedBatch<S>>): WeightedBatch<S>;
  sample(n: number, options: SampleOptions<WeightedBatch<S>> | ListOptions = {}): WeightedBatch<S> | Listed<Transition[]> {
    const { form, into } = sampleOptions(options as SampleOptions<AnyBatch>);
    const found = this.#store.enough(n);
    this.#priorities.maySample(found?.items, n);
    const made = found as Made;
    const drawn = form === "list" ? this.#list(made, n) : this.#batch(made, n, into);
    this.#priorities.sampled(drawn.keys, n);
    return drawn as unknown as WeightedBatch<S> | Listed<Transition[]>;
  }

  /**
   * New priorities by the errors of the last sample's items, once; or of any items by their keys, as late and as often as one likes: what has left meanwhile is skipped.
   * O(n log size)
   * @returns how many were there
   * @throws TypeError, RangeError (a priority must be finite and above 0) · ReplayError OUT_OF_TURN; and then nothing changed
   */
  updateErrors(errors: ArrayLike<number>, keys?: ArrayLike<number>): number {
    const made = this.#store.made;
    return this.#priorities.update(made?.items, errors, keys);
  }

  /** The priorities that errors would become. */
  priorityFromErrors(errors: ArrayLike<number>): number[] {
    return this.#priorities.fromErrors(errors, this.#store.made?.steps);
  }

  /** The importance weights of probabilities; `beta` goes on as by a sample. @param minProbability the least that the memory could give */
  weightsFromProbabilities(probabilities: ArrayLike<number>, minProbability: number): number[] {
    return this.#priorities.toWeights(probabilities, minProbability, this.length, this.#store.made?.steps);
  }

  /** Keys and priorities of all items, oldest first. O(size) */
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

  /** All stored items in PFRL's form, oldest first. */
  items(): Iterable<Transition[]> {
    return this.#store.all();
  }

  /** The last numSteps transitions of each running episode, stored already or not, by environment. */
  running(): Map<unknown, Transition[]> {
    return this.#store.running();
  }

  #batch(made: Made, n: number, into: AnyBatch | undefined): AnyBatch {
    const filling = made.batches.of(n, into).prepare();
    this.#pick(made, filling.draw, n);
    return filling.fill(made.items);
  }

  #list(made: Made, n: number): Listed<Transition[]> {
    const picks = new Picks(made.steps, n, true);
    return made.items.drawing(() => {
      this.#pick(made, picks.draw, n);
      return listOf(made, picks);
    });
  }

  #pick({ items }: Made, draw: Draw, n: number): void {
    this.#priorities.pick(items, this.#store.picker as Picker, draw, n, items.size);
  }
}
