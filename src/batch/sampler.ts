/**
 * The one way from a draw to a batch, for a table and for every view of one: options → a buffer whose layout has room for what may come → the core draws → the buffer that
 * what was drawn needs → weights, rows, returns → gather. A view says which layout, which rows and which returns.
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

/** What of a table limits draws. */
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
  /** The buffers of batches that Reprise did not make, whichever view filled them last. */
  readonly filled: WeakMap<object, BatchBuffer>;
  readonly engine: Engine;
  readonly core: CoreTable;
  readonly name: string;
  readonly limits: DrawLimits;
  /** Sets the priorities `from` … `to` of a list by their keys; how many items were there. */
  update(keys: Numbers, priorities: Numbers, from: number, to: number): number;
}

/** A batch of which some draws are a part. */
export interface PartOf<B = object> {
  readonly n: number;
  readonly options: SampleOptions;
  /** How many of its items were drawn before, and its first part, if this is not it. */
  readonly before: number;
  readonly first: B | undefined;
}

/** What gives some of the transitions of a draw another goal. */
interface BatchGoals {
  /** Draws which ones, and their goals. @param before items of the batch that were drawn before */
  choose(draw: Draw, count: number, before: number): void;
  /** Puts the goals into the columns, before they are copied out. */
  put(buffer: BatchBuffer, count: number): void;
  /** Computes returns for them, once the batch is filled. @returns what changed in the draw: nothing, its returns, or also the steps at which some of them end */
  score(buffer: BatchBuffer, count: number, nStep: NStep): "nothing" | "returns" | "steps";
}

/** What batches show of the items that are drawn. */
export interface BatchView {
  /** For the core: flags of the draw in addition to those of the options; steps of a window, and which part of longer items it shows. */
  readonly flags: number;
  readonly width: number;
  readonly from: number;
  /** Which returns are computed; the table whose items they begin with, or 0. */
  readonly nStep: NStep | undefined;
  readonly nStepTable: number;
  /** What gives some transitions another goal. */
  readonly goals?: BatchGoals | undefined;
  /** The buffer of a call, with room for what may be drawn. @throws what says why there can be no batch; then nothing is drawn */
  choose(part: PartOf | undefined): BatchBuffer;
  /** The buffer of what was drawn. */
  narrow(buffer: BatchBuffer, draw: Draw, count: number, part: PartOf | undefined): BatchBuffer;
  /** Changes or computes numbers before they are gathered. Whether there are rewards that no return counts. */
  derive?(buffer: BatchBuffer, draw: Draw): boolean;
  /** Computes numbers of values that were gathered, before these are copied out. */
  put?(buffer: BatchBuffer): void;
  /** Whether these showed rewards that no return counts. */
  readonly hasLost?: boolean;
  /** Ends a batch that is complete but for what is behind its last item. */
  end?(buffer: BatchBuffer, count: number): void;
  /** @throws for options that no draw takes, in addition to those of every view */
  check(options: SampleOptions): void;
  /** What a batch that was drawn ahead counts by. @param batch as it was drawn */
  counted(batch: object): { readonly keys: Float64Array; readonly times?: Uint32Array };
  /** The options of a part of a batch. @param into what the whole batch goes into */
  partOptions(options: SampleOptions, into: Into | undefined, n: number): SampleOptions;
  /** New arrays for n items, for use as `into`. @param source SOURCE for those of a mixture, or 0 */
  batch(n: number, options: SampleOptions, source?: number): object;
  /** The columns that every batch has, if they do not depend on options and items. */
  readonly columns?: BatchLayout;
  /** The buffer of a whole batch of a mixture, by the options of the call. @param longest steps of the longest item of a part */
  blank(longest: number): BatchBuffer;
  /** Steps of the longest item that a draw by the options of the call may give. @param isSure whether nothing else is drawn before */
  longest(isSure: boolean): number;
  /** A buffer for the parts of a batch as one. */
  whole(parts: readonly BatchBuffer[], options: SampleOptions, n: number): BatchBuffer;
}

