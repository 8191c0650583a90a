/** A writer: takes the steps of one environment, or of several in lock-step (its lanes), and makes items of them. */
import { pointAtCallersOf } from "./caller.ts";
import { E_LENGTH, E_PRIORITY, E_RATE_LIMITED } from "./core/abi.ts";
import { blockOffsets, placeBlock } from "./core/block.ts";
import type { Engine } from "./core/engine.ts";
import { type StagedOf, Staging, writerClosed } from "./core/staged.ts";
import { CoreWriter } from "./core/writer.ts";
import { finite, flag, integer, mustBe, oneFrom, onlyKeys, ReplayError } from "./error.ts";
import { MAX_LENGTH } from "./limits.ts";
import { type ColumnLayout, type ColumnSet, checkSteps } from "./spec/columns.ts";
import { flattener, type Visit, visitor } from "./spec/nest.ts";
import { priorityError } from "./spec/numbers.ts";
import type { ColumnsOf, IsAny, StepOf } from "./spec/spec.ts";
import type { AnyTable, Table } from "./table.ts";
import type { WaitOptions } from "./wait.ts";

/** A rule: makes an item of the last `length` steps whenever an episode has reached `length`, `length + stride`, … steps. */
export interface ItemRule<TableName extends string = string, Columns = object> {
  readonly table: TableName;
  readonly length: number;
  /** Steps between the starts of two items. Default: 1. */
  readonly stride?: number;
  /** Default: 1. */
  readonly priority?: number;
  /** What a batch contains of these items unless `sample` asks for other columns. Default: every leaf of every step. */
  readonly columns?: Columns;
}

export interface WriterOptions<TableName extends string = string, Columns = object> {
  /** Number of steps in the writer's window, which is the maximum length of an item. Default: the longest rule, but at least 32. */
  readonly keep?: number;
  /** Number of environments in lock-step. With more than one, every value has a leading dimension of that length. Default: 1. */
  readonly lanes?: number;
  /** Rules that make items of the appended steps. */
  readonly items?: readonly ItemRule<TableName, Columns>[];
  /** Whether items may span episodes. If so, `endEpisode` keeps the writer's window. Default: false. */
  readonly across?: boolean;
}

export interface ItemOptions<Columns = object> {
  /** The item consists of the last `length` steps. */
  readonly length: number;
  /** Default: 1. */
  readonly priority?: number;
  /** The lane of the steps. Default: 0. */
  readonly lane?: number;
  readonly columns?: Columns;
}

/** A writer's options with all defaults filled in, as a snapshot stores them. */
export interface ResolvedWriterOptions {
  readonly keep: number;
  readonly lanes: number;
  readonly items: readonly Required<Omit<ItemRule, "columns">>[];
  /** The column layout of each rule's items. */
  readonly layouts: readonly number[];
  readonly across: boolean;
}

const ITEM_OPTIONS = { length: 0, priority: 0, lane: 0, columns: 0 };
const onlyItemOptions = <T>(options: T): T => onlyKeys("item", options, Object.keys(ITEM_OPTIONS).join(", "));
const DEFAULT_KEEP = 32;

/** Whether the values of a writer have a leading dimension of lanes; boolean if the type does not tell. */
export type HasLanes<L> = number extends L ? boolean : L extends 1 ? false : true;

type Appended<S, Lanes> = Lanes extends true ? ColumnsOf<S> : StepOf<S>;

/** Without type arguments, `Writer` is one of any spec, tables and lanes. */
// biome-ignore lint/suspicious/noExplicitAny: every writer goes where `Writer` is asked for
export class Writer<S = any, TableName extends string = string, Lanes extends boolean = IsAny<S> extends true ? boolean : false> {
  readonly options: ResolvedWriterOptions;
  /** The streams in the core, one per lane, for snapshots. */
  readonly streams: readonly number[];
  readonly #engine: Engine;
  readonly #tables: ReadonlyMap<string, AnyTable>;
  readonly #onClose: () => void;
  readonly #writer: CoreWriter;
  /** The staging record; with several lanes, a block of columns. */
  readonly #recordBytes: number;
  #record = 0;
  readonly #staging: Staging;
  readonly #fill: Visit;
  readonly #flatten: (columns: unknown) => unknown[];
  #closed = false;
  /** The table that was used last, because comparing names is cheaper than a lookup in the map. */
  #last: AnyTable | undefined;

