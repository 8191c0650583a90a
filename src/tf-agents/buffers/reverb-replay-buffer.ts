/** Implements a replay buffer over a table that observers fill. Modelled on `ReverbReplayBuffer` of TF-Agents. */

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

/** The source of a buffer's items. A Replay stands for a client of its own tables. */
export type BufferClient<S extends Spec = Spec> = SampleClient | Replay<S>;

export interface ReverbBufferOptions<S extends Spec = Spec, C extends BufferClient<S> = BufferClient<S>> {
  /** The client of the tables, or the Replay that has the tables. */
  readonly client: C;
  readonly tableName: string;
  /** The number of steps in every item. Default: null, for items of different lengths. */
  readonly sequenceLength?: number | null;
  /** The time in milliseconds that an async dataset waits for the next item before it ends. Default: -1, for no limit. */
  readonly rateLimiterTimeoutMs?: number;
  /**
   * The number of items that each stream from a server prefetches, an integer >= 1. Default: three batches, or 1 in a pass.
   *
   * `numWorkersPerIterator` is the number of streams (default: 1). A stream is renewed after `maxSamplesPerStream` items. `maxCycleLength` has no effect. For
   * tables in this process, all four settings are checked but have no effect.
   */
  readonly datasetBufferSize?: number;
  readonly maxCycleLength?: number;
  readonly numWorkersPerIterator?: number;
  readonly maxSamplesPerStream?: number;
}

/** The return type of a call to a client: a plain value for tables in this process, and a promise for a server. `await` handles both. */
export type Reported<C, T> = [C] extends [never] ? T : C extends { serverInfo(...args: never): infer R } ? (R extends Promise<unknown> ? Promise<T> : T) : T;

/** The dtype of a client's keys, and therefore of the columns `ids`. */
export type KeyDtype<C> = [C] extends [never] ? "f64" : C extends { readonly keyDtype?: unknown } ? DtypeIn<C["keyDtype"]> : "f64";
type DtypeIn<D> = Extract<D, "f64" | "u64">;

/**
 * The info about an element's items, with one value per step. `ids` contains the keys of the items, for `updatePriorities`. Keys in this process are numbers.
 * Keys of a server have 64 bits, so they are bigints in a `Column<"u64">`.
 */
export interface ReverbInfo<D extends "f64" | "u64" = "f64"> extends Pick<BufferInfo, "probabilities"> {
  readonly ids: D extends unknown ? Column<D> : never;
  readonly tableSizes: BufferInfo["probabilities"];
  readonly priorities: BufferInfo["probabilities"];
  readonly timesSampled: BufferInfo["probabilities"];
}

type ReverbElement<S, D extends "f64" | "u64"> = readonly [items: StepsOf<S>, info: ReverbInfo<D>];
// An element of any client.
type AnyElement<S> = readonly [items: StepsOf<S>, info: ReverbInfo<"f64"> | ReverbInfo<"u64">];

const OPTIONS = "client, tableName, sequenceLength, rateLimiterTimeoutMs, datasetBufferSize, maxCycleLength, numWorkersPerIterator, maxSamplesPerStream";
/** After this many draws per item of the table without a window, the buffer concludes that no item is long enough. */
const MAX_EMPTY_ITEMS = 64;
/** The default time that a pass waits for an item that the rate limiter holds back, in milliseconds. */
const PASS_MS = 1000;

type CountOf<D> = D extends "u64" ? undefined : number;

/** A replay buffer on a table of a client. Its methods return promises if the client's `serverInfo` returns a promise, as for a server. */
export class ReverbReplayBuffer<const S extends Spec = Spec, C extends BufferClient<S> = Replay<S>> implements ReplayBuffer<S> {
  readonly dataSpec: S;
  /** The client from which the buffer draws. Observers can write with the same client. For a Replay, it is always the same `LocalClient`. */
  readonly pyClient: ClientOf<C>;
  readonly statefulDataset = true;
  readonly #tableName: string;
  readonly #table: BufferTable;
  readonly #length: number | undefined;
  readonly #timeoutMs: number | undefined;
  readonly #streams: Pick<ReverbBufferOptions, "datasetBufferSize" | "numWorkersPerIterator" | "maxSamplesPerStream">;

