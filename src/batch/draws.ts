/** Draws of a table, or of a view of one, for those who loop over them or wait. */

import { DISTINCT } from "../base/abi.ts";
import { integer, mustBe, ReplayError, show } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import type { WaitOptions } from "../base/wait.ts";
import type { Engine } from "../memory/engine.ts";
import type { CoreTable } from "../memory/table.ts";
import { type RateLimiter, waitsForDraws } from "../schema/rate-limiter.ts";
import type { SampleOptions } from "./asked.ts";
import { AwaitedBatch, type DrawSource, isAtOnce } from "./awaited-batch.ts";

/** What of a table limits draws. */
export interface DrawLimits {
  readonly maxSize: number;
  readonly maxSteps: number;
  readonly maxTimesSampled: number;
  readonly rateLimiter: RateLimiter;
}

export class Draws<B extends { readonly count: number }> {
  readonly engine: Engine;
  readonly core: CoreTable;
  readonly name: string;
  readonly source: DrawSource<B>;
  readonly #limits: DrawLimits;

  constructor(engine: Engine, core: CoreTable, name: string, limits: DrawLimits, source: DrawSource<B>) {
    this.engine = engine;
    this.core = core;
    this.name = name;
    this.source = source;
    this.#limits = limits;
  }

  /** Whether a batch may be drawn before a loop gets it: no draw removes an item, and no call waits because of it. */
  get mayBeAhead(): boolean {
    const { maxTimesSampled, rateLimiter } = this.#limits;
    return maxTimesSampled > 0xffffffff && !waitsForDraws(rateLimiter);
  }

  /** How many of so many batches may be drawn ahead; warns where that is none. */
  most(prefetch: number): number {
    if (this.mayBeAhead) return prefetch;
    this.engine.warn("unusedPrefetch", unusedPrefetch(this.name));
    return 0;
  }

  /** A batch of n as long as nobody has it: only the random state has changed. Undefined where it is not there now. */
  ahead(n: number, options: SampleOptions): B | undefined {
    this.engine.open();
    return this.sure(n, options) >= n ? this.source.sample(n, options, true) : undefined;
  }

  /** Of n draws how many pass now, whichever items they give. */
  sure(n: number, { replacement, among = 0 }: SampleOptions): number {
    return this.core.sure(n, replacement === false ? DISTINCT : 0, among);
  }

  /**
   * A batch of n at once; undefined where it is not there now, but can come.
   * @throws RangeError where it never can · ReplayError RATE_LIMITED where it cannot before others have drawn
   */
  atOnce(n: number, options: SampleOptions): B | undefined {
    this.engine.open();
    this.#check(n, options, true);
    const sure = this.sure(n, options);
    if (sure >= n) return this.source.sample(n, options);
    if (this.core.canInsert(1)) return undefined;
    const why = `table ${show(this.name)} allows ${sure} draws at once, and its rate limiter lets no item in before there were draws`;
    throw new ReplayError(
      "RATE_LIMITED",
      `${why}: ask for so many, or wait for ${n} with replacement (for await, sampleWhenReady), which come one after the other`,
    );
  }

  /** A batch to wait for. @throws RangeError where it can never come */
  awaited(n: number, options: SampleOptions): AwaitedBatch<B> {
    this.engine.open();
    integer("n", n, 1, MAX_LENGTH);
    this.source.check(options);
    this.#check(n, options, isAtOnce(options));
    return new AwaitedBatch(this, n, options);
  }

  /** The batch, once it is whole. The promise is rejected with what was drawn as the error's `batch`. */
  whole(n: number, options: SampleOptions & WaitOptions): Promise<B> {
    const promise = this.#whole(n, options);
    // The caller need not await it, and an unhandled rejection must not end the program.
    promise.catch(() => {});
    return promise;
  }

  /** As many as pass, n at most and at least one, in the order of those who wait. */
  some(n: number, options: SampleOptions, wait: WaitOptions): B | Promise<B> {
    this.#check(1, options, false);
    const attempt = () => {
      this.engine.open();
      const sure = this.sure(n, options);
      return sure > 0 ? this.source.sample(sure, options) : undefined;
    };
    return this.engine.waiters.until(attempt, () => `sample from table ${show(this.name)}`, wait, this.core);
  }

  async #whole(n: number, given: SampleOptions & WaitOptions): Promise<B> {
    if (typeof given !== "object" || given === null) throw mustBe(TypeError, "the options of sampleWhenReady", "an object", given);
    const { signal, timeoutMs, ...options } = given;
    const awaited = this.awaited(n, options);
    try {
      return await awaited.until({ signal, timeoutMs } as WaitOptions);
    } catch (error) {
      throw awaited.ended(error, signal);
    }
  }

  /** @throws RangeError where n draws can never pass: all at once, or one after the other */
  #check(n: number, { replacement, among }: SampleOptions, atOnce: boolean): void {
    const { maxSize, maxSteps, maxTimesSampled, rateLimiter } = this.#limits;
    const { minSize, minDiff, maxDiff, samplesPerInsert } = rateLimiter;
    // Items that may leave before the rest is smaller than minSize.
    const spare = Math.min(maxSize, maxSteps) - minSize + 1;
    const items = replacement === false ? (maxTimesSampled === 1 ? spare : Math.min(maxSize, among || maxSize)) : spare * maxTimesSampled;
    const most = spare <= 0 ? 0 : atOnce ? Math.floor(Math.min(items, Math.max(maxDiff, samplesPerInsert * minSize) - minDiff)) : MAX_LENGTH;
    if (n <= most) return;
    const how = atOnce ? " at once" : "";
    throw mustBe(RangeError, "n", `<= ${most}, because table ${show(this.name)} with its rate limiter and its limits never allows more draws${how}`, n);
  }
}

/** What there is to say where `prefetch` draws nothing ahead. */
export function unusedPrefetch(table: string): string {
  const why = "its draws remove items (maxTimesSampled), or its rate limiter counts them, and a loop that ends would lose what it has not got";
  return `prefetch draws nothing ahead from table ${show(table)}: ${why}. Leave prefetch out, or use a table without maxTimesSampled and with minSize() as its rateLimiter`;
}
