/** Replay of whole episodes, and of their transitions: PFRL's EpisodicReplayBuffer. */
import { pointAtCallersOf } from "../../caller.ts";
import { argumentsOf, capacityOf } from "../arguments.ts";
import { contentOfEpisodes } from "../files/episodes-history.ts";
import { Files } from "../files/files.ts";
import type { SaveTarget } from "../files/single-file.ts";
import type { WorkOptions } from "../files/work.ts";
import type { Listed } from "../rows/listed.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import type { AnyBatch, TransitionBatch } from "../rows/transition-batch.ts";
import { EndedEpisodes } from "../store/episodes.ts";
import type { AppendedTransition, Transition } from "../transition.ts";
import { behind } from "./behind.ts";
import { apart, type EpisodeOptions, episodeArguments, type MaxLength } from "./episode-samples.ts";
import { type BufferOptions, type ListOptions, type SampleOptions, sampleOptions } from "./replay-buffer.ts";

export interface EpisodicReplayBufferOptions<S extends StepSpec = StepSpec> extends BufferOptions<S> {
  /** Transitions at most: whole episodes leave, the oldest first. None, or null: as many as memory holds. */
  readonly capacity?: number | null;
}

/** All episodes weigh the same. */
const ALIKE = { priority: 1 };

export class EpisodicReplayBuffer<const S extends StepSpec = StepSpec> {
  /** null where there is none. */
  readonly capacity: number | null;
  readonly #store: EndedEpisodes;
  readonly #files: Files;

  constructor(options?: EpisodicReplayBufferOptions<S>);
  constructor(capacity?: number | null, options?: BufferOptions<S>);
  constructor(...args: unknown[]) {
    pointAtCallersOf(new.target);
    const { capacity, spec, ...engine } = argumentsOf("EpisodicReplayBuffer", ["capacity"], args) as EpisodicReplayBufferOptions<S>;
    this.#store = new EndedEpisodes({ capacity: capacityOf(capacity), prioritized: false, together: true, spec, engine });
    this.capacity = capacity ?? null;
    this.#files = new Files(contentOfEpisodes(this.#store, undefined), engine.module);
    behind.set(this, { store: this.#store });
  }

  /** Transitions of the episodes that ended. */
  get length(): number {
    return this.#store.size;
  }

  /** Episodes that ended. */
  get nEpisodes(): number {
    return this.#store.episodes;
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
    this.#store.append(transition, ALIKE);
  }

  /** Ends the running episode of an environment. Without one nothing happens. */
  stopCurrentEpisode(envId: unknown = 0): void {
    this.#store.stop(envId, ALIKE);
  }

  /**
   * n different transitions of all episodes, all alike; a list has each in a list of its own, as PFRL's. They have no keys.
   * @throws TypeError, RangeError · ReplayError EMPTY, TOO_FEW
   */
  sample(n: number, options: ListOptions): Listed<Transition[]>;
  sample(n: number, options?: SampleOptions<TransitionBatch<S>>): TransitionBatch<S>;
  sample(n: number, options: SampleOptions<TransitionBatch<S>> | ListOptions = {}): TransitionBatch<S> | Listed<Transition[]> {
    return apart(this.#store.draw(n, sampleOptions(options as SampleOptions<AnyBatch>))) as unknown as TransitionBatch<S> | Listed<Transition[]>;
  }

  /**
   * n different episodes, all alike; of those longer than maxLength a run of so many steps, all of them alike.
   * @throws TypeError, RangeError · ReplayError EMPTY, TOO_FEW
   */
  sampleEpisodes(n: number, options: ListOptions): Listed<Transition[]>;
  sampleEpisodes(n: number, maxLength: number | null | undefined, options: ListOptions): Listed<Transition[]>;
  sampleEpisodes(n: number, maxLength?: number | null | EpisodeOptions, options?: EpisodeOptions): TransitionBatch<S>;
  sampleEpisodes(n: number, maxLength?: MaxLength, options?: EpisodeOptions | ListOptions): TransitionBatch<S> | Listed<Transition[]> {
    return this.#store.drawEpisodes(n, episodeArguments(maxLength, options)) as unknown as TransitionBatch<S> | Listed<Transition[]>;
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

  /** All single transitions in PFRL's form, each in a list of its own, oldest first. */
  *items(): Generator<Transition[], void> {
    for (const transition of this.#store.transitions()) yield [transition];
  }

  /** All episodes in PFRL's form, oldest first. */
  episodes(): Iterable<Transition[]> {
    return this.#store.all();
  }

  /** The running episodes, by environment. */
  running(): Map<unknown, Transition[]> {
    return this.#store.running();
  }
}
