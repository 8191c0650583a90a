/** A replay buffer over a table that observers fill. After TF-Agents' `ReverbReplayBuffer`. */

import { finite, flag, integer, mustBe, onlyKeys, ReplayError } from "../../base/error.ts";
import { MAX_TIMEOUT_MS } from "../../base/limits.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import { abortable, type WaitOptions } from "../../base/wait.ts";
import type { Batch, StepsOf } from "../../batch/batch.ts";
import { type Dataset, type ElementSource, elementsOf } from "../../batch/iterate.ts";
import type { Replay } from "../../replay/replay.ts";
import { Column, type ColumnLike } from "../../schema/column.ts";
import { pack } from "../../schema/nest.ts";
import { SELECTOR_KINDS } from "../../schema/selector.ts";
import type { Spec } from "../../schema/spec.ts";
import { isPromise } from "../awaitable.ts";
import { lengthOf, numbers } from "../nest.ts";
import type { ItemKey, SampleInfo } from "../sampling/sample.ts";
import type { TableInfo } from "../sampling/table-info.ts";
import { mustAgree, signatureOf } from "../signature.ts";
import type { SampleClient } from "../writers/client.ts";
import { type ClientOf, sampleClientOf } from "../writers/local-client.ts";
import { mustBeTableName } from "../writers/step-client.ts";
import { BatchWindows } from "./batch-windows.ts";
import { preprocessItems } from "./iterate.ts";
import { type PrefetchedItem, PrefetchedItems } from "./prefetched-items.ts";
import { type AsDatasetOptions, type BufferInfo, type ClearOptions, checkDataset, optionalCount, type ReplayBuffer } from "./replay-buffer.ts";
import { type BufferTable, bufferTable, type Items, mapInfo } from "./reverb-table.ts";

/** What a buffer draws from: a client, or a Replay for its own tables. */
export type BufferClient<S extends Spec = Spec> = SampleClient | Replay<S>;

export interface ReverbBufferOptions<S extends Spec = Spec, C extends BufferClient<S> = BufferClient<S>> {
  /** The tables' client, or a Replay for its own. */
  readonly client: C;
  readonly tableName: string;
  /** Steps of every item; left out, or null, where they differ. */
  readonly sequenceLength?: number | null;
  /** So long an async dataset waits for the next item, and then ends; for ever where it is -1 (the default). */
  readonly rateLimiterTimeoutMs?: number;
  /**
   * TF-Agents' settings of its pipeline, integers >= 1. In this process they are checked, and change nothing. From a server come `numWorkersPerIterator` streams (1), each of
   * which has at most `datasetBufferSize` items ahead (three batches; 1 in a pass) and is renewed after `maxSamplesPerStream`. `maxCycleLength` changes nothing anywhere.
   */
  readonly datasetBufferSize?: number;
  readonly maxCycleLength?: number;
  readonly numWorkersPerIterator?: number;
  readonly maxSamplesPerStream?: number;
}

/** What a client says: at once where it has the tables at hand, a promise where a server is asked. `await` does for both. */
export type Reported<C, T> = [C] extends [never] ? T : C extends { serverInfo(...args: never): infer R } ? (R extends Promise<unknown> ? Promise<T> : T) : T;

/** The dtype of a client's keys, as columns of `ids` have it. */
export type KeyDtype<C> = [C] extends [never] ? "f64" : C extends { readonly keyDtype?: unknown } ? DtypeIn<C["keyDtype"]> : "f64";
type DtypeIn<D> = Extract<D, "f64" | "u64">;

/**
 * What is known of an element: of its item, once a step. `ids` are the items' keys, for `updatePriorities`: numbers in this process; of a server, whose keys have 64 bits,
 * bigints in a `Column<"u64">`.
 */
export interface ReverbInfo<D extends "f64" | "u64" = "f64"> extends Pick<BufferInfo, "probabilities"> {
  readonly ids: D extends unknown ? Column<D> : never;
  readonly tableSizes: BufferInfo["probabilities"];
  readonly priorities: BufferInfo["probabilities"];
  readonly timesSampled: BufferInfo["probabilities"];
}