export class Sampler<B extends { readonly count: number } = { readonly count: number }> {
  readonly table: SampledTable;
  readonly options: ParsedOptions;
  readonly pool = new BatchPool();
  /** Warnings of a call: a logger may call back, so they are said at its end. */
  readonly unsaid: string[] = [];
  /** Items of the last draw. */
  lastCount = 0;
  readonly #view: BatchView;
  readonly #ahead: Draw;
  readonly #optionKeys: string;
  readonly #viewOf: (sampler: Sampler) => BatchView;
  /** Keys of the items to take, in the place of a draw. */
  #keys: Float64Array | undefined;
  /** Whether a draw is open; whether the last one lacks rewards. */
  #isOpen = false;
  #hasLost = false;
  #planned: BatchBuffer | undefined;
  /** The epoch whose next items to take. */
  #epoch: EpochPlace | undefined;

  /** @param keys the options that there are @param viewOf makes the view */
  constructor(table: SampledTable, keys: string, viewOf: (sampler: Sampler) => BatchView) {
    const { engine, name, limits } = table;
    this.table = table;
    this.options = new ParsedOptions({ name, sampler: limits.sampler, leaves: engine.layout.leaves }, keys);
    this.#ahead = new Draw(engine);
    this.#optionKeys = keys;
    this.#viewOf = viewOf;
    this.#view = viewOf(this as unknown as Sampler);
  }

  /** Draws up to n items and gathers them. @param ahead whether they count only when the batch is `passed` @param part of which batch these draws are a part */
  sample(n: number, callOptions: SampleOptions | undefined, ahead = false, part?: PartOf): B {
    const { options, pool } = this;
    const { engine } = this.table;
    let buffer: BatchBuffer;
    let isNew = false;
    engine.begin();
    // Options are read here, and a getter may call back.
    engine.locked = true;
    try {
      if (callOptions === undefined && options.isPlain && options.n === n) options.isSame = true;
      else options.read(n, callOptions);
      options.resolve(this.table.core);
      buffer = this.#fill(this.#view.choose(part), ahead, part);
      this.#view.end?.(buffer, this.lastCount);
      isNew = options.into === undefined && part === undefined && options.recycle === false;
      const { batch, layout } = buffer;
      // A batch of ours has a lease, which tells as much.
      if (buffer.lease === undefined) this.table.filled.set(batch, buffer);
      if (layout.isBlockable) batch.blocked = this.lastCount === n || this.#keys !== undefined ? undefined : buffer.draw.blocked();
      this.#score(buffer);
    } finally {
      options.into = undefined;
      engine.locked = false;
      if (this.#isOpen) {
        this.close();
        engine.changed();
      }
    }
    if (options.holds & WEIGHTS && this.table.core.ignoresPriorities) warnIgnoredPriorities(engine.warnings, this.table.name, this.table.core, "beta");
    this.say();
    return (isNew ? pool.give(buffer) : buffer.batch) as object as B;
  }

  /** Draws into a buffer, and gathers the items. The buffer that they are in: this one, or a smaller one. */
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
    // The return takes their place.
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

