/** Implements the draws of a table or a view for loops and waits, and the batches that calls wait for. */

import { DISTINCT } from "../base/abi.ts";
import { integer, mustBe, ReplayError, show } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import type { WaitOptions } from "../base/wait.ts";
import { waitsForDraws } from "../schema/rate-limiter.ts";
import { CheckedAmong } from "./among.ts";
import type { SampleOptions } from "./options.ts";
import type { SampledTable, Sampler } from "./sampler.ts";

/** A batch that a call waits for. */
export interface PendingBatch<B> {
  /** Returns the batch when it is full. */
  until(wait: WaitOptions): B | Promise<B>;
  /** Returns the items drawn so far as a short batch; undefined if none was drawn. */
  rest(): B | undefined;
  /** Returns the error that ended the wait, with the items drawn so far. @param signal if it ended the wait, its reason is shared with other calls */
  ended(why: unknown, signal: AbortSignal | undefined): unknown;
}

/** The source of a loop's batches. */
export interface DrawSource<B> {
  atOnce(n: number, options?: SampleOptions): B | undefined;
  most(prefetch: number): number;
  ahead(n: number, options?: SampleOptions): B | undefined;
  passed(batch: B): void;
  awaited(n: number, options: SampleOptions): PendingBatch<B>;
}

export class Draws<B extends { readonly count: number }> implements DrawSource<B> {
  readonly table: SampledTable;
  readonly sampler: Sampler<B>;
  readonly #among = new CheckedAmong();

  constructor(sampler: Sampler<B>) {
    this.table = sampler.table;
    this.sampler = sampler;
  }

  /** Whether a batch may be drawn before the loop receives it: no draw removes an item, and no call waits because of a draw. */
  get mayBeAhead(): boolean {
    const { maxTimesSampled, rateLimiter } = this.table.limits;
    return maxTimesSampled > 0xffffffff && !waitsForDraws(rateLimiter);
  }

  /** Returns how many of `prefetch` batches may be drawn ahead. Warns if the result is 0. */
  most(prefetch: number): number {
    if (this.mayBeAhead) return prefetch;
    this.table.engine.warn("unusedPrefetch", unusedPrefetch(this.table.name));
    return 0;
  }

  /** Draws a batch of n items ahead: only the random state changes. Returns undefined if it is not available now. */
  ahead(n: number, options?: SampleOptions): B | undefined {
    this.table.engine.open();
    return this.sure(n, options) >= n ? this.sampler.sample(n, options, true) : undefined;
  }

  /** Counts the items of a batch that was drawn ahead as sampled. */
  passed(batch: B): void {
    this.sampler.passed(batch);
  }

  /** Returns how many of n draws are possible now, regardless of which items they return. */
  sure(n: number, options?: SampleOptions): number {
    const { core } = this.table;
    const flags = options?.replacement === false ? DISTINCT : 0;
    if (options?.among === undefined) return core.guaranteedDraws(n, flags, 0);
    const among = this.#amongOf(options.among, core.size);
    return core.guaranteedDraws(n, flags + this.#among.flags, among);
  }

  /**
   * Reads the option `among` for a table of this size. Returns the number of items to draw from; 0 for all items. @throws TypeError, RangeError if the option
   * is invalid
   */
  #amongOf(among: SampleOptions["among"], size: number): number {
    this.#among.read(among);
    return this.#among.of({ size });
  }

  /**
   * Returns a batch of n items immediately; undefined if the batch is not available now but may be later.
   * @throws RangeError if the batch can never be available · ReplayError RATE_LIMITED if the rate limiter permits neither n draws nor an insert
   */
  atOnce(n: number, options?: SampleOptions): B | undefined {
    this.table.engine.open();
    this.check(n, options, true);
    const sure = this.sure(n, options);
    if (sure >= n) return this.sampler.sample(n, options);
    if (this.table.core.canInsert(1)) return undefined;
    const why = `table ${show(this.table.name)} allows ${sure} draws now, and its rate limiter blocks inserts until items are drawn`;
    throw new ReplayError("RATE_LIMITED", `${why}. Sample at most ${sure} items, or await sampleWhenReady(${n}) with replacement`);
  }

  /** Returns a batch to wait for. @throws RangeError if the batch can never be full */
  awaited(n: number, options: SampleOptions): AwaitedBatch<B> {
    this.table.engine.open();
    integer("n", n, 1, MAX_LENGTH);
    this.sampler.check(options);
    this.check(n, options, isAtOnce(options));
    return new AwaitedBatch(this, n, options);
  }

  /** Returns a promise of the batch. It rejects with the items drawn so far as the error's `batch`. */
  whole(n: number, options: SampleOptions & WaitOptions): Promise<B> {
    const promise = this.#whole(n, options);
    // The caller need not await the promise, and an unhandled rejection must not end the program.
    promise.catch(() => {});
    return promise;
  }

  /** Returns a batch of as many items as possible, at least one and at most n. Calls are served in the order in which they began to wait. */
  some(n: number, wait: WaitOptions): B | Promise<B> {
    this.check(1, undefined, false);
    const attempt = () => {
      this.table.engine.open();
      const sure = this.sure(n);
      return sure > 0 ? this.sampler.sample(sure, undefined) : undefined;
    };
    return this.table.engine.waiters.until(attempt, () => `no sample from table ${show(this.table.name)} was available`, wait, this.table.core);
  }

