/** Items of any steps at hand, each column with steps of its own. Reverb's `TrajectoryWriter`. */
import { pointAtCallersOf } from "../../base/caller.ts";
import { finite, flag, integer, mustBe, onlyKeys, ReplayError } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import type { WaitOptions } from "../../base/wait.ts";
import type { Engine } from "../../memory/engine.ts";
import { CoreStream } from "../../memory/stream.ts";
import { engineOf, type Replay } from "../../replay/replay.ts";
import type { ColumnOf } from "../../schema/columns.ts";
import { leaves, type Nest } from "../../schema/nest.ts";
import type { Spec, StepOf } from "../../schema/spec.ts";
import type { AnyTable } from "../../tables/table.ts";
import { createItemOf, insertOf, type Writer, waitingOf } from "../../tables/writer.ts";
import { mustFit, type Signature } from "../signature.ts";
import { Windows } from "../windows.ts";
import { Fields, isPartial, type KeepOptions, type PartOf, type Values } from "./fields.ts";
import { History, type HistoryOf } from "./history.ts";
import { OpenStep } from "./open-step.ts";
import { Pending } from "./pending.ts";
import { tableNames } from "./step-client.ts";
import { TrajectoryColumn } from "./trajectory-column.ts";

export interface TrajectoryWriterOptions {
  /** Steps that each field is kept for, unless `configure` says otherwise: as far back as an item may reach. */
  readonly numKeepAliveRefs: number;
  /** Whether items must fit their table's signature, where it has one; true where it is left out. */
  readonly validateItems?: boolean;
}

/** Columns, nested as the item is to be. */
export type ItemColumns = TrajectoryColumn | readonly ItemColumns[] | { readonly [name: string]: ItemColumns };

/** Anything else than a nest is told by its place. */
const isEnd = (node: unknown) => typeof node !== "object" || node === null || node instanceof TrajectoryColumn;

/** What structured writers do with one: steps that are taken apart already, items whose columns are known by a number. */
export interface Steps<S extends Spec> {
  readonly fields: Fields<S>;
  /** What was given so far of the step that is open; undefined where none is. */
  readonly open: Values | undefined;
  /** @param values those of `step`, taken apart */
  append(step: PartOf<StepOf<S>>, values: Values, partial: boolean): void;
  /** How many items would wait for a table's rate limiter if it were given n more. */
  waiting(table: AnyTable, n: number): number;
  /** An item of `length` steps that end `behind` the newest one. Allocates nothing, unless it must wait. */
  insert(table: AnyTable, length: number, priority: number, behind: number, layout: number): void;
}

/** For the package's own writers. */
export let stepsOf: <S extends Spec>(writer: TrajectoryWriter<S>) => Steps<S>;

export class TrajectoryWriter<S extends Spec = Spec> {
  readonly #replay: Replay<S, string>;
  readonly #engine: Engine;
  /** The signature that items of a table must fit, where there is one. */
  readonly #signatures: (table: string) => Signature | undefined;
  readonly #fields: Fields<S>;
  readonly #history: History;
  readonly #pending: Pending;
  /** Made with the first step: `configure` may lengthen its window until then. */
  #writer: Writer<S, string> | undefined;
  #stream: CoreStream | undefined;
  /** Reads steps before they are in any item. */
  #windows: Windows | undefined;
  /** The step to come, while only a part of it was given. */
  #open: OpenStep<S> | undefined;
  #isOpen = false;
  /** Steps that are in the writer's window: all but one that is open, unless an item has needed it. */
  #rows = 0;
  #episodeSteps = 0;
  #closed = false;
  /** Whether an end waits for items. */
  #ending = false;

