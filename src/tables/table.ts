/** Implements a table: draws, priorities, deletions, counters. */

import { COUNTERS, DISTINCT } from "../base/abi.ts";
import { flag, integer, mustBe, onlyKeys, show } from "../base/error.ts";
import { customInspect, PlainText } from "../base/inspect.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import { hideFrames } from "../base/stack-trace.ts";
import type { WaitOptions } from "../base/wait.ts";
import { warnIgnoredPriorities } from "../base/warnings.ts";
import { type Among, CheckedAmong } from "../batch/among.ts";
import type { AnySteps, Batch, ChosenOf, NStepColumns, StepsOf } from "../batch/batch.ts";
import { type DatasetOf, type DatasetOptions, datasetOf } from "../batch/dataset.ts";
import { ItemView } from "../batch/item-view.ts";
import { GET_OPTIONS, OPTIONS, type SampleOptions } from "../batch/options.ts";
import { Sampler } from "../batch/sampler.ts";
import type { SequenceViewOptions, StateName } from "../batch/sequences/sequence-batch.ts";
import { Sequences } from "../batch/sequences/sequences.ts";
import type { NextName, TransitionOptions } from "../batch/transitions/transition-batch.ts";
import { Transitions } from "../batch/transitions/transitions.ts";
import { Draws, drawsOfViews } from "../batch/waiting.ts";
import { type WrittenSteps, writeSteps } from "../batch/write-steps.ts";
import type { Engine } from "../memory/engine.ts";
import type { CoreTable } from "../memory/table.ts";
import { type ColumnLike, dataBeside, dataOf } from "../schema/column.ts";
import type { ColumnSet } from "../schema/columns.ts";
import { checkedKeys, checkKeys, type Numbers } from "../schema/copy-numbers.ts";
import { SELECTOR_KINDS, type Selector } from "../schema/selector.ts";
import type { IsAny, PathOf } from "../schema/spec.ts";
import type { ResolvedTableOptions, TableOptions } from "../schema/table-options.ts";

export type { ResolvedTableOptions, TableOptions };

type Options<S> = SampleOptions<PathOf<S>, ColumnSet<S>>;
/** The options of `get`: the options of `sample` that define the contents of a batch. */
type GetOptions<S> = Pick<Options<S>, "into" | "recycle" | "length" | "cross" | "columns" | "nStep" | "mask"> & { readonly offset?: "start" | "end" };
/** Makes an unknown option a type error. */
type Only<O, Known> = { readonly [K in Exclude<keyof O, keyof Known>]: never };

/**
 * The type of a batch, which depends on its options. The batch has the requested columns or every leaf. It has n-step returns, weights and a mask if the
 * options request them.
 */
export type BatchOf<S, O> = Batch<
  O extends { readonly columns: infer C extends ColumnSet<S> } ? ChosenOf<S, C> : IsAny<S> extends true ? AnySteps : StepsOf<S, [number, number]>
> &
  (O extends { readonly nStep: object } ? { readonly nStep: NStepColumns } : unknown) &
  (O extends { readonly beta: number } ? { readonly info: { readonly weights: Float64Array<ArrayBuffer> } } : unknown) &
  (O extends { readonly mask: true } ? { readonly mask: Uint8Array<ArrayBuffer> } : unknown);

/** The counters of a table. `inserts`, `samples` and `deletes` are the counts that the rate limiter uses. `clear` resets them to 0. */
export type TableStats = { readonly [K in (typeof COUNTERS)[number]]: number } & { readonly name: string; readonly maxSize: number };

/** The result of `explain`: the state of one item. */
export interface Explanation {
  readonly key: number;
  /**
   * The state of the item.
   * - live: the item can be drawn;
   * - waiting: the rate limiter has not admitted the item yet;
   * - gone: the item was evicted, deleted or drawn maxTimesSampled times.
   */
  readonly state: "live" | "waiting" | "gone";
  readonly length?: number;
  readonly priority?: number;
  readonly timesSampled?: number;
  /** The probability that a draw of one item would now return this item. */
  readonly probability?: number;
}

/** If other items have priorities above this value, new items (priority 1) are almost never drawn. */
const HIGH_PRIORITY = 10;
/** The number of steps, and the number of episodes that are too short, below which an empty table is normal. */
const MIN_STEPS = 5;
const MIN_EPISODES = 2;