  async #whole(n: number, callOptions: SampleOptions & WaitOptions): Promise<B> {
    if (typeof callOptions !== "object" || callOptions === null) throw mustBe(TypeError, "the options of sampleWhenReady", "an object", callOptions);
    const { signal, timeoutMs, ...options } = callOptions;
    const awaited = this.awaited(n, options);
    try {
      return await awaited.until({ signal, timeoutMs } as WaitOptions);
    } catch (error) {
      throw awaited.ended(error, signal);
    }
  }

  /** Checks that n draws can ever be possible. @throws RangeError if n draws are never possible: together if `atOnce` is true, otherwise one after the other */
  check(n: number, options: SampleOptions | undefined, atOnce: boolean): void {
    const { maxSize, maxSteps, maxTimesSampled, rateLimiter } = this.table.limits;
    const { minSize, minDiff, maxDiff, samplesPerInsert } = rateLimiter;
    // The number of items that draws can remove from a full table until fewer than minSize items remain.
    const spare = Math.min(maxSize, maxSteps) - minSize + 1;
    const isDistinct = options?.replacement === false;
    const among = options?.among === undefined ? 0 : this.#amongOf(options.among, maxSize);
    const items = isDistinct ? (maxTimesSampled === 1 ? spare : among || maxSize) : spare * maxTimesSampled;
    const most = spare <= 0 ? 0 : atOnce ? Math.floor(Math.min(items, Math.max(maxDiff, samplesPerInsert * minSize) - minDiff)) : MAX_LENGTH;
    if (n <= most) return;
    const how = atOnce ? " in one call" : "";
    throw mustBe(RangeError, "n", `<= ${most}, because the limits of table ${show(this.table.name)} never allow more draws${how}`, n);
  }
}

/** The draws of tables and of their views, for mixtures. */
export const drawsOfViews = new WeakMap<object, Draws<{ count: number; release?(): void }>>();

/** Returns the warning for a `prefetch` that draws nothing ahead. */
export function unusedPrefetch(table: string): string {
  const why = "its draws remove items (maxTimesSampled), or its rate limiter counts them, and a loop that ends would lose the batches drawn ahead";
  return `prefetch draws nothing ahead from table ${show(table)}: ${why}. Omit prefetch, or use a table without maxTimesSampled and with minSize() as its rateLimiter`;
}

/**
 * A batch that a call waits for. It draws as the rate limiter permits and copies the bytes immediately, so drawn items remain available if the wait ends early.
 */
export class AwaitedBatch<B extends { readonly count: number }> implements PendingBatch<B> {
  readonly #draws: Draws<B>;
  readonly #n: number;
  readonly #options: SampleOptions;
  readonly #parts: B[] = [];
  #count = 0;

  constructor(draws: Draws<B>, n: number, options: SampleOptions) {
    this.#draws = draws;
    this.#n = n;
    this.#options = options;
  }

  /** Returns the batch when it is full. If several calls wait for one table, the first call receives every permitted draw. */
  until({ signal, timeoutMs }: WaitOptions): B | Promise<B> {
    const { engine, core, name } = this.#draws.table;
    const what = () => `table ${show(name)} provided only ${this.#count} of ${this.#n} items`;
    return engine.waiters.until(() => this.#attempt(), what, { signal, timeoutMs } as WaitOptions, core);
  }

  /** Returns the items drawn so far as a short batch; undefined if none was drawn. */
  rest(): B | undefined {
    return this.#count === 0 ? undefined : this.#draws.sampler.join(this.#parts, { ...this.#options, into: undefined } as SampleOptions, true);
  }

  /** Returns the error that ended the wait, with the items drawn so far. @param signal if it ended the wait, its reason is shared with other calls */
  ended(why: unknown, signal: AbortSignal | undefined): unknown {
    const batch = this.rest();
    if (batch === undefined) return why;
    const isOwn = why instanceof Error && why !== signal?.reason && Object.isExtensible(why) && !("batch" in why);
    return Object.assign(isOwn ? why : ownError(why), { batch });
  }

  #attempt(): B | undefined {
    const draws = this.#draws;
    const options = this.#options;
    const n = this.#n;
    if (isAtOnce(options)) return draws.atOnce(n, options);
    draws.table.engine.open();
    for (let k = draws.sure(n - this.#count, options); k > 0; k = draws.sure(n - this.#count, options)) {
      // If all items are drawn together, no parts need to be joined.
      const part = k === n ? draws.sampler.sample(n, options) : draws.sampler.part(k, { n, options, before: this.#count, first: this.#parts[0] });
      if (part.count === n) return part;
      this.#parts.push(part);
      this.#count += part.count;
      if (this.#count === n) return draws.sampler.join(this.#parts, options, false);
    }
    if (!draws.table.core.canInsert(1)) throw stuck(draws.table.name);
    return undefined;
  }
}

/** Returns whether a batch is meaningful only if all of its items are drawn in one go. */
function isAtOnce({ replacement, stratified }: SampleOptions): boolean {
  return replacement === false || stratified === true;
}

/** Returns a new error with the same name and message, so that each wait has its own error. */
function ownError(cause: unknown): Error {
  const { name, message } = Object(cause) as { readonly [key: string]: unknown };
  const error = new Error(typeof message === "string" ? message : String(cause), { cause });
  // A DOMException has a read-only name and takes no cause, and is not an Error in every realm.
  return typeof name === "string" ? Object.defineProperty(error, "name", { value: name, writable: true, configurable: true }) : error;
}

export function stuck(name: string): ReplayError {
  return new ReplayError(
    "RATE_LIMITED",
    `the rate limiter of table ${show(name)} permits neither draws nor inserts, so this wait would never end. Decrease minDiff, or increase maxDiff`,
  );
}
