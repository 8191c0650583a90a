/** Implements a buffer of whole episodes, including open episodes. A window never spans two episodes. Modelled on `EpisodicReplayBuffer` of TF-Agents. */

import { BY_STEPS, UNIFORM } from "../../base/abi.ts";
import { flag, integer, mustBe, onlyKeys, ReplayError } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import type { StepsLike, StepsOf } from "../../batch/batch.ts";
import { type Dataset, elementsOf } from "../../batch/iterate.ts";
import type { Engine } from "../../memory/engine.ts";
import { engineOf, Replay } from "../../replay/replay.ts";
import { elementsIn, isList, listLength } from "../../schema/copy-numbers.ts";
import { leavesOf, type Spec } from "../../schema/spec.ts";
import { batchOfOne, concat, numbers, slice, stack, unbatch } from "../nest.ts";
import { Windows } from "../windows.ts";
import { EpisodeFlag, type EpisodeFn } from "./episode-flags.ts";
import { type TraversalOptions, traverseEpisodes } from "./episode-traversal.ts";
import { EpisodeIds as Store } from "./episodes.ts";
import { type Batch, createBatchReader, type ItemsOf } from "./frames.ts";
import { drawEndlessly, preprocessItems, toElementSource } from "./iterate.ts";
import {
  type AsDatasetOptions,
  type ClearOptions,
  checkDataset,
  checkGetNext,
  checkStore,
  type Element,
  type GetNextOptions,
  type ReplayBuffer,
  refuseLists,
  type SeparateElement,
  STORE,
  type StoreOptions,
} from "./replay-buffer.ts";

export interface EpisodicOptions<S = Spec> extends StoreOptions {
  /** The maximum number of episodes. Default: 1,000. */
  readonly capacity?: number;
  /** Whether draws, passes and `gatherAll` use only completed episodes. Default: false. */
  readonly completedOnly?: boolean;
  /** The `buffer_size` of TF-Agents, an integer >= 1. The value is checked but has no effect, because every draw uses the newest state. */
  readonly bufferSize?: number;
  /**
   * Returns whether an episode begins with the items. The result is one boolean for a sequence, and one boolean or one per row for a batch. Default: an episode
   * begins at a trajectory of type FIRST.
   */
  readonly beginEpisodeFn?: EpisodeFn<S>;
  /** Returns whether an episode ends with the items. Default: an episode ends at a trajectory whose next step is of type LAST. */
  readonly endEpisodeFn?: EpisodeFn<S>;
  /** Receives a warning for each row that could not be written. Default: console.warn. */
  readonly onWarning?: (message: string) => void;
}

/** Copies of episodes, one per location. */
export interface Episodes<S = Spec> {
  /** The number of steps per episode, or 0 for an empty location. */
  readonly length: ArrayLike<number>;
  /** The completion flags: 1 for a completed episode, otherwise 0. */
  readonly completed: ArrayLike<number>;
  /** The steps of each episode, [T, …]. */
  readonly items: readonly StepsLike<S>[];
}

/** The result of `extract`. */
export interface ExtractedEpisodes<S = Spec> extends Omit<Episodes<S>, "items"> {
  readonly length: Uint32Array<ArrayBuffer>;
  readonly completed: Uint8Array<ArrayBuffer>;
  readonly items: readonly StepsOf<S>[];
}

const OPTIONS = `capacity, completedOnly, bufferSize, beginEpisodeFn, endEpisodeFn, onWarning, ${STORE}`;
/** The maximum number of rows in a batch, which is the maximum number of lanes of a writer. */
const MAX_ROWS = 65536;

export class EpisodicReplayBuffer<const S extends Spec = Spec> implements ReplayBuffer<S> {
  readonly dataSpec: S;
  /** The maximum number of episodes. The episode with id e is at location e mod capacity, until a later id takes this location. */
  readonly capacity: number;
  readonly statefulDataset: boolean = true;
  readonly #engine: Engine;
  readonly #windows: Windows;
  readonly #episodes: Store;
  readonly #toBatch: (items: unknown, rows?: number) => Batch;
  readonly #begin: EpisodeFlag;
  readonly #end: EpisodeFlag;
  readonly #dropRemainder: boolean;
  readonly #shift: number | undefined;
  readonly #warn: (message: string) => void;