  /**
   * Creates a buffer. The constructor sends no request to a server, so the first call to the server reports a missing table.
   * @throws TypeError, RangeError if an option is invalid
   * @throws ReplayError NOT_FOUND if a table of this process does not exist
   * @throws ReplayError SPEC_MISMATCH if the steps of a table of this process do not match `dataSpec`
   */
  constructor(dataSpec: S, options: ReverbBufferOptions<S, C>) {
    hideFrames(new.target);
    const { client, tableName, sequenceLength, rateLimiterTimeoutMs = -1, ...streams } = onlyKeys("options", options, OPTIONS);
    if (client === undefined) throw mustBe(RangeError, "client", "a Replay, a LocalClient or a ReverbClient", client);
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

  /** The maximum number of items in the table. @throws the errors of `getTableInfo` */
  get capacity(): Reported<C, number> {
    const capacity = mapInfo(this.#table.info(), ({ maxSize }) => maxSize);
    // A debugger may read `capacity` without awaiting it. This must not cause an unhandled rejection.
    if (isPromise(capacity)) capacity.catch(() => {});
    return capacity as Reported<C, number>;
  }

  /** Returns the number of items in the table. Their steps may overlap. @throws the errors of `getTableInfo` */
  numFrames(): Reported<C, number> {
    return this.#table.size() as Reported<C, number>;
  }

  /**
   * Returns the table's entry in `client.serverInfo()`.
   * @throws ReplayError NOT_FOUND if the server has no such table
   * @throws ReplayError IO if the server cannot be reached
   */
  getTableInfo(): Reported<C, TableInfo> {
    return this.#table.info() as Reported<C, TableInfo>;
  }

  /** Removes every item, and sets the table's counters to 0. @throws the errors of `getTableInfo` */
  clear(options: ClearOptions = {}): Reported<C, void> {
    flag("clearAllVariables", onlyKeys("options", options, "clearAllVariables").clearAllVariables ?? false);
    return this.#table.clear() as Reported<C, void>;
  }

  /**
   * Sets priorities by key. If a key occurs twice, the last priority counts. Keys of evicted items are skipped.
   * @param keys the keys from `ids`, as a column or as the column's array
   * @returns the number of items that still existed; undefined with a server, which does not report this number
   * @throws RangeError if a priority is invalid, or if there are fewer priorities than keys. In either case, nothing has changed
   * @throws ReplayError NOT_FOUND if the server has no such table
   * @throws ReplayError IO if the server cannot be reached
   */
  updatePriorities(
    keys: ArrayLike<KeyDtype<C> extends "u64" ? bigint : ItemKey> | ColumnLike<KeyDtype<C>>,
    priorities: ArrayLike<number> | ColumnLike,
  ): Reported<C, CountOf<KeyDtype<C>>> {
    return this.#table.updatePriorities(keys, priorities) as Reported<C, CountOf<KeyDtype<C>>>;
  }

  /**
   * Returns a dataset of the table's items, cut into windows of numSteps. If the table's order is deterministic, windows are consecutive; otherwise the rows of
   * a batch come from different items. `for` ends when no whole element is available. `for await` waits, up to `rateLimiterTimeoutMs` or the option
   * `timeoutMs`. A deterministic pass reads the existing items. If reading does not remove items, the pass draws all items in one go and reads each item once.
   * All items then need memory at the same time.
   *
   * Items of a server require `for await`. They are prefetched a few batches ahead (`datasetBufferSize`) and show the state at the time of their draw. Items
   * that are prefetched but unread when the loop ends count as sampled. Columns are identified by their order in the table's signature. If there is no
   * signature, they are identified by the order in which the writer wrote them.
   * @throws RangeError if numSteps does not divide sequenceLength, if there are more parallel calls than rows, or if a deterministic pass is requested over a
   * table that draws at random. With a server, the last error is thrown during iteration
   * @throws ReplayError SPEC_MISMATCH during iteration if an item does not have sequenceLength steps, or does not have the columns of dataSpec
   * @throws ReplayError TOO_FEW during iteration if no item is long enough
   * @throws ReplayError NOT_FOUND during iteration if the server has no such table
   * @throws ReplayError IO during iteration if the server cannot be reached
   * @throws ReplayError CORRUPT during iteration if an answer of the server is damaged
   * @throws ReplayError UNSUPPORTED with a server, if the dataset is read with `for`, or if a pass is over items that reading does not remove
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

  /** Throws, as in TF-Agents. Write with an observer instead. @throws ReplayError UNSUPPORTED in every case */
  addBatch(): never {
    throw new ReplayError("UNSUPPORTED", "addBatch does not exist for this buffer. Write through an observer, such as ReverbAddTrajectoryObserver");
  }

  /** Throws, as in TF-Agents. Use `asDataset` instead. @throws ReplayError UNSUPPORTED in every case */
  getNext(): never {
    throw new ReplayError("UNSUPPORTED", "getNext does not exist for this buffer. Iterate asDataset()");
  }

  /** Throws, as in TF-Agents. Use `asDataset` instead. @throws ReplayError UNSUPPORTED in every case */
  gatherAll(): never {
    throw new ReplayError("UNSUPPORTED", "gatherAll does not exist for this buffer. Iterate asDataset({ singleDeterministicPass: true })");
  }

  /** Returns a source that requests the table's information from the client before its first element. */
  #createDeferredSource(options: AsDatasetOptions<S>): ElementSource<AnyElement<S>> {
    let source: ElementSource<AnyElement<S>> | undefined;
    const nextLater = async (wait: WaitOptions): Promise<AnyElement<S> | undefined> => {
      if (source === undefined) {
        const info = await abortable(Promise.resolve(this.#table.info(wait.signal)), `the server has not described table ${this.#tableName}`, wait);
        mustBeCertain(info, options.singleDeterministicPass ?? false);
        if (info.signature !== undefined) mustAgree(`dataSpec for table ${this.#tableName}`, info.signature, signatureOf(this.dataSpec));
        source ??= this.#source(options, info);
      }
      return source.later?.(wait);
    };
    const next = () => {
      throw new ReplayError("UNSUPPORTED", `the items of table ${this.#tableName} arrive asynchronously from a server. Use for await`);
    };
    return { next, later: nextLater, most: (prefetch) => source?.most?.(prefetch) ?? prefetch, close: () => source?.close?.() };
  }

  #source(options: AsDatasetOptions<S>, info: TableInfo): ElementSource<AnyElement<S>> {
    const { sampleBatchSize, numSteps, sequencePreprocessFn, signal, singleDeterministicPass: isSinglePass = false, timeoutMs = this.#timeoutMs } = options;
    const isSeparate = !isCertain(info);
    const isUsedUp = info.maxTimesSampled > 0;
    const batchWindows = new BatchWindows<PrefetchedItem | undefined>(sampleBatchSize, numSteps, isSeparate);
    /** Whether a draw of whole items already has the form of a batch. */
    const isWholeBatch = isSeparate && sequencePreprocessFn === undefined && this.#length !== undefined && (numSteps ?? this.#length) === this.#length;
    /** The number of consecutive items that were too short for a window. */
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
      // The probability of such a long run by chance is below e^-64, so no item is long enough.
      if (emptyItems > MAX_EMPTY_ITEMS * (tableSize + 16))
        throw new ReplayError(
          "TOO_FEW",
          `no item of table ${this.#tableName} has numSteps = ${numSteps} steps. Pass a smaller numSteps, or write longer items`,
        );
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
      // A pass needs a defined order, but items from several streams arrive in no particular order.
      numWorkersPerIterator: isSinglePass ? 1 : numWorkersPerIterator,
      maxSamplesPerStream,
    });
    const items = new PrefetchedItems(draws.count);
    const countElement = (element: AnyElement<S>) => items.countElement(element as readonly [unknown, ReverbInfo<"f64">]);
    if (isSinglePass && !isUsedUp) {
      // Ordinary draws would return the same item again and again, so each item is read once, in the sampler's order.
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
        // A whole batch may never be available in one go, so items that were drawn before stay in `batchWindows`.
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
    // A pass over a table in this process reads the existing items and never waits.
    return isSinglePass ? localSource : { ...localSource, later: nextLater };
  }

  /** Returns one item with its info, [steps, …]. */
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

  /** Returns all items of a batch with their info, [count, steps, …]. */
  #batchOf({ count, steps, lengths, info }: Batch): AnyElement<S> {
    const length = this.#length as number;
    for (let i = 0; i < count; i++) if (lengths[i] !== length) this.#checkLength(lengths[i] as number);
    const { keys, probabilities, tableSizes, priorities, timesSampled } = info;
    const size = count * length;
    // All five arrays share one allocation, because five allocations would cost more than filling the arrays.
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
    throw mustBe("SPEC_MISMATCH", `an item of table ${this.#tableName}`, `sequenceLength (${this.#length}) steps long`, length);
  }
}

/** Returns whether a table returns its items in a deterministic order. */
function isCertain({ sampler, remover }: TableInfo): boolean {
  return [sampler, remover].every(({ kind }) => kind !== "unknown" && SELECTOR_KINDS[kind].isDeterministic);
}

/** Checks that a table allows a deterministic pass, if one is requested. @throws RangeError for a pass over a table whose order is random */
function mustBeCertain(info: TableInfo, isSinglePass: boolean): void {
  if (isSinglePass && !isCertain(info))
    throw mustBe(RangeError, "singleDeterministicPass", "omitted, because the sampler or remover of this table chooses at random", true);
}
