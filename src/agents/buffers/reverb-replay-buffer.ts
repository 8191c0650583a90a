/** A replay buffer over a table that observers fill. After TF-Agents' `ReverbReplayBuffer`. */
import { type Batch, type BatchInfo, itemOf, type StepsOf } from "../../batch.ts";
import { pointAtCallersOf } from "../../caller.ts";
import { Column, isColumn } from "../../column.ts";
import type { Draws } from "../../draws/draws.ts";
import { type Dataset, type ElementSource, elementsOf } from "../../draws/elements.ts";
import { finite, flag, integer, mustBe, onlyKeys, ReplayError } from "../../error.ts";
import { dtypeOf } from "../../spec/dtype.ts";
import { type BoundedText, leafText } from "../../spec/leaf.ts";
import { pack } from "../../spec/nest.ts";
import { type FoundLeaf, leavesOf, type Spec } from "../../spec/spec.ts";
import { drawsOf, type Table } from "../../table.ts";
import type { WaitOptions } from "../../wait.ts";
import { lengthOf, numbers, slice, stack } from "../nest.ts";
import type { TableInfo } from "../sampling/table-info.ts";
import type { ClientLike, TableClient } from "../writers/client.ts";
import { clientOf } from "../writers/local-client.ts";
import { tableNames } from "../writers/step-client.ts";
import { preprocessed } from "./pass.ts";
import { type AsDatasetOptions, type BufferInfo, type ClearOptions, checkDataset, type Element, optionalCount, type ReplayBuffer } from "./replay-buffer.ts";

export interface ReverbBufferOptions<S extends Spec = Spec> {
  /** The tables' client, or a Replay for its own. */
  readonly client: ClientLike<S>;
  readonly tableName: string;
  /** Steps of every item; left out, or null, where they differ. */
  readonly sequenceLength?: number | null;
  /** So long an async dataset waits for the next item, and then ends; for ever where it is -1 (the default). */
  readonly rateLimiterTimeoutMs?: number;
  /** TF-Agents' settings of its pipeline: integers >= 1, checked; they change no result. */
  readonly datasetBufferSize?: number;
  readonly maxCycleLength?: number;
  readonly numWorkersPerIterator?: number;
  readonly maxSamplesPerStream?: number;
}

/** What is known of an element: of its item, once a step. `ids` are the items' keys, for `updatePriorities`. */
export interface ReverbInfo extends BufferInfo {
  readonly ids: BufferInfo["probabilities"];
  readonly tableSizes: BufferInfo["probabilities"];
  readonly priorities: BufferInfo["probabilities"];
  readonly timesSampled: BufferInfo["probabilities"];
}

const OPTIONS = "client, tableName, sequenceLength, rateLimiterTimeoutMs, datasetBufferSize, maxCycleLength, numWorkersPerIterator, maxSamplesPerStream";
/** An item is shown whole, also where it spans episodes. */
const WHOLE = { cross: true };
/** So many turns over the table without one window, and there is none. */
const BARREN = 64;
const IN_ORDER = ["fifo", "lifo", "minHeap", "maxHeap"];

export class ReverbReplayBuffer<const S extends Spec = Spec> implements ReplayBuffer<S> {
  readonly dataSpec: S;
  readonly statefulDataset = true;
  readonly #client: TableClient<S>;
  readonly #table: Table<S>;
  readonly #leaves: readonly FoundLeaf[];
  readonly #draws: Draws<Batch>;
  readonly #length: number | undefined;
  readonly #timeoutMs: number | undefined;

