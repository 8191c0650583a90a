/** Items of any steps at hand, sent to a server. Reverb's `TrajectoryWriter`, as reprise/agents has it for tables of this process. */

import { finite, flag, integer, mustBe, onlyKeys, ReplayError } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import { type WaitOptions, within } from "../base/wait.ts";
import type { Column } from "../schema/column.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { leaves, type Nest } from "../schema/nest.ts";
import type { Spec, StepOf } from "../schema/spec.ts";
import type { Shaped } from "../tf-agents/signature.ts";
import { type Fields, isPartial, type KeepOptions, type PartOf, type Values } from "../tf-agents/writers/fields.ts";
import { History, type HistoryOf } from "../tf-agents/writers/history.ts";
import { mustBeTableName } from "../tf-agents/writers/step-client.ts";
import { leafOf, TrajectoryColumn } from "../tf-agents/writers/trajectory-column.ts";
import type { ItemColumns, TrajectoryWriterOptions } from "../tf-agents/writers/trajectory-writer.ts";
import { type ChunkOptions, HeldSteps } from "./held-steps.ts";
import type { InsertStream } from "./insert-stream.ts";
import { randomKey } from "./keys.ts";
import { inOrder, type KnownTables } from "./known-tables.ts";
import { stepsValue, stepValue } from "./step-values.ts";
import type { KnownTable } from "./table-info.ts";
import { slicesOf } from "./tensors/runs.ts";
import type { ColumnMessage } from "./wire/item.ts";
import type { ChunkMessage } from "./wire/tensor.ts";

/** Anything else than a nest is told by its place. */
const isEnd = (node: unknown) => typeof node !== "object" || node === null || node instanceof TrajectoryColumn;

/** A column of an item to be: steps of a leaf, by their number since the writer was made. */
export interface HeldColumn {
  readonly leaf: PlacedLeaf;
  readonly steps: readonly number[];
  readonly isSqueezed: boolean;
}

/** As it is compared with a signature. */
export function shapeOf({ leaf, steps, isSqueezed }: HeldColumn): Shaped {
  return { dtype: leaf.leaf.dtype, shape: isSqueezed ? leaf.shape : [steps.length, ...leaf.shape] };
}

/** What other writers do with one: steps that are taken apart already, items whose steps they have chosen themselves. */
export interface Inside<S extends Spec> {
  readonly fields: Fields<S>;
  /** Steps that there were, also one that is open. */
  readonly total: number;
  /** What the newest step has. */
  readonly newest: Values;
  append(values: Values, partial: boolean): void;
  /** Whether the table is known by now; then items of such columns fit it. @throws ReplayError SPEC_MISMATCH */
  fits(table: string, columns: readonly Shaped[]): boolean;
  /** @param columns of steps that are at hand, in the order of their names @throws ReplayError SPEC_MISMATCH, as `createItem` */
  insert(table: string, priority: number, columns: readonly HeldColumn[]): Promise<void> | undefined;
  /** The same with the next `complete`, or whatever waits for items. */
  hold(insert: () => Promise<void> | undefined): void;
  /** Puts all steps into chunks, and sends the items that are held back. @returns as `insert` */
  complete(): Promise<void> | undefined;
  /** Waits until all items are confirmed, also those of a writer that was closed. @throws as `flush` */
  settled(): Promise<void>;
  /** @throws ReplayError CLOSED, or what ended the stream */
  check(): void;
}

/** Room for several items; who asked for them need not await it. */
export function allOf(rooms: readonly Promise<void>[]): Promise<void> | undefined {
  if (rooms.length < 2) return rooms[0];
  const all = Promise.all(rooms).then(() => {});
  all.catch(() => {});
  return all;
}

/** For the package's own writers, and the client. */
export let insideOf: <S extends Spec>(writer: StreamWriter<S>) => Inside<S>;

