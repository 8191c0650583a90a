/** Makes the draws of a mixture: each source fills its rows of one batch. Every check runs before the first source draws. */

import { integer, mustBe } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import type { WaitOptions } from "../../base/wait.ts";
import { checkedKeys, checkedNumbers, checkKeys, listLength, type Numbers } from "../../schema/copy-numbers.ts";
import type { AnyArray } from "../../schema/dtype.ts";
import type { Into } from "../batch.ts";
import type { BatchBuffer } from "../buffer.ts";
import { concat, joinWindows } from "../derive.ts";
import { SOURCE } from "../layout.ts";
import type { SampleOptions } from "../options.ts";
import { columnDifference, otherColumns, type Part } from "../part-buffer.ts";
import type { Sampler } from "../sampler.ts";
import type { DrawSource, PendingBatch } from "../waiting.ts";
import { keysOf, type MixedColumns, runEnd, sourceField, sourceIn } from "./mixed-batch.ts";
import type { AnyBatch, MixedSources, Source } from "./mixed-sources.ts";
import type { MixtureState } from "./shares.ts";

/** The action if a batch is not available now: throw, wait if the batch can become available, or skip the batch. */
const THROW = 0;
const WAIT = 1;
const SKIP = 2;

export class MixedDraws implements DrawSource<AnyBatch> {
  readonly sources: MixedSources;
  /** The sampler that reads the options of calls, and has the buffers of whole batches. This sampler belongs to the first source's view. */
  readonly #whole: Sampler;
  /** The weights of a batch before they are divided by the largest weight. */
  #weights = new Float64Array(0);
  /** The array of weights of the batch that was refilled last. */
  #target: AnyArray | undefined;
  #refilled: object | undefined;
  /** The batch of one row that the last `ready` used. */
  #probed: BatchBuffer | undefined;

  /** @throws ReplayError SPEC_MISMATCH if the columns of the sources differ */
  constructor(sources: MixedSources) {
    this.sources = sources;
    const [first, ...others] = sources.list as [Source, ...Source[]];
    this.#whole = first.draws.sampler.copy(true) as unknown as Sampler;
    const { columns } = this.#whole;
    if (columns === undefined) return;
    for (const { sampler } of [first, ...others]) {
      const difference = sampler.columns && columnDifference(columns, sampler.columns);
      if (difference !== undefined) throw otherColumns(difference);
    }
  }

  /** Returns a batch of n items. @throws ReplayError EMPTY, RATE_LIMITED, TOO_FEW, SPEC_MISMATCH, or any error of a source's draw, before anything changes */
  sample(n: number, options?: SampleOptions): AnyBatch {
    return this.#sample(n, options, false, THROW) as AnyBatch;
  }

  /**
   * Returns a batch of n items if every source can provide its share now; undefined if that may become possible later. @throws RangeError if it is never
   * possible · ReplayError RATE_LIMITED if the rate limiter of a source permits neither its share nor inserts
   */
  atOnce(n: number, options?: SampleOptions): AnyBatch | undefined {
    return this.#sample(n, options, false, WAIT);
  }

  /** Draws a batch of n items ahead: only random states and the draw number change. Returns undefined if it is not available now. */
  ahead(n: number, options?: SampleOptions): AnyBatch | undefined {
    return this.#sample(n, options, true, SKIP);
  }

  /** Counts the items of a batch that was drawn ahead as sampled. */
  passed(batch: AnyBatch): void {
    const [keys, source] = [keysOf(batch) as Float64Array, sourceIn(batch)];
    const times = (batch as unknown as MixedColumns).info?.timesSampled;
    this.sources.begin();
    for (let from = 0, to = 0; from < batch.count; from = to) {
      to = runEnd(source, from, batch.count);
      const { core } = this.sources.of(source, from).draws.table;
      core.count(keys.subarray(from, to), to - from, times?.subarray(from, to));
    }
  }

  /** Returns how many of `prefetch` batches may be drawn ahead. Warns if the result is 0. */
  most(prefetch: number): number {
    return Math.min(...this.sources.list.map(({ draws }) => draws.most(prefetch)));
  }

