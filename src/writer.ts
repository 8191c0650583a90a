/** A writer: takes the steps of one environment (or of several in lock-step, its lanes) and makes items of them. */
import { E_LENGTH, E_PRIORITY, E_RATE_LIMITED } from "./abi.ts";
import { ColumnBlock } from "./block.ts";
import type { ColumnSet } from "./columns.ts";
import type { Engine } from "./engine.ts";
import { finite, integer, mustBe, onlyKeys, ReplayError, show } from "./error.ts";
import { fillOf } from "./fill.ts";
import { up } from "./layout.ts";
import { priorityError } from "./numbers.ts";
import type { ColumnsOf, Spec, StepOf } from "./spec.ts";
import { type StagedOf, Staging, writerClosed } from "./staged.ts";
import type { AnyTable, Table } from "./table.ts";
import type { WaitOptions } from "./wait.ts";

/** A standing rule: an item of the last `length` steps whenever an episode has `length`, `length + stride`, … of them. */
export interface ItemRule<TableName extends string = string, Columns = object> {
  readonly table: TableName;
  readonly length: number;
  /** 1 where it is left out: an item a step. */
  readonly stride?: number;
  /** 1 where it is left out. */
  readonly priority?: number;
  /** What a batch shows of these items, unless it is asked for other columns; every leaf of every step where it is left out. */
  readonly columns?: Columns;
}

export interface WriterOptions<TableName extends string = string, Columns = object> {
  /** Steps that the writer keeps at hand: the longest item that can be made. The longest rule, and at least 32, where it is left out. */
  readonly keep?: number;
  /** Environments in lock-step: every value then has a leading dimension of that length. */
  readonly lanes?: number;
  /** Items that are made of the steps as they come. */
  readonly items?: readonly ItemRule<TableName, Columns>[];
  /** Whether items may span episodes: the steps at hand then live on over `endEpisode`. */
  readonly across?: boolean;
}

export interface ItemOptions<Columns = object> {
  /** Of the last so many steps. */
  readonly length: number;
  /** 1 where it is left out. */
  readonly priority?: number;
  /** The lane whose steps these are; 0 where it is left out. */
  readonly lane?: number;
  readonly columns?: Columns;
}

/** A writer whatever its spec: what snapshots need of it. */
export interface AnyWriter {
  readonly options: ResolvedWriterOptions;
  readonly streams: readonly number[];
}

/** What a snapshot stores of a writer's options. */
export interface ResolvedWriterOptions {
  readonly keep: number;
  readonly lanes: number;
  readonly items: readonly Required<Omit<ItemRule, "columns">>[];
  readonly shapes: readonly number[];
  readonly across: boolean;
}

const ITEM_OPTIONS = { length: 0, priority: 0, lane: 0, columns: 0 };
const DEFAULT_KEEP = 32;
/** The longest run that an item can name. */
const MOST_STEPS = 0xffffff;

export class Writer<S = Spec, TableName extends string = string> implements AnyWriter {
  readonly options: ResolvedWriterOptions;
  readonly #engine: Engine;
  readonly #tables: ReadonlyMap<string, AnyTable>;
  readonly #onClose: () => void;
  /** WRITER in the core, and its STREAMs behind it: together so many bytes. */
  readonly #bytes: number;
  readonly #streams: readonly number[];
  readonly #writer: number;
  #staged = 0;
  readonly #staging: Staging;
  readonly #fill: (step: unknown) => void;
  /** Columns of many steps. */
  readonly #block: ColumnBlock;
  /** Columns of one step a lane, where there are several lanes: the staging record. */
  readonly #laneBlock: ColumnBlock | undefined;
  #closed = false;
  /** The table that was named last: comparing its name is cheaper than the map's hash. */
  #last: AnyTable | undefined;

