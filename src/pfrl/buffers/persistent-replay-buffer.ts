/** Uniform replay that outlives the process: PFRL's PersistentReplayBuffer. Its items are single steps; each goes to a log as it comes. */

import { pointAtCallersOf } from "../../caller.ts";
import { CLEAR, EPISODE_END, FORM, RANDOM, SINGLE } from "../../store/format/kinds.ts";
import type { Directory } from "../../store/index.ts";
import { Files } from "../files/files.ts";
import { BufferLog } from "../files/log.ts";
import type { SaveTarget } from "../files/single-file.ts";
import { contentOfTransitions, TransitionsSink } from "../files/transitions-history.ts";
import { atOnce, inPieces, type Progress, type WorkOptions } from "../files/work.ts";
import type { Listed } from "../rows/listed.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import type { AnyBatch, TransitionBatch } from "../rows/transition-batch.ts";
import { formBytes, NOTHING } from "../store/history.ts";
import type { Env } from "../store/steps.ts";
import { type Made, Transitions } from "../store/transitions.ts";
import type { AppendedTransition, Transition } from "../transition.ts";
import { behind } from "./behind.ts";
import { LATER, type PersistentOptions, persistentArguments } from "./persistence.ts";
import { type ListOptions, type SampleOptions, sampleOptions } from "./replay-buffer.ts";

export class PersistentReplayBuffer<const S extends StepSpec = StepSpec> {
  /** null where there is none. */
  readonly capacity: number | null;
  readonly #store: Transitions;
  readonly #journal: BufferLog;
  readonly #files: Files;
  /** Episodes that have a step in this segment: their next one need not tell the frames again. */
  readonly #known = new Set<number>();
  /** Whether the spec stands in this segment, written since it was opened. */
  #headed = false;
  #opening: Generator<Progress, void>;

  /**
   * Opens a directory, or begins one: the newest `capacity` of its ancestors' items and its own.
   * @throws TypeError, RangeError · ReplayError LOCKED, NOT_FOUND, CORRUPT, SPEC_MISMATCH, INVALID_DATA, UNSUPPORTED, IO, OUT_OF_MEMORY
   */
  constructor(dirname: string | Directory, capacity?: number | null, options?: PersistentOptions<S>);
  constructor(dirname: string | Directory, options: PersistentOptions<S> & { readonly capacity?: number | null });
  constructor(options: PersistentOptions<S> & { readonly dirname: string | Directory; readonly capacity?: number | null });
  constructor(...args: unknown[]) {
    pointAtCallersOf(new.target);
    const { directory, capacity, persistence, spec, engine, later } = persistentArguments<S>("PersistentReplayBuffer", args);
    this.capacity = capacity === Number.POSITIVE_INFINITY ? null : capacity;
    this.#store = new Transitions({ capacity, numSteps: 1, prioritized: false, spec, engine });
    this.#journal = new BufferLog(directory, "transitions", persistence, engine.module);
    this.#files = new Files(contentOfTransitions(this.#store, undefined), engine.module);
    this.#opening = this.#open(capacity);
    behind.set(this, { store: this.#store });
    if (!later) atOnce(this.#opening);
  }

  /** The constructor, in pieces between which others run. @throws the signal's reason too */
  static async open<const S extends StepSpec>(
    dirname: string | Directory,
    capacity?: number | null,
    { signal, onProgress, ...options }: PersistentOptions<S> & WorkOptions = {},
  ): Promise<PersistentReplayBuffer<S>> {
    const made = new PersistentReplayBuffer<S>(...([dirname, capacity, options, LATER] as unknown as [string]));
    await inPieces(made.#opening, { signal, onProgress });
    return made;
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
   * Appends one step of an environment, which is an item. It is on the disk when `flush` has been waited for, or by `durability`.
   * @throws TypeError, RangeError · ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY, CLOSED, and then nothing changed · IO where the disk refuses: the
   * step is there, and is tried again
   */
  append(transition: AppendedTransition): void {
    this.#journal.check();
    const env = this.#store.append(transition, 1);
    const { items, records } = this.#store.made as Made;
    this.#head();
    this.#journal.write(SINGLE, env.number, records.write(env.row, this.#known.has(env.number) ? env.before : 0));
    if (transition.isStateTerminal === true) this.#end(env);
    else this.#known.add(env.number);
    this.#journal.random(items.randomState);
    this.#journal.commit(items.size);
  }

  /** The running episode of an environment was interrupted. Its steps are stored already. Without a running episode nothing happens. @throws ReplayError IO */
  stopCurrentEpisode(envId: unknown = 0): void {
    const made = this.#store.made;
    const env = made?.steps.envs.get(envId);
    if (made === undefined || env === undefined) return;
    this.#store.stop(envId, 1);
    if (this.#journal.closed) return;
    this.#head();
    this.#end(env);
    this.#journal.commit(made.items.size);
  }

  /**
   * n different items, all alike.
   * @throws TypeError, RangeError · ReplayError EMPTY, TOO_FEW
   */
  sample(n: number, options: ListOptions): Listed<Transition[]>;
  sample(n: number, options?: SampleOptions<TransitionBatch<S>>): TransitionBatch<S>;
  sample(n: number, options: SampleOptions<TransitionBatch<S>> | ListOptions = {}): TransitionBatch<S> | Listed<Transition[]> {
    const drawn = this.#store.sample(n, sampleOptions(options as SampleOptions<AnyBatch>));
    this.#journal.drew();
    return drawn as unknown as TransitionBatch<S> | Listed<Transition[]>;
  }

  /** Everything that was appended is on the disk once it resolves. @throws ReplayError IO, CLOSED */
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

  /** Writes all stored items to a file of its own, as other buffers do. */
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

  /** All stored items in PFRL's form, oldest first. */
  items(): Iterable<Transition[]> {
    return this.#store.all();
  }

  /** The last transition of each running episode, by environment. */
  running(): Map<unknown, Transition[]> {
    return this.#store.running();
  }

  *#open(max: number): Generator<Progress, void> {
    yield* this.#journal.replay(new TransitionsSink(this.#store, undefined, { max }));
    this.#journal.begin(() => {
      this.#headed = false;
      this.#head();
    });
  }

  /** What a segment begins with, and what was written since the directory was opened. */
  #head(): void {
    const { made } = this.#store;
    if (this.#headed || made === undefined) return;
    this.#headed = true;
    this.#known.clear();
    this.#journal.write(FORM, 0, formBytes({ family: "transitions", numSteps: 1, spec: made.spec }));
    this.#journal.write(RANDOM, 0, made.items.randomState);
  }

  #end({ number }: Env): void {
    this.#known.delete(number);
    this.#journal.write(EPISODE_END, number, NOTHING);
  }

  #settle(): void {
    this.#journal.random(this.#store.made?.items.randomState);
    this.#journal.commit(this.#store.size);
  }

  /** The log begins anew, with what is there. */
  #rewrite(): void {
    const { made } = this.#store;
    this.#journal.write(CLEAR, 0, NOTHING);
    this.#headed = false;
    this.#head();
    for (const slot of made?.items.slots() ?? []) {
      const { items, records } = made as Made;
      this.#journal.write(SINGLE, 0, records.write(items.rowsOf(slot)[0] as number, 0));
    }
    this.#journal.write(EPISODE_END, 0, NOTHING);
    this.#journal.commit(this.#store.size);
  }
}
