/** A writer: takes the steps of one environment (or of several in lock-step, its lanes) and makes items of them. */
import { pointAtCallersOf } from "./caller.ts";
import { E_LENGTH, E_PRIORITY, E_RATE_LIMITED } from "./core/abi.ts";
import { blockOffsets, placeBlock } from "./core/block.ts";
import type { Engine } from "./core/engine.ts";
import { type StagedOf, Staging, writerClosed } from "./core/staged.ts";
import { CoreWriter } from "./core/writer.ts";
import { finite, flag, integer, mustBe, oneFrom, onlyKeys, ReplayError } from "./error.ts";
import { MAX_LENGTH } from "./limits.ts";
import type { ColumnSet } from "./spec/columns.ts";
import { flattener, type Visit, visitor } from "./spec/nest.ts";
import { priorityError } from "./spec/numbers.ts";
import type { ColumnsOf, Spec, StepOf } from "./spec/spec.ts";
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
const onlyItemOptions = <T>(options: T): T => onlyKeys("item", options, Object.keys(ITEM_OPTIONS).join(", "));
const DEFAULT_KEEP = 32;

/** A promise that is resolved with it resolves to nothing. */
const DONE: Promise<void> = Promise.resolve();

/** Whether a writer's values have a leading dimension of lanes; boolean where that is not known before it runs. */
export type HasLanes<L> = number extends L ? boolean : L extends 1 ? false : true;

type Appended<S, Lanes> = Lanes extends true ? ColumnsOf<S> : StepOf<S>;

export class Writer<S = Spec, TableName extends string = string, Lanes extends boolean = false> implements AnyWriter {
  readonly options: ResolvedWriterOptions;
  /** The streams in the core, lane by lane: for snapshots. */
  readonly streams: readonly number[];
  readonly #engine: Engine;
  readonly #tables: ReadonlyMap<string, AnyTable>;
  readonly #onClose: () => void;
  readonly #writer: CoreWriter;
  /** The staging record: of several lanes a block of columns. */
  readonly #recordBytes: number;
  #record = 0;
  readonly #staging: Staging;
  readonly #fill: Visit;
  readonly #flatten: (columns: unknown) => unknown[];
  #closed = false;
  /** The table that was named last: comparing its name is cheaper than the map's hash. */
  #last: AnyTable | undefined;

