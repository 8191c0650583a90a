/**
 * Implements `PersistentEpisodicReplayBuffer` of PFRL: replay of whole episodes that outlives the process. Each episode is written to a log when the episode
 * ends.
 */
import { hideFrames } from "../../base/stack-trace.ts";
import type { Directory } from "../../storage/index.ts";
import { contentOfEpisodes, writeEpisode } from "../files/episodes-history.ts";
import type { WorkOptions } from "../files/incremental.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import type { SampleList, TransitionBatch } from "../rows/transition-batch.ts";
import { type EpisodeContents, EpisodeStore } from "../store/episodes.ts";
import type { AppendedTransition, Transition } from "../transition.ts";
import { type EpisodeOptions, episodeArguments, type MaxLength } from "./episodic-replay-buffer.ts";
import { DEFERRED, PersistentBuffer, type PersistentOptions, persistentArguments } from "./persistent-buffer.ts";
import type { ListOptions } from "./stored-buffer.ts";

export class PersistentEpisodicReplayBuffer<const S extends StepSpec = StepSpec> extends PersistentBuffer<TransitionBatch<S>, Transition[]> {
  readonly #stored: EpisodeStore;

  /**
   * Opens a directory, or creates it. The buffer has the newest `capacity` transitions of the episodes in the directory and its ancestors. Open episodes are
   * not on the disk.
   * @throws TypeError, RangeError if an argument is invalid
   * @throws ReplayError LOCKED if another process has the directory open
   * @throws ReplayError NOT_FOUND if `ancestor` is not the directory of a persistent buffer
   * @throws ReplayError CORRUPT if a file is damaged
   * @throws ReplayError SPEC_MISMATCH if the directory belongs to another kind of buffer, or if its transitions have another spec
   * @throws ReplayError INVALID_DATA if the directory contains something else
   * @throws ReplayError UNSUPPORTED if another version wrote the files, or if `distributed` is set
   * @throws ReplayError IO if a file cannot be read or written
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   */
  constructor(dirname: string | Directory, capacity?: number | null, options?: PersistentOptions<S>);
  constructor(dirname: string | Directory, options: PersistentOptions<S> & { readonly capacity?: number | null });
  constructor(options: PersistentOptions<S> & { readonly dirname: string | Directory; readonly capacity?: number | null });
  constructor(...args: unknown[]) {
    hideFrames(new.target);
    const parsedArguments = persistentArguments<S>("PersistentEpisodicReplayBuffer", args);
    const { capacity, spec, engine } = parsedArguments;
    const stored = new EpisodeStore({ capacity, spec, engine });
    super(stored, contentOfEpisodes(stored), parsedArguments);
    this.#stored = stored;
    stored.onEnd = (contents, env) => this.#write(contents, env.number, env.stream.rows());
  }

  /**
   * Opens a directory like the constructor, in slices between which other tasks can run.
   * @throws the errors of the constructor
   * @throws the signal's reason if the signal aborts
   */
  static async open<const S extends StepSpec>(
    dirname: string | Directory,
    capacity?: number | null,
    { signal, onProgress, ...options }: PersistentOptions<S> & WorkOptions = {},
  ): Promise<PersistentEpisodicReplayBuffer<S>> {
    const buffer = new PersistentEpisodicReplayBuffer<S>(...([dirname, capacity, options, DEFERRED] as unknown as [string]));
    return buffer.finishOpening({ signal, onProgress });
  }

  override append(transition: AppendedTransition): void {
    // An open episode exists only in memory. It is written when it ends.
    const isEnd = transition?.isStateTerminal === true;
    if (isEnd) this.check();
    this.#stored.append(transition);
    if (isEnd) this.commit();
  }

  /**
   * Ends the open episode of an environment. No effect without an open episode.
   * @throws ReplayError CLOSED after `close`, or after another buffer opened the directory
   * @throws ReplayError IO if a file cannot be read or written
   */
  override stopCurrentEpisode(envId: unknown = 0): void {
    if (this.#stored.contents?.steps.envs.has(envId) !== true) return;
    this.check();
    this.#stored.stop(envId);
    this.commit();
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

  protected writeItems(): void {
    const { contents } = this.#stored;
    for (const slot of contents?.items.slots() ?? []) this.#write(contents as EpisodeContents, 0, (contents as EpisodeContents).items.rowsOf(slot));
  }

  #write(contents: EpisodeContents, number: number, rows: Uint32Array): void {
    writeEpisode(contents, number, rows, 1, (kind, id, payload) => this.write(kind, id, payload));
  }
}
