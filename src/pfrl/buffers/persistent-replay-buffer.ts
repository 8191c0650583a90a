/**
 * Implements `PersistentReplayBuffer` of PFRL: uniform replay that outlives the process. The items are single steps, and each step is written to a log when the
 * step is appended.
 */

import { EPISODE_END, SINGLE } from "../../base/kinds.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import type { Directory } from "../../storage/index.ts";
import { runSync, type WorkOptions } from "../files/incremental.ts";
import { contentOfTransitions, writeItems } from "../files/transitions-history.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import type { TransitionBatch } from "../rows/transition-batch.ts";
import { EMPTY } from "../store/history.ts";
import type { Env } from "../store/steps.ts";
import type { BufferContents } from "../store/stored.ts";
import { Transitions } from "../store/transitions.ts";
import type { AppendedTransition, Transition } from "../transition.ts";
import { DEFERRED, PersistentBuffer, type PersistentOptions, persistentArguments } from "./persistent-buffer.ts";

export class PersistentReplayBuffer<const S extends StepSpec = StepSpec> extends PersistentBuffer<TransitionBatch<S>, Transition[]> {
  readonly #stored: Transitions;
  /**
   * For each open episode, the last segment that contains a step of the episode. In that segment, the next step need not repeat the frames of the step before.
   */
  readonly #lastSegments = new Map<number, number>();

  /**
   * Opens a directory, or creates it. The buffer has the newest `capacity` items of the directory and its ancestors.
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
    const parsedArguments = persistentArguments<S>("PersistentReplayBuffer", args);
    const { capacity, spec, engine } = parsedArguments;
    const stored = new Transitions({ capacity, numSteps: 1, spec, engine });
    super(stored, contentOfTransitions(stored), parsedArguments);
    this.#stored = stored;
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
  ): Promise<PersistentReplayBuffer<S>> {
    const buffer = new PersistentReplayBuffer<S>(...([dirname, capacity, options, DEFERRED] as unknown as [string]));
    return buffer.finishOpening({ signal, onProgress });
  }

  override append(transition: AppendedTransition): void {
    this.check();
    const env = this.#stored.append(transition);
    const { records } = this.#stored.contents as BufferContents;
    this.write(SINGLE, env.number, records.write(env.row, this.#lastSegments.get(env.number) === this.segment ? env.previousRow : 0));
    if (transition.isStateTerminal === true) this.#end(env);
    else this.#lastSegments.set(env.number, this.segment);
    this.commit();
  }

  /**
   * Ends the open episode of an environment that was interrupted. Its steps are already stored. No effect without an open episode.
   * @throws ReplayError IO if a file cannot be read or written
   */
  override stopCurrentEpisode(envId: unknown = 0): void {
    const env = this.#stored.contents?.steps.envs.get(envId);
    if (env === undefined) return;
    const { closed } = this;
    if (!closed) this.check();
    this.#stored.stop(envId);
    if (closed) return;
    this.#end(env);
    this.commit();
  }

  protected writeItems(): void {
    const { contents } = this.#stored;
    if (contents === undefined) return;
    const open = runSync(writeItems(contents, (kind, id, payload) => this.write(kind, id, payload)));
    // These episodes end in the log, because open episodes continue under other numbers.
    for (const number of open) this.write(EPISODE_END, number, EMPTY);
  }

  #end({ number }: Env): void {
    this.#lastSegments.delete(number);
    this.write(EPISODE_END, number, EMPTY);
  }
}