  static {
    stepsOf = (writer) => ({
      fields: writer.#fields,
      get open() {
        return writer.#isOpen ? writer.#open?.values : undefined;
      },
      append: (step, values, partial) => writer.#append(step, values, partial),
      waiting: (table, n) => waitingOf(writer.#live(), table, n),
      insert: (table, length, priority, behind, layout) => writer.#insert(table, length, priority, behind, layout),
    });
  }

  /** Made by `client.trajectoryWriter`. @throws RangeError, TypeError */
  constructor(replay: Replay<S, string>, options: TrajectoryWriterOptions, signatures: (table: string) => Signature | undefined) {
    pointAtCallersOf(new.target);
    const { numKeepAliveRefs, validateItems = true } = onlyKeys("options", options, "numKeepAliveRefs, validateItems");
    integer("numKeepAliveRefs", numKeepAliveRefs, 1, MAX_LENGTH);
    flag("validateItems", validateItems);
    this.#replay = replay;
    this.#engine = engineOf(replay);
    this.#signatures = validateItems ? signatures : () => undefined;
    this.#fields = new Fields<S>(this.#engine);
    this.#pending = new Pending(replay as unknown as Replay);
    this.#history = new History(replay.options.spec, this.#fields.leaves, numKeepAliveRefs, (leaf, steps) => {
      const writer = this.#live();
      this.#writeOpen(steps);
      this.#windows ??= new Windows(this.#engine, { seed: 0, streams: writer.streams });
      // The window has the last steps that there were.
      const first = this.#rows - writer.length;
      const places = steps.map((step) => step - first);
      return this.#windows.steps(leaf, places);
    });
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
   * How long one field is kept. Later than the first step, steps that are gone by then stay so. Keeping is all that it costs here: `maxChunkLength` is checked, and nothing is chunked.
   * @param path the keys that lead to the field
   * @throws RangeError, TypeError · ReplayError NOT_FOUND for a field that the spec has not
   */
  configure(path: readonly (string | number)[], options: KeepOptions): void {
    this.#check();
    const { leaf, numKeepAliveRefs } = this.#fields.keeping(path, options);
    const writer = this.#writer;
    if (writer !== undefined && numKeepAliveRefs > writer.options.keep) this.#widen(writer, numKeepAliveRefs);
    this.#history.keepLeaf(leaf, numKeepAliveRefs, writer === undefined ? 0 : this.#rows - (this.#writer as typeof writer).length);
  }

  /**
   * Appends a step, whole or without some of its fields. O(bytes)
   * @param options.partialStep leaves the step open: the next append goes on with it
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA for another form, or a field that an earlier append of the step has set; OUT_OF_MEMORY. Nothing changed then
   */
  append(step: PartOf<StepOf<S>>, options: { readonly partialStep?: boolean } = {}): void {
    this.#check();
    const partialStep = isPartial(options);
    this.#append(step, this.#fields.take(step), partialStep);
  }

  #append(step: PartOf<StepOf<S>>, values: Values, partialStep: boolean): void {
    if (partialStep || this.#isOpen) this.#appendPart(values, partialStep);
    else {
      this.#live().append(values.includes(undefined) ? this.#fields.whole(values) : (step as StepOf<S>));
      this.#rows++;
      this.#history.add(values);
    }
    if (!partialStep) this.#episodeSteps++;
  }