  /** Creates an empty buffer. @throws TypeError, RangeError if an option is invalid */
  constructor(dataSpec: S, options: EpisodicOptions<S> = {}) {
    hideFrames(new.target);
    const { capacity = 1000, completedOnly = false, bufferSize = 8, beginEpisodeFn, endEpisodeFn } = onlyKeys("options", options, OPTIONS);
    const { onWarning = console.warn, datasetDropRemainder = false, datasetWindowShift, seed = 0, maxBytes, module } = options;
    checkStore(options);
    this.capacity = integer("capacity", capacity, 1, MAX_LENGTH);
    integer("bufferSize", bufferSize, 1);
    const isCompletedOnly = flag("completedOnly", completedOnly) !== 0;
    if (typeof onWarning !== "function") throw mustBe(TypeError, "onWarning", "a function", onWarning);
    // This call checks the spec before other code reads it.
    leavesOf(dataSpec);
    this.dataSpec = dataSpec;
    this.#begin = EpisodeFlag.begin(dataSpec, beginEpisodeFn);
    this.#end = EpisodeFlag.end(dataSpec, endEpisodeFn);
    this.#dropRemainder = datasetDropRemainder;
    this.#shift = datasetWindowShift;
    this.#warn = onWarning;
    const replay = new Replay<Spec, never>({ spec: dataSpec, seed, maxBytes, module });
    this.#engine = engineOf(replay);
    this.#windows = new Windows(this.#engine, { seed, streams: capacity });
    this.#episodes = new Store(replay, this.#windows, capacity, isCompletedOnly);
    this.#toBatch = createBatchReader(dataSpec);
  }

  /**
   * Returns ids for episodes that have not begun. Each id is -1 until steps are added.
   * @param n the number of ids, for `addBatch`; if omitted or 0, a single id, for `addSequence`
   */
  createEpisodeIds(n?: undefined | 0): number;
  createEpisodeIds(n: number): number[];
  createEpisodeIds(n?: number): number | number[] {
    if (n === undefined || integer("numEpisodes", n, Number.MIN_SAFE_INTEGER, this.capacity) <= 0) return -1;
    return new Array(n).fill(-1);
  }

  /**
   * Adds a sequence of steps to the episode `id`, or to a new episode if the begin function returns true or `id` is negative. The end function completes the
   * episode, but later steps can still be added to it. Costs O(bytes). If the call throws, nothing was added.
   * @param items nested like the data spec, each leaf [T, …]
   * @returns the id to continue with
   * @throws ReplayError SPEC_MISMATCH if the items do not match the spec
   * @throws ReplayError INVALID_DATA if a value does not fit its dtype
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   * @throws ReplayError STALE_KEY if another id has taken the location of the episode
   */
  addSequence(items: ItemsOf<S>, id: number): number {
    this.#engine.open();
    if (typeof id !== "number") throw mustBe("SPEC_MISMATCH", "id", "a number", id);
    integer("id", id, Number.MIN_SAFE_INTEGER);
    const batch = this.#toBatch(items);
    const begins = this.#begin.ofFirst(batch);
    const isEnd = this.#end.ofAny(batch);
    const to = this.#episodes.addSequence(begins || id < 0 ? undefined : id, batch);
    if (isEnd) this.#complete(to);
    return to;
  }