  /** `replay.writer` makes writers. */
  constructor(engine: Engine, tables: ReadonlyMap<string, AnyTable>, options: ResolvedWriterOptions, onClose: () => void) {
    pointAtCallersOf(new.target);
    this.options = options;
    this.#engine = engine;
    this.#tables = tables;
    this.#onClose = onClose;
    const { core, spec, layout } = engine;
    const { lanes, items, layouts } = options;
    const { leaves } = layout;
    const offsets = lanes === 1 ? [...leaves.map((leaf) => leaf.staged), layout.stagedBytes] : blockOffsets(leaves, items.length, lanes);
    this.#recordBytes = offsets.pop() as number;
    const writer = new CoreWriter(engine, options, items.length);
    this.#writer = writer;
    this.streams = writer.streams;
    try {
      items.forEach(({ table, length, stride, priority }, k) => {
        const code = writer.rule(k, this.#table(table).handle, length, stride, layouts[k] as number, priority);
        if (code === E_PRIORITY) throw priorityError(`items[${k}].priority`, priority);
        core.took(code);
      });
      engine.columnLayouts.rules.add(layouts);
      engine.writers.add(options);
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

  /** The next step, to fill in place: assign numbers and fill arrays, then call `append()`. Values that you do not write stay as they are. */
  get staged(): StagedOf<S, Lanes> {
    this.#open();
    return this.#staging.step as StagedOf<S, Lanes>;
  }

  /** Number of steps in the window (of lane 0), the maximum length of an item now. */
  get length(): number {
    this.#open();
    return this.#writer.length(0);
  }

  /** Number of steps in the open episode (of lane 0). */
  get episodeSteps(): number {
    this.#open();
    return this.#writer.episodeSteps(0);
  }

  /**
   * Appends a step, or the step in `staged`, and makes items by the writer's rules. Copies the values and allocates nothing, unless there is text. O(bytes + items)
   * With several lanes, every value has a leading dimension with one step per lane.
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY, RATE_LIMITED (too many items wait). Then no step is appended, but `staged` may be
   * filled in part.
   */
  append(): void;
  append(step: Appended<S, Lanes>): void;
  append(step?: Appended<S, Lanes>): void {
    this.#open();
    if (step !== undefined) this.#fill(step);
    // biome-ignore lint/complexity/noArguments: a list of the rest would be allocated
    else if (arguments.length === 0) this.#staging.check();
    else throw mustBe(TypeError, "step", "a step; append() without an argument appends what is in staged", step);
    this.#done(this.#writer.append(this.#record));
    this.#engine.appended += this.options.lanes;
  }

  /**
   * Appends many steps at once. Each leaf is one column with a leading dimension of time; with several lanes, of time and lane. O(bytes + items)
   * @param options.ends one number per step; the episode ends with the step if it is not 0
   * @param options.priorities by table, one number per step: the priority of the item that ends with the step, for the writer's rules
   * @returns the number of steps, summed over the lanes
   * @throws RangeError for columns of different lengths · ReplayError SPEC_MISMATCH, INVALID_DATA, NOT_FOUND, OUT_OF_MEMORY, RATE_LIMITED
   */
  appendColumns(
    columns: ColumnsOf<S>,
    options: { readonly ends?: ArrayLike<number>; readonly priorities?: { readonly [T in TableName]?: ArrayLike<number> } } = {},
  ): number {
    this.#open();
    const { ends, priorities } = onlyKeys("appendColumns", options, "ends, priorities");
    const { items, lanes } = this.options;
    const tables = items.map((rule) => rule.table);
    for (const name in priorities) if (!tables.includes(name)) throw unknownTable(name, tables);
    const own = tables.map((table) => priorities?.[table as TableName]);
    const block = placeBlock(this.#engine, this.#flatten(columns), lanes, ends, own);
    this.#done(this.#writer.appendBlock(block.at, block.rows, block.ends), "priorities");
    this.#engine.appended += block.rows;
    return block.rows;
  }

  /**
   * Makes an item of the last steps. O(length + log size)
   * @returns `undefined` if the item is in the table, or a promise if the rate limiter makes it wait, which resolves when it is let in
   * @throws RangeError for a length beyond the window or a wrong priority · ReplayError NOT_FOUND, RATE_LIMITED, OUT_OF_MEMORY
   */
  createItem(table: TableName | Table<S>, options: ItemOptions<ColumnSet<S>>): Promise<void> | undefined {
    this.#open();
    const to = this.#table(table);
    const { length, priority = 1, lane = 0, columns } = options ?? onlyItemOptions(options);
    for (const key in options) if (!(key in ITEM_OPTIONS)) onlyItemOptions(options);
    integer("length", length, 1);
    finite("priority", priority, 0);
    integer("lane", lane, 0, this.options.lanes - 1);
    const layout = columns === undefined ? 0 : this.#layoutOf(columns, length);
    const state = this.#writer.insert(to.handle, lane, length, layout, options);
    return this.#done(state, "priority", lane) === 1 ? undefined : this.#admitted(to);
  }

  /** The key of the newest item of a table; 0 if there was none yet. */
  lastKey(table: TableName | Table<S>): number {
    this.#open();
    return this.#writer.newest(this.#table(table).handle);
  }

  /** Ends the episode with the newest step, in all lanes or in one. Empties the window, so that no item spans two episodes, unless the writer is `across`. */
  endEpisode(options: { readonly lane?: number } = {}): void {
    this.#open();
    const { lane } = onlyKeys("endEpisode", options, "lane");
    const lanes = lane === undefined ? this.streams.keys() : [integer("lane", lane, 0, this.options.lanes - 1)];
    for (const i of lanes) this.#writer.end(i);
    this.#engine.changed();
  }

  /** Waits until no item waits for the rate limiter in the tables of this writer's rules (without rules: in all tables). Returns `undefined` if none waits. */
  flush(options: WaitOptions = {}): Promise<void> | undefined {
    this.#open();
    const names = this.options.items.map((rule) => rule.table);
    const tables = [...this.#tables.values()].filter((table) => names.length === 0 || names.includes(table.name));
    return this.#engine.waiters.untilFew(() => tables.reduce((sum, table) => sum + table.stats().pending, 0), options);
  }

  /** Releases the window and the memory of the writer. Items stay. */
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
    this.#engine.columnLayouts.rules.delete(this.options.layouts);
    this.#engine.writers.delete(this.options);
    this.#engine.unstage(this.#record, this.#recordBytes);
    this.#writer.close();
  }

  /** A table by its name, or the table itself if it belongs to this Replay. */
  #table(table: string | AnyTable): AnyTable {
    const last = this.#last;
    if (last !== undefined && (last.name === table || last === table)) return last;
    const found = this.#tables.get(typeof table === "string" ? table : table?.name);
    if (found === undefined || (found.name !== table && found !== table)) throw unknownTable(table, this.#tables.keys());
    this.#last = found;
    return found;
  }

  /** The number of a layout for items of so many steps. */
  #layoutOf(columns: object, length: number): number {
    const { columnLayouts } = this.#engine;
    const layout = columnLayouts.numberOf(columns);
    checkSteps("columns", (columnLayouts.get(layout) as ColumnLayout).selections, length, `the item has ${length} steps`);
    return layout;
  }

  /** Resolves when the newest item is let in. */
  #admitted(table: AnyTable): Promise<void> | undefined {
    const key = this.#writer.newest(table.handle);
    return this.#engine.waiters.untilFew(() => Number(table.explain(key).state === "waiting"));
  }

  /** Ends a call to the core. Returns its result, or throws the error for its code. */
  #done(code: number, subject?: string, lane?: number): number {
    if (code < 0) throw this.#refused(code, subject, lane);
    this.#engine.changed();
    return code;
  }

  #refused(code: number, subject = "priority", lane = 0): Error {
    const { core } = this.#engine;
    core.look();
    if (code === E_RATE_LIMITED)
      return new ReplayError("RATE_LIMITED", "maxPending items already wait for the rate limiter: sample from the table, or await flush()");
    if (code === E_PRIORITY) return priorityError(subject === "priority" ? subject : `${subject}[${core.refusedArgument}]`, core.refusedValue);
    if (code !== E_LENGTH) return core.failure(code);
    const have = this.#writer.length(lane);
    return mustBe(RangeError, "length", `an integer in 1 … ${have}, the number of steps in the window (raise keep for longer items)`, core.refusedValue);
  }
}

export function unknownTable(name: unknown, known: Iterable<string>): Error {
  const names = [...known];
  return mustBe("NOT_FOUND", "table", names.length === 0 ? "the name of a table, but there are none" : oneFrom(names), name);
}

/** Checks the options of a writer and fills in the defaults. */
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
  const layouts: number[] = [];
  items.forEach(({ columns }, k) => {
    const number = columns === undefined ? 0 : engine.columnLayouts.numberOf(columns, layouts);
    const { length = 0 } = rules[k] ?? {};
    checkSteps(`items[${k}].columns`, engine.columnLayouts.get(number)?.selections ?? [], length, `the rule makes items of ${length} steps`);
    layouts.push(number);
  });
  return {
    keep: integer("keep", keep ?? Math.max(DEFAULT_KEEP, longest), longest, MAX_LENGTH),
    lanes: integer("lanes", lanes, 1, 65536),
    items: rules,
    layouts,
    across: flag("across", across) !== 0,
  };
}