  /** Writers are made by `replay.writer`. */
  constructor(engine: Engine, tables: ReadonlyMap<string, AnyTable>, options: ResolvedWriterOptions, onClose: () => void) {
    this.options = options;
    this.#engine = engine;
    this.#tables = tables;
    this.#onClose = onClose;
    const { core, spec, layout, pool } = engine;
    const { x } = core;
    const { lanes, keep, items, shapes, across } = options;
    const writerBytes = up(x.writer_bytes(lanes, items.length), 16);
    const streamBytes = up(x.stream_bytes(keep), 16);
    this.#bytes = writerBytes + lanes * streamBytes;
    this.#writer = core.alloc(this.#bytes);
    this.#block = new ColumnBlock(engine, this.#writer, lanes, items.length);
    if (lanes > 1) this.#laneBlock = new ColumnBlock(engine, this.#writer, lanes, 0, true);
    try {
      x.writer_init(this.#writer, lanes, items.length, across ? 1 : 0);
      items.forEach((rule, k) => {
        x.writer_rule(this.#writer, k, this.#table(rule.table).handle, rule.length, rule.stride, shapes[k] as number);
        if (x.writer_priority(this.#writer, k, rule.priority, 0) !== 0) throw priorityError(`items[${k}].priority`, rule.priority);
      });
      this.#staged = engine.stage(layout.stagedBytes);
      this.#laneBlock?.reserve(lanes);
    } catch (error) {
      this.#free();
      throw error;
    }
    this.#streams = Array.from({ length: lanes }, (_, lane) => {
      const stream = this.#writer + writerBytes + lane * streamBytes;
      x.stream_init(stream, pool, keep);
      x.writer_stream(this.#writer, lane, stream);
      return stream;
    });
    const laneBlock = this.#laneBlock;
    const places = layout.leaves.map((leaf, i) =>
      laneBlock === undefined ? { address: this.#staged + leaf.staged, length: leaf.size } : { address: laneBlock.columnAt(i), length: lanes * leaf.size },
    );
    this.#staging = new Staging(core, laneBlock === undefined ? engine.makeStep : engine.makeLanes, this.#staged, layout.stagedBytes, layout.leaves, places);
    this.#fill = laneBlock === undefined ? fillOf(core, spec, layout.leaves, this.#staged) : (step) => laneBlock.fill(step, lanes);
  }

  /** The step to come, to be filled in place: numbers are assigned, arrays filled. Then `append()`. What is not written keeps its value. */
  get staged(): StagedOf<S> {
    this.#open();
    return this.#staging.step as StagedOf<S>;
  }

  /** Steps at hand, of which an item can be made (of lane 0). */
  get length(): number {
    this.#open();
    return this.#engine.core.x.stream_length(this.#streams[0] as number);
  }

  /** Steps of the open episode (of lane 0). */
  get episodeSteps(): number {
    this.#open();
    return this.#engine.core.x.stream_episode_steps(this.#streams[0] as number);
  }

  /**
   * Appends a step, or what was filled in `staged`; then makes the items that the writer's rules say. Copies; allocates nothing. O(bytes + items)
   * With several lanes every value has a leading dimension, one step a lane.
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY, RATE_LIMITED (too many items wait); then nothing changed
   */
  append(step?: StepOf<S>): void {
    this.#open();
    if (step === undefined) this.#staging.check();
    else this.#fill(step);
    const waiting = this.#laneBlock === undefined ? this.#engine.core.x.writer_append(this.#writer, this.#staged) : this.#laneBlock.append(this.options.lanes);
    if (waiting < 0) throw this.#refused(waiting, "one more step", 0);
    this.#engine.changed();
  }

  /**
   * Appends many steps at once, each leaf as one column with a leading dimension of time (with several lanes: time, lane).
   * @param options.ends not 0 where the episode ends with the step
   * @param options.priorities by table, one for the item that ends with the step, for this writer's rules
   * @returns how many steps, all lanes together
   */
  appendColumns(
    columns: ColumnsOf<S>,
    options: { readonly ends?: ArrayLike<number>; readonly priorities?: { readonly [T in TableName]?: ArrayLike<number> } } = {},
  ): number {
    this.#open();
    const { ends, priorities } = onlyKeys("options", options, "ends, priorities");
    const { items } = this.options;
    const rows = this.#block.fill(columns);
    for (const name in priorities)
      if (!items.some((rule) => rule.table === name))
        throw unknownTable(
          name,
          items.map((rule) => rule.table),
        );
    let waiting: number;
    try {
      items.forEach((rule, k) => {
        this.#block.priorities(k, rule.priority, priorities?.[rule.table as TableName], rows);
      });
      waiting = this.#block.append(rows, ends);
    } finally {
      // What was given for this block must not be read for a step of several lanes.
      for (const [k, { priority }] of priorities === undefined ? [] : items.entries()) this.#block.priorities(k, priority, undefined, rows);
    }
    if (waiting < 0) throw this.#refused(waiting, `a block of ${rows} steps`, 0, `priorities[${this.#engine.core.x.error_argument()}]`);
    this.#engine.changed();
    return rows;
  }

  /**
   * Makes an item of the last steps. O(length + log size)
   * @returns `undefined` when it is in the table; a promise where the rate limiter makes it wait, which resolves when it is let in
   * @throws RangeError for a length that is not at hand, a priority that is none · ReplayError RATE_LIMITED, OUT_OF_MEMORY
   */
  createItem(table: TableName | Table<S>, options: ItemOptions<ColumnSet<S>>): Promise<void> | undefined {
    this.#open();
    const to = this.#table(table);
    const { length, priority = 1, lane = 0, columns } = options;
    for (const key in options) if (!(key in ITEM_OPTIONS)) onlyKeys("item", options, "length, priority, lane, columns");
    integer("length", length, 1);
    finite("priority", priority, 0);
    integer("lane", lane, 0, this.options.lanes - 1);
    const shape = columns === undefined ? 0 : this.#engine.shapeOf(columns);
    const state = this.#engine.core.x.writer_create_item(this.#writer, lane, to.handle, length, shape, priority);
    if (state < 0) throw this.#refused(state, `an item of ${length} steps`, lane);
    this.#engine.changed();
    return state === 1 ? undefined : this.#admitted(to);
  }

  /** The key of the item that was created last in a table; 0 before the first. */
  lastKey(table: TableName | Table<S>): number {
    this.#open();
    return this.#engine.core.x.table_newest(this.#table(table).handle);
  }

  /** Ends the episode with the newest step. The steps at hand are let go, so that no item spans two episodes, unless the writer is `across`. */
  endEpisode(options: { readonly lane?: number } = {}): void {
    this.#open();
    const { lanes } = this.options;
    const lane = options.lane === undefined ? undefined : integer("lane", options.lane, 0, lanes - 1);
    for (let i = lane ?? 0; i < (lane === undefined ? lanes : lane + 1); i++) this.#engine.core.x.writer_end(this.#writer, i);
    this.#engine.changed();
  }

  /** Waits until no item waits for the rate limiter in the tables of this writer's rules, or in all where it has none. `undefined` where none does. */
  flush(options: WaitOptions = {}): Promise<void> | undefined {
    this.#open();
    const names = this.options.items.map((rule) => rule.table);
    const tables = [...this.#tables.values()].filter((table) => names.length === 0 || names.includes(table.name));
    const waiting = () => tables.reduce((sum, table) => sum + table.stats().pending, 0);
    const result = this.#engine.waiters.until(
      () => (waiting() === 0 ? true : undefined),
      () => `letting ${waiting()} waiting items in`,
      options,
    );
    return result === true ? undefined : (result as Promise<unknown> as Promise<void>);
  }

  /** Lets the steps at hand go, and the writer's memory. Items stay. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClose();
    this.#staging.close();
    if (this.#engine.closed) return;
    for (const stream of this.#streams) this.#engine.core.x.stream_clear(stream);
    this.#free();
    this.#engine.changed();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** The streams in the core, lane by lane: for snapshots. */
  get streams(): readonly number[] {
    return this.#streams;
  }

  #open(): void {
    this.#engine.open();
    if (this.#closed) throw writerClosed();
  }

  #free(): void {
    this.#block.free();
    this.#laneBlock?.free();
    this.#engine.unstage(this.#staged, this.#engine.layout.stagedBytes);
    this.#engine.core.x.arena_free(this.#writer, this.#bytes);
  }

  /** A table by its name, or itself if it is one of this Replay. */
  #table(table: string | AnyTable): AnyTable {
    const last = this.#last;
    if (last !== undefined && (last.name === table || last === table)) return last;
    const name = typeof table === "string" ? table : table?.name;
    const found = this.#tables.get(name);
    if (found === undefined || (table !== name && table !== found)) throw unknownTable(table, this.#tables.keys());
    this.#last = found;
    return found;
  }

  /** Resolves when the item that was just created is let in. */
  #admitted(table: AnyTable): Promise<void> {
    const key = this.#engine.core.x.table_newest(table.handle);
    const attempt = () => (table.explain(key).state === "waiting" ? undefined : true);
    return this.#engine.waiters.until<unknown>(attempt, () => "letting the item in") as Promise<void>;
  }

  #refused(code: number, what: string, lane: number, subject = "priority"): Error {
    const { core } = this.#engine;
    const { x } = core;
    if (core.u8.length === 0) core.refresh();
    if (code === E_RATE_LIMITED) {
      return new ReplayError(
        "RATE_LIMITED",
        `${what} would leave more than maxPending items waiting for the rate limiter; nothing changed: sample, or wait with flush(), before going on`,
      );
    }
    if (code === E_LENGTH) {
      const have = x.stream_length(this.#streams[lane] as number);
      return new RangeError(
        `length must be an integer in 1 … ${have}, the steps at hand, got ${x.error_value()}; ${have === this.options.keep ? "raise keep" : "append more steps first"}`,
      );
    }
    return code === E_PRIORITY ? priorityError(subject, x.error_value()) : core.failure(code, what);
  }
}

export function unknownTable(name: unknown, known: Iterable<string>): ReplayError {
  return new ReplayError("NOT_FOUND", `table must be one of ${[...known].map(show).join(", ")}, got ${show(name)}`);
}

/** Checks a writer's options, and fills in what was left out. */
export function resolveWriterOptions(engine: Engine, tables: ReadonlyMap<string, AnyTable>, options: WriterOptions): ResolvedWriterOptions {
  const { items = [], keep, lanes = 1, across = false } = onlyKeys("writer", options, "keep, lanes, items, across");
  if (!Array.isArray(items)) throw mustBe(TypeError, "items", "an array of rules", items);
  const rules = (items as readonly ItemRule[]).map((rule, k) => {
    const subject = `items[${k}]`;
    const { table, length, stride = 1, priority = 1 } = onlyKeys(subject, rule, "table, length, stride, priority, columns");
    if (!tables.has(table)) throw unknownTable(table, tables.keys());
    return {
      table,
      length: integer(`${subject}.length`, length, 1, MOST_STEPS),
      stride: integer(`${subject}.stride`, stride, 1, MOST_STEPS),
      priority: finite(`${subject}.priority`, priority, 0),
    };
  });
  const longest = Math.max(1, ...rules.map((rule) => rule.length));
  return {
    keep: integer("keep", keep ?? Math.max(DEFAULT_KEEP, longest), longest, MOST_STEPS),
    lanes: integer("lanes", lanes, 1, 65536),
    items: rules,
    shapes: items.map((rule) => (rule.columns === undefined ? 0 : engine.shapeOf(rule.columns))),
    across,
  };
}