  /**
   * Adds one step to each of several episodes, existing or new. All new ids are assigned first, row by row. If a new id takes the location of another row's
   * episode, that row is skipped with a warning. Costs O(bytes). If the call throws, nothing was added.
   * @param items nested like the data spec, each leaf [rows, …]
   * @param ids the ids of the episodes, one per row
   * @returns the ids to continue with
   * @throws ReplayError SPEC_MISMATCH if the items do not match the spec
   * @throws ReplayError INVALID_DATA if a value does not fit its dtype
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   * @throws ReplayError STALE_KEY if no row can be written or an id was never assigned
   */
  addBatch(items: ItemsOf<S>, ids: ArrayLike<number>): number[] {
    this.#engine.open();
    const idNumbers = idList(ids);
    const batch = this.#toBatch(items, integer("the number of ids", idNumbers.length, 1, MAX_ROWS));
    const begins = this.#begin.ofEach(batch);
    const isEnd = this.#end.ofEach(batch);
    const targets = idNumbers.map((id, row) => (begins[row] || id < 0 ? undefined : id));
    const added = this.#episodes.addBatch(targets, batch);
    const skipped = new Set(added.skipped);
    for (const [row, id] of added.ids.entries()) if (isEnd[row] && !skipped.has(row)) this.#complete(id);
    for (const row of skipped) this.#warn(`addBatch: row ${row} was skipped: ${this.#episodes.staleError(added.ids[row] as number).message}`);
    return added.ids;
  }