type ReverbElement<S, D extends "f64" | "u64"> = readonly [items: StepsOf<S>, info: ReverbInfo<D>];
// Of whatever client.
type AnyElement<S> = readonly [items: StepsOf<S>, info: ReverbInfo<"f64"> | ReverbInfo<"u64">];

const OPTIONS = "client, tableName, sequenceLength, rateLimiterTimeoutMs, datasetBufferSize, maxCycleLength, numWorkersPerIterator, maxSamplesPerStream";
/** So many turns over the table without one window, and there is none. */
const MAX_EMPTY_ITEMS = 64;
/** So long a pass waits for an item that the rate limiter holds back, if nobody says how long. */
const PASS_MS = 1000;

type CountOf<D> = D extends "u64" ? undefined : number;

/** What its table answers is a promise where the client's `serverInfo` is one: of a server. */
export class ReverbReplayBuffer<const S extends Spec = Spec, C extends BufferClient<S> = Replay<S>> implements ReplayBuffer<S> {
  readonly dataSpec: S;
  /** The client that it draws with, for observers to write with: of a Replay always the same `LocalClient`. */
  readonly pyClient: ClientOf<C>;
  readonly statefulDataset = true;
  readonly #tableName: string;
  readonly #table: BufferTable;
  readonly #length: number | undefined;
  readonly #timeoutMs: number | undefined;
  readonly #streams: Pick<ReverbBufferOptions, "datasetBufferSize" | "numWorkersPerIterator" | "maxSamplesPerStream">;

  /**
   * Nothing is asked of a server: that a table is not there comes with the first answer.
   * @throws TypeError, RangeError for an option · ReplayError NOT_FOUND for the table, SPEC_MISMATCH where the steps of tables at hand are others
   */
  constructor(dataSpec: S, options: ReverbBufferOptions<S, C>) {
    hideFrames(new.target);
    const { client, tableName, sequenceLength, rateLimiterTimeoutMs = -1, ...streams } = onlyKeys("options", options, OPTIONS);
    if (client === undefined) throw mustBe(RangeError, "client", "a Replay, or a client of its tables", client);
    for (const [name, value] of Object.entries(streams)) optionalCount(name, value);
    const sampleClient = sampleClientOf(client as SampleClient | Replay);
    mustBeTableName(tableName, "tableName");
    this.dataSpec = dataSpec;
    this.pyClient = sampleClient as unknown as ClientOf<C>;
    this.#tableName = tableName;
    this.#table = bufferTable(sampleClient, tableName, dataSpec);
    this.#length = sequenceLength == null ? undefined : integer("sequenceLength", sequenceLength, 1);
    this.#timeoutMs = finite("rateLimiterTimeoutMs", rateLimiterTimeoutMs, -1, MAX_TIMEOUT_MS) < 0 ? undefined : rateLimiterTimeoutMs;
    this.#streams = streams;
  }