export class StreamWriter<S extends Spec = Spec> {
  readonly #fields: Fields<S>;
  readonly #tables: KnownTables;
  readonly #validates: boolean;
  readonly #history: History;
  readonly #steps: HeldSteps;
  readonly #stream: InsertStream;
  readonly #closes: () => void;
  #isOpen = false;
  #episodeSteps = 0;
  /** The names of the last item's columns, as they came and in their order. */
  #names: readonly string[] = [];
  #sorted: readonly string[] = [];
  /** Items that wait until their table is known, in the order of their calls. */
  #line: Promise<void> | undefined;
  /** Items that wait until their steps fill a chunk. */
  #heldBack: (() => Promise<void> | undefined)[] = [];
  /** What refused one of those that waited, until `flush` has told of it. */
  #refused: { readonly reason: unknown } | undefined;
  #closed = false;
  /** Ends what waits for room. */
  readonly #closing = new AbortController();

  static {
    insideOf = (writer) => ({
      fields: writer.#fields,
      get total() {
        return writer.#history.total;
      },
      get newest() {
        return writer.#steps.values(writer.#history.total - 1);
      },
      append: (values, partial) => writer.#append(values, partial),
      fits: (table, columns) => {
        const known = writer.#tables.now(table);
        if (known !== undefined) writer.#fit(table, known, [], columns);
        return known !== undefined;
      },
      hold: (insert) => void writer.#heldBack.push(insert),
      complete: () => writer.#complete(),
      insert: (table, priority, columns) => writer.#insert(table, priority, columns),
      settled: () => writer.#settled(0, {}),
      check: () => writer.#check(),
    });
  }