  /** Returns whether every source can provide its share of n rows now. @throws the errors of `sample`, except EMPTY, RATE_LIMITED and TOO_FEW */
  ready(n: number, options?: SampleOptions): boolean {
    this.sources.begin();
    this.sources.lock(true);
    try {
      if (this.#prepare(n, options) !== undefined) return false;
      this.#look();
      return true;
    } finally {
      this.#forget();
      this.sources.lock(false);
    }
  }

  /** Returns a batch to wait for. Nothing is drawn before every source can provide its share. */
  awaited(n: number, options: SampleOptions): PendingBatch<AnyBatch> {
    this.sources.open();
    integer("n", n, 1, MAX_LENGTH);
    const what = () => `the mixture of the tables ${this.sources.names} could not provide ${n} items`;
    return { until: (wait) => this.sources.until(() => this.atOnce(n, options), what, wait, this), rest: () => undefined, ended: (why) => why };
  }

  /** Returns a promise of the batch. */
  whole(n: number, callOptions: SampleOptions & WaitOptions): Promise<AnyBatch> {
    const begin = async () => {
      if (typeof callOptions !== "object" || callOptions === null) throw mustBe(TypeError, "the options of sampleWhenReady", "an object", callOptions);
      const { signal, timeoutMs, ...options } = callOptions;
      return this.awaited(n, options).until({ signal, timeoutMs } as WaitOptions);
    };
    const promise = begin();
    // The caller need not await the promise, and an unhandled rejection must not end the program.
    promise.catch(() => {});
    return promise;
  }

  /** Returns new arrays for n rows, for use as `into`. */
  batch(n: number, options: SampleOptions): object {
    return this.#whole.batch(n, options, SOURCE);
  }

  /**
   * Sets the priorities of a batch's items in their tables. Returns how many of the items still existed. Skips sources that ignore priorities. Allocates
   * nothing.
   */
  update(batch: object, priorities: Numbers): number {
    this.sources.begin();
    const list = keysOf(batch);
    const source = sourceIn(batch);
    const { count } = batch as MixedColumns;
    integer("batch.count", count, 0, Math.min(listLength(list), listLength(source)));
    const keys = checkedKeys("the keys of batch", list) as Float64Array;
    const values = checkedNumbers("priorities", priorities, count);
    if (keys instanceof Float64Array) checkKeys(keys, 0, count);
    // All priorities are checked before any is set.
    for (let from = 0, to = 0; from < count; from = to) {
      to = runEnd(source, from, count);
      const { core } = this.sources.of(source, from).draws.table;
      if (!core.ignoresPriorities) core.checkPriorities(values, from, to);
    }
    let found = 0;
    for (let from = 0, to = 0; from < count; from = to) {
      to = runEnd(source, from, count);
      const { table } = this.sources.of(source, from).draws;
      if (!table.core.ignoresPriorities) found += table.update(keys, values, from, to);
    }
    if (count > 0 && this.sources.ignorePriorities) this.sources.warnIgnored("updatePriorities");
    return found;
  }

  get state(): MixtureState {
    return this.sources.shares.state;
  }

  /**
   * Draws a batch of n rows; undefined if it is not available now. @param otherwise what to do if a source cannot provide its share now: THROW, WAIT or SKIP
   */
  #sample(n: number, callOptions: SampleOptions | undefined, ahead: boolean, otherwise: number): AnyBatch | undefined {
    this.sources.begin();
    const { list: sources, shares } = this.sources;
    const { rows } = shares;
    const sampler = this.#whole;
    let whole: BatchBuffer | undefined;
    let hasChanged = false;
    let isNew = false;
    let isWeighed = false;
    // Getters of the options and functions of the shares may call the Replay.
    this.sources.lock(true);
    try {
      const why = this.#prepare(n, callOptions);
      if (why !== undefined) {
        if (otherwise === THROW) throw why.error;
        if (otherwise === WAIT) this.sources.checkComing(why.source, n);
        return undefined;
      }
      const { options } = sampler;
      const { into, recycle, length, hasBeta } = options;
      isNew = into === undefined && recycle === false;
      isWeighed = hasBeta;
      const divides = hasBeta && options.normalize === "batch";
      whole = sampler.whole(this.sources.longest());
      if (divides) this.#weigh(n);
      for (let i = 0, first = 0; i < sources.length; first += rows[i++] as number) if (rows[i] !== 0) this.#plan(i, whole, first, divides);
      hasChanged = true;
      for (let i = 0; i < sources.length; i++) if (rows[i] !== 0) (sources[i] as Source).sampler.fill(ahead);
      shares.count();
      if (divides) this.#divide(whole, n, into);
      whole.batch.count = n;
      if (whole.layout.isBlockable) whole.batch.blocked = undefined;
      this.#note(whole);
      if (length === undefined && into === undefined) whole = this.#narrow(whole, n);
      sampler.end(whole, n);
    } finally {
      this.#forget();
      this.sources.lock(false);
      if (hasChanged) this.sources.changed();
    }
    this.#say(isWeighed);
    return (isNew ? sampler.pool.give(whole) : whole.batch) as AnyBatch;
  }

