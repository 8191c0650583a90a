/**
 * Implements the path from a draw to a batch, for a table and all of its views: options → a buffer with room for any result → the core draws → a buffer that
 * fits the result → weights, rows, returns → gather. The view chooses the layout, the rows and the returns.
 */

import { AHEAD, BLOCKED, CROSS, DRAW_POSITION, FROM_ANY, LOOKS, SAME_COLUMNS, STRATIFIED } from "../base/abi.ts";
import { oneOf } from "../base/error.ts";
import { warnIgnoredPriorities, warnLostRewards } from "../base/warnings.ts";
import type { Engine } from "../memory/engine.ts";
import type { CoreTable } from "../memory/table.ts";
import type { Numbers } from "../schema/copy-numbers.ts";
import type { RateLimiter } from "../schema/rate-limiter.ts";
import type { Selector } from "../schema/selector.ts";
import type { Into } from "./batch.ts";
import type { BatchBuffer, Filled } from "./buffer.ts";
import { concat, fillMask, joinWindows } from "./derive.ts";
import { Draw, refusedDraw } from "./draw.ts";
import type { EpochPlace } from "./epoch-state.ts";
import { gather } from "./gather.ts";
import { type BatchLayout, MASK, type NStep, WEIGHTS } from "./layout.ts";
import { NORMALIZE, OPTIONS, ParsedOptions, type SampleOptions } from "./options.ts";
import { PartBuffer } from "./part-buffer.ts";
import { BatchPool } from "./pool.ts";

/** The properties of a table that limit draws. */
export interface DrawLimits {
  readonly sampler: Selector;
  readonly remover: Selector;
  readonly maxSize: number;
  readonly maxSteps: number;
  readonly maxTimesSampled: number;
  readonly rateLimiter: RateLimiter;
}

/** The table that a sampler draws from. */
export interface SampledTable {
  /** The buffers of batches that Reprise did not make, shared by all views. */
  readonly filled: WeakMap<object, BatchBuffer>;
  readonly engine: Engine;
  readonly core: CoreTable;
  readonly name: string;
  readonly limits: DrawLimits;
  /** Sets the priorities `from` … `to` of a list by their keys. Returns how many of the items still existed. */
  update(keys: Numbers, priorities: Numbers, from: number, to: number): number;
}

/** A batch that is drawn in several parts. */
export interface PartOf<B = object> {
  readonly n: number;
  readonly options: SampleOptions;
  /** The number of items in earlier parts of the batch, and the first part of the batch (undefined while that part is drawn). */
  readonly before: number;
  readonly first: B | undefined;
}

/** Replaces the goals of some transitions of a draw. */
interface BatchGoals {
  /** Chooses at random which transitions get new goals, and the goals. @param before the number of items in earlier parts of the batch */
  choose(draw: Draw, count: number, before: number): void;
  /** Writes the goals into the columns, before they are copied out. */
  put(buffer: BatchBuffer, count: number): void;
  /**
   * Computes returns for the new goals, after the batch is filled. @returns the part of the draw that changed: nothing, only its returns, or also the steps at
   * which some returns end
   */
  score(buffer: BatchBuffer, count: number, nStep: NStep): "nothing" | "returns" | "steps";
}

/** Shows drawn items in batches: chooses the buffer, the columns and the returns. */
export interface BatchView {
  /** Additional flags of the draw for the core, the number of steps in a window, and the part of longer items that a window shows. */
  readonly flags: number;
  readonly width: number;
  readonly from: number;
  /** The returns to compute, and the table of the items that begin the returns (0 if there are none). */
  readonly nStep: NStep | undefined;
  readonly nStepTable: number;
  /** Hindsight goals: replaces the goals of some transitions. Undefined if the view has none. */
  readonly goals?: BatchGoals | undefined;
  /** Returns the buffer for a call, with room for any result. @throws if a batch is impossible, with the reason; nothing is drawn in this case */
  choose(part: PartOf | undefined): BatchBuffer;
  /** Returns the buffer that fits the result of the draw. */
  narrow(buffer: BatchBuffer, draw: Draw, count: number, part: PartOf | undefined): BatchBuffer;
  /** Changes or computes numbers before they are gathered. Returns whether some rewards are not counted by any return. */
  derive?(buffer: BatchBuffer, draw: Draw): boolean;
  /** Computes numbers from gathered values, before they are copied out. */
  put?(buffer: BatchBuffer): void;
  /** Whether the gathered values include rewards that no return counts. */
  readonly hasLost?: boolean;
  /** Completes a batch after its last item. */
  end?(buffer: BatchBuffer, count: number): void;
  /** @throws if no draw of this view accepts the options */
  check(options: SampleOptions): void;
  /** Returns the keys and counts of a batch that was drawn ahead. @param batch the batch as it was drawn */
  counted(batch: object): { readonly keys: Float64Array; readonly times?: Uint32Array };
  /** Returns the options of a part of a batch. @param into the target of the whole batch */
  partOptions(options: SampleOptions, into: Into | undefined, n: number): SampleOptions;
  /** Returns new arrays for n items, for use as `into`. @param source SOURCE for batches of a mixture, or 0 */
  batch(n: number, options: SampleOptions, source?: number): object;
  /** The columns of every batch, if they do not depend on options and items. */
  readonly columns?: BatchLayout;
  /** Returns the buffer of a whole batch of a mixture, for the options of the call. @param longest the number of steps of the longest item of a part */
  blank(longest: number): BatchBuffer;
  /** Returns the number of steps of the longest item that a draw with the call's options may return. @param isSure whether no other source draws first */
  longest(isSure: boolean): number;
  /** Returns a buffer for all parts of a batch together. */
  whole(parts: readonly BatchBuffer[], options: SampleOptions, n: number): BatchBuffer;
}