  /** Made by `client.trajectoryWriter`. @throws RangeError, TypeError */
  constructor(
    spec: S,
    fields: Fields<S>,
    options: TrajectoryWriterOptions,
    tables: KnownTables,
    stream: (kept: () => Iterable<bigint>) => InsertStream,
    closes: () => void,
    chunks: ChunkOptions = {},
  ) {
    const { numKeepAliveRefs, validateItems = true } = onlyKeys("options", options, "numKeepAliveRefs, validateItems");
    integer("numKeepAliveRefs", numKeepAliveRefs, 1, MAX_LENGTH);
    flag("validateItems", validateItems);
    this.#fields = fields;
    this.#tables = tables;
    this.#validates = validateItems;
    this.#closes = closes;
    this.#steps = new HeldSteps(fields.leaves, numKeepAliveRefs, chunks);
    this.#stream = stream(() => this.#steps.chunkKeys());
    const read = (leaf: PlacedLeaf, steps: readonly number[]) => stepsValue(steps.map((step) => this.#steps.value(leaf, step))).slice() as Column["data"];
    this.#history = new History(spec, fields.leaves, numKeepAliveRefs, read);
  }

  /** The steps at hand, nested as the spec, with the fields that were given so far. @throws ReplayError EMPTY before the first step */
  get history(): HistoryOf<S> {
    return this.#history.columns as HistoryOf<S>;
  }

  /** Steps of the open episode, without one that is not complete. */
  get episodeSteps(): number {
    return this.#episodeSteps;
  }

  /**
   * How long one field is kept. Later than the first step, steps that are gone by then stay so.
   * @param path the keys that lead to the field
   * @param options.maxChunkLength steps that one chunk of the field may have
   * @throws RangeError, TypeError · ReplayError NOT_FOUND for a field that the spec has not
   */
  configure(path: readonly (string | number)[], options: KeepOptions): void {
    this.#check();
    const { leaf, numKeepAliveRefs, maxChunkLength } = this.#fields.keeping(path, options);
    this.#history.keepLeaf(leaf, numKeepAliveRefs, this.#steps.oldest(leaf, this.#history.total));
    this.#steps.configure(leaf, numKeepAliveRefs, maxChunkLength, this.#history.total);
  }

  /**
   * Appends a step, whole or without some of its fields. Nothing is sent before an item needs it. O(bytes)
   * @param options.partialStep leaves the step open: the next append goes on with it
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA for another form, or a field that an earlier append of the step has set. Nothing changed then
   */
  append(step: PartOf<StepOf<S>>, options: { readonly partialStep?: boolean } = {}): void {
    this.#check();
    const partialStep = isPartial(options);
    this.#append(this.#fields.take(step), partialStep);
  }

  #append(given: Values, partialStep: boolean): void {
    const at = this.#history.total - Number(this.#isOpen);
    const values = this.#fields.leaves.map((leaf, i) => {
      if (given[i] === undefined) return undefined;
      if (this.#isOpen && this.#history.has(i))
        throw mustBe("SPEC_MISMATCH", leaf.path || "step", "left out, because an earlier append of this step has set it", given[i]);
      return stepValue(leaf, given[i]);
    });
    this.#steps.add(at, values);
    if (this.#isOpen) this.#history.extend(values as Values);
    else this.#history.add(values as Values);
    this.#isOpen = partialStep;
    if (!partialStep) this.#episodeSteps++;
  }

  /**
   * Makes an item of columns of this writer's history, and sends it with the steps that the server does not have yet. O(bytes of these steps)
   * @returns `undefined`, or a promise: until its table is known, and where too many items are on their way until there is room. `flush` waits for confirmations
   * @throws RangeError for a column without steps, or with one that is not at hand; a priority that is none · ReplayError NOT_FOUND, SPEC_MISMATCH for what does not fit
   * the table's signature; both by the promise for the first item of a table, and by the next `flush`
   */
  createItem(table: string, priority: number, trajectory: ItemColumns): Promise<void> | undefined {
    this.#check();
    mustBeTableName(table);
    return this.#insert(table, priority, this.#flat(trajectory) ?? this.#nested(trajectory));
  }

  /** The columns of a trajectory by name, without nests; undefined of any other. Names that are those of the last item are not sorted again. */
  #flat(trajectory: ItemColumns): HeldColumn[] | undefined {
    if (typeof trajectory !== "object" || trajectory === null || Array.isArray(trajectory)) return undefined;
    const names = Object.keys(trajectory);
    if (names.length === 0) return undefined;
    if (!sameNames(names, this.#names)) {
      this.#names = names;
      this.#sorted = names.slice().sort();
    }
    const sorted = this.#sorted;
    const held = new Array<HeldColumn>(sorted.length);
    for (let i = 0; i < held.length; i++) {
      const name = sorted[i] as string;
      const column = (trajectory as { readonly [name: string]: unknown })[name];
      if (!(column instanceof TrajectoryColumn)) return undefined;
      held[i] = this.#held(column, `trajectory.${name}`);
    }
    return held;
  }

  #nested(trajectory: ItemColumns): HeldColumn[] {
    const given = leaves(trajectory as Nest<TrajectoryColumn>, isEnd);
    if (given.length === 0) throw mustBe(RangeError, "trajectory", "an object with at least one column", trajectory);
    return given.map(({ keys, leaf: column }) => {
      const subject = ["trajectory", ...keys].join(".");
      if (!(column instanceof TrajectoryColumn)) throw mustBe(TypeError, subject, "a column of a writer's history", column);
      return this.#held(column, subject);
    });
  }

