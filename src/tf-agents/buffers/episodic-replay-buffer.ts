/** A buffer of whole episodes, the open ones too; windows never cross from one to the other. After TF-Agents' `EpisodicReplayBuffer`. */

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
  /** Episodes at most; 1,000 where it is left out. */
  readonly capacity?: number;
  /** Whether only completed episodes are drawn, passed through and gathered; false where it is left out. */
  readonly completedOnly?: boolean;
  /** An integer >= 1, checked; it changes no result, since every draw sees the newest state. */
  readonly bufferSize?: number;
  /** Whether an episode begins with items: a sequence's, one boolean; a batch's, one or one a row. Where it is left out a first step begins one, in trajectories. */
  readonly beginEpisodeFn?: EpisodeFn<S>;
  /** Whether an episode ends with items. Where it is left out a step that is followed by a last one ends it, in trajectories. */
  readonly endEpisodeFn?: EpisodeFn<S>;
  /** Told of rows that could not be written; console.warn where it is left out. */
  readonly onWarning?: (message: string) => void;
}

/** Copies of episodes, one a location. */
export interface Episodes<S = Spec> {
  /** Steps of each; 0 where a location is empty. */
  readonly length: ArrayLike<number>;
  /** 1 for a completed one. */
  readonly completed: ArrayLike<number>;
  /** The steps of each, [T, …]. */
  readonly items: readonly StepsLike<S>[];
}

/** What `extract` gives. */
export interface ExtractedEpisodes<S = Spec> extends Omit<Episodes<S>, "items"> {
  readonly length: Uint32Array<ArrayBuffer>;
  readonly completed: Uint8Array<ArrayBuffer>;
  readonly items: readonly StepsOf<S>[];
}

const OPTIONS = `capacity, completedOnly, bufferSize, beginEpisodeFn, endEpisodeFn, onWarning, ${STORE}`;
/** The lanes of one writer. */
const MAX_ROWS = 65536;

export class EpisodicReplayBuffer<const S extends Spec = Spec> implements ReplayBuffer<S> {
  readonly dataSpec: S;
  /** Episodes at most: id e lives at location e mod capacity, until a later id takes it over. */
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