export class Sampler<B extends { readonly count: number } = { readonly count: number }> {
  readonly table: SampledTable;
  readonly options: ParsedOptions;
  readonly pool = new BatchPool();
  /** The warnings of a call. They are logged at its end, because a logger may call the Replay. */
  readonly unsaid: string[] = [];
  /** The number of items in the last draw. */
  lastCount = 0;
  readonly #view: BatchView;
  readonly #ahead: Draw;
  readonly #optionKeys: string;
  readonly #viewOf: (sampler: Sampler) => BatchView;
  /** The keys of the items to read instead of drawing. */
  #keys: Float64Array | undefined;
  /** Whether a draw is open, and whether the last draw had rewards that no return includes. */
  #isOpen = false;
  #hasLost = false;
  #planned: BatchBuffer | undefined;
  /** The epoch from which the next items are taken. */
  #epoch: EpochPlace | undefined;

  /** @param keys the known options @param viewOf creates the view */
  constructor(table: SampledTable, keys: string, viewOf: (sampler: Sampler) => BatchView) {
    const { engine, name, limits } = table;
    this.table = table;
    this.options = new ParsedOptions({ name, sampler: limits.sampler, leaves: engine.layout.leaves }, keys);
    this.#ahead = new Draw(engine);
    this.#optionKeys = keys;
    this.#viewOf = viewOf;
    this.#view = viewOf(this as unknown as Sampler);
  }