  /**
   * Makes an item of columns of this writer's history. It holds the steps from the oldest to the newest that they name; batches show it by its columns' names, dotted
   * where they nest. Any number of sets of columns may be in use. O(columns + steps between + log size)
   * @returns `undefined` when it is in the table; a promise where the rate limiter makes it wait
   * @throws RangeError for a column without steps, or with one that is not at hand; a priority that is none · ReplayError NOT_FOUND, SPEC_MISMATCH for what does not fit
   * the table's signature, RATE_LIMITED, OUT_OF_MEMORY
   */
  createItem(table: string, priority: number, trajectory: ItemColumns): Promise<void> | undefined {
    this.#check();
    if (typeof table !== "string" || !Object.hasOwn(this.#replay.options.tables, table)) tableNames({ knows: () => false }, table);
    finite("priority", priority, 0);
    const columns = leaves(trajectory as Nest<TrajectoryColumn>, isEnd);
    if (columns.length === 0) throw mustBe(RangeError, "trajectory", "an object with at least one column", trajectory);
    let first = Number.POSITIVE_INFINITY;
    let last = 0;
    const steps: number[] = [];
    for (const { keys, leaf: column } of columns) {
      const subject = ["trajectory", ...keys].join(".");
      if (!(column instanceof TrajectoryColumn)) throw mustBe(TypeError, subject, "a column of a writer's history", column);
      for (const step of column.held(subject, this.#history)) {
        if (step < first) first = step;
        if (step > last) last = step;
        steps.push(step);
      }
    }
    const shapes = columns.map(({ leaf }) => leaf);
    mustFit(table, this.#signatures(table), shapes);
    const writer = this.#live();
    this.#writeOpen(steps);
    const length = last + 1 - first;
    const shown = new Map<string, ColumnOf>();
    for (const { keys, leaf: column } of columns) {
      const name = keys.join(".") || "value";
      if (shown.has(name)) throw mustBe(RangeError, "trajectory", "without two columns of the same dotted name", name);
      shown.set(name, column.inItem(first, length));
    }
    const waits = createItemOf(writer, table, { length, priority, columns: Object.fromEntries(shown) }, this.#rows - 1 - last);
    if (waits !== undefined) this.#pending.add(table, writer.lastKey(table));
    return waits;
  }

  #insert(table: AnyTable, length: number, priority: number, behind: number, layout: number): void {
    const writer = this.#live();
    if (behind === 0) this.#writeNewest();
    // An open step that no item has needed yet is not among the rows.
    const isIn = insertOf(writer, table, length, priority, behind - (this.#history.total - this.#rows), layout);
    if (!isIn) this.#pending.add(table.name, writer.lastKey(table.name));
  }

  /**
   * Ends the episode; a step that is open ends with it. With a time limit or a signal it ends when all items of this writer are in their tables, and till then every other
   * call is OUT_OF_TURN.
   * @param options.clearBuffers whether no later item reaches back over the end; true where it is left out
   * @returns `undefined` where no item waits for a rate limiter, else a promise until none does
   * @throws ReplayError TIMEOUT, CLOSED, or the signal's reason; then the episode goes on, with all its steps
   */
  endEpisode(options: WaitOptions & { readonly clearBuffers?: boolean } = {}): Promise<void> | undefined {
    this.#check();
    const { clearBuffers = true, ...wait } = onlyKeys("options", options, "clearBuffers, timeoutMs, signal");
    flag("clearBuffers", clearBuffers);
    const waits = this.#pending.until(0, wait);
    if (waits === undefined || (wait.timeoutMs === undefined && wait.signal === undefined)) {
      this.#end(clearBuffers);
      return waits;
    }
    this.#ending = true;
    const ended = waits.finally(() => {
      this.#ending = false;
    });
    return handled(ended.then(() => this.#end(clearBuffers)));
  }

  #end(clearBuffers: boolean): void {
    this.#check();
    this.#writeOpen([this.#rows]);
    this.#done();
    this.#episodeSteps = 0;
    const writer = this.#writer;
    writer?.endEpisode();
    if (!clearBuffers) return;
    this.#history.clear();
    this.#stream?.clear();
    this.#engine.changed();
  }

  /**
   * Waits until at most `blockUntilNumItems` (0 where it is left out) of this writer's items wait for a rate limiter; `undefined` where it is so.
   * @throws ReplayError TIMEOUT, or the signal's reason
   */
  flush(options: WaitOptions & { readonly blockUntilNumItems?: number } = {}): Promise<void> | undefined {
    this.#check();
    const { blockUntilNumItems = 0, ...wait } = options;
    return this.#pending.until(blockUntilNumItems, wait);
  }

  /** Lets the steps at hand go. Items stay, also those that wait. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#open?.close();
    this.#windows?.close();
    this.#writer?.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #check(): void {
    if (this.#closed) throw new ReplayError("CLOSED", "this writer was closed: make a new one with client.trajectoryWriter()");
    if (this.#ending) throw new ReplayError("OUT_OF_TURN", "the episode is just ending: await what endEpisode gave first");
    this.#engine.begin();
  }

  #live(): Writer<S, string> {
    this.#check();
    if (this.#writer === undefined) {
      this.#writer = this.#made(this.#history.keep);
      this.#stream = new CoreStream(this.#engine, this.#writer.streams[0] as number);
    }
    return this.#writer;
  }

  #made(keep: number): Writer<S, string> {
    return this.#replay.writer({ keep, items: [], across: true }) as Writer<S, string>;
  }

  /** A writer with a longer window goes on in the place of one: with its steps, and its episode. @throws ReplayError OUT_OF_MEMORY; then nothing has changed */
  #widen(writer: Writer<S, string>, keep: number): void {
    const wide = this.#made(keep);
    this.#stream = new CoreStream(this.#engine, wide.streams[0] as number);
    this.#stream.take(writer.streams[0] as number);
    this.#writer = wide;
    this.#windows?.close();
    this.#windows = undefined;
    writer.close();
  }

  #appendPart(values: Values, partial: boolean): void {
    const writer = this.#live();
    this.#open ??= new OpenStep<S>(this.#replay, this.#fields);
    const open = this.#open;
    open.add(values);
    const isNew = !this.#isOpen;
    if (!isNew && this.#rows === this.#history.total) open.patch(this.#stream as CoreStream, values);
    else if (!partial) {
      writer.append(this.#fields.whole(open.values));
      this.#rows++;
    }
    if (isNew) this.#history.add(values);
    else this.#history.extend(values);
    this.#isOpen = true;
    if (!partial) this.#done();
  }

  /** Brings the open step into the window, if it is one of these. */
  #writeOpen(steps: readonly number[]): void {
    if (steps.includes(this.#rows)) this.#writeNewest();
  }

  #writeNewest(): void {
    if (this.#rows === this.#history.total) return;
    this.#live().append(this.#fields.whole((this.#open as OpenStep<S>).values));
    this.#rows++;
  }

  #done(): void {
    this.#isOpen = false;
    this.#open?.reset();
  }
}

/** A promise that nobody need await. */
function handled(promise: Promise<void>): Promise<void> {
  promise.catch(() => {});
  return promise;
}