  /** Reads the options of a call. Returns the source that cannot provide its share of n rows now, with the error; undefined if all sources can. */
  #prepare(n: number, callOptions: SampleOptions | undefined): { readonly source: number; readonly error: Error } | undefined {
    const { options } = this.#whole;
    if (callOptions === undefined && options.isPlain && options.n === n) options.isSame = true;
    else options.read(n, callOptions);
    return this.sources.prepare(n, options);
  }

  /** Drops the references to the batch of the last call. */
  #forget(): void {
    this.#whole.options.into = undefined;
    for (let i = 0; i < this.sources.list.length; i++) (this.sources.list[i] as Source).sampler.options.into = undefined;
  }

  /** Runs the checks that the plan of each part would run. */
  #look(): void {
    const whole = this.#probe();
    for (let i = 0; i < this.sources.list.length; i++) {
      if (this.sources.shares.rows[i] === 0) continue;
      const { sampler, probe } = this.sources.list[i] as Source;
      this.sources.checkAmong(i);
      probe.whole = whole;
      sampler.options.into = probe as Part & Into;
      sampler.look();
    }
  }

  /** Returns a batch of one row. Views reuse this batch while windows have the same number of steps. */
  #probe(): BatchBuffer {
    const longest = this.sources.longest();
    const { options } = this.#whole;
    const { n, into, recycle, holds } = options;
    const known = this.#probed;
    if (known !== undefined && known.layout.width === longest && known.layout.holds === holds + SOURCE) return known;
    options.n = 1;
    options.into = undefined;
    options.recycle = false;
    try {
      const whole = this.#whole.whole(longest);
      this.#probed = whole.layout.isBlockable ? undefined : whole;
      return whole;
    } finally {
      options.n = n;
      options.into = into;
      options.recycle = recycle;
    }
  }

  /** Prepares a source to fill its rows, starting at row `first`. */
  #plan(i: number, whole: BatchBuffer, first: number, divides: boolean): void {
    const { sampler, part } = this.sources.list[i] as Source;
    this.sources.checkAmong(i);
    part.whole = whole;
    part.first = first;
    part.weights = divides ? this.#weights : undefined;
    sampler.plan();
  }

  /** Makes room for n weights. */
  #weigh(n: number): void {
    if (this.#weights.length < n) this.#weights = new Float64Array(n);
  }

  /** Divides the weights of a batch by the largest weight. */
  #divide(whole: BatchBuffer, n: number, into: object | undefined): void {
    const weights = this.#weights;
    let largest = 0;
    for (let i = 0; i < n; i++) largest = Math.max(largest, weights[i] as number);
    const target = this.#targetIn(whole, into);
    for (let i = 0; i < n; i++) target[i] = (weights[i] as number) / largest;
  }

  /** Returns the array of weights of a batch. */
  #targetIn(whole: BatchBuffer, into: object | undefined): AnyArray {
    if (into !== undefined && this.#refilled === into && this.#target !== undefined && this.#target.length > 0) return this.#target;
    const target = whole.array(whole.layout.fields.findIndex(({ keys }) => keys.at(-1) === "weights" && (keys.length === 1 || keys[0] === "info"))) as AnyArray;
    this.#refilled = into;
    this.#target = into === undefined ? undefined : target;
    return target;
  }

  /** Records the source of each row. */
  #note(whole: BatchBuffer): void {
    const { rows } = this.sources.shares;
    const field = sourceField(whole);
    const bytes = whole.bytesOf(field);
    let at = whole.startOf(field);
    for (let i = 0; i < rows.length; i++) for (let k = rows[i] as number; k > 0; k--) bytes[at++] = i;
  }

  /** Returns a batch as wide as the longest drawn item. */
  #narrow(wide: BatchBuffer, n: number): BatchBuffer {
    const { width, fields } = wide.layout;
    const lengths = fields.findIndex(({ keys }) => keys[0] === "lengths");
    if (lengths < 0 || width === 1) return wide;
    const longest = (wide.array(lengths) as Uint32Array).subarray(0, n).reduce((a, b) => Math.max(a, b), 1);
    if (longest === width) return wide;
    const { pool, options } = this.#whole;
    const narrow = this.#whole.whole(longest);
    concat(narrow, [{ buffer: wide, count: n }], false);
    joinWindows(narrow, [{ buffer: wide, count: n }]);
    narrow.batch.count = n;
    if (options.recycle === false) pool.give(wide);
    else (wide.batch as AnyBatch).release?.();
    return narrow;
  }

  /** Logs the warnings of the draws. */
  #say(isWeighed: boolean): void {
    for (let i = 0; i < this.sources.list.length; i++) (this.sources.list[i] as Source).sampler.say();
    if (isWeighed && this.sources.ignorePriorities) this.sources.warnIgnored("beta");
  }
}
