/** Sends the steps of a writer to a server. Steps stay in this process until an item names them, and are then sent in chunks. */
import { finite, integer, mustBe, onlyKeys, ReplayError } from "../base/error.ts";
import { abortable, checkWait, type WaitOptions } from "../base/wait.ts";
import type { Column } from "../schema/column.ts";
import { isList } from "../schema/copy-numbers.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { ItemPromise } from "../tables/item-promise.ts";
import type { FlushOptions, ItemColumn, ItemPattern, StepSink } from "../tables/step-sink.ts";
import { isEndOfWait, UntoldErrors } from "../tables/untold-errors.ts";
import type { ColumnShape } from "../tf-agents/signature.ts";
import { alreadySet, type Values } from "../tf-agents/writers/fields.ts";
import { shapeOf } from "../tf-agents/writers/item-columns.ts";
import { mustBeTableName } from "../tf-agents/writers/step-client.ts";
import { shapesOf } from "../tf-agents/writers/structure.ts";
import { BufferedSteps, type ChunkOptions } from "./buffered-steps.ts";
import type { InsertStream } from "./insert-stream.ts";
import { randomKey } from "./keys.ts";
import { type StepValue, stepsValue, stepValue } from "./step-values.ts";
import { orderColumns, type TableCache } from "./table-cache.ts";
import type { TableEntry } from "./table-info.ts";
import { slicesOf } from "./tensors/runs.ts";
import type { ColumnMessage } from "./wire/item.ts";
import type { ChunkMessage } from "./wire/tensor.ts";

export interface ServerSinkOptions extends ChunkOptions {
  /** The number of steps for which each leaf is kept. */
  readonly keep: number;
  /** Whether items must fit their table's signature. Default: true. */
  readonly validates?: boolean;
  /** The number of steps after which the items of the last steps are sent together. Default: each item is sent when it is created. */
  readonly sendsAfter?: number;
}

/** The properties of an item's column that the server needs. */
type SinkColumn = Pick<ItemColumn, "leaf" | "steps" | "isSqueezed">;

export class ServerSink implements StepSink {
  readonly leaves: readonly PlacedLeaf[];
  readonly isExclusiveAtEnd = false;
  total = 0;
  episodeSteps = 0;
  readonly #tables: TableCache;
  readonly #options: ServerSinkOptions;
  readonly #steps: BufferedSteps;
  readonly #stream: InsertStream;
  readonly #onClose: () => void;
  readonly #onLoss: (reason: unknown) => void;
  #isOpen = false;
  #patterns: readonly ItemPattern[] = [];
  /** Whether the items of each pattern have been compared with the signature of their table. */
  #fits: boolean[] = [];
  /** Settles when the tables of all waiting items are known. Such items are sent in the order of their calls. */
  #line: Promise<void> | undefined;
  /** The items that wait until their steps fill a chunk, and the number of steps in that chunk. */
  #unsent: (() => Promise<void> | undefined)[] = [];
  #chunkSteps = 0;
  /** The errors of waiting items, until `flush` throws them or a caller reads their promises. */
  readonly #refusals = new UntoldErrors();
  #closed = false;
  /** Settles when all items of a closed writer are confirmed, or can no longer be confirmed. */
  #ended: Promise<void> | undefined;
  /** Whether a caller waits for the end, and receives its error. */
  #isAwaited = false;
  /** Aborts waits for room. */
  readonly #closing = new AbortController();

  /**
   * @param open opens the stream, which requests the chunks that later items may refer to
   * @param onClose is called when the stream has ended
   * @param onLoss receives the reason why items of a closed writer are not in their tables, if no other caller receives it
   */
  constructor(
    leaves: readonly PlacedLeaf[],
    options: ServerSinkOptions,
    tables: TableCache,
    open: (kept: () => Iterable<bigint>) => InsertStream,
    onClose: () => void,
    onLoss: (reason: unknown) => void,
  ) {
    this.leaves = leaves;
    this.#options = options;
    this.#tables = tables;
    this.#onClose = onClose;
    this.#onLoss = onLoss;
    this.#steps = new BufferedSteps(leaves, options.keep, options);
    this.#stream = open(() => this.#steps.chunkKeys());
  }

  get open(): Values | undefined {
    return this.#isOpen ? this.#steps.values(this.total - 1) : undefined;
  }