  /** Computes what the caller's reward function says of goals: what that throws ends a draw that counts. */
  #score(buffer: BatchBuffer): void {
    const { goals, nStep } = this.#view;
    if (goals === undefined || nStep === undefined) return;
    const changed = goals.score(buffer, this.lastCount, nStep);
    if (changed === "steps") gather(buffer, this.lastCount, goals);
    else if (changed === "returns") buffer.copyOut(this.lastCount);
  }

  /** Whether its batches have goals of hindsight. */
  get relabels(): boolean {
    return this.#view.goals !== undefined;
  }

  /** Ends the draw that is open. */
  close(): void {
    this.#isOpen = false;
    this.table.engine.core.x.table_close_draw(this.table.core.handle);
  }

  /** Says what the last draw warns of. */
  say(): void {
    const { warnings } = this.table.engine;
    if (this.#hasLost) warnLostRewards(warnings, this.table.name);
    this.#hasLost = false;
    while (this.unsaid.length > 0) warnings.log(this.unsaid.shift() as string);
  }

  /** Another one of the same view, with options and buffers of its own. @param isSame whether it takes the options of this one; else all that there are */
  copy(isSame = false): Sampler<B> {
    return new Sampler<B>(this.table, isSame ? this.#optionKeys : OPTIONS, this.#viewOf);
  }

  /** The columns that every batch has, whatever is drawn; undefined if that depends on options and items. */
  get columns(): BatchLayout | undefined {
    return this.#view.columns;
  }

  /** Steps of the longest item that a draw may give. @param isSure whether nothing else is drawn from the table before */
  longest(isSure: boolean): number {
    return this.#view.longest(isSure);
  }

  /** The buffer of a batch whose parts other samplers fill, by the options that were read. @param longest steps of the longest item of a part */
  whole(longest: number): BatchBuffer {
    const whole = this.#view.blank(longest);
    whole.check();
    return whole;
  }

  /** New arrays for n items, for use as `into`. @param source SOURCE for those of a mixture */
  batch(n: number, options: SampleOptions, source: number): object {
    return this.#view.batch(n, options, source);
  }

  /** Makes ready to fill a part of a batch, by the options that were read: whatever can be refused is refused here, before anything is drawn. */
  plan(): void {
    this.#planned = this.look();
    this.#planned.prepare();
  }

  /** Refuses what the table's sampler and items do not allow. @returns the buffer of the part */
  look(): BatchBuffer {
    const { among, flags } = this.options;
    if (among !== 0 || (flags & STRATIFIED) !== 0) this.lookAhead(1, flags, among);
    return this.#view.choose(undefined);
  }

  /** Fills that part. The caller tells the engine that it changed, once all parts are filled. */
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

  /** Ends a batch whose parts are filled. */
  end(whole: BatchBuffer, count: number): void {
    this.#view.end?.(whole, count);
  }

  /** The items of keys that are still there, in their order: no draw, which would count. */
  get(keys: Float64Array, options: SampleOptions): B {
    this.table.engine.begin();
    this.#keys = keys;
    try {
      return this.sample(Math.max(keys.length, 1), options);
    } finally {
      this.#keys = undefined;
    }
  }

  /** The next n items of an epoch, which then goes on behind them. @param ahead whether they count only when the batch is `passed` */
  epoch(place: EpochPlace, n: number, options: SampleOptions, ahead: boolean): B {
    this.#epoch = place;
    try {
      return this.sample(n, options, ahead);
    } finally {
      this.#epoch = undefined;
    }
  }

  /** How many items of an epoch come next, n at most. */
  epochItems(place: EpochPlace, n: number): number {
    this.#ahead.prepare(0, n, 0);
    return this.#ahead.epoch(this.table.core.handle, n, LOOKS, place);
  }

  /** @throws for options that no draw takes, whatever there is to draw */
  check(options: SampleOptions): void {
    this.options.check(options);
    this.#view.check(options);
  }

  /** Counts a batch that was drawn ahead. */
  passed(batch: B): void {
    const { engine, core } = this.table;
    engine.begin();
    const { keys, times } = this.#view.counted(batch);
    core.count(keys, batch.count, times);
  }

  /** Some draws of a batch, in arrays of their own. Its weights are as they are: those of the whole batch are divided by the largest. */
  part(n: number, of: PartOf<B>): B {
    const { into, ...options } = of.options;
    const { normalize = "batch" } = options;
    const isDivided = oneOf("normalize", NORMALIZE, normalize) === NORMALIZE.batch;
    this.table.engine.begin();
    return this.sample(n, this.#view.partOptions({ ...options, normalize: isDivided ? "none" : normalize }, into, of.n), false, of);
  }

  /** The parts of a batch as one. @param short whether draws are missing: then the batch says why */
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

  /** Looks at what a draw would give. @throws ReplayError SPEC_MISMATCH, UNSUPPORTED; then nothing is drawn */
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

  /** Why the next draw does not pass. */
  #blocked(): Filled["blocked"] {
    const ahead = this.#ahead;
    ahead.prepare(0, 1, 0);
    ahead.peek(this.table.core.handle, 1, 0, 0);
    return ahead.result(BLOCKED) === 0 ? undefined : ahead.blocked();
  }
}
