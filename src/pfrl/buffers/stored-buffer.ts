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

/** The engine options, which every buffer has. */
export interface BufferOptions<S extends StepSpec = StepSpec> extends EngineOptions {
  /** The spec of a transition. Default: inferred from the first transition. */
  readonly spec?: S;
}

export interface SampleOptions<B> {
  /** A batch to fill, which this buffer returned for the same n. Nothing is allocated then. */
  readonly into?: B;
  readonly form?: "batch";
}

/** Options for the form of PFRL: a list of transitions, each an object. */
export interface ListOptions {
  readonly form: "list";
}

/** A buffer whose samples are batches B, or lists of T. */
export abstract class StoredBuffer<B, T> {
  /** null for no limit. */
  readonly capacity: number | null;
  readonly #stored: Stored;
  readonly #content: Content;

  constructor(stored: Stored, content: Content) {
    this.#stored = stored;
    this.#content = content;
    const { capacity } = this.#stored.options;
    this.capacity = capacity === Number.POSITIVE_INFINITY ? null : capacity;
  }

  /** The number of transitions that can be drawn; for whole episodes, only those of completed ones. */
  get length(): number {
    return this.#stored.size;
  }

  /** The memory in use, in bytes, limited by maxBytes; 0 before the spec is known. */
  get bytes(): number {
    return this.#stored.contents?.steps.bytes ?? 0;
  }

  /**
   * Appends one step of an environment. The last step of an episode has `isStateTerminal`, or is followed by `stopCurrentEpisode`; buffers of whole episodes
   * store only completed ones. O(bytes + numSteps), and O(steps) at the end of an episode
   * @throws TypeError, RangeError · ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY; nothing has changed then
   */
  append(transition: AppendedTransition): void {
    this.#stored.append(transition);
  }

  /** Ends the open episode of an environment that was interrupted; its next step starts another one. No effect without an open episode. */
  stopCurrentEpisode(envId: unknown = 0): void {
    this.#stored.stop(envId);
  }

  /**
   * Draws n different transitions: uniformly, or, from a PrioritizedReplayBuffer, in proportion to their priorities and with importance weights; `updateErrors`
   * is then due, unless `waitPriorityAfterSampling` is false. Single transitions of whole episodes have no keys, and need no errors. O(n log size + bytes)
   * @throws TypeError, RangeError · ReplayError EMPTY, TOO_FEW, OUT_OF_TURN; nothing has changed then
   */
  sample(n: number, options: ListOptions): SampleList<T>;
  sample(n: number, options?: SampleOptions<B>): B;
  sample(n: number, options: SampleOptions<B> | ListOptions = {}): B | SampleList<T> {
    return this.#stored.sample(n, sampleOptions(options as SampleRequest)) as B | SampleList<T>;
  }

  /**
   * Writes all stored items to a file, without open episodes. An existing file stays until the new one is on the disk.
   * @throws ReplayError IO, UNSUPPORTED
   */
  save(file: SaveTarget): void {
    runSync(this.#saveTo(file));
  }

  /** Saves in slices between which other tasks can run. The buffer must not change in the meantime. @throws as `save`, and the signal's reason */
  saveAsync(file: SaveTarget, options: WorkOptions = {}): Promise<void> {
    return runIncrementally(this.#mustStayUnchanged(this.#saveTo(file)), options);
  }

  /**
   * Replaces the stored items with those of a file; open episodes continue. The buffer's capacity applies from the next item on. Nothing changes if it throws.
   * @throws ReplayError NOT_FOUND, CORRUPT, SPEC_MISMATCH, INVALID_DATA, IO, UNSUPPORTED, OUT_OF_MEMORY
   */
  load(file: SaveTarget): void {
    runSync(this.#loading(file));
  }

  /** Loads in slices between which other tasks can run. The buffer must not change in the meantime. @throws as `load`, and the signal's reason */
  loadAsync(file: SaveTarget, options: WorkOptions = {}): Promise<void> {
    return runIncrementally(this.#mustStayUnchanged(this.#loading(file)), options);
  }

  /** Iterates over all transitions that can be drawn, in the form of PFRL, oldest first. */
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

  /** Runs before a call changes anything. */
  protected check(): void {}

  /** Runs when a file has replaced the stored items. */
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