  /**
   * Adds copies of episodes (from `extract`) to the episodes with the given ids. New ids are assigned in the order of the list. Each copy determines whether
   * its target is then completed. If the call throws, nothing was added.
   * @param indices the position in `ids` of each copy's target
   * @returns all ids, to continue with
   * @throws ReplayError SPEC_MISMATCH if the items do not match the spec
   * @throws ReplayError INVALID_DATA if a value does not fit its dtype
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   * @throws ReplayError STALE_KEY if no copy can be written or an id was never assigned
   * @throws RangeError if an argument is invalid
   */
  extendEpisodes(ids: ArrayLike<number>, indices: ArrayLike<number>, episodes: Episodes<S>): number[] {
    this.#engine.open();
    const idNumbers = idList(ids);
    const idIndices = integersOf("indices", "a list with one index into ids per episode", indices, 0, idNumbers.length - 1);
    const { length, completed, items } = onlyKeys("episodes", episodes, "length, completed, items");
    for (const [name, list] of Object.entries({ length, completed, items }))
      if (!isList(list) || listLength(list) !== idIndices.length)
        throw mustBe("SPEC_MISMATCH", `episodes.${name}`, `a list of ${idIndices.length} elements, one per index`, list);
    this.#begin.check();
    const steps = integersOf("episodes.length", "a list of step counts", length, 0);
    const batches = Array.from(idIndices, (_, j) => items[j]).map((episodeItems, j) => (steps[j] === 0 ? undefined : this.#toBatch(episodeItems, steps[j])));
    const begins = batches.map((batch) => batch !== undefined && this.#begin.ofFirst(batch));
    const opens = new Set(idIndices.filter((index, j) => begins[j] || (idNumbers[index] as number) < 0));
    const targets = idNumbers.map((id, index) => (opens.has(index) ? undefined : id));
    const copies = batches.map((batch, j) => ({ index: idIndices[j] as number, batch, completed: Boolean(completed[j]) }));
    const added = this.#episodes.extend(targets, copies);
    for (const j of added.skipped)
      this.#warn(`extendEpisodes: episode ${j} was skipped: ${this.#episodes.staleError(added.ids[idIndices[j] as number] as number).message}`);
    return added.ids;
  }

  /**
   * Returns copies of the episodes at the given locations (id mod capacity). With `clearData`, the steps at these locations are dropped, but the ids stay
   * valid. Costs O(bytes).
   * @throws RangeError if a location is invalid
   */
  extract(locations: ArrayLike<number>, clearData = false): ExtractedEpisodes<S> {
    this.#engine.open();
    const clears = flag("clearData", clearData) !== 0;
    const list = integersOf("locations", "a list of locations", locations, 0, this.capacity - 1);
    const extracted = {
      length: Uint32Array.from(list, (location) => this.#episodes.steps(location)),
      completed: Uint8Array.from(list, (location) => Number(this.#episodes.isCompleted(location))),
      items: list.map((location) => this.#read(location) as StepsOf<S>),
    };
    if (clears) for (const location of list) this.#episodes.clear(location);
    return extracted;
  }

  /**
   * Returns the steps of an episode, each leaf [T, …].
   * @throws ReplayError STALE_KEY if another id has taken the location of the episode
   * @throws ReplayError NOT_FOUND if the id was never assigned
   */
  getEpisode(id: number): StepsOf<S> {
    this.#engine.open();
    integer("id", id, Number.MIN_SAFE_INTEGER);
    if (id < 0 || id > this.#episodes.last) throw mustBe("NOT_FOUND", "id", "the id of an episode, from 0 to the newest id", id);
    if (!this.#episodes.valid(id)) throw this.#episodes.staleError(id);
    return this.#read(this.#episodes.location(id)) as StepsOf<S>;
  }

  /** Returns 1 for each id whose episode still exists, otherwise 0. */
  getValidIdsMask(ids: ArrayLike<number>): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(idList(ids), (id) => Number(this.#episodes.valid(id)));
  }

  /** Returns the ids of the completed episodes, by location. Costs O(capacity). */
  completedEpisodes(): number[] {
    const locations = Array.from({ length: this.capacity }, (_, location) => location);
    return locations.filter((location) => this.#episodes.isCompleted(location)).map((location) => this.#episodes.idAt(location));
  }

  /**
   * Draws a whole episode uniformly, [T, D]. With numSteps, draws a window: first an episode with enough steps, weighted by its length, then a uniformly random
   * start. Windows are [T, D] or [B, T, D], or tuples of T steps without timeStacked. The ids identify the episodes, one id per window.
   * @returns [items, {ids, probabilities}]
   * @throws ReplayError EMPTY if the buffer is empty
   * @throws ReplayError TOO_FEW if no episode is completed or long enough
   * @throws ReplayError UNSUPPORTED if a batch of whole episodes is requested
   */
  getNext(options: GetNextOptions & { readonly timeStacked: false; readonly numSteps: number }): SeparateElement<S>;
  getNext(options?: GetNextOptions & { readonly timeStacked?: true }): Element<S>;
  getNext(options?: GetNextOptions): Element<S> | SeparateElement<S>;
  getNext(options: GetNextOptions = {}): Element<S> | SeparateElement<S> {
    this.#engine.open();
    const { sampleBatchSize, numSteps } = checkGetNext(options);
    if (sampleBatchSize !== undefined && numSteps === undefined) throw batchSizeError("UNSUPPORTED", sampleBatchSize);
    return this.#draw(options);
  }

  /**
   * Returns an endless series of draws like those of `getNext`. With `singleDeterministicPass`, returns one pass over the episodes in the order of their ids,
   * as they were at its start. The pass returns whole episodes, or windows of numSteps steps. With sampleBatchSize = k, the episodes are split into k shards by
   * id mod k, and each batch takes one window from each shard. A pass over an empty buffer ends immediately.
   * @throws RangeError if a batch of whole episodes is requested
   * @throws ReplayError EMPTY during iteration if the buffer is empty
   * @throws ReplayError TOO_FEW during iteration if no episode is completed or long enough
   */
  asDataset(options: AsDatasetOptions<S> = {}): Dataset<Element<S>> {
    this.#engine.open();
    const { sampleBatchSize, numSteps, singleDeterministicPass, sequencePreprocessFn, timeoutMs } = checkDataset(this.dataSpec, options);
    if (sampleBatchSize !== undefined && numSteps === undefined) throw batchSizeError(RangeError, sampleBatchSize);
    if (singleDeterministicPass) {
      const traversalOptions = { ...options, shift: this.#shift, dropRemainder: this.#dropRemainder } as TraversalOptions;
      return elementsOf(() => toElementSource(traverseEpisodes(this.#episodes, this.#windows, traversalOptions) as Generator<Element<S>, void>), options);
    }
    const draw = () => this.#draw({ sampleBatchSize, numSteps }, sequencePreprocessFn) as Element<S>;
    return elementsOf(() => drawEndlessly(draw, this.#engine.waiters, timeoutMs), options);
  }

  /** Returns the concatenated steps of all episodes that can be drawn, in the order of their ids: [1, ΣT, …], or [0, …] if there are no steps. */
  gatherAll(): StepsOf<S> {
    this.#engine.open();
    refuseLists(this.dataSpec);
    const parts = [...this.#episodes.validMarks()].map(({ location }) => this.#read(location));
    return (parts.length === 0 ? this.#read(0, 0) : batchOfOne(concat(parts))) as StepsOf<S>;
  }

  /** Drops all steps and completion flags. Ids stay valid, so a program can continue to add steps to an episode. With `clearAllVariables`, ids restart at 0. */
  clear(options: ClearOptions = {}): void {
    this.#engine.open();
    const all = flag("clearAllVariables", onlyKeys("options", options, "clearAllVariables").clearAllVariables ?? false);
    this.#episodes.clearAll();
    if (all) this.#episodes.last = -1;
  }

  /** Returns the number of steps of all episodes, including open episodes. Costs O(1). */
  numFrames(): number {
    return this.#episodes.frames;
  }

  #complete(id: number): void {
    this.#episodes.complete(this.#episodes.location(id), true);
  }

  /** Returns an episode's steps, [T, …]. */
  #read(location: number, steps: number = this.#episodes.steps(location)): unknown {
    return unbatch(this.#windows.read([location], [0], steps, "stacked"));
  }

  #draw({ sampleBatchSize, numSteps, timeStacked = true }: GetNextOptions, preprocess?: (items: StepsOf<S>) => unknown): Element<S> | SeparateElement<S> {
    const isUnbatched = sampleBatchSize === undefined;
    if (numSteps === undefined) {
      const streamDraw = this.#windows.drawStream(UNIFORM);
      if (streamDraw === undefined) throw this.#emptyError("no episode has been completed. End an episode first");
      const items = this.#read(streamDraw.stream);
      const info = { ids: numbers([this.#episodes.idAt(streamDraw.stream)], []), probabilities: numbers([streamDraw.probability], []) };
      return [preprocess === undefined ? items : preprocess(items as StepsOf<S>), info] as Element<S>;
    }
    const windowDraw = this.#windows.draw(sampleBatchSize ?? 1, numSteps, timeStacked ? "stacked" : "apart", BY_STEPS);
    if (windowDraw === undefined) throw this.#emptyError(`no episode that can be drawn has ${numSteps} steps. Pass a smaller numSteps`);
    const { streams, starts, probabilities } = windowDraw;
    let { items } = windowDraw;
    if (preprocess !== undefined) {
      const sequences = Array.from(streams, (location) => preprocessItems(preprocess, this.#read(location), this.#episodes.steps(location), true));
      items = stack(sequences.map((sequence, i) => slice(sequence, starts[i] as number, (starts[i] as number) + numSteps)));
    }
    const ids = numbers(Float64Array.from(streams, (location) => this.#episodes.idAt(location)));
    const element = [items, { ids, probabilities: numbers(probabilities) }];
    return (isUnbatched ? unbatch(element) : element) as unknown as Element<S>;
  }

  /** Returns the error for a draw that is not possible. */
  #emptyError(reason: string): ReplayError {
    return this.#episodes.frames === 0 ? new ReplayError("EMPTY", "the buffer is empty. Add steps first") : new ReplayError("TOO_FEW", reason);
  }
}

/** Returns the ids of episodes as a list, one per row. */
function idList(ids: unknown): number[] {
  return integersOf("ids", "a list with one id per row", ids, Number.MIN_SAFE_INTEGER);
}

/**
 * Returns a list of integers, and reads each element once. @throws ReplayError SPEC_MISMATCH if the value is not a list · TypeError, RangeError for an invalid
 * element
 */
function integersOf(subject: string, rule: string, value: unknown, min: number, max?: number): number[] {
  if (!isList(value)) throw mustBe("SPEC_MISMATCH", subject, rule, value);
  return elementsIn(value).map((entry, i) => integer(`${subject}[${i}]`, entry, min, max));
}

/** Returns the error for a batch of whole episodes, which cannot exist because episodes have different lengths. */
function batchSizeError(kind: typeof RangeError | "UNSUPPORTED", value: unknown): Error {
  return mustBe(kind, "sampleBatchSize", ["omitted for whole episodes", "Omit it, or set numSteps"], value);
}
