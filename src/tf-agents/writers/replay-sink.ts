/** Writes steps to a Replay in this process, as rows of the engine's writer. An open step is written only when an item needs it. */
import { integer, mustBe, ReplayError, show } from "../../base/error.ts";
import type { WaitOptions } from "../../base/wait.ts";
import type { Engine } from "../../memory/engine.ts";
import { CoreStream } from "../../memory/stream.ts";
import { engineOf, type Replay } from "../../replay/replay.ts";
import type { Column } from "../../schema/column.ts";
import type { ColumnOf } from "../../schema/columns.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import type { ColumnsOf, Spec, StepOf } from "../../schema/spec.ts";
import { unknownTable } from "../../tables/rules.ts";
import type { FlushOptions, ItemColumn, ItemPattern, StepSink } from "../../tables/step-sink.ts";
import type { AnyTable } from "../../tables/table.ts";
import { internalsOf, type Writer } from "../../tables/writer.ts";
import type { WriterInternals } from "../../tables/writer-internals.ts";
import { mustFit, type Signature } from "../signature.ts";
import { Windows } from "../windows.ts";
import type { Fields, Values } from "./fields.ts";
import { columnOf } from "./item-columns.ts";
import { OpenStep } from "./open-step.ts";
import { tableNames } from "./step-client.ts";
import { shapesOf } from "./structure.ts";

export interface ReplaySinkOptions {
  /** The number of steps in the longest item. */
  readonly keep: number;
  /** Whether items may span episodes. If so, the engine's writer is created only with the first step, because `keep` may lengthen its window until then. */
  readonly across: boolean;
  /** The client method that opens such writers, for errors. */
  readonly maker: string;
  /** Returns the signature that items of a table must fit, if the table has a signature. */
  readonly signatures: (table: string) => Signature | undefined;
}

/** A pattern with the data that is needed to create its items. */
interface PreparedPattern {
  readonly pattern: ItemPattern;
  readonly table: AnyTable;
  /** The number of the pattern's column layout. */
  readonly layout: number;
  /** The end of the item that ends last in the pattern's table. */
  readonly lastEnd: ItemEnd;
}

/** The number of rows up to the end of an item. */
interface ItemEnd {
  rows: number;
}

/** The sink records up to this number of waiting items before it checks which of them are now in their tables. */
const FEW = 64;

export class ReplaySink<S extends Spec> implements StepSink {
  readonly leaves: readonly PlacedLeaf[];
  readonly isExclusiveAtEnd = true;
  total = 0;
  episodeSteps = 0;
  readonly #replay: Replay<S, string>;
  readonly #engine: Engine;
  readonly #fields: Fields<S>;
  readonly #options: ReplaySinkOptions;
  #keep: number;
  #writer: Writer<S, string> | undefined;
  #internals: WriterInternals | undefined;
  #stream: CoreStream | undefined;
  /** Reads steps that are not in an item yet. */
  #windows: Windows | undefined;
  #step: OpenStep<S> | undefined;
  #isOpen = false;
  /** The number of steps in the engine's writer. */
  #rows = 0;
  /** For each table, the end of the item that ends last. */
  readonly #ends = new Map<string, ItemEnd>();
  #patterns: readonly PreparedPattern[] = [];
  /** The layout of each pattern. The engine references this list, so the layouts keep their numbers. */
  readonly #layouts: number[] = [];
  /** Items that wait for a rate limiter, and some items that no longer wait. */
  #items: { readonly table: string; readonly key: number }[] = [];
  #limit = FEW;
  #closed = false;

  constructor(replay: Replay<S, string>, fields: Fields<S>, options: ReplaySinkOptions) {
    this.#replay = replay;
    this.#engine = engineOf(replay);
    this.#fields = fields;
    this.leaves = fields.leaves;
    this.#options = options;
    this.#keep = options.keep;
    if (!options.across) this.#begin();
  }

  get open(): Values | undefined {
    return this.#isOpen ? this.#step?.values : undefined;
  }