/** A table of any spec, for other parts of the engine. */
export type AnyTable = Pick<Table, "name" | "options" | "handle" | "stats" | "explain">;

/** The draws of each table for buffers, and the function that sets the table's priorities. */
const internals = new WeakMap<Table, { readonly draws: Draws<Batch>; update(keys: Numbers, priorities: Numbers): number }>();

/** Returns the draws of a table. Only the package's own modules use it. */
export function drawsOf(table: Table): Draws<Batch> {
  return internalsOf(table).draws;
}

/** Updates priorities like Reverb, without a warning: in a table that ignores priorities, they may be data of the program. */
export function mutate(table: Table, keys: Numbers, priorities: Numbers): number {
  return internalsOf(table).update(keys, priorities);
}

const internalsOf = (table: Table) => internals.get(table) as NonNullable<ReturnType<typeof internals.get>>;

/** A table of items. Without type arguments, the type is a table of any spec, with any roles of its leaves. */
// biome-ignore lint/suspicious/noExplicitAny: `Table` accepts every table
export class Table<S = any, R = any> {
  readonly name: string;
  readonly options: ResolvedTableOptions;
  /** The table's handle in the core. */
  readonly handle: number;
  readonly #engine: Engine;
  readonly #table: CoreTable;
  readonly #sampler: Sampler<Batch>;
  readonly #view: ItemView;
  readonly #draws: Draws<Batch>;
  /** The parsed option `among` of calls to `ready`. */
  readonly #among = new CheckedAmong();