  /** Items that the table may have. @throws as `getTableInfo` */
  get capacity(): Reported<C, number> {
    const capacity = mapInfo(this.#table.info(), ({ maxSize }) => maxSize);
    // Whoever only looks at this buffer need not await it.
    if (isPromise(capacity)) capacity.catch(() => {});
    return capacity as Reported<C, number>;
  }

  /** Items in the table: their steps may overlap. @throws as `getTableInfo` */
  numFrames(): Reported<C, number> {
    return this.#table.size() as Reported<C, number>;
  }

  /** What is known of its table: `client.serverInfo()` has the same. @throws of a server ReplayError NOT_FOUND, IO */
  getTableInfo(): Reported<C, TableInfo> {
    return this.#table.info() as Reported<C, TableInfo>;
  }

  /** Drops every item, and sets the table's counters to 0. @throws as `getTableInfo` */
  clear(options: ClearOptions = {}): Reported<C, void> {
    flag("clearAllVariables", onlyKeys("options", options, "clearAllVariables").clearAllVariables ?? false);
    return this.#table.clear() as Reported<C, void>;
  }

  /**
   * Sets priorities by key; of a key that comes twice the last one counts. Keys whose items are gone are skipped.
   * @param keys as `ids` have them, a column or its array
   * @returns how many items were there, which a server does not tell: then undefined
   * @throws RangeError for a priority that is none, or fewer of them than keys; then nothing has changed · of a server ReplayError NOT_FOUND, IO
   */
  updatePriorities(
    keys: ArrayLike<KeyDtype<C> extends "u64" ? bigint : ItemKey> | ColumnLike<KeyDtype<C>>,
    priorities: ArrayLike<number> | ColumnLike,
  ): Reported<C, CountOf<KeyDtype<C>>> {
    return this.#table.updatePriorities(keys, priorities) as Reported<C, CountOf<KeyDtype<C>>>;
  }

  /**
   * Items as the table gives them, cut into windows of numSteps: one after the other where its order is certain, else the rows of a batch are of different items.
   * `for` ends where no whole element can be had at once; `for await` waits, until `rateLimiterTimeoutMs` or the options' `timeoutMs`.
   * A deterministic pass takes what is there, each item once where it is not used up; those are then drawn at once, and need memory for all of them.
   *
   * A server's items have to be waited for: `for await` alone. They come some batches ahead (`datasetBufferSize`), as old as they were drawn; what came ahead when the loop is
   * left counts as sampled. Its columns are told by their order: that of the table's signature, or of who wrote where it has none.
   * @throws RangeError for numSteps that do not divide sequenceLength, more parallel calls than rows, a deterministic pass over a table that draws by chance: of a server's in
   *   the iteration · in the iteration ReplayError SPEC_MISMATCH, where an item has not sequenceLength steps, or the columns of dataSpec; TOO_FEW where no item is long enough ·
   *   of a server NOT_FOUND, IO, CORRUPT; UNSUPPORTED for `for`, and for a pass over items that are not used up
   */
  asDataset(options: AsDatasetOptions<S> = {}): Dataset<ReverbElement<S, KeyDtype<C>>> {
    const { sampleBatchSize, numSteps, numParallelCalls = 1, singleDeterministicPass = false } = checkDataset(this.dataSpec, options);
    if (numSteps !== undefined && this.#length !== undefined && this.#length % numSteps !== 0)
      throw mustBe(RangeError, "numSteps", `a divisor of sequenceLength (${this.#length})`, numSteps);
    if (sampleBatchSize !== undefined && numParallelCalls > sampleBatchSize)
      throw mustBe(RangeError, "numParallelCalls", `at most sampleBatchSize (${sampleBatchSize})`, numParallelCalls);
    const { definition } = this.#table;
    if (definition !== undefined) mustBeCertain(definition, singleDeterministicPass);
    const begin = () => (definition === undefined ? this.#createDeferredSource(options) : this.#source(options, definition));
    return elementsOf<AnyElement<S>>(begin, options) as Dataset<ReverbElement<S, KeyDtype<C>>>;
  }

  /** @throws ReplayError UNSUPPORTED, as TF-Agents' does */
  addBatch(): never {
    throw new ReplayError("UNSUPPORTED", "addBatch does not exist for this buffer: write through an observer, such as ReverbAddTrajectoryObserver");
  }

  /** @throws ReplayError UNSUPPORTED, as TF-Agents' does */
  getNext(): never {
    throw new ReplayError("UNSUPPORTED", "getNext does not exist for this buffer: iterate asDataset()");
  }

  /** @throws ReplayError UNSUPPORTED, as TF-Agents' does */
  gatherAll(): never {
    throw new ReplayError("UNSUPPORTED", "gatherAll does not exist for this buffer: iterate asDataset({ singleDeterministicPass: true })");
  }

  /** What a client has to be asked first. */
  #createDeferredSource(options: AsDatasetOptions<S>): ElementSource<AnyElement<S>> {
    let source: ElementSource<AnyElement<S>> | undefined;
    const nextLater = async (wait: WaitOptions): Promise<AnyElement<S> | undefined> => {
      if (source === undefined) {
        const info = await abortable(Promise.resolve(this.#table.info(wait.signal)), `what table ${this.#tableName} is`, wait);
        mustBeCertain(info, options.singleDeterministicPass ?? false);
        if (info.signature !== undefined) mustAgree(`dataSpec for table ${this.#tableName}`, info.signature, signatureOf(this.dataSpec));
        source ??= this.#source(options, info);
      }
      return source.later?.(wait);
    };
    const next = () => {
      throw new ReplayError("UNSUPPORTED", `the items of table ${this.#tableName} come from a server, and have to be waited for: use for await`);
    };
    return { next, later: nextLater, most: (prefetch) => source?.most?.(prefetch) ?? prefetch, close: () => source?.close?.() };
  }

  #source(options: AsDatasetOptions<S>, info: TableInfo): ElementSource<AnyElement<S>> {
    const { sampleBatchSize, numSteps, sequencePreprocessFn, signal, singleDeterministicPass: isSinglePass = false, timeoutMs = this.#timeoutMs } = options;
    const isSeparate = !isCertain(info);
    const isUsedUp = info.maxTimesSampled > 0;
    const batchWindows = new BatchWindows<PrefetchedItem | undefined>(sampleBatchSize, numSteps, isSeparate);
    /** Whether a draw of whole items is a batch as it stands. */
    const isWholeBatch = isSeparate && sequencePreprocessFn === undefined && this.#length !== undefined && (numSteps ?? this.#length) === this.#length;
    /** Items without a window, one after the other. */
    let emptyItems = 0;
    const addItems = ({ count, isAhead, batch, item }: Items): AnyElement<S> | undefined => {
      if (isWholeBatch && count === sampleBatchSize && batch !== undefined) {
        const element = this.#batchOf(batch);
        if (!isAhead) return element;
        const { keys, timesSampled } = batch.info;
        const rows = Array.from(keys, (key, i) => items.create({ key, timesSampled: timesSampled[i] as number }));
        return items.set(element, rows);
      }
      let tableSize = 0;
      for (let i = 0; i < count; i++) {
        const { columns, info: of } = item(i);
        tableSize = of.tableSize;
        emptyItems = batchWindows.add(this.#itemOf(columns, of, sequencePreprocessFn), isAhead ? items.create(of) : undefined) > 0 ? 0 : emptyItems + 1;
      }
      // So long a row by chance has less than e^-64: there is no item that is long enough.
      if (emptyItems > MAX_EMPTY_ITEMS * (tableSize + 16))
        throw new ReplayError("TOO_FEW", `no item of table ${this.#tableName} has numSteps = ${numSteps} steps: ask for fewer, or write longer items`);
      return undefined;
    };
    const takeElement = (): AnyElement<S> => {
      const { nest, of } = batchWindows.take();
      return items.set(nest as AnyElement<S>, of);
    };
    const { datasetBufferSize = isSinglePass ? 1 : 3 * (sampleBatchSize ?? 1), numWorkersPerIterator = 1, maxSamplesPerStream = -1 } = this.#streams;
    const draws = this.#table.draws({
      signal,
      timeoutMs: isSinglePass ? (timeoutMs ?? PASS_MS) : timeoutMs,
      maxSamples: isSinglePass ? info.currentSize * info.maxTimesSampled : -1,
      maxInFlightSamplesPerWorker: datasetBufferSize,
      // The items of several streams come in no order.
      numWorkersPerIterator: isSinglePass ? 1 : numWorkersPerIterator,
      maxSamplesPerStream,
    });
    const items = new PrefetchedItems(draws.count);
    const countElement = (element: AnyElement<S>) => items.countElement(element as readonly [unknown, ReverbInfo<"f64">]);
    if (isSinglePass && !isUsedUp) {
      // It would be drawn for ever: each once, in the sampler's order.
      addItems(draws.all());
      return { next: () => (batchWindows.missing === 0 ? takeElement() : undefined), passed: countElement };
    }
    const next = (isAhead = false): AnyElement<S> | undefined => {
      for (let n = batchWindows.missing; n > 0; n = batchWindows.missing) {
        const tableItems = draws.drawNow(n, isAhead);
        if (tableItems === undefined) return undefined;
        const element = addItems(tableItems);
        if (element !== undefined) return element;
      }
      return takeElement();
    };
    const nextLater = async ({ signal: wait }: WaitOptions): Promise<AnyElement<S> | undefined> => {
      for (let n = batchWindows.missing; n > 0; n = batchWindows.missing) {
        // There may never be as many at once as a batch has: what is drawn stays with the windows of this iterator.
        const tableItems = await draws.drawSome(n, wait);
        if (tableItems === undefined) return undefined;
        const element = addItems(tableItems);
        if (element !== undefined) return element;
      }
      return takeElement();
    };
    const limitAhead = (prefetch: number) => draws.limitAhead(prefetch, info);
    if (this.#table.definition === undefined) return { next, later: nextLater, most: limitAhead, close: () => draws.close() };
    const ahead = { most: limitAhead, ahead: () => next(true), passed: countElement };
    const localSource = { next: () => next(), ...((options.prefetch ?? 0) > 0 && ahead) };
    // A pass over what is at hand takes what is there, and waits for nothing.
    return isSinglePass ? localSource : { ...localSource, later: nextLater };
  }

  /** One item with what is known of it, [steps, …]. */
  #itemOf(
    columns: readonly unknown[],
    { key, probability, tableSize, priority, timesSampled }: SampleInfo,
    preprocess?: (items: StepsOf<S>) => unknown,
  ): AnyElement<S> {
    const itemBatch = pack(this.dataSpec, columns) as StepsOf<S>;
    const length = this.#checkLength(lengthOf(itemBatch));
    const items = preprocess === undefined ? itemBatch : preprocessItems(preprocess, itemBatch, length, true);
    const column = (value: number) => numbers(new Float64Array(length).fill(value));
    const ids = typeof key === "bigint" ? new Column<"u64">(new BigUint64Array(length).fill(key), [length]) : column(key);
    const info = { ids, probabilities: column(probability), tableSizes: column(tableSize), priorities: column(priority), timesSampled: column(timesSampled) };
    return [items as StepsOf<S>, info as ReverbInfo];
  }

  /** The same of all items of a batch, [count, steps, …]. */
  #batchOf({ count, steps, lengths, info }: Batch): AnyElement<S> {
    const length = this.#length as number;
    for (let i = 0; i < count; i++) if (lengths[i] !== length) this.#checkLength(lengths[i] as number);
    const { keys, probabilities, tableSizes, priorities, timesSampled } = info;
    const size = count * length;
    // One piece of memory for all of them, as a batch has: allocating five would cost more than filling them.
    const memory = new ArrayBuffer(8 * 5 * size);
    const column = (place: number, values: Float64Array | Uint32Array) => {
      const data = new Float64Array(memory, 8 * place * size, size);
      for (let i = 0, at = 0; i < count; i++) for (const end = at + length; at < end; at++) data[at] = values[i] as number;
      return new Column<"f64">(data, [count, length]);
    };
    const columns = {
      ids: column(0, keys),
      probabilities: column(1, probabilities),
      tableSizes: column(2, tableSizes),
      priorities: column(3, priorities),
      timesSampled: column(4, timesSampled),
    };
    return [steps as StepsOf<S>, columns];
  }

  #checkLength(length: number): number {
    if (this.#length === undefined || length === this.#length) return length;
    throw mustBe("SPEC_MISMATCH", `an item of table ${this.#tableName}`, `of sequenceLength (${this.#length}) steps`, length);
  }
}

/** Whether a table gives its items in an order that nothing but its items decides. */
function isCertain({ sampler, remover }: TableInfo): boolean {
  return [sampler, remover].every(({ kind }) => kind !== "unknown" && SELECTOR_KINDS[kind].isDeterministic);
}

/** @throws RangeError for a pass over a table that is not */
function mustBeCertain(info: TableInfo, isSinglePass: boolean): void {
  if (isSinglePass && !isCertain(info))
    throw mustBe(RangeError, "singleDeterministicPass", "left out, because the sampler or remover of this table chooses at random", true);
}
