/** Implements the common part of all PFRL buffers: appending steps, sampling, and files. */
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

/** The engine options of every buffer. */
export interface BufferOptions<S extends StepSpec = StepSpec> extends EngineOptions {
  /** The form of a transition. Default: that of the first one */
  readonly spec?: S;
}

export interface SampleOptions<B> {
  /** A batch to fill, which this buffer returned for the same n. Nothing is allocated then. */
  readonly into?: B;
  readonly form?: "batch";
}

/** Requests PFRL's own form: a list of transitions, each an object. */
export interface ListOptions {
  readonly form: "list";
}

/** Returns the store of a buffer, for tests only. */
export let storedOf: (buffer: object) => Stored;

/** A buffer whose samples are batches B, or lists of T. */
export abstract class StoredBuffer<B, T> {
  /** null if there is no limit. */
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

  /** The number of transitions that can be drawn; for whole episodes, those of episodes that ended. */
  get length(): number {
    return this.#stored.size;
  }

  /** The memory in use, out of maxBytes; 0 before the spec is known. */
  get bytes(): number {
    return this.#stored.contents?.steps.bytes ?? 0;
  }

  /**
   * Appends one step of an environment. Set `isStateTerminal` in the last step of an episode, or call `stopCurrentEpisode` after it. Buffers of whole episodes
   * store only those that ended. O(bytes + numSteps), and O(steps) at the end of an episode
   * @throws TypeError, RangeError · ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY. After an error nothing has changed
   */
  append(transition: AppendedTransition): void {
    this.#stored.append(transition);
  }

  /** Ends the interrupted episode of an environment, so that its next step begins another one. No effect if there is none. */
  stopCurrentEpisode(envId: unknown = 0): void {
    this.#stored.stop(envId);
  }

  /**
   * Samples n different transitions, uniformly. A PrioritizedReplayBuffer samples in proportion to priorities, with importance weights; call `updateErrors`
   * afterwards, unless `waitPriorityAfterSampling` is false. Single transitions of whole episodes have no keys and need no update. O(n log size + bytes)
   * @throws TypeError, RangeError · ReplayError EMPTY, TOO_FEW, OUT_OF_TURN. After an error nothing has changed
   */
  sample(n: number, options: ListOptions): SampleList<T>;
  sample(n: number, options?: SampleOptions<B>): B;
  sample(n: number, options: SampleOptions<B> | ListOptions = {}): B | SampleList<T> {
    return this.#stored.sample(n, sampleOptions(options as SampleRequest)) as B | SampleList<T>;
  }

  /**
   * Writes all stored items to a file, without running episodes. An existing file is kept until the new one is on disk.
   * @throws ReplayError IO, UNSUPPORTED
   */
  save(file: SaveTarget): void {
    runSync(this.#saveTo(file));
  }

  /**
   * Saves like `save`, in pieces between which other tasks run. The buffer must not change in the meantime. @throws the errors of `save` · the signal's reason,
   * if it is aborted
   */
  saveAsync(file: SaveTarget, options: WorkOptions = {}): Promise<void> {
    return runIncrementally(this.#mustStayUnchanged(this.#saveTo(file)), options);
  }

  /**
   * Replaces the stored items with those of a file. Running episodes continue. The buffer's own capacity applies from the next item on. After an error nothing
   * has changed.
   * @throws ReplayError NOT_FOUND, CORRUPT, SPEC_MISMATCH, INVALID_DATA, IO, UNSUPPORTED, OUT_OF_MEMORY
   */
  load(file: SaveTarget): void {
    runSync(this.#loading(file));
  }

  /**
   * Loads like `load`, in pieces between which other tasks run. The buffer must not change in the meantime. @throws the errors of `load` · the signal's reason,
   * if it is aborted
   */
  loadAsync(file: SaveTarget, options: WorkOptions = {}): Promise<void> {
    return runIncrementally(this.#mustStayUnchanged(this.#loading(file)), options);
  }

  /** Returns all transitions that can be drawn in PFRL's form, oldest first. */
  items(): Iterable<T> {
    return this.#stored.transitions() as Iterable<T>;
  }

  /** Returns the running episodes by environment: all of their transitions that new items may contain. */
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

  /** Called before each change. */
  protected check(): void {}

  /** Called after a file has replaced the content. */
  protected onLoad(): void {}

  /** Throws if the buffer changes between two pieces, since the change would be lost or saved in part. */
  *#mustStayUnchanged(task: Generator<Progress, void>): Generator<Progress, void> {
    const { changes } = this.#stored;
    for (const progress of task) {
      yield progress;
      if (this.#stored.changes !== changes)
        throw new ReplayError("OUT_OF_TURN", "the buffer changed while it was being saved or loaded: wait for the end first");
    }
  }
}

/** Checks the options and returns them, without allocating an object per sample. */
function sampleOptions(options: SampleRequest): SampleRequest {
  const { form = "batch" } = onlyKeys("options", options, "form, into");
  if (form !== "batch" && form !== "list") throw mustBe(RangeError, "form", '"batch" or "list"', form);
  return options;
}
