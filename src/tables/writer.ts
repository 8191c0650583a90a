/** Implements a writer: accepts the steps of one environment, or of several environments in lock-step (lanes), and makes items from these steps. */

import { E_PRIORITY, SEQUENCE, TAILS } from "../base/abi.ts";
import { integer, ReplayError } from "../base/error.ts";
import { customInspect, PlainText } from "../base/inspect.ts";
import { hideFrames } from "../base/stack-trace.ts";
import type { WaitOptions } from "../base/wait.ts";
import type { Engine } from "../memory/engine.ts";
import { withLock } from "../memory/reentrancy.ts";
import { type StagedOf, type Staging, writerClosed } from "../memory/staged.ts";
import { CoreWriter } from "../memory/writer.ts";
import { type ColumnLayout, type ColumnSet, checkSteps } from "../schema/columns.ts";
import { priorityError } from "../schema/copy-numbers.ts";
import type { Visit } from "../schema/nest.ts";
import type { ColumnsOf, IsAny, StepOf } from "../schema/spec.ts";
import { BarrenEpisodes } from "./barren-episodes.ts";
import { coreError } from "./core-errors.ts";
import { type BlockOptions, checkDiscard, type EndOptions, type LaneEnds } from "./episode-ends.ts";
import { checkItemOptions, checkPriority, corePriority, finiteReward, type ItemOptions, type ResolvedWriterOptions, unknownTable } from "./rules.ts";
import type { AnyTable, Table } from "./table.ts";
import { WriterEnds } from "./writer-ends.ts";
import type { SavedWriterOptions, WriterInternals, WriterTraits } from "./writer-internals.ts";
import { WriterRecord } from "./writer-record.ts";

/** Whether the values of a writer have a leading dimension of lanes; boolean if the type is not known. 0 means that the option `lanes` was not passed. */
export type HasLanes<L> = number extends L ? boolean : L extends 0 | 1 ? false : true;

/** The additional arguments of a writer with `lanes: 1`: a step with a leading dimension, and the end of the episode. */
export type OneLane<S, L, Result = void> = [L] extends [1] ? { append(step: ColumnsOf<S>, ends?: LaneEnds<S>): Result } : unknown;

/** Returns the internals of a writer. Only the package's own modules use it. */
export let internalsOf: (writer: Writer) => WriterInternals;

type AppendInput<S, Lanes> = Lanes extends true ? ColumnsOf<S> : StepOf<S>;

/** A writer that appends steps and makes items from them. Without type arguments, the type is a writer of any spec, tables and lanes. */
// biome-ignore lint/suspicious/noExplicitAny: `Writer` accepts every writer
export class Writer<S = any, TableName extends string = string, Lanes extends boolean = IsAny<S> extends true ? boolean : false> {
  readonly options: ResolvedWriterOptions;
  /** The streams in the core, one per lane, for snapshots. */
  readonly streams: readonly number[];
  readonly #engine: Engine;
  readonly #tables: ReadonlyMap<string, AnyTable>;
  readonly #onClose: () => void;
  readonly #writer: CoreWriter;
  readonly #ends: WriterEnds;
  /** The information about this writer that the engine's warnings use; undefined before it is registered. */
  #info: Parameters<Engine["forget"]>[0] | undefined;
  /** The staging record, which is a block of columns if the writer has several lanes. It also contains data that each step needs. */
  readonly #place: WriterRecord | undefined;
  #record = 0;
  #staging: Staging;
  #fill: Visit;
  #isClosed = false;
  readonly #isVector: boolean;
  readonly #barrenEpisodes: BarrenEpisodes;
  /** The number of steps until the next check for warnings. All checks share this field, because each further field costs `append` a tenth of its time. */
  #stepsToCheck = 1;
  /** The table used last, because comparing names is cheaper than a lookup in the map. */
  #last: AnyTable | undefined;

