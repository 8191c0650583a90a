/** Replay of whole episodes that outlives the process: PFRL's PersistentEpisodicReplayBuffer. An episode goes to a log when it ends. */

import { pointAtCallersOf } from "../../caller.ts";
import { CLEAR, FORM, RANDOM } from "../../store/format/kinds.ts";
import type { Directory } from "../../store/index.ts";
import { contentOfEpisodes, EpisodesSink, writeEpisode } from "../files/episodes-history.ts";
import { Files } from "../files/files.ts";
import { BufferLog } from "../files/log.ts";
import type { SaveTarget } from "../files/single-file.ts";
import { atOnce, inPieces, type Progress, type WorkOptions } from "../files/work.ts";
import type { Listed } from "../rows/listed.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import type { AnyBatch, TransitionBatch } from "../rows/transition-batch.ts";
import { EndedEpisodes, type MadeEpisodes } from "../store/episodes.ts";
import { formBytes, NOTHING } from "../store/history.ts";
import type { Env } from "../store/steps.ts";
import type { AppendedTransition, Transition } from "../transition.ts";
import { behind } from "./behind.ts";
import { apart, type EpisodeOptions, episodeArguments, type MaxLength } from "./episode-samples.ts";
import { LATER, type PersistentOptions, persistentArguments } from "./persistence.ts";
import { type ListOptions, type SampleOptions, sampleOptions } from "./replay-buffer.ts";

/** All episodes weigh the same. */
const ALIKE = { priority: 1 };

export class PersistentEpisodicReplayBuffer<const S extends StepSpec = StepSpec> {
  /** Transitions at most, whole episodes leave; null where there is none. */
  readonly capacity: number | null;
  readonly #store: EndedEpisodes;
  readonly #journal: BufferLog;
  readonly #files: Files;
  /** Whether the spec stands in this segment, written since it was opened. */
  #headed = false;
  #opening: Generator<Progress, void>;

