/** Uniform experience replay: PFRL's ReplayBuffer. */

import { pointAtCallersOf } from "../../caller.ts";
import { integer, mustBe, onlyKeys } from "../../error.ts";
import { MAX_LENGTH } from "../../limits.ts";
import { argumentsOf, capacityOf } from "../arguments.ts";
import { Files } from "../files/files.ts";
import type { SaveTarget } from "../files/single-file.ts";
import { contentOfTransitions } from "../files/transitions-history.ts";
import type { WorkOptions } from "../files/work.ts";
import type { Listed } from "../rows/listed.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import type { AnyBatch, TransitionBatch } from "../rows/transition-batch.ts";
import type { EngineOptions } from "../store/steps.ts";
import { type Asked, Transitions } from "../store/transitions.ts";
import type { AppendedTransition, Transition } from "../transition.ts";
import { behind } from "./behind.ts";

/** Options of the engine, which every buffer has. */
export interface BufferOptions<S extends StepSpec = StepSpec> extends EngineOptions {
  /** What a transition looks like; taken from the first one where it is left out. */
  readonly spec?: S;
}

export interface ReplayBufferOptions<S extends StepSpec = StepSpec> extends BufferOptions<S> {
  /** Transitions at most; none, or null: as many as memory holds. */
  readonly capacity?: number | null;
  /** Steps of a stored transition, for n-step updates; 1 where it is left out. */
  readonly numSteps?: number;
}

export interface SampleOptions<B> {
  /** A batch to fill, one that this buffer gave for the same n: then nothing is allocated. */
  readonly into?: B;
  readonly form?: "batch";
}

/** For PFRL's own form: a list of transitions, each an object. */
export interface ListOptions {
  readonly form: "list";
}

/** The same options, checked: no object of our own for each sample. */
export function sampleOptions(options: SampleOptions<AnyBatch> | ListOptions): Asked {
  const { form = "batch" } = onlyKeys("options", options as Asked, "form, into");
  if (form !== "batch" && form !== "list") throw mustBe(RangeError, "form", '"batch" or "list"', form);
  return options as Asked;
}

export class ReplayBuffer<const S extends StepSpec = StepSpec> {
  /** null where there is none. */
  readonly capacity: number | null;
  readonly numSteps: number;
  readonly #store: Transitions;
  readonly #files: Files;

  constructor(options?: ReplayBufferOptions<S>);
  constructor(capacity?: number | null, options?: Omit<ReplayBufferOptions<S>, "capacity">);
  constructor(capacity?: number | null, numSteps?: number, options?: BufferOptions<S>);
  constructor(...args: unknown[]) {
    pointAtCallersOf(new.target);
    const { capacity, numSteps = 1, spec, ...engine } = argumentsOf("ReplayBuffer", ["capacity", "numSteps"], args) as ReplayBufferOptions<S>;
    this.numSteps = integer("numSteps", numSteps, 1, MAX_LENGTH);
    this.#store = new Transitions({ capacity: capacityOf(capacity), numSteps, prioritized: false, spec, engine });
    this.capacity = capacity ?? null;
    this.#files = new Files(contentOfTransitions(this.#store, undefined), engine.module);
    behind.set(this, { store: this.#store });
  }

  /** Stored items. */
  get length(): number {
    return this.#store.size;
  }

  /** Memory that is taken, of maxBytes; 0 before the spec is known. */
  get bytes(): number {
    return this.#store.made?.steps.bytes ?? 0;
  }

  /**
   * Appends one step of an environment. With the last step of an episode comes `isStateTerminal`, or `stopCurrentEpisode` after it. O(bytes + numSteps)
   * @throws TypeError, RangeError · ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY; and then nothing changed
   */
  append(transition: AppendedTransition): void {
    this.#store.append(transition, 1);
  }

  /** The running episode of an environment was interrupted: its next step begins another one. Without a running episode nothing happens. */
  stopCurrentEpisode(envId: unknown = 0): void {
    this.#store.stop(envId, 1);
  }

  /**
   * n different items, all alike.
   * @throws TypeError, RangeError · ReplayError EMPTY, TOO_FEW
   */
  sample(n: number, options: ListOptions): Listed<Transition[]>;
  sample(n: number, options?: SampleOptions<TransitionBatch<S>>): TransitionBatch<S>;
  sample(n: number, options: SampleOptions<TransitionBatch<S>> | ListOptions = {}): TransitionBatch<S> | Listed<Transition[]> {
    return this.#store.sample(n, sampleOptions(options as SampleOptions<AnyBatch>)) as unknown as TransitionBatch<S> | Listed<Transition[]>;
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
}