  /** @throws TypeError, RangeError for an option · ReplayError NOT_FOUND for the table, SPEC_MISMATCH where the client's steps are others */
  constructor(dataSpec: S, options: ReverbBufferOptions<S>) {
    pointAtCallersOf(new.target);
    const { client, tableName, sequenceLength, rateLimiterTimeoutMs = -1, ...checked } = onlyKeys("options", options, OPTIONS);
    if (client === undefined) throw mustBe(RangeError, "client", "a Replay, or a client of its tables", client);
    for (const [name, value] of Object.entries(checked)) optionalCount(name, value);
    const local = clientOf(client) as TableClient<S>;
    if (typeof local.table !== "function") throw mustBe(TypeError, "client", "a client with tables in this process", client);
    tableNames(local, tableName);
    this.#leaves = leavesOf(dataSpec);
    if (canonical(dataSpec) !== canonical(local.spec)) throw mustBe("SPEC_MISMATCH", "dataSpec", "the client's spec", dataSpec);
    this.dataSpec = dataSpec;
    this.#client = local;
    this.#table = local.table(tableName);
    this.#draws = drawsOf(this.#table);
    this.#length = sequenceLength == null ? undefined : integer("sequenceLength", sequenceLength, 1);
    this.#timeoutMs = finite("rateLimiterTimeoutMs", rateLimiterTimeoutMs, -1) < 0 ? undefined : rateLimiterTimeoutMs;
  }

  /** Items that the table may have. */
  get capacity(): number {
    return this.#table.options.maxSize;
  }

  /** Items in the table: their steps may overlap. */
  numFrames(): number {
    return this.#table.size;
  }

  /** What is known of its table: `client.serverInfo()` has the same. */
  getTableInfo(): TableInfo {
    return this.#client.serverInfo()[this.#table.name] as TableInfo;
  }

  /** Drops every item, and sets the table's counters to 0. */
  clear(options: ClearOptions = {}): void {
    flag("clearAllVariables", onlyKeys("options", options, "clearAllVariables").clearAllVariables ?? false);
    this.#table.clear();
  }

  /** Sets priorities by key; of a key that comes twice the last one counts. @returns how many items were there */
  updatePriorities(keys: ArrayLike<number>, priorities: ArrayLike<number>): number {
    return this.#table.updatePriorities(keys, priorities);
  }

