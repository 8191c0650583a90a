/** What all of PFRL's buffers have: steps that come in, samples, files. */
import { mustBe, onlyKeys, ReplayError } from "../../base/error.ts";
import { type Progress, runIncrementally, runSync, type WorkOptions } from "../files/incremental.ts";
import type { Content } from "../files/loader.ts";
import { loading, saveFile } from "../files/save.ts";
import type { SaveTarget } from "../files/single-file.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import type { SampleList } from "../rows/transition-batch.ts";
import type { EngineOptions } from "../store/steps.ts";
import type { SampleRequest, Stored } from "../store/stored.ts";
import type { AppendedTransition, Transition } from "../transition.ts";

/** Options of the engine, which every buffer has. */
export interface BufferOptions<S extends StepSpec = StepSpec> extends EngineOptions {
  /** What a transition looks like; taken from the first one where it is left out. */
  readonly spec?: S;
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

/** What is behind a buffer, for tests. Not for programs. */
export let storedOf: (buffer: object) => Stored;

/** A buffer whose samples are batches B, or lists of T. */
export abstract class StoredBuffer<B, T> {
  /** null where there is none. */
  readonly capacity: number | null;
  readonly #stored: Stored;
  readonly #content: Content;

  static {
    storedOf = (buffer) => (buffer as StoredBuffer<unknown, unknown>).#stored;
  }

  constructor(stored: Stored, content: Content) {
    this.#stored = stored;
    this.#content = content;
    const { capacity } = this.#stored.options;
    this.capacity = capacity === Number.POSITIVE_INFINITY ? null : capacity;
  }

  /** Transitions that can be drawn: of whole episodes those that ended. */
  get length(): number {
    return this.#stored.size;
  }

  /** Memory that is taken, of maxBytes; 0 before the spec is known. */
  get bytes(): number {
    return this.#stored.contents?.steps.bytes ?? 0;
  }

  /**
   * Appends one step of an environment. With the last step of an episode comes `isStateTerminal`, or `stopCurrentEpisode` after it; of whole episodes only those are
   * stored that have ended. O(bytes + numSteps), and O(steps) at the end of an episode
   * @throws TypeError, RangeError · ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY; and then nothing changed
   */
  append(transition: AppendedTransition): void {
    this.#stored.append(transition);
  }

  /** The running episode of an environment was interrupted: it ends, and its next step begins another one. Without a running episode nothing happens. */
  stopCurrentEpisode(envId: unknown = 0): void {
    this.#stored.stop(envId);
  }

  /**
   * n different transitions: all alike, or of a PrioritizedReplayBuffer in proportion to their priorities, with importance weights; then `updateErrors` is due, unless
   * `waitPriorityAfterSampling` is false. Single transitions of whole episodes have no keys, and await no errors. O(n log size + bytes)
   * @throws TypeError, RangeError · ReplayError EMPTY, TOO_FEW, OUT_OF_TURN; and then nothing changed
   */
  sample(n: number, options: ListOptions): SampleList<T>;
  sample(n: number, options?: SampleOptions<B>): B;
  sample(n: number, options: SampleOptions<B> | ListOptions = {}): B | SampleList<T> {
    return this.#stored.sample(n, sampleOptions(options as SampleRequest)) as B | SampleList<T>;
  }

  /**
   * Writes all stored items to a file, without running episodes; the file that was there stays until the new one is on the disk.
   * @throws ReplayError IO, UNSUPPORTED
   */
  save(file: SaveTarget): void {
    runSync(this.#saveTo(file));
  }

  /** `save`, in pieces between which others run; the buffer must not change meanwhile. @throws the signal's reason too */
  saveAsync(file: SaveTarget, options: WorkOptions = {}): Promise<void> {
    return runIncrementally(this.#mustStayUnchanged(this.#saveTo(file)), options);
  }

  /**
   * Reads a file in the place of what is stored; running episodes go on. The buffer's own capacity rules from the next item on. Where it fails nothing changed.
   * @throws ReplayError NOT_FOUND, CORRUPT, SPEC_MISMATCH, INVALID_DATA, IO, UNSUPPORTED, OUT_OF_MEMORY
   */
  load(file: SaveTarget): void {
    runSync(this.#loading(file));
  }

  /** `load`, in pieces between which others run; the buffer must not change meanwhile. @throws the signal's reason too */
  loadAsync(file: SaveTarget, options: WorkOptions = {}): Promise<void> {
    return runIncrementally(this.#mustStayUnchanged(this.#loading(file)), options);
  }

  /** All transitions that can be drawn, in PFRL's form, oldest first. */
  items(): Iterable<T> {
    return this.#stored.transitions() as Iterable<T>;
  }

  /** The running episodes, by environment: all of their transitions that new items may have. */
  running(): Map<unknown, Transition[]> {
    return this.#stored.running();
  }

  #saveTo(file: SaveTarget): Generator<Progress, void> {
    return saveFile(file, this.#content, this.#stored.options.engine.module);
  }

  *#loading(file: SaveTarget): Generator<Progress, void> {
    this.check();
    for (const progress of loading(file, this.#content, this.#stored.options.engine.module)) {
      yield progress;
      this.check();
    }
    this.onLoad();
  }

  /** Before a call changes something. */
  protected check(): void {}

  /** A file was read in the place of what was stored. */
  protected onLoad(): void {}

  /** Between two pieces nothing may come in: it would be lost, or in the file by half. */
  *#mustStayUnchanged(task: Generator<Progress, void>): Generator<Progress, void> {
    const { changes } = this.#stored;
    for (const progress of task) {
      yield progress;
      if (this.#stored.changes !== changes)
        throw new ReplayError("OUT_OF_TURN", "the buffer changed while it was being saved or loaded: wait for the end first");
    }
  }
}

/** The same options, checked: no object of our own for each sample. */
function sampleOptions(options: SampleRequest): SampleRequest {
  const { form = "batch" } = onlyKeys("options", options, "form, into");
  if (form !== "batch" && form !== "list") throw mustBe(RangeError, "form", '"batch" or "list"', form);
  return options;
}