  /** Writers are made by `replay.writer`. */
  constructor(engine: Engine, tables: ReadonlyMap<string, AnyTable>, options: ResolvedWriterOptions, onClose: () => void) {
    pointAtCallersOf(new.target);
    this.options = options;
    this.#engine = engine;
    this.#tables = tables;
    this.#onClose = onClose;
    const { core, spec, layout } = engine;
    const { lanes, items, shapes } = options;
    const { leaves } = layout;
    const offsets = lanes === 1 ? [...leaves.map((leaf) => leaf.staged), layout.stagedBytes] : blockOffsets(leaves, items.length, lanes);
    this.#recordBytes = offsets.pop() as number;
    const writer = new CoreWriter(engine, options, items.length);
    this.#writer = writer;
    this.streams = writer.streams;
    try {
      items.forEach(({ table, length, stride, priority }, k) => {
        if (!writer.rule(k, this.#table(table).handle, length, stride, shapes[k] as number, priority)) throw priorityError(`items[${k}].priority`, priority);
      });
      this.#record = engine.stage(this.#recordBytes);
    } catch (error) {
      this.#free();
      throw error;
    }
    const addresses = offsets.map((offset) => this.#record + offset);
    const staging = new Staging(core, lanes === 1 ? engine.makeStep : engine.makeLanes, this.#record, leaves, addresses, lanes === 1 ? [] : [lanes]);
    this.#staging = staging;
    this.#fill = visitor(spec, (i) => staging.puts[i] as Visit);
    this.#flatten = flattener(spec);
  }

  /** The step to come, to be filled in place: numbers are assigned, arrays filled. Then `append()`. What is not written keeps its value. */
  get staged(): StagedOf<S, Lanes> {
    this.#open();
    return this.#staging.step as StagedOf<S, Lanes>;
  }

  /** Steps at hand, of which an item can be made (of lane 0). */
  get length(): number {
    this.#open();
    return this.#writer.length(0);
  }

  /** Steps of the open episode (of lane 0). */
  get episodeSteps(): number {
    this.#open();
    return this.#writer.episodeSteps(0);
  }

  /**
   * Appends a step, or what was filled in `staged`; then makes the items that the writer's rules say. Copies; allocates nothing. O(bytes + items)
   * With several lanes every value has a leading dimension, one step a lane.
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY, RATE_LIMITED (too many items wait); then no step was appended, though `staged` may be filled in part
   */
  append(step?: Appended<S, Lanes>): void {
    this.#open();
    if (step === undefined) this.#staging.check();
    else this.#fill(step);
    this.#done(this.#writer.append(this.#record));
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
    const { items, lanes } = this.options;
    const tables = items.map((rule) => rule.table);
    for (const name in priorities) if (!tables.includes(name)) throw unknownTable(name, tables);
    const own = tables.map((table) => priorities?.[table as TableName]);
    const block = placeBlock(this.#engine, this.#flatten(columns), lanes, ends, own);
    this.#done(this.#writer.appendBlock(block.at, block.rows, block.ends), "priorities");
    return block.rows;
  }

  /**
   * Makes an item of the last steps. O(length + log size)
   * @returns `undefined` when it is in the table; a promise where the rate limiter makes it wait, which resolves when it is let in
   * @throws RangeError for a length that is not at hand, a priority that is none · ReplayError RATE_LIMITED, OUT_OF_MEMORY
   */
  createItem(table: TableName | Table<S>, options: ItemOptions<ColumnSet<S>>): Promise<void> | undefined {
    this.#open();
    const to = this.#table(table);
    const { length, priority = 1, lane = 0, columns } = options ?? onlyItemOptions(options);
    for (const key in options) if (!(key in ITEM_OPTIONS)) onlyItemOptions(options);
    integer("length", length, 1);
    finite("priority", priority, 0);
    integer("lane", lane, 0, this.options.lanes - 1);
    const shape = columns === undefined ? 0 : this.#engine.shapeOf(columns);
    const state = this.#writer.insert(to.handle, lane, length, shape, options);
    return this.#done(state, "priority", lane) === 1 ? undefined : this.#admitted(to);
  }

  /** The key of the item that was created last in a table; 0 before the first. */
  lastKey(table: TableName | Table<S>): number {
    this.#open();
    return this.#writer.newest(this.#table(table).handle);
  }

  /** Ends the episode with the newest step. The steps at hand are let go, so that no item spans two episodes, unless the writer is `across`. */
  endEpisode(options: { readonly lane?: number } = {}): void {
    this.#open();
    const { lane } = onlyKeys("options", options, "lane");
    const lanes = lane === undefined ? this.streams.keys() : [integer("lane", lane, 0, this.options.lanes - 1)];
    for (const i of lanes) this.#writer.end(i);
    this.#engine.changed();
  }

  /** Waits until no item waits for the rate limiter in the tables of this writer's rules, or in all where it has none. `undefined` where none does. */
  flush(options: WaitOptions = {}): Promise<void> | undefined {
    this.#open();
    const names = this.options.items.map((rule) => rule.table);
    const tables = [...this.#tables.values()].filter((table) => names.length === 0 || names.includes(table.name));
    return this.#untilNone(() => tables.reduce((sum, table) => sum + table.stats().pending, 0), options);
  }

  /** Lets the steps at hand go, and the writer's memory. Items stay. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClose();
    this.#staging.close();
    this.#free();
    this.#engine.changed();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #open(): void {
    this.#engine.open();
    if (this.#closed) throw writerClosed();
  }

  #free(): void {
    this.#engine.unstage(this.#record, this.#recordBytes);
    this.#writer.close();
  }

  /** A table by its name, or itself if it is one of this Replay. */
  #table(table: string | AnyTable): AnyTable {
    const last = this.#last;
    if (last !== undefined && (last.name === table || last === table)) return last;
    const found = this.#tables.get(typeof table === "string" ? table : table?.name);
    if (found === undefined || (found.name !== table && found !== table)) throw unknownTable(table, this.#tables.keys());
    this.#last = found;
    return found;
  }

  /** Resolves when the item that was just created is let in. */
  #admitted(table: AnyTable): Promise<void> | undefined {
    const key = this.#writer.newest(table.handle);
    return this.#untilNone(() => Number(table.explain(key).state === "waiting"));
  }

  /** Resolves when no item waits; `undefined` where none does. */
  #untilNone(waiting: () => number, options?: WaitOptions): Promise<void> | undefined {
    const result = this.#engine.waiters.until(
      () => (waiting() === 0 ? DONE : undefined),
      () => `letting ${waiting()} waiting items in`,
      options,
    ) as Promise<void>;
    return result === DONE ? undefined : result;
  }

  /** Ends a call to the core: what it gave, or the error for what it refused. */
  #done(code: number, subject?: string, lane?: number): number {
    if (code < 0) throw this.#refused(code, subject, lane);
    this.#engine.changed();
    return code;
  }

  #refused(code: number, subject = "priority", lane = 0): Error {
    const { core } = this.#engine;
    core.look();
    if (code === E_RATE_LIMITED) return new ReplayError("RATE_LIMITED", "maxPending items wait: sample, or await flush()");
    if (code === E_PRIORITY) return priorityError(subject === "priority" ? subject : `${subject}[${core.refusedArgument}]`, core.refusedValue);
    if (code !== E_LENGTH) return core.failure(code);
    const have = this.#writer.length(lane);
    return mustBe(RangeError, "length", `an integer in 1 … ${have}, the steps at hand (or raise keep)`, core.refusedValue);
  }
}

export function unknownTable(name: unknown, known: Iterable<string>): Error {
  return mustBe("NOT_FOUND", "table", oneFrom([...known]), name);
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
      length: integer(`${subject}.length`, length, 1, MAX_LENGTH),
      stride: integer(`${subject}.stride`, stride, 1, MAX_LENGTH),
      priority: finite(`${subject}.priority`, priority, 0),
    };
  });
  const longest = Math.max(1, ...rules.map((rule) => rule.length));
  return {
    keep: integer("keep", keep ?? Math.max(DEFAULT_KEEP, longest), longest, MAX_LENGTH),
    lanes: integer("lanes", lanes, 1, 65536),
    items: rules,
    shapes: items.map((rule) => (rule.columns === undefined ? 0 : engine.shapeOf(rule.columns))),
    across: flag("across", across) !== 0,
  };
}
