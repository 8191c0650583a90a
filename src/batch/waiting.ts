/** Draws of a table, or of a view of one, for loops and waits; and batches that someone waits for. */

import { DISTINCT } from "../base/abi.ts";
import { integer, mustBe, ReplayError, show } from "../base/error.ts";
import { MAX_LENGTH } from "../base/limits.ts";
import type { WaitOptions } from "../base/wait.ts";
import { waitsForDraws } from "../schema/rate-limiter.ts";
import { CheckedAmong } from "./among.ts";
import type { SampleOptions } from "./options.ts";
import type { SampledTable, Sampler } from "./sampler.ts";

/** A batch that someone waits for. */
export interface PendingBatch<B> {
  /** The batch, once it is whole. */
  until(wait: WaitOptions): B | Promise<B>;
  /** What was drawn so far, as a batch that is short; undefined if nothing was. */
  rest(): B | undefined;
  /** Why the wait ended, with what was drawn so far. @param signal what may have ended it: its reason is everybody's */
  ended(why: unknown, signal: AbortSignal | undefined): unknown;
}

/** Where the batches of loops come from. */
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

  /** Whether a batch may be drawn before a loop gets it: no draw removes an item, and no call waits because of it. */
  get mayBeAhead(): boolean {
    const { maxTimesSampled, rateLimiter } = this.table.limits;
    return maxTimesSampled > 0xffffffff && !waitsForDraws(rateLimiter);
  }

  /** How many of so many batches may be drawn ahead; warns where that is none. */
  most(prefetch: number): number {
    if (this.mayBeAhead) return prefetch;
    this.table.engine.warn("unusedPrefetch", unusedPrefetch(this.table.name));
    return 0;
  }

  /** A batch of n as long as nobody has it: only the random state has changed. Undefined where it is not there now. */
  ahead(n: number, options?: SampleOptions): B | undefined {
    this.table.engine.open();
    return this.sure(n, options) >= n ? this.sampler.sample(n, options, true) : undefined;
  }

  /** Counts a batch that was drawn ahead. */
  passed(batch: B): void {
    this.sampler.passed(batch);
  }

  /** Of n draws how many pass now, whichever items they give. */
  sure(n: number, options?: SampleOptions): number {
    const { core } = this.table;
    this.#among.read(options?.among);
    return core.guaranteedDraws(n, (options?.replacement === false ? DISTINCT : 0) + this.#among.flags, this.#among.of(core));
  }

  /**
   * A batch of n at once; undefined where it is not there now, but can come.
   * @throws RangeError where it never can · ReplayError RATE_LIMITED where it cannot before others have drawn
   */
  atOnce(n: number, options?: SampleOptions): B | undefined {
    this.table.engine.open();
    this.check(n, options, true);
    const sure = this.sure(n, options);
    if (sure >= n) return this.sampler.sample(n, options);
    if (this.table.core.canInsert(1)) return undefined;
    const why = `table ${show(this.table.name)} allows ${sure} draws at once, and its rate limiter lets no item in before there were draws`;
    throw new ReplayError(
      "RATE_LIMITED",
      `${why}: ask for so many, or wait for ${n} with replacement (for await, sampleWhenReady), which come one after the other`,
    );
  }

  /** A batch to wait for. @throws RangeError where it can never come */
  awaited(n: number, options: SampleOptions): AwaitedBatch<B> {
    this.table.engine.open();
    integer("n", n, 1, MAX_LENGTH);
    this.sampler.check(options);
    this.check(n, options, isAtOnce(options));
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
  some(n: number, wait: WaitOptions): B | Promise<B> {
    this.check(1, undefined, false);
    const attempt = () => {
      this.table.engine.open();
      const sure = this.sure(n);
      return sure > 0 ? this.sampler.sample(sure, undefined) : undefined;
    };
    return this.table.engine.waiters.until(attempt, () => `sample from table ${show(this.table.name)}`, wait, this.table.core);
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

  /** @throws RangeError where n draws can never pass: all at once, or one after the other */
  check(n: number, options: SampleOptions | undefined, atOnce: boolean): void {
    const { maxSize, maxSteps, maxTimesSampled, rateLimiter } = this.table.limits;
    const { minSize, minDiff, maxDiff, samplesPerInsert } = rateLimiter;
    // Items that may leave before the rest is smaller than minSize.
    const spare = Math.min(maxSize, maxSteps) - minSize + 1;
    const isDistinct = options?.replacement === false;
    this.#among.read(options?.among);
    const items = isDistinct ? (maxTimesSampled === 1 ? spare : this.#among.of({ size: maxSize }) || maxSize) : spare * maxTimesSampled;
    const most = spare <= 0 ? 0 : atOnce ? Math.floor(Math.min(items, Math.max(maxDiff, samplesPerInsert * minSize) - minDiff)) : MAX_LENGTH;
    if (n <= most) return;
    const how = atOnce ? " at once" : "";
    throw mustBe(RangeError, "n", `<= ${most}, because table ${show(this.table.name)} with its rate limiter and its limits never allows more draws${how}`, n);
  }
}

/** The draws of tables and of their views, for mixtures. */
export const drawsOfViews = new WeakMap<object, Draws<{ count: number; release?(): void }>>();

/** What there is to say where `prefetch` draws nothing ahead. */
export function unusedPrefetch(table: string): string {
  const why = "its draws remove items (maxTimesSampled), or its rate limiter counts them, and a loop that ends would lose what it has not got";
  return `prefetch draws nothing ahead from table ${show(table)}: ${why}. Leave prefetch out, or use a table without maxTimesSampled and with minSize() as its rateLimiter`;
}

/** A batch that someone waits for: drawn as the rate limiter admits it, and its bytes are copied immediately. What is drawn stays here, whatever becomes of the wait. */
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

  /** The batch, once it is whole. Of those who wait for draws of one table the first one has all that it admits. */
  until({ signal, timeoutMs }: WaitOptions): B | Promise<B> {
    const { engine, core, name } = this.#draws.table;
    const what = () => `sample of ${this.#n} from table ${show(name)}${this.#count === 0 ? "" : `, of which ${this.#count} were drawn`}`;
    return engine.waiters.until(() => this.#attempt(), what, { signal, timeoutMs } as WaitOptions, core);
  }

  /** What was drawn so far, as a batch that is short; undefined where nothing was. */
  rest(): B | undefined {
    return this.#count === 0 ? undefined : this.#draws.sampler.join(this.#parts, { ...this.#options, into: undefined } as SampleOptions, true);
  }

  /** Why the wait ended, with what was drawn so far. @param signal what may have ended it: its reason is everybody's */
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
      // Nothing has to be put together.
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

/** Whether a batch means something only if it is drawn from a table as it stands. */
function isAtOnce({ replacement, stratified }: SampleOptions): boolean {
  return replacement === false || stratified === true;
}

/** An error of the same name and message, which one wait alone has. */
function ownError(cause: unknown): Error {
  const { name, message } = Object(cause) as { readonly [key: string]: unknown };
  const error = new Error(typeof message === "string" ? message : String(cause), { cause });
  // A DOMException has its name where it cannot be changed, and takes no cause; nor is it an Error in every realm.
  return typeof name === "string" ? Object.defineProperty(error, "name", { value: name, writable: true, configurable: true }) : error;
}

export function stuck(name: string): ReplayError {
  return new ReplayError("RATE_LIMITED", `the rate limiter of table ${show(name)} lets neither draws nor items pass: widen minDiff … maxDiff`);
}