  check(): void {
    if (this.#closed) throw closed();
    this.#stream.check();
  }

  mustKnow(table: unknown): void {
    mustBeTableName(table);
  }

  append(step: Values, _step: unknown, isPartial: boolean): Promise<void> | undefined {
    const { open } = this;
    const values = this.leaves.map((leaf, i) => {
      if (step[i] === undefined) return undefined;
      if (open !== undefined && open[i] !== undefined) throw alreadySet(leaf, step[i]);
      return stepValue(leaf, step[i]);
    });
    if (open === undefined) this.total++;
    this.#steps.add(this.total - 1, values);
    this.#isOpen = isPartial;
    if (isPartial) return undefined;
    this.episodeSteps++;
    return this.#countStep();
  }

  appendColumns(columns: Values): Promise<void> | undefined {
    const lead = this.leaves.find((_, i) => columns[i] !== undefined) as PlacedLeaf;
    const first = columns[lead.index] as ArrayLike<unknown>;
    // A flat array contains all steps one after the other.
    const steps = isList(first[0]) || typeof first[0] === "object" ? first.length : first.length / lead.size;
    if (!Number.isInteger(steps) || steps < 1) throw mustBe("SPEC_MISMATCH", lead.path || "sequence", "a column of at least one step", first);
    const checked = columns.map((column, i) => {
      const leaf = this.leaves[i] as PlacedLeaf;
      return column === undefined ? undefined : stepValue({ ...leaf, shape: [steps, ...leaf.shape], size: steps * leaf.size }, column);
    });
    let room: Promise<void> | undefined;
    for (let t = 0; t < steps; t++) {
      const values = checked.map((column, i) => column && valueAt(column, this.leaves[i] as PlacedLeaf, t));
      room = this.append(values, undefined, false) ?? room;
    }
    return room;
  }

  keep(leaf: number, steps: number, _longest: number, maxChunkLength: number | undefined): number {
    const oldest = this.#steps.oldest(leaf, this.total);
    this.#steps.configure(leaf, steps, maxChunkLength, this.total);
    return oldest;
  }

  read(leaf: PlacedLeaf, steps: readonly number[]): Column["data"] {
    this.check();
    return stepsValue(steps.map((step) => this.#steps.value(leaf, step))).slice() as Column["data"];
  }

  createItem(table: string, priority: number, columns: readonly SinkColumn[]): Promise<void> | undefined {
    // A single negative priority would break a table of the server permanently.
    finite("priority", priority, 0);
    const shapes = columns.map(shapeOf);
    const known = this.#tables.cached(table);
    // Invalid items throw before anything changes.
    if (known !== undefined) this.#fit(table, known, [], shapes);
    const chunks = new Set<ChunkMessage>();
    const messages = columns.map(({ leaf, steps, isSqueezed }): ColumnMessage => {
      const places = steps.map((step) => this.#steps.locate(leaf, step, chunks));
      return { slices: slicesOf(places), squeeze: isSqueezed };
    });
    const send = (found: TableEntry) => {
      const item = { key: randomKey(), table, priority, timesSampled: 0, columns: this.#fit(table, found, messages, shapes) };
      const room = this.#stream.insert(item, [...chunks], this.#closed ? {} : { signal: this.#closing.signal });
      // No caller waits for the room of a closed writer.
      return this.#closed ? undefined : room;
    };
    if (known !== undefined && this.#line === undefined) return send(known);
    // The table is requested now, so that items that wait for an unreachable server fail together, not one after the other.
    const requested = known ?? this.#tables.get(table);
    const before = this.#line;
    const inserted = Promise.all([requested, before]).then(([found]) => ({ room: send(found) }));
    const sent = inserted.then(({ room }) => room);
    const answer = ItemPromise.of([sent]);
    // The item is in the stream by then, so the end of a wait for room is not a rejection of the item.
    const refusal = inserted.catch((reason) => this.#refusals.add(reason, answer));
    const line = Promise.all([refusal, sent.catch(() => {}), before]).then(() => {
      if (this.#line === line) this.#line = undefined;
    });
    this.#line = line;
    return answer;
  }

  createLast(table: string, length: number, priority: number, leaves: readonly PlacedLeaf[]): Promise<void> | undefined {
    const steps = Array.from({ length }, (_, k) => this.total - length + k);
    const columns = leaves.map((leaf): SinkColumn => ({ leaf, steps, isSqueezed: false }));
    if (this.#chunkSteps === 0) return this.createItem(table, priority, columns);
    this.#fitsKnown(table, columns.map(shapeOf));
    this.#unsent.push(() => this.createItem(table, priority, columns));
    return undefined;
  }

  prepare(patterns: readonly ItemPattern[]): void {
    this.#patterns = patterns;
    this.#fits = patterns.map(() => false);
    for (const k of patterns.keys()) this.#mustFit(k);
  }

  admit(patterns: Int32Array, count: number): void {
    for (let i = 0; i < count; i++) this.#mustFit(patterns[i] as number);
  }

  insert(k: number, priority: number): Promise<void> | undefined {
    const { config, nodes } = this.#patterns[k] as ItemPattern;
    const columns = nodes.map(({ node, leaf, ages }) => ({
      leaf: this.leaves[leaf] as PlacedLeaf,
      steps: ages.map((age) => this.total - age),
      isSqueezed: node.isSqueezed,
    }));
    return this.createItem(config.table, priority, columns);
  }

  /** Returns undefined, because without a time limit, `endEpisode` does not wait for confirmations. Only `flush` does. */
  waiting(): undefined {}

  endEpisode(clears: boolean): void {
    this.#isOpen = false;
    this.episodeSteps = 0;
    if (clears) this.#steps.clear();
    this.#steps.endEpisode(this.total);
  }

  async flush(options: FlushOptions): Promise<void> {
    this.check();
    const { blockUntilNumItems = 0, ...wait } = onlyKeys("options", options, "blockUntilNumItems, timeoutMs, signal");
    integer("blockUntilNumItems", blockUntilNumItems, 0);
    checkWait(wait);
    // A flush ends a chunk.
    this.#chunkSteps = 0;
    await this.#untilFew(blockUntilNumItems, wait);
  }

  /** Waits until the items created so far are confirmed; `flush` also waits for items that are created in the meantime. @throws the errors of `flush` */
  async confirmSoFar(wait: WaitOptions): Promise<void> {
    this.check();
    await this.#untilKnown(wait);
    await this.#stream.waitForFirst(this.#stream.count, wait);
    this.#refusals.throwFirst();
  }

  keepError(reason: unknown, answer: ItemPromise): void {
    this.#refusals.add(reason, answer);
  }

  confirmed(): Promise<void> | undefined {
    return this.#closed ? undefined : this.flush({});
  }

  /** Waits until all items are confirmed, including the items of a closed writer. @throws the errors of `flush` */
  whenConfirmed(): Promise<void> {
    this.#isAwaited = true;
    return this.#ended ?? this.#untilFew(0, {});
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    const end = () => {
      this.#onClose();
      this.#stream.close(closed());
    };
    this.#ended = this.#untilEnd();
    this.#ended.then(end, end);
    this.#closing.abort(closed());
    this.#steps.clear();
  }

  /** Counts a step of the next chunk. When the chunk is full, all steps are put into chunks, and its items are sent. */
  #countStep(): Promise<void> | undefined {
    const { sendsAfter } = this.#options;
    if (sendsAfter === undefined) return undefined;
    this.#chunkSteps++;
    if (this.#chunkSteps < sendsAfter) return undefined;
    this.#chunkSteps = 0;
    return this.#sendAll();
  }

  #sendAll(): Promise<void> | undefined {
    this.#steps.chunkAll();
    const inserts = this.#unsent;
    this.#unsent = [];
    let room: Promise<void> | undefined;
    for (const insert of inserts) {
      try {
        room = insert() ?? room;
      } catch (reason) {
        this.#refusals.add(reason);
      }
    }
    return room;
  }

  /** Waits for the end of a closed writer. */
  async #untilEnd(): Promise<void> {
    let failure: { readonly reason: unknown } | undefined;
    try {
      await this.#untilKnown({});
      await this.#stream.flush(0, {});
    } catch (reason) {
      failure = { reason };
    }
    const [refusal] = this.#refusals.take();
    if (refusal !== undefined && !isEndOfWait(refusal, {}) && !this.#isAwaited) this.#onLoss(refusal);
    failure ??= refusal === undefined ? undefined : { reason: refusal };
    if (failure !== undefined) throw failure.reason;
  }

  async #untilFew(max: number, wait: WaitOptions): Promise<void> {
    await this.#untilKnown(wait);
    await this.#stream.flush(max, wait);
    this.#refusals.throwFirst();
  }

  /** Waits until the tables of the items so far are known, and the items are in the stream. */
  async #untilKnown(wait: WaitOptions): Promise<void> {
    if (this.#unsent.length > 0) this.#sendAll();
    if (this.#line !== undefined) await abortable(this.#line, "the server has not reported its tables", wait);
  }

  /** Compares a pattern with its table if the table is known. */
  #mustFit(k: number): void {
    if (this.#fits[k]) return;
    const pattern = this.#patterns[k] as ItemPattern;
    this.#fits[k] = this.#fitsKnown(pattern.config.table, shapesOf(pattern));
  }

  /**
   * Compares columns with their table if the table is known. Returns whether it is known. @throws ReplayError SPEC_MISMATCH if the columns do not fit the
   * table's signature
   */
  #fitsKnown(table: string, shapes: readonly ColumnShape[]): boolean {
    const known = this.#tables.cached(table);
    if (known !== undefined) this.#fit(table, known, [], shapes);
    return known !== undefined;
  }

  #fit(table: string, known: TableEntry, columns: readonly ColumnMessage[], shapes: readonly ColumnShape[]): readonly ColumnMessage[] {
    const { validates = true } = this.#options;
    return orderColumns(table, validates ? known : { ...known, info: { ...known.info, signature: undefined } }, columns, shapes);
  }
}

/** Returns a step of a column. */
function valueAt(column: StepValue, { size }: PlacedLeaf, t: number): StepValue {
  return Array.isArray(column) ? column.slice(t * size, (t + 1) * size) : column.subarray(t * size, (t + 1) * size);
}

function closed(): ReplayError {
  return new ReplayError("CLOSED", "this writer was closed. Create a new one with the client");
}
