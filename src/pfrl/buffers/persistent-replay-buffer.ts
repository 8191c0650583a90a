/** Uniform replay that outlives the process: PFRL's PersistentReplayBuffer. Its items are single steps; each goes to a log as it comes. */
import { pointAtCallersOf } from "../../base/caller.ts";
import { EPISODE_END, SINGLE } from "../../base/kinds.ts";
import type { Directory } from "../../storage/index.ts";
import { contentOfTransitions, writeItems } from "../files/transitions-history.ts";
import { atOnce, type WorkOptions } from "../files/work.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import type { TransitionBatch } from "../rows/transition-batch.ts";
import { NOTHING } from "../store/history.ts";
import type { Env } from "../store/steps.ts";
import type { Made } from "../store/stored.ts";
import { Transitions } from "../store/transitions.ts";
import type { AppendedTransition, Transition } from "../transition.ts";
import { LATER, PersistentBuffer, type PersistentOptions, persistentArguments } from "./persistent-buffer.ts";

export class PersistentReplayBuffer<const S extends StepSpec = StepSpec> extends PersistentBuffer<TransitionBatch<S>, Transition[]> {
  readonly #stored: Transitions;
  /** Episodes, each with the last segment that has a step of it: there the next one need not tell the frames again. */
  readonly #known = new Map<number, number>();

  /**
   * Opens a directory, or begins one: the newest `capacity` of its ancestors' items and its own.
   * @throws TypeError, RangeError · ReplayError LOCKED, NOT_FOUND, CORRUPT, SPEC_MISMATCH, INVALID_DATA, UNSUPPORTED, IO, OUT_OF_MEMORY
   */
  constructor(dirname: string | Directory, capacity?: number | null, options?: PersistentOptions<S>);
  constructor(dirname: string | Directory, options: PersistentOptions<S> & { readonly capacity?: number | null });
  constructor(options: PersistentOptions<S> & { readonly dirname: string | Directory; readonly capacity?: number | null });
  constructor(...args: unknown[]) {
    pointAtCallersOf(new.target);
    const opened = persistentArguments<S>("PersistentReplayBuffer", args);
    const { capacity, spec, engine } = opened;
    const stored = new Transitions({ capacity, numSteps: 1, spec, engine });
    super(stored, contentOfTransitions(stored), opened);
    this.#stored = stored;
  }

  /** The constructor, in pieces between which others run. @throws the signal's reason too */
  static async open<const S extends StepSpec>(
    dirname: string | Directory,
    capacity?: number | null,
    { signal, onProgress, ...options }: PersistentOptions<S> & WorkOptions = {},
  ): Promise<PersistentReplayBuffer<S>> {
    const made = new PersistentReplayBuffer<S>(...([dirname, capacity, options, LATER] as unknown as [string]));
    return made.opened({ signal, onProgress });
  }

  override append(transition: AppendedTransition): void {
    this.check();
    const env = this.#stored.append(transition);
    const { records } = this.#stored.made as Made;
    this.write(SINGLE, env.number, records.write(env.row, this.#known.get(env.number) === this.segment ? env.before : 0));
    if (transition.isStateTerminal === true) this.#end(env);
    else this.#known.set(env.number, this.segment);
    this.settle();
  }

  /** The running episode of an environment was interrupted. Its steps are stored already. Without a running episode nothing happens. @throws ReplayError IO */
  override stopCurrentEpisode(envId: unknown = 0): void {
    const env = this.#stored.made?.steps.envs.get(envId);
    if (env === undefined) return;
    const { closed } = this;
    if (!closed) this.check();
    this.#stored.stop(envId);
    if (closed) return;
    this.#end(env);
    this.settle();
  }

  protected writeItems(): void {
    const { made } = this.#stored;
    if (made === undefined) return;
    const open = atOnce(writeItems(made, (kind, id, payload) => this.write(kind, id, payload)));
    // Episodes that run go on under numbers of their own.
    for (const number of open) this.write(EPISODE_END, number, NOTHING);
  }

  #end({ number }: Env): void {
    this.#known.delete(number);
    this.write(EPISODE_END, number, NOTHING);
  }
}