  static {
    customInspect<Table<unknown>>(this, "Table", (table) => table.#inspect());
  }

  /** Created by `new Replay`. */
  constructor(engine: Engine, name: string, options: ResolvedTableOptions, table: CoreTable) {
    hideFrames(new.target);
    this.#engine = engine;
    this.name = name;
    this.options = options;
    this.handle = table.handle;
    this.#table = table;
    let view: ItemView | undefined;
    this.#sampler = new Sampler<Batch>(
      { engine, core: table, name, limits: options, filled: new WeakMap(), update: (keys, priorities, from, to) => this.#update(keys, priorities, from, to) },
      OPTIONS,
      (sampler) => (view = new ItemView(sampler)),
    );
    this.#view = view as unknown as ItemView;
    this.#draws = new Draws(this.#sampler);
    drawsOfViews.set(this, this.#draws as unknown as Draws<{ count: number }>);
    internals.set(this, { draws: this.#draws, update: (keys, priorities) => this.#update(keys, priorities) });
  }

  /** The spec of a step, as passed to the Replay. */
  get spec(): S {
    return this.#engine.spec as S;
  }

  /** The number of items in the table. Functions that another call runs, such as a share of a mixture, can also read it. */
  get size(): number {
    if (this.#engine.closed) this.#open();
    return this.#table.size;
  }

  /**
   * Draws up to n items and copies their steps into arrays. Never waits: if the rate limiter or the number of items allows fewer draws, the batch is shorter
   * and `blocked` contains the reason. With `into` and the same `columns` object each time, allocates nothing but strings.
   *
   * Costs O(n × (log size + steps) + bytes), with the steps that the columns show. All steps of a window count if the window has 16 steps or fewer, if columns
   * show more than half of them, if items show different steps, if an episode ends within an item, or with `nStep`. If freed rows were reused, the steps of an
   * item may not be adjacent in memory. In that case, all steps up to the last step shown count.
   * @throws TypeError, RangeError if n or an option is invalid
   * @throws ReplayError SPEC_MISMATCH if `into` has different columns or shapes, or if items have different columns
   * @throws ReplayError NOT_FOUND if an option names a leaf that does not exist
   * @throws ReplayError UNSUPPORTED if the table does not support an option
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   */
  sample<const O extends Options<S>>(n: number, options?: O & Only<O, SampleOptions>): BatchOf<S, O> {
    const batch = this.#sampler.sample(n, options as SampleOptions | undefined);
    if (this.#sampler.lastCount === 0) this.#warnEmpty();
    return batch as BatchOf<S, O>;
  }

  /**
   * Draws n items, each as soon as the rate limiter allows it. The batch grows until it is full, and each item is copied when it is drawn. Draws that are
   * stratified or without replacement are made together, as soon as all of them are possible. Calls that wait for one table are served in call order. If items
   * were drawn before the wait ended, the `batch` of the error contains these items. Such an error is a separate object, and the reason for the end of the wait
   * is its `cause`.
   * @throws RangeError if the batch can never be full
   * @throws ReplayError RATE_LIMITED if the rate limiter permits neither the remaining draws nor inserts, so that the wait could last forever
   * @throws ReplayError TIMEOUT if the time limit ends the wait
   * @throws ReplayError CLOSED if the Replay is disposed of during the wait
   * @throws the signal's reason if the signal aborts
   */
  sampleWhenReady<const O extends Options<S> & WaitOptions>(n: number, options?: O & Only<O, SampleOptions & WaitOptions>): Promise<BatchOf<S, O>> {
    return this.#draws.whole(n, (options ?? {}) as SampleOptions & WaitOptions) as Promise<BatchOf<S, O>>;
  }

  /**
   * Returns the items of keys that still exist, in the order of the keys. `batch.info.keys` contains their keys. The call is not a draw: it changes no
   * counter, uses no random number, and ignores the rate limiter. Items that wait for the rate limiter do not exist yet. Accepts the options of
   * `sample` that define the contents of a batch. Costs O(n × steps + bytes).
   * @throws TypeError, RangeError if a key is invalid, as in `updatePriorities`
   * @throws ReplayError SPEC_MISMATCH if `into` has different columns or shapes, or if items have different columns
   * @throws ReplayError NOT_FOUND if an option names a leaf that does not exist
   * @throws ReplayError OUT_OF_MEMORY if memory runs out
   */
  get<const O extends GetOptions<S>>(keys: Numbers, options?: O & Only<O, GetOptions<S>>): BatchOf<S, O> {
    const all = Float64Array.from(checkedKeys("keys", keys));
    checkKeys(all, 0, all.length);
    const own = onlyKeys("get", { ...options } as SampleOptions, GET_OPTIONS);
    if (own.offset === "uniform") throw mustBe(RangeError, "offset", '"start" or "end", because get draws no random numbers', own.offset);
    return this.#sampler.get(all, own) as BatchOf<S, O>;
  }

  /**
   * Writes values to the stored steps that a batch of this table shows, for example targets that a learner recomputes (MuZero's reanalysis) or latent states
   * (Dreamer). `values` contains some of the batch's columns, under the same names and with the same shapes. The first dimension is `count`, or the length of
   * the batch's arrays. Each value is written to the step at its place in the batch, including columns at the bootstrap. Padding is skipped; if several values
   * belong to one step, the last one counts. Other items that share the step also show the new value. Priorities do not change, and rewards may be non-finite.
   * All checks are made before any write. Costs O(count × steps + bytes).
   * @param batch from `sample`, `get` or `sampleWhenReady` of this table, or from a view of its transitions
   * @returns the number of values written, and the number of items that no longer exist, whose values are skipped
   * @throws TypeError if the batch does not belong to this table
   * @throws ReplayError NOT_FOUND if the batch has no such column
   * @throws ReplayError UNSUPPORTED if a leaf is `shared` or `packed`, since several steps share its values, if a column is computed (such as returns) or
   * contains relabelled goals, or if the batch belongs to a mixture
   * @throws ReplayError SPEC_MISMATCH if values have another shape, or if the batch was released
   * @throws ReplayError INVALID_DATA if a value does not fit its dtype
   */
  writeSteps(batch: object, values: object): WrittenSteps {
    this.#begin();
    const { table } = this.#sampler;
    return writeSteps(table, batch, typeof batch === "object" && batch !== null ? table.filled.get(batch) : undefined, values);
  }

  /**
   * Returns batches for a `for` or `for await` loop, in epochs if `epochs` is set.
   * @throws TypeError, RangeError if an option is invalid
   * @throws ReplayError UNSUPPORTED if the table or another option excludes epochs
   */
  dataset<const O extends DatasetOptions<PathOf<S>, ColumnSet<S>>>(options: O & Only<O, DatasetOptions>): DatasetOf<BatchOf<S, O>, O> {
    this.#engine.open();
    return datasetOf(this.#draws, options as DatasetOptions) as DatasetOf<BatchOf<S, O>, O>;
  }

  /**
   * Returns new arrays for n items of `length` steps each, to pass as `into`.
   * @throws TypeError, RangeError if n or an option is invalid
   * @throws ReplayError SPEC_MISMATCH if `columns` is omitted and items have different columns
   */
  batch<const O extends Options<S> & { readonly length: number }>(n: number, options: O & Only<O, SampleOptions>): BatchOf<S, O> {
    this.#engine.open();
    return this.#view.batch(n, options as SampleOptions) as BatchOf<S, O>;
  }

  /**
   * Returns a view that reads items as transitions: an item of L steps becomes a transition of L - 1 steps. `new Replay({ transition })` maps leaves to roles.
   * Create the view once, since each view keeps separate batches to refill.
   * @throws TypeError, RangeError if an option is invalid
   * @throws ReplayError NOT_FOUND if a role has no leaf, or if `next` has an unknown name
   * @throws ReplayError SPEC_MISMATCH if a leaf has the name of a column of the view, if a rule makes items of a single step, or if the leaves of `relabel`
   * differ in dtype or shape
   * @throws ReplayError UNSUPPORTED if `relabel` is set and the table does not keep the insertion order of its items
   */
  transitions<const O extends TransitionOptions<NextName<S, R>, PathOf<S>>>(options: O & Only<O, TransitionOptions>): Transitions<S, R, O> {
    this.#open();
    return new Transitions(this.#sampler.table, options);
  }

  /**
   * Returns a view that reads items as sequences, for recurrent networks and world models. The view shows every step under the names of the roles, with masks,
   * ends of episodes, and n-step returns within the sequence. An item of a `sequence` rule records its burn-in and whether it begins an episode; any other item
   * has no burn-in. Create the view once, since each view keeps separate batches to refill.
   * @throws TypeError, RangeError if an option is invalid
   * @throws ReplayError NOT_FOUND if a role has no leaf, or if `state` has an unknown name
   * @throws ReplayError SPEC_MISMATCH if a leaf has the name of a column of the view
   */
  sequences<const O extends SequenceViewOptions<StateName<S, R>>>(options: O & Only<O, SequenceViewOptions>): Sequences<S, R, O> {
    this.#open();
    return new Sequences(this.#sampler.table, options);
  }

  /**
   * Sets the priorities of items by key. Skips keys whose items no longer exist. If a key occurs twice, the last priority counts. Costs O(n log size). If the
   * call throws, the table is unchanged.
   * @param keys n keys in a list or typed array, or a column of any shape with n elements
   * @param priorities n priorities in a list or typed array, or a column of one dimension or of the shape of the keys
   * @returns the number of keys whose items exist
   * @throws TypeError if an array cannot represent every key, such as a Float32Array
   * @throws RangeError if a value cannot be a key, if a priority is negative or not finite, or if a column has another shape
   */
  updatePriorities(keys: Numbers | ColumnLike, priorities: Numbers | ColumnLike): number {
    const list = dataOf<Numbers>("keys", keys);
    const found = this.#update(list, dataBeside<Numbers>("priorities", priorities, keys));
    if (this.#table.ignoresPriorities && list.length > 0) warnIgnoredPriorities(this.#engine.warnings, this.name, this.#table, "updatePriorities");
    return found;
  }

  #update(keys: Numbers, priorities: Numbers, from = 0, to?: number): number {
    const found = this.#begin().update(keys, priorities, from, to);
    if (found > 0 && SELECTOR_KINDS[this.options.sampler.kind].weighs && (this.#engine.defaultPriorityRules.get(this.name) ?? 0) > 0)
      this.#checkDefaultPriority(priorities, from, to ?? priorities.length);
    return found;
  }

  /**
   * Deletes items by key. Skips keys whose items no longer exist. Costs O(n log size). If the call throws, the table is unchanged.
   * @returns the number of deleted items
   * @throws TypeError, RangeError if a key is invalid, as in `updatePriorities`
   */
  delete(keys: Numbers | ColumnLike): number {
    return this.#begin().delete(dataOf<Numbers>("keys", keys));
  }

  /** Removes every item and sets all counters to 0. Waiting items are then inserted. Keys are not reused. Costs O(size log size). */
  clear(): void {
    this.#begin().clear();
  }

  /**
   * Returns whether a batch of n items can be drawn now, regardless of which items the draws return. The rate limiter must allow the draws, and the table must
   * have enough items for draws without replacement or with `maxTimesSampled`. Costs O(1), or at most O(size) in these two cases.
   */
  ready(n: number, options: { readonly replacement?: boolean; readonly among?: Among } = {}): boolean {
    if (typeof options !== "object" || options === null) throw mustBe(TypeError, "the options of ready", "an object with keys replacement, among", options);
    const { replacement = true, among } = options;
    integer("n", n, 1, MAX_LENGTH);
    this.#among.read(among);
    const table = this.#open();
    return table.guaranteedDraws(n, DISTINCT * (1 - flag("replacement", replacement)) + this.#among.flags, this.#among.of(table)) >= n;
  }

  /** Returns whether the rate limiter allows n draws now. n is 1 by default. */
  canSample(n = 1): boolean {
    return this.#open().canSample(integer("n", n, 1));
  }

  /** Returns whether the rate limiter allows n inserts now. n is 1 by default. */
  canInsert(n = 1): boolean {
    return this.#open().canInsert(integer("n", n, 1));
  }

  /** Returns the counters of the table. Costs O(1). */
  stats(): TableStats {
    const counters = Object.fromEntries(COUNTERS.map((name, i) => [name, this.#open().counter(i)]));
    return { name: this.name, maxSize: this.options.maxSize, ...counters } as unknown as TableStats;
  }

  /** Returns the state of an item by its key. Costs O(1). @throws TypeError, RangeError if the value cannot be a key */
  explain(key: number): Explanation {
    const item = this.#open().item(key);
    if (item === undefined) return { key, state: "gone" };
    const { isWaiting: waits, length, timesSampled, priority, probability } = item;
    return { key, state: waits ? "waiting" : "live", length, timesSampled, priority, probability };
  }

  #inspect(): object {
    const { name, options } = this;
    const { maxSize, rateLimiter } = options;
    if (this.#engine.closed) return { name, maxSize, size: new PlainText("closed") };
    const { size, steps, pending, inserts, samples, deletes } = this.stats();
    const selectorText = ({ kind, exponent }: Selector) => new PlainText(`${kind}(${exponent ?? ""})`);
    const [sampler, remover] = [selectorText(options.sampler), selectorText(options.remover)];
    return { name, maxSize, size, steps, pending, inserts, samples, deletes, sampler, remover, minSize: rateLimiter.minSize };
  }

  /** Returns the core's table. @throws ReplayError CLOSED, OUT_OF_TURN */
  #open(): CoreTable {
    this.#engine.open();
    return this.#table;
  }

  /** Returns the core's table for a call that may change the Replay. @throws ReplayError CLOSED, OUT_OF_TURN */
  #begin(): CoreTable {
    this.#engine.begin();
    return this.#table;
  }

  /** Warns after an empty draw if the table never had an item, although enough steps or episodes were recorded to expect one. */
  #warnEmpty(): void {
    if (this.#table.newest !== 0) return;
    const name = show(this.name);
    const subject = `table ${name} is empty, because`;
    const ruleWriters = [...this.#engine.writers].filter(({ items }) => items.some(({ table }) => table === this.name));
    if (ruleWriters.length > 0) {
      if (ruleWriters.reduce((sum, { core }) => sum + core.barrenEpisodes, 0) < MIN_EPISODES) return;
      const shortest = Math.min(...this.#engine.ruleLengths(this.name));
      const remedy = "Lower length, or call createItem before an episode ends";
      this.#engine.warn("emptyTable", `${subject} its rules require episodes of ${shortest} steps and every episode was shorter. ${remedy}`);
    } else if (this.#engine.hadSteps(MIN_STEPS)) {
      const remedy = `Pass replay.writer() a rule such as items: [{ table: ${name}, length: 2 }], or call writer.createItem(${name}, { length })`;
      this.#engine.warn("emptyTable", `${subject} no writer has a rule for it and createItem was not called. ${remedy}`);
    }
  }

  /** Warns if items get priorities so high that new items, with priority 1, are almost never drawn. */
  #checkDefaultPriority(priorities: Numbers, from: number, to: number): void {
    for (let i = from; i < to; i++) {
      if (!((priorities[i] as number) > HIGH_PRIORITY)) continue;
      if (this.#engine.warnings.first("defaultPriority")) {
        const reason = `a rule for table ${show(this.name)} inserts items with priority 1 by default, but other items have higher priorities (${priorities[i]}), so new items are almost never drawn`;
        this.#engine.warnings.log(`${reason}. Set the rule's priority to "max", or to a number`);
      }
      return;
    }
  }
}