  /**
   * Items as the table gives them, cut into windows of numSteps: one after the other where its order is certain, else the rows of a batch are of different items.
   * `for` ends where no whole element can be had at once; `for await` waits, until `rateLimiterTimeoutMs` or the options' `timeoutMs`.
   * A deterministic pass takes what is there, each item once where it is not used up; those are then drawn at once, and need memory for all of them.
   * @throws RangeError for numSteps that do not divide sequenceLength, more parallel calls than rows, a deterministic pass over a table that draws by chance ·
   *   in the iteration ReplayError SPEC_MISMATCH, where an item has not sequenceLength steps
   */
  asDataset(options: AsDatasetOptions<S> = {}): Dataset<readonly [StepsOf<S>, ReverbInfo]> {
    const { sampleBatchSize, numSteps, numParallelCalls = 1, singleDeterministicPass = false } = checkDataset(this.dataSpec, options);
    if (numSteps !== undefined && this.#length !== undefined && this.#length % numSteps !== 0)
      throw mustBe(RangeError, "numSteps", `a divisor of sequenceLength (${this.#length})`, numSteps);
    if (sampleBatchSize !== undefined && numParallelCalls > sampleBatchSize)
      throw mustBe(RangeError, "numParallelCalls", `at most sampleBatchSize (${sampleBatchSize})`, numParallelCalls);
    const { sampler, remover } = this.#table.options;
    const certain = [sampler, remover].every(({ kind }) => IN_ORDER.includes(kind));
    if (singleDeterministicPass && !certain)
      throw mustBe(RangeError, "singleDeterministicPass", "left out, because the sampler or remover of this table chooses at random", true);
    return elementsOf(() => this.#source(options, singleDeterministicPass, !certain), options) as Dataset<readonly [StepsOf<S>, ReverbInfo]>;
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

  #source(options: AsDatasetOptions<S>, pass: boolean, apart: boolean): ElementSource<Element<S>> {
    const { sampleBatchSize, numSteps, sequencePreprocessFn, timeoutMs = this.#timeoutMs } = options;
    const table = this.#table;
    const deal = new Deal(sampleBatchSize, numSteps, apart);
    /** Whether a draw of whole items is a batch as it stands. */
    const plain = apart && sequencePreprocessFn === undefined && this.#length !== undefined && (numSteps ?? this.#length) === this.#length;
    /** Items without a window, one after the other. */
    let barren = 0;
    const give = (batch: Drawn<S>): Element<S> | undefined => {
      if (plain && batch.count === sampleBatchSize && itemOf(batch, 0).isWhole) return this.#batchOf(batch);
      for (let i = 0; i < batch.count; i++) barren = deal.give(this.#itemOf(batch, i, sequencePreprocessFn)) > 0 ? 0 : barren + 1;
      // So long a row by chance has less than e^-64: there is no item that is long enough.
      if (barren > BARREN * (table.size + 16))
        throw new ReplayError("TOO_FEW", `no item of table ${table.name} has numSteps = ${numSteps} steps: ask for fewer, or write longer items`);
      return undefined;
    };
    const taken = () => deal.take() as Element<S>;
    const isUsedUp = table.options.maxTimesSampled < Number.MAX_SAFE_INTEGER;
    if (pass && !isUsedUp) {
      // It would be drawn for ever: each once, in the sampler's order.
      if (table.size > 0) give(table.sample(table.size, { ...WHOLE, replacement: false }) as unknown as Drawn<S>);
      return { next: () => (deal.missing === 0 ? taken() : undefined) };
    }
    const next = (): Element<S> | undefined => {
      for (let n = deal.missing; n > 0; n = deal.missing) {
        const drawn = this.#draws.atOnce(n, WHOLE);
        if (drawn === undefined) return undefined;
        const element = give(drawn as Drawn<S>);
        if (element !== undefined) return element;
      }
      return taken();
    };
    if (pass) return { next };
    const later = async ({ signal }: WaitOptions): Promise<Element<S> | undefined> => {
      for (let n = deal.missing; n > 0; n = deal.missing) {
        // There may never be as many at once as a batch has: what is drawn stays with the deal, and with this iterator.
        const drawn = await this.#draws.some(n, WHOLE, { signal, timeoutMs } as WaitOptions);
        const element = give(drawn as Drawn<S>);
        if (element !== undefined) return element;
      }
      return taken();
    };
    return { next, later };
  }

  /** One item of a batch with what is known of it, [steps, …]. */
  #itemOf(batch: Drawn<S>, i: number, preprocess?: (items: StepsOf<S>) => unknown): readonly [unknown, ReverbInfo] {
    const whole = pack(this.dataSpec, this.#columnsOf(batch, i)) as StepsOf<S>;
    const length = this.#checked(lengthOf(whole));
    const items = preprocess === undefined ? whole : preprocessed(preprocess, whole, length, true);
    return [items, infoOf(batch.info, (values) => numbers(new Float64Array(length).fill(values[i] as number)))];
  }

  /** An item's columns in the order of the data spec's leaves: by their names, or where these are others one by one. @throws ReplayError SPEC_MISMATCH */
  #columnsOf(batch: Drawn<S>, i: number): readonly unknown[] {
    const { isWhole, names, columns } = itemOf(batch, i);
    if (isWhole) return columns;
    const wanted = this.#leaves;
    const places = wanted.map(({ path }) => names.indexOf(path || "value"));
    const ordered = places.includes(-1) ? columns : places.map((place) => columns[place]);
    const subject = `an item of table ${this.#table.name}`;
    if (columns.length !== wanted.length) throw mustBe("SPEC_MISMATCH", subject, `of ${wanted.length} columns, like dataSpec`, names);
    wanted.forEach(({ path, leaf, shape }, k) => {
      const column = ordered[k];
      const fits =
        isColumn(column) && (dtypeOf(column.data) ?? "string") === (leaf.dtype === "bool" ? "u8" : leaf.dtype) && column.shape.slice(1).join() === shape.join();
      if (!fits) throw mustBe("SPEC_MISMATCH", `${path || "the column"} of ${subject}`, `steps of ${leafText(leaf.dtype, shape)}, like dataSpec`, column);
    });
    return ordered;
  }

  /** The same of all items of a batch, [count, steps, …]. */
  #batchOf({ count, steps, lengths, info }: Drawn<S>): Element<S> {
    for (const length of lengths) this.#checked(length);
    const length = this.#length as number;
    const each = (values: ArrayLike<number>) => {
      const data = new Float64Array(count * length);
      for (let i = 0; i < count; i++) data.fill(values[i] as number, i * length, (i + 1) * length);
      return new Column<"f64">(data, [count, length]);
    };
    return [steps, infoOf(info, each)];
  }

  #checked(length: number): number {
    if (this.#length === undefined || length === this.#length) return length;
    throw mustBe("SPEC_MISMATCH", `an item of table ${this.#table.name}`, `of sequenceLength (${this.#length}) steps`, length);
  }
}

type Drawn<S> = Batch<StepsOf<S>>;

/** One window and what is known of it, as a nest of columns; made only when it is dealt. */
type Row = () => unknown;

/** Deals the windows of items into batches: in order, or so that the rows of one batch come of different items. */
class Deal {
  readonly #rows: number | undefined;
  readonly #hands: Row[][];
  readonly #numSteps: number | undefined;

  /**
   * @param rows of a batch; undefined for rows alone
   * @param numSteps of a window; undefined for whole items
   * @param apart whether each row of a batch has items of its own
   */
  constructor(rows: number | undefined, numSteps: number | undefined, apart: boolean) {
    this.#rows = rows;
    this.#numSteps = numSteps;
    this.#hands = Array.from({ length: apart ? (rows ?? 1) : 1 }, () => []);
  }

  /** Items that it lacks for the next batch: as many as it surely needs, 0 where it has all. */
  get missing(): number {
    const each = (this.#rows ?? 1) / this.#hands.length;
    // How many windows an item will have is not known before it is there.
    return this.#hands.reduce((sum, { length }) => sum + (length >= each ? 0 : this.#numSteps === undefined ? each - length : 1), 0);
  }

  /** One more item, as a nest of columns by step: its windows go to the hand that has fewest; how many they are. A rest that is no window is lost. */
  give(item: unknown): number {
    const hand = this.#hands.reduce((min, one) => (one.length < min.length ? one : min));
    const n = this.#numSteps;
    if (n === undefined) return hand.push(() => item);
    const windows = Math.floor(lengthOf(item) / n);
    for (let i = 0; i < windows; i++) hand.push(() => slice(item, i * n, (i + 1) * n));
    return windows;
  }

  /** The next batch, [rows, steps, …], or the next row, [steps, …]. */
  take(): unknown {
    const n = this.#rows ?? 1;
    const rows = Array.from({ length: n }, (_, i) => (this.#hands[i % this.#hands.length] as Row[]).shift()?.());
    return this.#rows === undefined ? rows[0] : stack(rows);
  }
}

function infoOf(info: BatchInfo, each: (values: ArrayLike<number>) => BufferInfo["probabilities"]): ReverbInfo {
  const { keys, probabilities, tableSizes, priorities, timesSampled } = info;
  return {
    ids: each(keys),
    probabilities: each(probabilities),
    tableSizes: each(tableSizes),
    priorities: each(priorities),
    timesSampled: each(timesSampled),
  };
}

/** A spec as text, the same for equal ones: keys in order. */
function canonical(spec: Spec): string {
  return JSON.stringify(spec, (_, node) => {
    if (typeof node !== "object" || node === null || Array.isArray(node)) return node;
    const { dtype, shape, shared, stack, maxBytes } = node as BoundedText;
    if (typeof dtype === "string") return [dtype, shape, shared, stack, maxBytes];
    return Object.fromEntries(Object.entries(node).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