  /** @throws TypeError, RangeError */
  constructor(dataSpec: S, options: EpisodicOptions<S> = {}) {
    hideFrames(new.target);
    const { capacity = 1000, completedOnly = false, bufferSize = 8, beginEpisodeFn, endEpisodeFn } = onlyKeys("options", options, OPTIONS);
    const { onWarning = console.warn, datasetDropRemainder = false, datasetWindowShift, seed = 0, maxBytes, module } = options;
    checkStore(options);
    this.capacity = integer("capacity", capacity, 1, MAX_LENGTH);
    integer("bufferSize", bufferSize, 1);
    const isCompletedOnly = flag("completedOnly", completedOnly) !== 0;
    if (typeof onWarning !== "function") throw mustBe(TypeError, "onWarning", "a function", onWarning);
    // Before anything else looks at it.
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
   * Ids for episodes that are not open yet: each is -1, until something is added.
   * @param n how many, for `addBatch`; one, for `addSequence`, where it is left out or 0
   */
  createEpisodeIds(n?: undefined | 0): number;
  createEpisodeIds(n: number): number[];
  createEpisodeIds(n?: number): number | number[] {
    if (n === undefined || integer("numEpisodes", n, Number.MIN_SAFE_INTEGER, this.capacity) <= 0) return -1;
    return new Array(n).fill(-1);
  }

  /**
   * Adds a sequence of steps to the episode `id`, or to a new one: where the begin function says so, or `id` is below 0. An end completes the episode; what is added
   * later still joins it. O(bytes)
   * @param items nested as the data spec, each leaf [T, …]
   * @returns the id to go on with
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY, STALE_KEY (another id has taken the episode's place); then nothing was added
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
   * Adds one step each to some episodes, or to new ones. All new ids are given first, row by row: one that takes the place of another row's episode leaves that row
   * out, with a warning. O(bytes)
   * @param items nested as the data spec, each leaf [rows, …]
   * @param ids one a row
   * @returns the ids to go on with
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY, STALE_KEY (no row can be written, or an id was never given); then nothing was added
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
    for (const row of skipped) this.#warn(`addBatch: row ${row} was left out: ${this.#episodes.staleError(added.ids[row] as number).message}`);
    return added.ids;
  }

  /**
   * Adds copies of episodes (`extract`) to those that a list of ids names, by their places in it. New ids are given by place in the list. Whether an episode is
   * completed is from then on what the copy says.
   * @param indices a place in `ids` for each of the copies
   * @returns all ids, to go on with
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY, STALE_KEY (none can be written, or an id was never given); then nothing was added · RangeError
   */
  extendEpisodes(ids: ArrayLike<number>, indices: ArrayLike<number>, episodes: Episodes<S>): number[] {
    this.#engine.open();
    const idNumbers = idList(ids);
    const idIndices = integersOf("indices", "a list with a place in ids per episode", indices, 0, idNumbers.length - 1);
    const { length, completed, items } = onlyKeys("episodes", episodes, "length, completed, items");
    for (const [name, list] of Object.entries({ length, completed, items }))
      if (!isList(list) || listLength(list) !== idIndices.length)
        throw mustBe("SPEC_MISMATCH", `episodes.${name}`, `a list of ${idIndices.length} elements, like indices`, list);
    this.#begin.check();
    const steps = integersOf("episodes.length", "a list of numbers of steps", length, 0);
    const batches = Array.from(idIndices, (_, j) => items[j]).map((episodeItems, j) => (steps[j] === 0 ? undefined : this.#toBatch(episodeItems, steps[j])));
    const begins = batches.map((batch) => batch !== undefined && this.#begin.ofFirst(batch));
    const opens = new Set(idIndices.filter((index, j) => begins[j] || (idNumbers[index] as number) < 0));
    const targets = idNumbers.map((id, index) => (opens.has(index) ? undefined : id));
    const copies = batches.map((batch, j) => ({ index: idIndices[j] as number, batch, completed: Boolean(completed[j]) }));
    const added = this.#episodes.extend(targets, copies);
    for (const j of added.skipped)
      this.#warn(`extendEpisodes: episode ${j} was left out: ${this.#episodes.staleError(added.ids[idIndices[j] as number] as number).message}`);
    return added.ids;
  }

  /** Copies of the episodes at some locations (id mod capacity). With `clearData` their steps are let go; ids stay valid. O(bytes) @throws RangeError */
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

  /** The steps of an episode, each leaf [T, …]. @throws ReplayError STALE_KEY where another id has taken its place, NOT_FOUND where the id was never given */
  getEpisode(id: number): StepsOf<S> {
    this.#engine.open();
    integer("id", id, Number.MIN_SAFE_INTEGER);
    if (id < 0 || id > this.#episodes.last) throw mustBe("NOT_FOUND", "id", "the id of an episode, from 0 to the last one that was created", id);
    if (!this.#episodes.valid(id)) throw this.#episodes.staleError(id);
    return this.#read(this.#episodes.location(id)) as StepsOf<S>;
  }

  /** 1 for each id whose episode is there still. */
  getValidIdsMask(ids: ArrayLike<number>): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(idList(ids), (id) => Number(this.#episodes.valid(id)));
  }

  /** Ids of the completed episodes, by location. O(capacity) */
  completedEpisodes(): number[] {
    const locations = Array.from({ length: this.capacity }, (_, location) => location);
    return locations.filter((location) => this.#episodes.isCompleted(location)).map((location) => this.#episodes.idAt(location));
  }

  /**
   * A whole episode, all alike, [T, D]; with numSteps a window: an episode that has so many steps, by its length, then one of its starts, all alike. [T, D],
   * [B, T, D], or without timeStacked a tuple of T. Ids are those of the episodes, one a window.
   * @returns [items, {ids, probabilities}]
   * @throws ReplayError EMPTY, TOO_FEW (no completed episode, or none so long), UNSUPPORTED (a batch of whole episodes)
   */
  getNext(options: GetNextOptions & { readonly timeStacked: false; readonly numSteps: number }): SeparateElement<S>;
  getNext(options?: GetNextOptions & { readonly timeStacked?: true }): Element<S>;
  getNext(options?: GetNextOptions): Element<S> | SeparateElement<S>;
  getNext(options: GetNextOptions = {}): Element<S> | SeparateElement<S> {
    this.#engine.open();
    const { sampleBatchSize, numSteps } = checkGetNext(options);
    if (sampleBatchSize !== undefined && numSteps === undefined)
      throw mustBe("UNSUPPORTED", "sampleBatchSize", "left out for whole episodes (or combined with numSteps)", sampleBatchSize);
    return this.#draw(options);
  }

  /**
   * Random draws like those of `getNext`, without end; or one pass over the episodes in order of their ids, as they were when it began: whole, or in windows of
   * numSteps. With sampleBatchSize = k, id mod k says to which of k shards an episode belongs, and the shards give a window each in turn.
   * @throws RangeError for a batch of whole episodes · in the iteration EMPTY, TOO_FEW; a pass over nothing just ends
   */
  asDataset(options: AsDatasetOptions<S> = {}): Dataset<Element<S>> {
    this.#engine.open();
    const { sampleBatchSize, numSteps, singleDeterministicPass, sequencePreprocessFn, timeoutMs } = checkDataset(this.dataSpec, options);
    if (sampleBatchSize !== undefined && numSteps === undefined)
      throw mustBe(RangeError, "sampleBatchSize", "left out for whole episodes (or combined with numSteps)", sampleBatchSize);
    if (singleDeterministicPass) {
      const traversalOptions = { ...options, shift: this.#shift, dropRemainder: this.#dropRemainder } as TraversalOptions;
      return elementsOf(() => toElementSource(traverseEpisodes(this.#episodes, this.#windows, traversalOptions) as Generator<Element<S>, void>), options);
    }
    const draw = () => this.#draw({ sampleBatchSize, numSteps }, sequencePreprocessFn) as Element<S>;
    return elementsOf(() => drawEndlessly(draw, this.#engine.waiters, timeoutMs), options);
  }

  /** The steps of all episodes that can be drawn, in order of their ids, one after the other: [1, ΣT, …]; [0, …] where there are none. */
  gatherAll(): StepsOf<S> {
    this.#engine.open();
    refuseLists(this.dataSpec);
    const parts = [...this.#episodes.validMarks()].map(({ location }) => this.#read(location));
    return (parts.length === 0 ? this.#read(0, 0) : batchOfOne(concat(parts))) as StepsOf<S>;
  }

  /** Lets all steps go, and what was completed. Ids stay valid: who adds to an episode goes on with it. With `clearAllVariables` they are numbered from 0 again. */
  clear(options: ClearOptions = {}): void {
    this.#engine.open();
    const all = flag("clearAllVariables", onlyKeys("options", options, "clearAllVariables").clearAllVariables ?? false);
    this.#episodes.clearAll();
    if (all) this.#episodes.last = -1;
  }

  /** Steps of all episodes, the open ones too. O(1) */
  numFrames(): number {
    return this.#episodes.frames;
  }

  #complete(id: number): void {
    this.#episodes.complete(this.#episodes.location(id), true);
  }

  /** An episode's steps: [T, …]. */
  #read(location: number, steps: number = this.#episodes.steps(location)): unknown {
    return unbatch(this.#windows.read([location], [0], steps, "stacked"));
  }

  #draw({ sampleBatchSize, numSteps, timeStacked = true }: GetNextOptions, preprocess?: (items: StepsOf<S>) => unknown): Element<S> | SeparateElement<S> {
    const isUnbatched = sampleBatchSize === undefined;
    if (numSteps === undefined) {
      const streamDraw = this.#windows.drawStream(UNIFORM);
      if (streamDraw === undefined) throw this.#emptyError("no episode is completed");
      const items = this.#read(streamDraw.stream);
      const info = { ids: numbers([this.#episodes.idAt(streamDraw.stream)], []), probabilities: numbers([streamDraw.probability], []) };
      return [preprocess === undefined ? items : preprocess(items as StepsOf<S>), info] as Element<S>;
    }
    const windowDraw = this.#windows.draw(sampleBatchSize ?? 1, numSteps, timeStacked ? "stacked" : "apart", BY_STEPS);
    if (windowDraw === undefined) throw this.#emptyError(`no episode that can be drawn has ${numSteps} steps (numSteps)`);
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

  /** Why nothing can be drawn. */
  #emptyError(reason: string): ReplayError {
    return this.#episodes.frames === 0 ? new ReplayError("EMPTY", "the buffer is empty: add steps first") : new ReplayError("TOO_FEW", reason);
  }
}

/** Ids of episodes, as many as rows. */
function idList(ids: unknown): number[] {
  return integersOf("ids", "a list with one id per row", ids, Number.MIN_SAFE_INTEGER);
}

/** A list of integers, each read once. @throws ReplayError SPEC_MISMATCH · TypeError, RangeError for one of them */
function integersOf(subject: string, rule: string, value: unknown, min: number, max?: number): number[] {
  if (!isList(value)) throw mustBe("SPEC_MISMATCH", subject, rule, value);
  return elementsIn(value).map((entry, i) => integer(`${subject}[${i}]`, entry, min, max));
}
