/** Replay of whole episodes that outlives the process: PFRL's PersistentEpisodicReplayBuffer. An episode goes to a log when it ends. */
import { pointAtCallersOf } from "../../base/caller.ts";
import type { Directory } from "../../storage/index.ts";
import { contentOfEpisodes, writeEpisode } from "../files/episodes-history.ts";
import type { WorkOptions } from "../files/work.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import type { Listed, TransitionBatch } from "../rows/transition-batch.ts";
import { EndedEpisodes, type MadeEpisodes } from "../store/episodes.ts";
import type { AppendedTransition, Transition } from "../transition.ts";
import { type EpisodeOptions, episodeArguments, type MaxLength } from "./episodic-replay-buffer.ts";
import { LATER, PersistentBuffer, type PersistentOptions, persistentArguments } from "./persistent-buffer.ts";
import type { ListOptions } from "./stored-buffer.ts";

export class PersistentEpisodicReplayBuffer<const S extends StepSpec = StepSpec> extends PersistentBuffer<TransitionBatch<S>, Transition[]> {
  readonly #stored: EndedEpisodes;

  /**
   * Opens a directory, or begins one: the newest `capacity` transitions of its ancestors' episodes and its own. A running episode is not on the disk.
   * @throws TypeError, RangeError · ReplayError LOCKED, NOT_FOUND, CORRUPT, SPEC_MISMATCH, INVALID_DATA, UNSUPPORTED, IO, OUT_OF_MEMORY
   */
  constructor(dirname: string | Directory, capacity?: number | null, options?: PersistentOptions<S>);
  constructor(dirname: string | Directory, options: PersistentOptions<S> & { readonly capacity?: number | null });
  constructor(options: PersistentOptions<S> & { readonly dirname: string | Directory; readonly capacity?: number | null });
  constructor(...args: unknown[]) {
    pointAtCallersOf(new.target);
    const opened = persistentArguments<S>("PersistentEpisodicReplayBuffer", args);
    const { capacity, spec, engine } = opened;
    const stored = new EndedEpisodes({ capacity, spec, engine });
    super(stored, contentOfEpisodes(stored), opened);
    this.#stored = stored;
    stored.onEnd = (made, env) => this.#write(made, env.number, env.stream.rows());
  }

  /** The constructor, in pieces between which others run. @throws the signal's reason too */
  static async open<const S extends StepSpec>(
    dirname: string | Directory,
    capacity?: number | null,
    { signal, onProgress, ...options }: PersistentOptions<S> & WorkOptions = {},
  ): Promise<PersistentEpisodicReplayBuffer<S>> {
    const made = new PersistentEpisodicReplayBuffer<S>(...([dirname, capacity, options, LATER] as unknown as [string]));
    return made.opened({ signal, onProgress });
  }

  override append(transition: AppendedTransition): void {
    // A running episode is nobody's but ours; it is its end that has to be written.
    const ends = transition?.isStateTerminal === true;
    if (ends) this.check();
    this.#stored.append(transition);
    if (ends) this.settle();
  }

  /** Ends the running episode of an environment. Without one nothing happens. @throws ReplayError CLOSED, IO */
  override stopCurrentEpisode(envId: unknown = 0): void {
    if (this.#stored.made?.steps.envs.has(envId) !== true) return;
    this.check();
    this.#stored.stop(envId);
    this.settle();
  }

  /** Episodes that ended. */
  get nEpisodes(): number {
    return this.#stored.episodes;
  }

  /**
   * n different episodes, all alike; of those longer than maxLength a run of so many steps, all of them alike.
   * @throws TypeError, RangeError · ReplayError EMPTY, TOO_FEW
   */
  sampleEpisodes(n: number, options: ListOptions): Listed<Transition[]>;
  sampleEpisodes(n: number, maxLength: number | null | undefined, options: ListOptions): Listed<Transition[]>;
  sampleEpisodes(n: number, maxLength?: number | null | EpisodeOptions, options?: EpisodeOptions): TransitionBatch<S>;
  sampleEpisodes(n: number, maxLength?: MaxLength, options?: EpisodeOptions | ListOptions): TransitionBatch<S> | Listed<Transition[]> {
    return this.#stored.sampleEpisodes(n, episodeArguments(maxLength, options)) as unknown as TransitionBatch<S> | Listed<Transition[]>;
  }

  /** All episodes in PFRL's form, oldest first. */
  episodes(): Iterable<Transition[]> {
    return this.#stored.all();
  }

  protected writeItems(): void {
    const { made } = this.#stored;
    for (const slot of made?.items.slots() ?? []) this.#write(made as MadeEpisodes, 0, (made as MadeEpisodes).items.rowsOf(slot));
  }

  #write(made: MadeEpisodes, number: number, rows: Uint32Array): void {
    writeEpisode(made, number, rows, 1, (kind, id, payload) => this.write(kind, id, payload));
  }
}