  static {
    internalsOf = (writer) => ({
      get saved() {
        return writer.#state();
      },
      resume: () => {
        // It is unknown whether `createItem` made an item from steps of the open episode.
        if (writer.streams.some((_, lane) => writer.#writer.episodeSteps(lane) > 0)) writer.#barrenEpisodes.createsItems = true;
      },
      createItem: (table, options, stepsBack, isEarlier) => writer.#createItem(table, options, stepsBack, isEarlier),
      insert: (table, length, priority, stepsBack, layout, isEarlier) => writer.#insert(table, length, priority, stepsBack, layout, isEarlier),
      waiting: (table, n) => writer.#writer.waiting(table.handle, n),
    });
    customInspect<Writer<unknown, string, boolean>>(this, "Writer", (writer) => writer.#inspect());
  }

  /** Created by `replay.writer`. */
  constructor(
    engine: Engine,
    tables: ReadonlyMap<string, AnyTable>,
    { state, ...options }: SavedWriterOptions,
    onClose: () => void,
    { createsItems = false, isVector = false }: WriterTraits = {},
  ) {
    hideFrames(new.target);
    this.#isVector = isVector && options.lanes === 1;
    this.options = options;
    this.#engine = engine;
    this.#tables = tables;
    this.#onClose = onClose;
    const { core } = engine;
    const { lanes, items, layouts } = options;
    this.#ends = new WriterEnds(engine, options, this.#isVector);
    const reward = finiteReward(engine, items);
    const writer = new CoreWriter(engine, { ...options, finalIsNext: options.autoreset === "nextStep", reward }, items.length);
    this.#writer = writer;
    this.#barrenEpisodes = new BarrenEpisodes(engine.warnings, writer, options, createsItems);
    this.streams = writer.streams;
    try {
      items.forEach(({ table, length, stride, priority: rulePriority, nStep, burnIn }, k) => {
        const { priority, flags } = corePriority(engine, rulePriority);
        const form = (nStep > 0 ? TAILS : 0) + (burnIn === undefined ? 0 : SEQUENCE);
        const layout = burnIn ?? (layouts[k] as number);
        const code = writer.rule(k, { table: this.#table(table).handle, length, stride, layout, priority, flags: flags + form });
        if (code === E_PRIORITY) throw priorityError(`items[${k}].priority`, priority);
        core.checkedResult(code);
      });
      if (state !== undefined && !(Array.isArray(state) && writer.restore(state)))
        throw new ReplayError("CORRUPT", "the state of a writer does not match its options");
      engine.columnLayouts.rules.add(layouts);
      this.#info = { lanes, items, core: writer };
      engine.writers.add(this.#info);
      this.#place = new WriterRecord(engine, options, this.#isVector);
    } catch (error) {
      this.#free();
      throw error;
    }
    ({ record: this.#record, staging: this.#staging, fill: this.#fill } = this.#place.filler);
  }

  /** The spec of a step. */
  get spec(): S {
    return this.#engine.spec as S;
  }

  /**
   * The next step, to fill in place. Assign numbers and fill arrays, then call `append()`. Values that you do not write stay as they are. If several writers
   * are open, all values are zeros at first.
   * @throws ReplayError OUT_OF_MEMORY on first use, if memory runs out
   */
  get staged(): StagedOf<S, Lanes> {
    this.#open();
    const place = this.#place as WriterRecord;
    if (place.isShared) ({ record: this.#record, staging: this.#staging, fill: this.#fill } = place.own());
    return this.#staging.use() as StagedOf<S, Lanes>;
  }

  /** The number of steps in the window of lane 0, which is the current maximum length of an item. */
  get length(): number {
    this.#open();
    return this.#writer.length(0);
  }

  /** The number of steps in the open episode of lane 0. */
  get episodeSteps(): number {
    this.#open();
    return this.#writer.episodeSteps(0);
  }

  /**
   * Appends a step, or the step in `staged`, and makes items with the writer's rules. Copies the values and allocates nothing, unless the spec has text. With
   * several lanes, every value has a leading dimension with one step per lane. With `lanes: 1`, that dimension is optional. If the call throws, no step is
   * appended, but `staged` may be filled in part. Costs O(bytes + items).
   * @throws ReplayError SPEC_MISMATCH if the step does not match the spec, INVALID_DATA if a value does not fit its dtype, OUT_OF_MEMORY if memory runs out,
   * RATE_LIMITED if too many items are waiting
   * @param ends the lanes whose episodes end with this step, for writers with `lanes`. The writer does not keep the object after the call
   */
  append(): void;
  append(step: AppendInput<S, Lanes>, ends?: Lanes extends false ? undefined : LaneEnds<S>): void;
  append(step?: AppendInput<S, Lanes>, ends?: Lanes extends false ? undefined : LaneEnds<S>): void {
    // Code that runs for every step is short and written inline here, because V8 inlines at most 920 bytes of bytecode, including all setters of the step.
    const engine = this.#engine;
    engine.begin();
    if (this.#isClosed) throw writerClosed();
    if (ends !== undefined) {
      this.#appendWithEnds(step, ends);
      return;
    }
    if (step === undefined) this.#staging.check();
    else {
      engine.locked = true;
      try {
        this.#fill(step);
      } catch (error) {
        engine.locked = false;
        throw this.#staging.misfit(engine.spec, step, error);
      }
      engine.locked = false;
      if (engine.sawNaN) this.#stepsToCheck = 1;
    }
    const code = this.#writer.append(this.#record);
    if (code < 0) throw this.#errorOf(code);
    engine.changed();
    if (--this.#stepsToCheck <= 0) this.#checkValues();
  }

  /**
   * Appends many steps in one call. Each leaf is one column with a leading dimension of time, or of time and lane with several lanes. Costs O(bytes + items).
   * @returns the number of steps, summed over the lanes
   * @throws RangeError if columns differ in length
   * @throws ReplayError SPEC_MISMATCH if the columns do not match the spec, INVALID_DATA if a value does not fit its dtype, NOT_FOUND if `priorities` names an
   * unknown table, OUT_OF_MEMORY if memory runs out, RATE_LIMITED if too many items are waiting
   */
  appendColumns(columns: ColumnsOf<S>, options: BlockOptions<S, TableName> = {}): number {
    this.#begin();
    const blockOptions = this.#ends.checkBlock(options);
    this.#begin();
    const block = this.#ends.placeBlock(columns, blockOptions);
    const code = this.#writer.appendBlock(block.at, block.rows, block.ends, block.finals);
    if (block.endCount > block.truncated && code >= 0) this.#engine.hasTerminated = true;
    this.#finishCall(code, "priorities");
    this.#afterCall(this.#stepsToCheck, block.rows);
    if (block.ends !== 0) this.#countBarren(block.endCount > 0 || this.options.autoreset === "nextStep");
    return block.rows;
  }

  /**
   * Makes an item from the last steps. Costs O(log size) if an item of the same length was made one step before and still exists, otherwise O(length + log
   * size).
   * @returns `undefined` if the item is in the table, otherwise a promise that resolves when the rate limiter admits the item
   * @throws RangeError if the length exceeds the window, or if the priority is invalid
   * @throws ReplayError NOT_FOUND if the table does not exist, RATE_LIMITED if too many items are waiting, OUT_OF_MEMORY if memory runs out
   */
  createItem(table: TableName | Table<S>, options: ItemOptions<ColumnSet<S>>): Promise<void> | undefined {
    return this.#createItem(table, options, 0, 0);
  }

  #createItem(table: string | AnyTable, options: ItemOptions<ColumnSet<S>>, stepsBack: number, isEarlier: number): Promise<void> | undefined {
    // The options are read before the check, because a getter may close the writer.
    const { length, priority = 1, lane = 0, columns } = checkItemOptions(options);
    this.#begin();
    const to = this.#table(table);
    integer("length", length, 1);
    // The test is here, because V8 would allocate memory for a fraction passed as an argument.
    if (typeof priority !== "number" || !(priority >= 0 && priority < Number.POSITIVE_INFINITY)) checkPriority(priority);
    integer("lane", lane, 0, this.options.lanes - 1);
    let layout = 0;
    if (columns !== undefined) {
      layout = this.#layoutOf(columns, length);
      this.#begin();
    }
    this.#barrenEpisodes.createsItems = true;
    const { priority: argument } = this.#writer;
    if (priority === "max") argument[0] = this.#writer.maxPriority(to.handle);
    else argument[0] = priority;
    const state = this.#writer.insert(to.handle, lane, length, stepsBack, layout, isEarlier);
    return this.#finishCall(state, "priority", lane) === 1 ? undefined : this.#whenAdmitted(to);
  }

  #insert(table: AnyTable, length: number, priority: number, stepsBack: number, layout: number, isEarlier: number): boolean {
    this.#begin();
    this.#barrenEpisodes.createsItems = true;
    this.#writer.priority[0] = priority;
    return this.#finishCall(this.#writer.insert(table.handle, 0, length, stepsBack, layout, isEarlier)) === 1;
  }

  /** Returns the key of the newest item of a table. Returns 0 before the first item. */
  lastKey(table: TableName | Table<S>): number {
    this.#open();
    return this.#writer.newest(this.#table(table).handle);
  }

  /**
   * Ends the episode. With `final` or `terminated`, the final observation ends the episode. Transitions bootstrap from this observation unless the episode
   * terminated, and it stays available until the next append. Otherwise, the newest step ends the episode, in all lanes or in one lane, and the window is
   * emptied. A writer with `across` keeps its window. Costs O(items + log size). If the call throws, it has no effect.
   * @throws TypeError if `nStep` or `sequence` rules require a missing option
   * @throws ReplayError OUT_OF_TURN if no episode is open, SPEC_MISMATCH if the step does not match the spec, INVALID_DATA if a value does not fit its dtype,
   * OUT_OF_MEMORY if memory runs out, RATE_LIMITED if too many items are waiting
   */
  endEpisode(options: EndOptions<S> = {}): void {
    this.#begin();
    const { lane, final, terminated } = this.#ends.check(options);
    this.#begin();
    if (final === undefined && terminated !== true) {
      for (const i of lane === undefined ? this.streams.keys() : [lane]) this.#writer.end(i);
      this.#countBarren(lane !== undefined && this.options.lanes > 1);
      this.#engine.changed();
      return;
    }
    const at = this.#ends.placeFinal(final, terminated);
    const code = this.#writer.finish(lane ?? 0, at, terminated === true);
    if (terminated === true && code >= 0) this.#engine.hasTerminated = true;
    this.#finishCall(code, "priority", lane);
    this.#afterCall(this.#stepsToCheck, 0);
    this.#countBarren(true);
  }

  /**
   * Discards the open episode, for example after a simulator failed in the middle of it. Deletes its items in all tables, cancels items that wait for a rate
   * limiter, and releases its steps. Items that the deleted items had evicted stay evicted, and the deleted items count as inserted and deleted. With
   * `autoreset: "nextStep"`, the final step of the episode is dropped if it has not arrived yet. Costs O(size) per table with such items.
   * @param options.lane the lane of the episode. Default: all lanes
   * @returns the number of deleted or cancelled items; 0 if no episode is open
   * @throws ReplayError UNSUPPORTED if the writer is `across`, since its items may span episodes
   */
  discardEpisode(options: { readonly lane?: number } = {}): number {
    this.#begin();
    const lane = checkDiscard(this.options, options);
    let items = 0;
    for (const i of lane === undefined ? this.streams.keys() : [lane]) items += this.#writer.discard(i, this.#tables.values());
    this.#engine.changed();
    return items;
  }

  /**
   * Resolves when no item waits in the tables of the writer's rules, or in any table if the writer has no rules. Returns `undefined` if no item waits.
   * @throws ReplayError TIMEOUT if the time limit ends the wait
   * @throws ReplayError CLOSED if the Replay is disposed of during the wait
   * @throws the signal's reason if the signal aborts
   */
  flush(options: WaitOptions = {}): Promise<void> | undefined {
    this.#open();
    const names = this.#ends.tables;
    const tables = [...this.#tables.values()].filter((table) => names.length === 0 || names.includes(table.name));
    return this.#engine.waiters.untilAtMost(() => tables.reduce((sum, table) => sum + table.stats().pending, 0), options);
  }

  /**
   * Closes the writer, and releases its window and memory. Items stay in their tables. With `nStep` or `sequence` rules, an open episode is truncated. Its
   * newest step becomes the final step, and no item begins with it.
   */
  close(): void {
    if (this.#isClosed) return;
    if (!this.#engine.closed) this.#engine.open();
    this.#isClosed = true;
    if (this.#barrenEpisodes.hasUnreported && !this.#engine.closed) this.#barrenEpisodes.report(this.#writer.barrenEpisodes);
    this.#onClose();
    this.#free();
    this.#engine.changed();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #inspect(): object {
    const { name, lanes, keep, items, across } = this.options;
    const options = { ...(name !== undefined && { name }), lanes, keep, items, across };
    if (this.#isClosed || this.#engine.closed) return { ...options, length: new PlainText("closed") };
    return { ...options, length: this.length, episodeSteps: this.episodeSteps };
  }

  #open(): void {
    this.#engine.open();
    if (this.#isClosed) throw writerClosed();
  }

  /**
   * Checks that the Replay and the writer are open. Calls repeat this check after they read options, because a getter may have closed the writer or disposed of
   * the Replay.
   */
  #begin(): void {
    this.#engine.begin();
    if (this.#isClosed) throw writerClosed();
  }

  /** Returns the writer's part of a snapshot. */
  #state(): SavedWriterOptions {
    const { state } = this.#writer;
    return state === undefined ? this.options : { ...this.options, state };
  }

  #free(): void {
    this.#engine.columnLayouts.rules.delete(this.options.layouts);
    if (this.#info) this.#engine.forget(this.#info);
    this.#place?.close();
    this.#writer.close();
  }

  /** Returns a table by its name, or the table itself if it belongs to this Replay. */
  #table(table: string | AnyTable): AnyTable {
    const last = this.#last;
    if (last !== undefined && (last.name === table || last === table)) return last;
    const found = this.#tables.get(typeof table === "string" ? table : table?.name);
    if (found === undefined || (found.name !== table && found !== table)) throw unknownTable(table, this.#tables.keys());
    this.#last = found;
    return found;
  }

  /** Returns the number of a layout for items of `length` steps. */
  #layoutOf(columns: object, length: number): number {
    const { columnLayouts } = this.#engine;
    const layout = columnLayouts.numberOf(columns);
    checkSteps("columns", (columnLayouts.get(layout) as ColumnLayout).selections, length, `the item has ${length} steps`);
    return layout;
  }

  /** Resolves when the rate limiter has admitted the table's newest item; undefined if it already has. */
  #whenAdmitted(table: AnyTable): Promise<void> | undefined {
    const key = this.#writer.newest(table.handle);
    return this.#engine.waiters.untilAtMost(() => Number(table.explain(key).state === "waiting"));
  }

  /** Appends a step of several lanes, or the staged step, in which some episodes end. */
  #appendWithEnds(step: unknown, endOptions: LaneEnds<S>): void {
    const engine = this.#engine;
    const { blockAt, endsAt } = this.#place as WriterRecord;
    const [endCount, truncated, finals] = withLock(engine, () => {
      if (step === undefined) this.#staging.check();
      else this.#refill(step);
      return this.#ends.placeLanes(endsAt, endOptions);
    });
    const code = this.#writer.appendBlock(blockAt, this.options.lanes, endsAt, finals);
    if (endCount > truncated && code >= 0) engine.hasTerminated = true;
    this.#finishCall(code, "terminated");
    this.#checkValues();
    this.#countBarren(true);
  }

  #refill(step: unknown): void {
    try {
      this.#fill(step);
    } catch (error) {
      throw this.#staging.misfit(this.#engine.spec, step, error);
    }
  }

  /** Checks the appended step for NaN. */
  #checkValues(): void {
    this.#engine.sawNaN = false;
    this.#afterCall(this.#staging.checkForNaN(this.#engine.reportNaN, ++(this.#place as WriterRecord).looks));
  }

  /**
   * Logs the warnings of the last call.
   * @param steps the number of steps until the next check of values
   * @param rows the number of rows that the call appended
   */
  #afterCall(steps: number, rows = 1): void {
    this.#engine.warnings.flush();
    if (this.#barrenEpisodes.hasUnreported && rows > 0) this.#barrenEpisodes.countExpired();
    this.#stepsToCheck = this.#barrenEpisodes.hasUnreported ? 1 : steps;
  }

  #countBarren(canCreateItem: boolean): void {
    this.#barrenEpisodes.count(canCreateItem);
    if (this.#barrenEpisodes.hasUnreported) this.#stepsToCheck = 1;
  }

  /** Completes a call to the core, and returns its result. @throws the error, if the result is an error code */
  #finishCall(code: number, subject?: string, lane?: number): number {
    if (code < 0) throw this.#errorOf(code, subject, lane);
    this.#engine.changed();
    return code;
  }

  #errorOf(code: number, subject?: string, lane?: number): Error {
    return coreError(this.#engine, this.#writer, this.options.items, code, subject, lane);
  }
}