  /**
   * Opens a directory, or begins one: the newest `capacity` transitions of its ancestors' episodes and its own. A running episode is not on the disk.
   * @throws TypeError, RangeError · ReplayError LOCKED, NOT_FOUND, CORRUPT, SPEC_MISMATCH, INVALID_DATA, UNSUPPORTED, IO, OUT_OF_MEMORY
   */
  constructor(dirname: string | Directory, capacity?: number | null, options?: PersistentOptions<S>);
  constructor(dirname: string | Directory, options: PersistentOptions<S> & { readonly capacity?: number | null });
  constructor(options: PersistentOptions<S> & { readonly dirname: string | Directory; readonly capacity?: number | null });
  constructor(...args: unknown[]) {
    pointAtCallersOf(new.target);
    const { directory, capacity, persistence, spec, engine, later } = persistentArguments<S>("PersistentEpisodicReplayBuffer", args);
    this.capacity = capacity === Number.POSITIVE_INFINITY ? null : capacity;
    this.#store = new EndedEpisodes({ capacity, prioritized: false, together: true, spec, engine });
    this.#store.onEnd = (made, env) => this.#write(made, env);
    this.#journal = new BufferLog(directory, "episodes", persistence, engine.module);
    this.#files = new Files(contentOfEpisodes(this.#store, undefined), engine.module);
    this.#opening = this.#open(capacity);
    behind.set(this, { store: this.#store });
    if (!later) atOnce(this.#opening);
  }

  /** The constructor, in pieces between which others run. @throws the signal's reason too */
  static async open<const S extends StepSpec>(
    dirname: string | Directory,
    capacity?: number | null,
    { signal, onProgress, ...options }: PersistentOptions<S> & WorkOptions = {},
  ): Promise<PersistentEpisodicReplayBuffer<S>> {
    const made = new PersistentEpisodicReplayBuffer<S>(...([dirname, capacity, options, LATER] as unknown as [string]));
    await inPieces(made.#opening, { signal, onProgress });
    return made;
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
   * Appends one step of an environment. Its episode is stored once it has ended, and is on the disk when `flush` has been waited for, or by `durability`.
   * @throws TypeError, RangeError · ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY, and at the end of an episode CLOSED; then nothing changed · IO where the disk refuses: the
   * step is there, and is tried again
   */
  append(transition: AppendedTransition): void {
    // A running episode is nobody's but ours; it is its end that has to be written.
    const ends = transition?.isStateTerminal === true;
    if (ends) this.#journal.check();
    this.#store.append(transition, ALIKE);
    if (ends) this.#settle();
  }

  /** Ends the running episode of an environment. Without one nothing happens. @throws ReplayError CLOSED, IO */
  stopCurrentEpisode(envId: unknown = 0): void {
    if (this.#store.made?.steps.envs.has(envId) !== true) return;
    this.#journal.check();
    this.#store.stop(envId, ALIKE);
    this.#settle();
  }

  /**
   * n different transitions of all episodes, all alike; a list has each in a list of its own, as PFRL's. They have no keys.
   * @throws TypeError, RangeError · ReplayError EMPTY, TOO_FEW
   */
  sample(n: number, options: ListOptions): Listed<Transition[]>;
  sample(n: number, options?: SampleOptions<TransitionBatch<S>>): TransitionBatch<S>;
  sample(n: number, options: SampleOptions<TransitionBatch<S>> | ListOptions = {}): TransitionBatch<S> | Listed<Transition[]> {
    const drawn = apart(this.#store.draw(n, sampleOptions(options as SampleOptions<AnyBatch>)));
    this.#journal.drew();
    return drawn as unknown as TransitionBatch<S> | Listed<Transition[]>;
  }

  /**
   * n different episodes, all alike; of those longer than maxLength a run of so many steps, all of them alike.
   * @throws TypeError, RangeError · ReplayError EMPTY, TOO_FEW
   */
  sampleEpisodes(n: number, options: ListOptions): Listed<Transition[]>;
  sampleEpisodes(n: number, maxLength: number | null | undefined, options: ListOptions): Listed<Transition[]>;
  sampleEpisodes(n: number, maxLength?: number | null | EpisodeOptions, options?: EpisodeOptions): TransitionBatch<S>;
  sampleEpisodes(n: number, maxLength?: MaxLength, options?: EpisodeOptions | ListOptions): TransitionBatch<S> | Listed<Transition[]> {
    const drawn = this.#store.drawEpisodes(n, episodeArguments(maxLength, options));
    this.#journal.drew();
    return drawn as unknown as TransitionBatch<S> | Listed<Transition[]>;
  }

  /** Every episode that ended is on the disk once it resolves. @throws ReplayError IO, CLOSED */
  async flush(): Promise<void> {
    this.#settle();
    this.#journal.flush();
  }

  /** Flushes, and lets go of the directory. What is in memory can still be sampled. @throws ReplayError IO */
  close(): void {
    if (this.#journal.closed) return;
    this.#settle();
    this.#journal.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Writes all episodes to a file of its own, as other buffers do. */
  save(file: SaveTarget): void {
    this.#files.save(file);
  }

  /** `save`, in pieces between which others run; the buffer must not change meanwhile. @throws the signal's reason too */
  saveAsync(file: SaveTarget, options?: WorkOptions): Promise<void> {
    return this.#files.saveAsync(file, options);
  }

  /** Reads a file in the place of what is stored, in the directory too. Where it fails nothing changed. */
  load(file: SaveTarget): void {
    this.#journal.check();
    this.#files.load(file);
    this.#rewrite();
  }

  /** `load`, in pieces between which others run; the buffer must not change meanwhile. @throws the signal's reason too */
  async loadAsync(file: SaveTarget, options?: WorkOptions): Promise<void> {
    this.#journal.check();
    await this.#files.loadAsync(file, options);
    this.#rewrite();
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

  *#open(max: number): Generator<Progress, void> {
    yield* this.#journal.replay(new EpisodesSink(this.#store, undefined, { max }));
    this.#journal.begin(() => {
      this.#headed = false;
      this.#head(this.#store.made);
    });
  }

  /** What a segment begins with, and what was written since the directory was opened. */
  #head(made: MadeEpisodes | undefined): void {
    if (this.#headed || made === undefined) return;
    this.#headed = true;
    this.#journal.write(FORM, 0, formBytes({ family: "episodes", numSteps: 0, spec: made.spec }));
    this.#journal.write(RANDOM, 0, made.items.randomState);
  }

  #write(made: MadeEpisodes, env: Env): void {
    this.#head(made);
    writeEpisode(made, env.number, env.stream.rows(), 1, this.#journal.write);
  }

  #settle(): void {
    this.#journal.random(this.#store.made?.items.randomState);
    this.#journal.commit(this.#store.episodes);
  }

  /** The log begins anew, with what is there. */
  #rewrite(): void {
    const { made } = this.#store;
    this.#journal.write(CLEAR, 0, NOTHING);
    this.#headed = false;
    this.#head(made);
    for (const slot of made?.items.slots() ?? []) {
      writeEpisode(made as MadeEpisodes, 0, (made as MadeEpisodes).items.rowsOf(slot), 1, this.#journal.write);
    }
    this.#journal.commit(this.#store.episodes);
  }
}
