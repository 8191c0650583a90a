/** Implements the base of all PFRL buffers: appending, sampling, and files. */
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

/** The options that every buffer has. */
export interface BufferOptions<S extends StepSpec = StepSpec> extends EngineOptions {
  /** The spec of a transition. Default: inferred from the first transition. */
  readonly spec?: S;
}

export interface SampleOptions<B> {
  /**
   * A batch to refill, which this buffer returned for the same n. From its second use on, only object columns
   * allocate memory. Default: a new batch.
   */
  readonly into?: B;
  readonly form?: "batch";
}

/** The options for a sample in the form of PFRL: a list of items, whose transitions are objects. */
export interface ListOptions {
  readonly form: "list";
}

/** A buffer whose samples are batches of type B, or lists of type T. */
export abstract class StoredBuffer<B, T> {
  /** The maximum number of transitions. null for no limit. */
  readonly capacity: number | null;
  readonly #stored: Stored;
  readonly #content: Content;

  constructor(stored: Stored, content: Content) {
    this.#stored = stored;
    this.#content = content;
    const { capacity } = this.#stored.options;
    this.capacity = capacity === Number.POSITIVE_INFINITY ? null : capacity;
  }

  /** The number of transitions that can be drawn. In a buffer of whole episodes, only transitions of completed episodes count. */
  get length(): number {
    return this.#stored.size;
  }

  /** The memory in use, in bytes, which `maxBytes` limits. 0 before the spec is known. */
  get bytes(): number {
    return this.#stored.contents?.steps.bytes ?? 0;
  }

  /**
   * Appends one step of an environment. The last step of an episode has `isStateTerminal`, or is followed by `stopCurrentEpisode`. Buffers of whole episodes
   * store only completed episodes. Costs O(bytes + numSteps), and O(steps) at the end of an episode. If the call throws, nothing has changed.
   * @throws TypeError, RangeError if an argument is invalid
   * @throws ReplayError SPEC_MISMATCH if a value does not match the spec
   * @throws ReplayError INVALID_DATA if a value does not fit its dtype
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   */
  append(transition: AppendedTransition): void {
    this.#stored.append(transition);
  }

  /** Ends the open episode of an environment that was interrupted. The environment's next step starts a new episode. No effect without an open episode. */
  stopCurrentEpisode(envId: unknown = 0): void {
    this.#stored.stop(envId);
  }

  /**
   * Draws n different transitions uniformly. A PrioritizedReplayBuffer draws them in proportion to their priorities, with importance weights. With priorities,
   * call `updateErrors` before the next sample, unless `waitPriorityAfterSampling` is false. Single transitions from a buffer of whole episodes have no keys,
   * and need no errors. Costs O(n log size + bytes). If the call throws, nothing has changed.
   * @throws TypeError, RangeError if an argument is invalid
   * @throws ReplayError EMPTY if the buffer is empty
   * @throws ReplayError TOO_FEW if the buffer has fewer than n items
   * @throws ReplayError OUT_OF_TURN if the last sample still waits for its errors
   */
  sample(n: number, options: ListOptions): SampleList<T>;
  sample(n: number, options?: SampleOptions<B>): B;
  sample(n: number, options: SampleOptions<B> | ListOptions = {}): B | SampleList<T> {
    return this.#stored.sample(n, sampleOptions(options as SampleRequest)) as B | SampleList<T>;
  }

  /**
   * Writes all stored items to a file, without open episodes. An existing file remains until the new file is on the disk.
   * @throws ReplayError IO if the file cannot be written
   * @throws ReplayError UNSUPPORTED if the runtime has no files
   */
  save(file: SaveTarget): void {
    runSync(this.#saveTo(file));
  }

  /**
   * Writes all stored items like `save`, in slices between which other tasks can run. The buffer must not change in the meantime.
   * @throws the errors of `save`
   * @throws the signal's reason if the signal aborts
   */
  saveAsync(file: SaveTarget, options: WorkOptions = {}): Promise<void> {
    return runIncrementally(this.#mustStayUnchanged(this.#saveTo(file)), options);
  }

  /**
   * Replaces the stored items with the items of a file. Open episodes continue. The buffer's capacity applies from the next item on. If the call throws,
   * nothing has changed.
   * @throws ReplayError NOT_FOUND if the file does not exist
   * @throws ReplayError CORRUPT if the file is damaged
   * @throws ReplayError SPEC_MISMATCH if another kind of buffer wrote the file, or if its transitions have another spec
   * @throws ReplayError INVALID_DATA if `save` did not write the file
   * @throws ReplayError IO if the file cannot be read
   * @throws ReplayError UNSUPPORTED if another version wrote the file, or the runtime has no files
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   */
  load(file: SaveTarget): void {
    runSync(this.#loading(file));
  }

  /**
   * Replaces the stored items like `load`, in slices between which other tasks can run. The buffer must not change in the meantime.
   * @throws the errors of `load`
   * @throws the signal's reason if the signal aborts
   */
  loadAsync(file: SaveTarget, options: WorkOptions = {}): Promise<void> {
    return runIncrementally(this.#mustStayUnchanged(this.#loading(file)), options);
  }

  /** Iterates over all transitions that can be drawn, in the same form as in a sample with `form: "list"`, oldest first. */
  items(): Iterable<T> {
    return this.#stored.transitions() as Iterable<T>;
  }

  /** Returns the open episodes, by environment, with all transitions that new items may include. */
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

  /** Checks the buffer before a call changes anything. */
  protected check(): void {}

  /** Updates the buffer after a file has replaced the stored items. */
  protected onLoad(): void {}

  /** Throws if the buffer changes between two slices, because the change would be lost or only partly saved. */
  *#mustStayUnchanged(task: Generator<Progress, void>): Generator<Progress, void> {
    const { changes } = this.#stored;
    for (const progress of task) {
      yield progress;
      if (this.#stored.changes !== changes)
        throw new ReplayError("OUT_OF_TURN", "the buffer changed while it was being saved or loaded. Await the save or load before other calls");
    }
  }
}

/** Checks the options and returns them, without creating an object for each sample. */
function sampleOptions(options: SampleRequest): SampleRequest {
  const { form = "batch" } = onlyKeys("options", options, "form, into");
  if (form !== "batch" && form !== "list") throw mustBe(RangeError, "form", '"batch" or "list"', form);
  return options;
}