  check(): void {
    if (this.#closed) throw new ReplayError("CLOSED", `this writer was closed. Create a new one with client.${this.#options.maker}()`);
    this.#engine.begin();
  }

  mustKnow(table: unknown): void {
    if (typeof table !== "string" || !Object.hasOwn(this.#replay.options.tables, table)) tableNames({ knows: () => false }, table);
  }

  append(values: Values, step: unknown, isPartial: boolean): undefined {
    if (isPartial || this.#isOpen) this.#appendPart(values, isPartial);
    else {
      this.#begin().append(values.includes(undefined) ? this.#fields.completeStep(values) : (step as StepOf<S>));
      this.#rows++;
      this.total++;
    }
    if (!isPartial) this.episodeSteps++;
  }

  appendColumns(values: Values): undefined {
    const leaf = values.findIndex((value) => value !== undefined);
    const column = values[leaf] as ArrayLike<unknown>;
    // A flat array contains all steps in sequence.
    const steps = typeof column?.[0] === "object" ? column.length : column.length / (this.leaves[leaf] as PlacedLeaf).size;
    const columns = values.map((value, i) => value ?? this.#fields.zeros(i, Math.max(Math.ceil(steps), 1)));
    const rows = this.#begin().appendColumns(this.#fields.completeStep(columns) as ColumnsOf<S>);
    this.#rows += rows;
    this.total += rows;
    this.episodeSteps += rows;
  }

  keep(_leaf: number, _steps: number, longest: number): number {
    const writer = this.#writer;
    if (writer === undefined) {
      this.#keep = longest;
      return 0;
    }
    if (longest > writer.options.keep) this.#widen(writer, longest);
    return this.#rows - (this.#writer as Writer).length;
  }

  read(leaf: PlacedLeaf, steps: readonly number[]): Column["data"] {
    const writer = this.#begin();
    this.#writeOpen(steps);
    this.#windows ??= new Windows(this.#engine, { seed: 0, streams: writer.streams });
    // The window contains only the last steps.
    const first = this.#rows - writer.length;
    const places = steps.map((step) => step - first);
    return this.#windows.steps(leaf, places);
  }

  createItem(table: string, priority: number, columns: readonly ItemColumn[]): Promise<void> | undefined {
    let first = Number.POSITIVE_INFINITY;
    let last = 0;
    const all: number[] = [];
    for (const { steps } of columns)
      for (const step of steps) {
        if (step < first) first = step;
        if (step > last) last = step;
        all.push(step);
      }
    const shapes = columns.map(({ leaf, steps, isSqueezed }) => ({ dtype: leaf.leaf.dtype, shape: isSqueezed ? leaf.shape : [steps.length, ...leaf.shape] }));
    mustFit(table, this.#options.signatures(table), shapes);
    const writer = this.#begin();
    this.#writeOpen(all);
    const length = last + 1 - first;
    const named = new Map<string, ColumnOf>();
    for (const column of columns) {
      const name = column.name || "value";
      if (named.has(name)) throw mustBe(RangeError, "trajectory", "an object whose columns have different dotted names", name);
      named.set(name, columnOf(column, first, length));
    }
    const item = { length, priority, columns: Object.fromEntries(named) };
    const end = last + 1;
    const lastEnd = this.#endOf(table);
    const waits = (this.#internals as WriterInternals).createItem(table, item, this.#rows - end, Number(end < lastEnd.rows));
    if (end > lastEnd.rows) lastEnd.rows = end;
    if (waits !== undefined) this.#note(table, writer.lastKey(table));
    return waits;
  }

  createLast(table: string, length: number, priority: number, leaves: readonly PlacedLeaf[]): Promise<void> | undefined {
    const steps = leaves.map(({ leaf: { dtype }, shape }) => ({ dtype, shape }));
    const shapes = steps.map(({ dtype, shape }) => ({ dtype, shape: [length, ...shape] }));
    mustFit(table, this.#options.signatures(table), shapes, steps);
    const columns = leaves.length === this.leaves.length ? {} : { columns: Object.fromEntries(leaves.map(({ path }) => [path, { leaf: path }])) };
    const writer = this.#begin();
    const waits = writer.createItem(table, { length, priority, ...(columns as object) });
    this.#endOf(table).rows = this.#rows;
    if (waits !== undefined) this.#note(table, writer.lastKey(table));
    return waits;
  }

  prepare(patterns: readonly ItemPattern[]): void {
    const { columnLayouts } = this.#engine;
    const replay = this.#replay;
    const names = Object.keys(replay.options.tables);
    for (const [i, pattern] of patterns.entries()) {
      const { table } = pattern.config;
      if (!names.includes(table)) throw unknownTable(table, names, `the table of configs[${i}]`);
      mustFit(table, this.#options.signatures(table), shapesOf(pattern));
    }
    this.#mustTake(patterns);
    const layouts = this.#layouts;
    for (const { columns } of patterns) layouts.push(columnLayouts.numberOf(columns, layouts));
    const tables = replay.tables as unknown as { readonly [name: string]: AnyTable };
    this.#patterns = patterns.map((pattern, k) => {
      const { table } = pattern.config;
      return { pattern, table: tables[table] as AnyTable, layout: layouts[k] as number, lastEnd: this.#endOf(table) };
    });
    columnLayouts.rules.add(layouts);
  }

  admit(patterns: Int32Array, count: number): void {
    this.#begin();
    const internals = this.#internals as WriterInternals;
    for (let i = 0; i < count; i++) {
      const { table } = this.#patterns[patterns[i] as number] as PreparedPattern;
      let n = 1;
      for (let j = 0; j < i; j++) if ((this.#patterns[patterns[j] as number] as PreparedPattern).table === table) n++;
      if (internals.waiting(table, n) > table.options.maxPending)
        throw new ReplayError(
          "RATE_LIMITED",
          `maxPending items are already waiting for the rate limiter of table ${show(table.name)}. Sample from the table, or await flush()`,
        );
    }
  }

  /** Allocates nothing, unless the item has to wait. */
  insert(k: number, priority: number): undefined {
    const { pattern, table, layout, lastEnd } = this.#patterns[k] as PreparedPattern;
    const writer = this.#begin();
    if (pattern.endOffset === 0) this.#writeNewest();
    // An open step is not among the rows if no item has needed it yet.
    const endOffset = pattern.endOffset - (this.total - this.#rows);
    const end = this.#rows - endOffset;
    const isIn = (this.#internals as WriterInternals).insert(table, pattern.length, priority, endOffset, layout, Number(end < lastEnd.rows));
    if (end > lastEnd.rows) lastEnd.rows = end;
    if (!isIn) this.#note(table.name, writer.lastKey(table.name));
  }

  #endOf(table: string): ItemEnd {
    let end = this.#ends.get(table);
    if (end === undefined) {
      end = { rows: 0 };
      this.#ends.set(table, end);
    }
    return end;
  }

  waiting(): Promise<void> | undefined {
    return this.#untilFew(0, {});
  }

  endEpisode(clears: boolean): void {
    this.#writeOpen([this.#rows]);
    this.#done();
    this.episodeSteps = 0;
    this.#writer?.endEpisode();
    if (!clears) return;
    this.#stream?.clear();
    this.#engine.changed();
  }

  flush(options: FlushOptions): Promise<void> | undefined {
    this.check();
    const { blockUntilNumItems = 0, ...wait } = options;
    return this.#untilFew(blockUntilNumItems, wait);
  }

  confirmed(): undefined {}

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#engine.columnLayouts.rules.delete(this.#layouts);
    this.#step?.close();
    this.#windows?.close();
    this.#writer?.close();
  }

  /** Returns the engine's writer, created on first use. */
  #begin(): Writer<S, string> {
    this.check();
    if (this.#writer === undefined) this.#use(this.#made(this.#keep));
    return this.#writer as unknown as Writer<S, string>;
  }

  #made(keep: number): Writer<S, string> {
    return this.#replay.writer({ keep, items: [], ...(this.#options.across && { across: true }) }) as Writer<S, string>;
  }

  #use(writer: Writer<S, string>): void {
    this.#stream = new CoreStream(this.#engine, writer.streams[0] as number);
    this.#internals = internalsOf(writer as unknown as Writer);
    this.#writer = writer;
  }

  /**
   * Replaces the engine's writer with a new writer that has a longer window. The new writer takes over the steps and the episode. @throws ReplayError
   * OUT_OF_MEMORY, in which case nothing has changed
   */
  #widen(writer: Writer<S, string>, keep: number): void {
    const wide = this.#made(keep);
    this.#use(wide);
    (this.#stream as CoreStream).take(writer.streams[0] as number);
    this.#windows?.close();
    this.#windows = undefined;
    writer.close();
  }

  #appendPart(values: Values, isPartial: boolean): void {
    const writer = this.#begin();
    this.#step ??= new OpenStep<S>(this.#replay, this.#fields);
    const step = this.#step;
    step.add(values);
    const isNew = !this.#isOpen;
    if (!isNew && this.#rows === this.total) step.patch(this.#stream as CoreStream, values);
    else if (!isPartial) {
      writer.append(this.#fields.completeStep(step.values));
      this.#rows++;
    }
    if (isNew) this.total++;
    this.#isOpen = true;
    if (!isPartial) this.#done();
  }

  /** Writes the open step to the window, if it is one of `steps`. */
  #writeOpen(steps: readonly number[]): void {
    if (steps.includes(this.#rows)) this.#writeNewest();
  }

  #writeNewest(): void {
    if (this.#rows === this.total) return;
    this.#begin().append(this.#fields.completeStep((this.#step as OpenStep<S>).values));
    this.#rows++;
  }

  #done(): void {
    this.#isOpen = false;
    this.#step?.reset();
  }

  /**
   * Checks the constant priorities of patterns. @throws RangeError if a table does not accept a priority, for example because the priority is too large for the
   * table's exponent
   */
  #mustTake(patterns: readonly ItemPattern[]): void {
    patterns.forEach(({ config: { table, priority } }, i) => {
      const { value, leaf } = priority;
      if (leaf !== undefined) return;
      try {
        this.#replay.writer({ items: [{ table, length: 1, priority: value }] } as object).close();
      } catch (error) {
        if (error instanceof RangeError) throw mustBe(RangeError, `the priority of configs[${i}]`, `a valid priority for table ${show(table)}`, value);
        throw error;
      }
    });
  }

  /** Records an item that waits. */
  #note(table: string, key: number): void {
    if (this.#items.length >= this.#limit) this.#limit = Math.max(FEW, 2 * this.#count());
    this.#items.push({ table, key });
  }

  /**
   * Waits until at most `max` items of this sink wait. @throws TypeError, RangeError if an argument is invalid · ReplayError TIMEOUT, or the signal's reason
   */
  #untilFew(max: number, options: WaitOptions): Promise<void> | undefined {
    integer("blockUntilNumItems", max, 0);
    return this.#engine.waiters.untilAtMost(() => this.#count(), options, max);
  }

  #count(): number {
    this.#items = this.#items.filter(({ table, key }) => this.#replay.table(table).explain(key).state === "waiting");
    return this.#items.length;
  }
}