  #held(column: TrajectoryColumn, subject: string): HeldColumn {
    return { leaf: leafOf(column), steps: column.held(subject, this.#history), isSqueezed: column.isSqueezed };
  }

  #insert(table: string, priority: number, held: readonly HeldColumn[]): Promise<void> | undefined {
    // One negative priority would end a table of the server's for good.
    finite("priority", priority, 0);
    const shapes = held.map(shapeOf);
    const known = this.#tables.now(table);
    // What does not fit is refused before anything changes.
    if (known !== undefined) this.#fit(table, known, [], shapes);
    const chunks = new Set<ChunkMessage>();
    const columns = held.map(({ leaf, steps, isSqueezed }): ColumnMessage => {
      const places = steps.map((step) => this.#steps.place(leaf, step, chunks));
      return { slices: slicesOf(places), squeeze: isSqueezed };
    });
    const send = (found: KnownTable) =>
      this.#stream.insert({ key: randomKey(), table, priority, timesSampled: 0, columns: this.#fit(table, found, columns, shapes) }, [...chunks], {
        signal: this.#closing.signal,
      });
    if (known !== undefined && this.#line === undefined) return send(known);
    // Asked for now: those that wait for a server that is not there give up together, and not one after the other.
    const told = known ?? this.#tables.get(table);
    const before = this.#line;
    const sent = Promise.all([told, before]).then(async ([found]) => await send(found));
    const heard = sent.catch((reason) => {
      this.#refused ??= { reason };
    });
    const line = Promise.all([heard, before]).then(() => {
      if (this.#line === line) this.#line = undefined;
    });
    this.#line = line;
    return sent;
  }

  /**
   * Ends the episode; a step that is open ends with it. With `timeoutMs` or `signal` it first waits until all items are confirmed.
   * @param options.clearBuffers whether no later item reaches back over the end; true where it is left out
   * @returns `undefined` where it has ended; else a promise
   * @throws ReplayError TIMEOUT, CLOSED, what ended the stream, or the signal's reason; then the episode goes on, with all its steps
   */
  endEpisode(options: WaitOptions & { readonly clearBuffers?: boolean } = {}): Promise<void> | undefined {
    this.#check();
    const { clearBuffers = true, ...wait } = onlyKeys("options", options, "clearBuffers, timeoutMs, signal");
    flag("clearBuffers", clearBuffers);
    if (wait.timeoutMs === undefined && wait.signal === undefined) {
      this.#end(clearBuffers);
      return undefined;
    }
    return this.flush(wait).then(() => {
      this.#check();
      this.#end(clearBuffers);
    });
  }

  /**
   * Waits until at most `blockUntilNumItems` (0 where it is left out) of this writer's items are without a confirmation: until the rate limiters have let the others in.
   * @throws ReplayError TIMEOUT, what ended the stream, or the signal's reason; NOT_FOUND, SPEC_MISMATCH, once, where these refused an item after `createItem`
   */
  async flush(options: WaitOptions & { readonly blockUntilNumItems?: number } = {}): Promise<void> {
    this.#check();
    const { blockUntilNumItems = 0, ...wait } = onlyKeys("options", options, "blockUntilNumItems, timeoutMs, signal");
    integer("blockUntilNumItems", blockUntilNumItems, 0);
    await this.#settled(blockUntilNumItems, wait);
  }

  #complete(): Promise<void> | undefined {
    this.#steps.chunkAll();
    const inserts = this.#heldBack;
    this.#heldBack = [];
    let room: Promise<void> | undefined;
    for (const insert of inserts) {
      try {
        room = insert() ?? room;
      } catch (reason) {
        this.#refused ??= { reason };
      }
    }
    return room;
  }

  async #settled(max: number, wait: WaitOptions): Promise<void> {
    if (this.#heldBack.length > 0) this.#complete();
    if (this.#line !== undefined) await within(this.#line, "asking the server for its tables", wait);
    await this.#stream.flush(max, wait);
    const refused = this.#refused;
    this.#refused = undefined;
    if (refused !== undefined) throw refused.reason;
  }

  /**
   * Lets the steps at hand go. Items stay, also those that are on their way: the stream ends when they are confirmed, or with the client. `flush` first, to hear of errors, or
   * await `[Symbol.asyncDispose]`.
   */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    const end = () => {
      this.#closes();
      this.#stream.close(closed());
    };
    this.#settled(0, {}).then(end, end);
    this.#closing.abort(closed());
    this.#history.clear();
    this.#steps.clear();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Waits until all items are confirmed, then closes. @throws as `flush` */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    try {
      await this.flush();
    } finally {
      this.close();
    }
  }

  #fit(table: string, known: KnownTable, columns: readonly ColumnMessage[], shapes: readonly Shaped[]): readonly ColumnMessage[] {
    return inOrder(table, this.#validates ? known : { ...known, info: { ...known.info, signature: undefined } }, columns, shapes);
  }

  #end(clearBuffers: boolean): void {
    this.#isOpen = false;
    this.#episodeSteps = 0;
    if (clearBuffers) {
      this.#history.clear();
      this.#steps.clear();
    }
    this.#steps.endEpisode(this.#history.total);
  }

  #check(): void {
    if (this.#closed) throw closed();
    this.#stream.check();
  }
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function closed(): ReplayError {
  return new ReplayError("CLOSED", "this writer was closed: make a new one with the client");
}