  /**
   * Draws up to n items and gathers them. @param ahead whether the draws count only when the batch is `passed` @param part the batch that these draws are a
   * part of
   */
  sample(n: number, callOptions: SampleOptions | undefined, ahead = false, part?: PartOf): B {
    const { options, pool } = this;
    const { engine } = this.table;
    let buffer: BatchBuffer;
    let isNew = false;
    engine.begin();
    // A getter of the options may call the Replay.
    engine.locked = true;
    try {
      if (callOptions === undefined && options.isPlain && options.n === n) options.isSame = true;
      else options.read(n, callOptions);
      if (options.amongOption !== undefined) options.resolve(this.table.core);
      buffer = this.#fill(this.#view.choose(part), ahead, part);
      this.#view.end?.(buffer, this.lastCount);
      isNew = options.into === undefined && part === undefined && options.recycle === false;
      const { batch, layout } = buffer;
      // A batch that Reprise made has a lease, which carries the same information.
      if (buffer.lease === undefined) this.table.filled.set(batch, buffer);
      if (layout.isBlockable) batch.blocked = this.lastCount === n || this.#keys !== undefined ? undefined : buffer.draw.blocked();
      if (this.#view.goals !== undefined) this.#score(buffer);
    } finally {
      options.into = undefined;
      engine.locked = false;
      if (this.#isOpen) {
        this.close();
        engine.changed();
      }
    }
    if (options.holds & WEIGHTS && this.table.core.ignoresPriorities) warnIgnoredPriorities(engine.warnings, this.table.name, this.table.core, "beta");
    if (this.#hasLost || this.unsaid.length > 0) this.say();
    return (isNew ? pool.give(buffer) : buffer.batch) as object as B;
  }

  /** Draws into a buffer, and gathers the items. Returns the buffer that contains the items: the chosen buffer or a smaller one. */
  #fill(chosen: BatchBuffer, ahead: boolean, part?: PartOf): BatchBuffer {
    const { options } = this;
    const { core } = this.table;
    const { handle } = core;
    const { holds, n } = options;
    const view = this.#view;
    const draw = chosen.prepare();
    if (holds & WEIGHTS) draw.beta[0] = options.beta[0] as number;
    const keys = this.#keys;
    const epoch = this.#epoch;
    const aheads = ahead ? AHEAD : 0;
    const count =
      keys !== undefined
        ? draw.get(handle, keys, view.flags)
        : epoch !== undefined
          ? draw.epoch(handle, n, view.flags + aheads, epoch)
          : draw.sample(handle, n, options.flags + view.flags + aheads, options.among);
    if (count < 0) throw refusedDraw(this.table.engine, count);
    this.#isOpen = keys === undefined;
    if (epoch !== undefined) epoch.position = draw.result(DRAW_POSITION);
    this.lastCount = count;
    const buffer = view.narrow(chosen, draw, count, part);
    if (holds & WEIGHTS) draw.weigh(handle, options.divisor);
    const { windows } = buffer;
    windows.width = view.width;
    windows.from = view.from;
    windows.nStep = view.nStep;
    windows.nStepTable = view.nStepTable;
    const { picks } = buffer.layout;
    if (picks === undefined || buffer.lists !== undefined) draw.runs(handle, count, view.width, view.from);
    else draw.pick(handle, count, view.width, view.from, picks);
    // The starts are kept, because the n-step returns overwrite them.
    if ((view.from & ~CROSS) === FROM_ANY) buffer.keepStarts(count);
    const { nStep } = view;
    this.#hasLost = nStep !== undefined && draw.nStep(nStep, view.nStepTable) > 0;
    if (buffer instanceof PartBuffer) buffer.keepWeights(draw, count);
    view.goals?.choose(draw, count, part?.before ?? 0);
    if (view.derive?.(buffer, draw)) this.#hasLost = true;
    gather(buffer, count, view.goals ?? view);
    if (view.hasLost) this.#hasLost = true;
    if (buffer.layout.holds & MASK) fillMask(buffer, count);
    return buffer;
  }

  /** Computes the rewards of goals with the caller's function. If the function throws, the draw still counts. */
  #score(buffer: BatchBuffer): void {
    const { goals, nStep } = this.#view;
    if (goals === undefined || nStep === undefined) return;
    const changed = goals.score(buffer, this.lastCount, nStep);
    if (changed === "steps") gather(buffer, this.lastCount, goals);
    else if (changed === "returns") buffer.copyOut(this.lastCount);
  }

  /** Whether the sampler's batches have hindsight goals. */
  get relabels(): boolean {
    return this.#view.goals !== undefined;
  }

  /** Closes the open draw. */
  close(): void {
    this.#isOpen = false;
    this.table.engine.core.x.table_close_draw(this.table.core.handle);
  }

  /** Logs the warnings of the last draw. */
  say(): void {
    const { warnings } = this.table.engine;
    if (this.#hasLost) warnLostRewards(warnings, this.table.name);
    this.#hasLost = false;
    while (this.unsaid.length > 0) warnings.log(this.unsaid.shift() as string);
  }

  /**
   * Returns another sampler of the same view, with its own options and buffers. @param isSame whether the copy accepts only the same options as this sampler;
   * otherwise, it accepts all options
   */
  copy(isSame = false): Sampler<B> {
    return new Sampler<B>(this.table, isSame ? this.#optionKeys : OPTIONS, this.#viewOf);
  }

  /** The columns of every batch; undefined if they depend on options and items. */
  get columns(): BatchLayout | undefined {
    return this.#view.columns;
  }

  /** Returns the length, in steps, of the longest item that a draw may return. @param isSure whether nothing else is drawn from the table first */
  longest(isSure: boolean): number {
    return this.#view.longest(isSure);
  }

  /**
   * Returns the buffer of a batch whose parts other samplers fill, for the options that were read.
   * @param longest the number of steps of the longest item of a part
   */
  whole(longest: number): BatchBuffer {
    const whole = this.#view.blank(longest);
    whole.check();
    return whole;
  }

  /** Returns new arrays for n items, for use as `into`. @param source SOURCE for batches of a mixture */
  batch(n: number, options: SampleOptions, source: number): object {
    return this.#view.batch(n, options, source);
  }

  /** Prepares a part of a batch, for the options that were read. Every check runs here, before anything is drawn. */
  plan(): void {
    this.#planned = this.look();
    this.#planned.prepare();
  }

  /** Checks the options against the table's sampler and items. @returns the buffer of the part */
  look(): BatchBuffer {
    const { among, flags } = this.options;
    if (among !== 0 || (flags & STRATIFIED) !== 0) this.lookAhead(1, flags, among);
    return this.#view.choose(undefined);
  }

  /** Fills the planned part. After all parts are filled, the caller notifies the engine of the change. */
  fill(ahead: boolean): void {
    const planned = this.#planned as BatchBuffer;
    this.#planned = undefined;
    try {
      this.#fill(planned, ahead);
    } finally {
      this.close();
      this.table.engine.core.refreshIfMoved();
    }
  }

  /** Completes a batch whose parts are filled. */
  end(whole: BatchBuffer, count: number): void {
    this.#view.end?.(whole, count);
  }

  /** Returns the items of keys that still exist, in the order of the keys. Does not count as a draw. */
  get(keys: Float64Array, options: SampleOptions): B {
    this.table.engine.begin();
    this.#keys = keys;
    try {
      return this.sample(Math.max(keys.length, 1), options);
    } finally {
      this.#keys = undefined;
    }
  }

  /** Returns the next n items of an epoch, and advances the position. @param ahead whether the items count only when the batch is `passed` */
  epoch(place: EpochPlace, n: number, options: SampleOptions, ahead: boolean): B {
    this.#epoch = place;
    try {
      return this.sample(n, options, ahead);
    } finally {
      this.#epoch = undefined;
    }
  }

  /** Returns how many items the next batch of an epoch has, at most n. */
  epochItems(place: EpochPlace, n: number): number {
    this.#ahead.prepare(0, n, 0);
    return this.#ahead.epoch(this.table.core.handle, n, LOOKS, place);
  }

  /** @throws if no draw accepts the options */
  check(options: SampleOptions): void {
    this.options.check(options);
    this.#view.check(options);
  }

  /** Counts the items of a batch that was drawn ahead as sampled. */
  passed(batch: B): void {
    const { engine, core } = this.table;
    engine.begin();
    const { keys, times } = this.#view.counted(batch);
    core.count(keys, batch.count, times);
  }

  /** Draws a part of a batch into its own arrays. Its weights are not divided yet, because all weights of the batch are later divided by the largest weight. */
  part(n: number, of: PartOf<B>): B {
    const { into, ...options } = of.options;
    const { normalize = "batch" } = options;
    const isDivided = oneOf("normalize", NORMALIZE, normalize) === NORMALIZE.batch;
    this.table.engine.begin();
    return this.sample(n, this.#view.partOptions({ ...options, normalize: isDivided ? "none" : normalize }, into, of.n), false, of);
  }

  /** Joins the parts of a batch. @param short whether draws are missing; if so, the batch carries the reason */
  join(batches: readonly B[], options: SampleOptions, short: boolean): B {
    const parts = batches.map((batch) => ({ buffer: this.pool.known.get(batch) as BatchBuffer, count: batch.count }));
    const count = parts.reduce((sum, part) => sum + part.count, 0);
    const buffers = parts.map(({ buffer }) => buffer);
    const whole = this.#view.whole(buffers, options, count);
    concat(whole, parts, (options.normalize ?? "batch") === "batch");
    const batch: Filled = whole.batch;
    joinWindows(whole, parts);
    batch.count = count;
    if (whole.layout.isBlockable) batch.blocked = short ? this.#blocked() : undefined;
    this.#view.end?.(whole, count);
    return batch as object as B;
  }

  /**
   * Computes the result of a draw without drawing. @throws ReplayError SPEC_MISMATCH if the items have different columns, UNSUPPORTED if the table does not
   * support an option
   */
  lookAhead(n: number, flags: number, among: number): Draw {
    const { engine, core } = this.table;
    const ahead = this.#ahead;
    ahead.prepare(0, n, 0);
    const [keys, epoch] = [this.#keys, this.#epoch];
    const count =
      keys !== undefined
        ? ahead.get(core.handle, keys, flags)
        : epoch !== undefined
          ? ahead.epoch(core.handle, n, (flags & SAME_COLUMNS) + LOOKS, epoch)
          : ahead.peek(core.handle, n, flags, among);
    if (count < 0) throw refusedDraw(engine, count);
    return ahead;
  }

  /** Returns the reason why the next draw is blocked; undefined if it is possible. */
  #blocked(): Filled["blocked"] {
    const ahead = this.#ahead;
    ahead.prepare(0, 1, 0);
    ahead.peek(this.table.core.handle, 1, 0, 0);
    return ahead.result(BLOCKED) === 0 ? undefined : ahead.blocked();
  }
}
