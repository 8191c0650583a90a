/** A table as its users see it: draws, priorities, deletions, counters. */

import type { Batch, Column, NStepColumns, StepsOf } from "./batch.ts";
import { pointAtCallersOf } from "./caller.ts";
import { COUNTERS } from "./core/abi.ts";
import type { Engine } from "./core/engine.ts";
import type { CoreTable } from "./core/table.ts";
import { type Dataset, type DatasetOptions, datasetOf, type Source } from "./dataset.ts";
import { integer, mustBe, show } from "./error.ts";
import { MAX_LENGTH } from "./limits.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import { Reader, type SampleOptions } from "./sample.ts";
import type { Selector } from "./selector.ts";
import type { ColumnSet, DtypesOf } from "./spec/columns.ts";
import type { Numbers } from "./spec/numbers.ts";
import type { PathOf, Spec } from "./spec/spec.ts";
import type { WaitOptions } from "./wait.ts";

export interface TableOptions {
  /** Items at most; inserting more evicts what the remover picks. */
  readonly maxSize: number;
  /** How `sample` picks; uniform() where it is left out. */
  readonly sampler?: Selector;
  /** What leaves when a limit is passed; fifo() where it is left out. */
  readonly remover?: Selector;
  /** When items may come in and out; minSize(1) where it is left out. */
  readonly rateLimiter?: RateLimiter;
  /** After so many draws an item leaves; no limit where it is left out. */
  readonly maxTimesSampled?: number;
  /** Steps at most, summed over the items. */
  readonly maxSteps?: number;
  /** Items that may wait for the rate limiter; 1,023 where it is left out. */
  readonly maxPending?: number;
}

export type ResolvedTableOptions = Required<TableOptions>;

type Options<S> = SampleOptions<PathOf<S>, ColumnSet<S>>;
/** A name that is no option is an error of types, too. */
type Only<O, Known> = { readonly [K in Exclude<keyof O, keyof Known>]: never };

/** What a batch holds by its options: the columns that were asked for, or every leaf; n-step returns, weights, a mask. */
export type BatchOf<S, O> = Batch<
  O extends { readonly columns: infer C extends ColumnSet<S> } ? { readonly [K in keyof C]: Column<DtypesOf<S, C>[K]> } : StepsOf<S>
> &
  (O extends { readonly nStep: object } ? { readonly nStep: NStepColumns } : unknown) &
  (O extends { readonly beta: number } ? { readonly info: { readonly weights: Float64Array } } : unknown) &
  (O extends { readonly mask: true } ? { readonly mask: Uint8Array } : unknown);

/** A table's counters. `inserts`, `samples` and `deletes` are those of the rate limiter since the last `clear`. */
export type TableStats = { readonly [K in (typeof COUNTERS)[number]]: number } & { readonly name: string; readonly maxSize: number };

/** Everything there is to say of one item. */
export interface Explanation {
  readonly key: number;
  /** live: it can be drawn · waiting: the rate limiter has not let it in yet · gone: evicted, deleted or used up */
  readonly state: "live" | "waiting" | "gone";
  readonly length?: number;
  readonly priority?: number;
  readonly timesSampled?: number;
  /** With which a draw of one item would give it now. */
  readonly probability?: number;
}

/** A table whatever its spec: what the engine's other parts need of it. */
export interface AnyTable {
  readonly name: string;
  readonly options: ResolvedTableOptions;
  readonly handle: number;
  stats(): TableStats;
  explain(key: number): Explanation;
}

export class Table<S = Spec> implements AnyTable {
  readonly name: string;
  readonly options: ResolvedTableOptions;
  /** The table's handle in the core. */
  readonly handle: number;
  readonly #engine: Engine;
  readonly #table: CoreTable;
  readonly #reader: Reader;

  /** Tables are made by `new Replay`. */
  constructor(engine: Engine, name: string, options: ResolvedTableOptions, table: CoreTable) {
    pointAtCallersOf(new.target);
    this.#engine = engine;
    this.name = name;
    this.options = options;
    this.handle = table.handle;
    this.#table = table;
    this.#reader = new Reader(engine, table);
  }

  /** Items in the table. */
  get size(): number {
    return this.#open().counter(0);
  }

  /**
   * Draws up to n items and gathers their steps. Never waits: the batch is shorter, and `blocked` says why, where the rate limiter or the number of items allows fewer.
   * With `into`, and the same `columns` object each time, nothing is allocated. O(n log size + bytes)
   */
  sample<const O extends Options<S> = object>(n: number, options?: O & Only<O, SampleOptions>): BatchOf<S, O> {
    this.#engine.open();
    const { sampler } = this.options;
    if (options?.normalize === "table" && sampler.kind === "prioritized" && sampler.withMin !== true) {
      throw mustBe("UNSUPPORTED", "the sampler", "prioritized(exponent, { withMin: true }) for this normalize", "table");
    }
    return this.#reader.sample(n, options as SampleOptions) as BatchOf<S, O>;
  }

  /**
   * `sample`, once the rate limiter lets n draws pass.
   * @throws RangeError where it never will · ReplayError TIMEOUT, or the signal's reason
   */
  async sampleWhenReady<const O extends Options<S> & WaitOptions = object>(
    n: number,
    options?: O & Only<O, SampleOptions & WaitOptions>,
  ): Promise<BatchOf<S, O>> {
    this.#engine.open();
    integer("n", n, 1, MAX_LENGTH);
    const { signal, timeoutMs, ...rest } = (options ?? {}) as Options<S> & WaitOptions;
    this.#couldSample(n, rest.replacement);
    const attempt = () => (this.ready(n, rest) ? (this.sample(n, rest as never) as BatchOf<S, O>) : undefined);
    return this.#engine.waiters.until(attempt, () => `sampling ${n} items of ${show(this.name)}`, { signal, timeoutMs });
  }

  /** Batches one after the other, for `for` and `for await`. */
  dataset<const O extends DatasetOptions<PathOf<S>, ColumnSet<S>>>(options: O & Only<O, DatasetOptions>): Dataset<BatchOf<S, O>> {
    this.#engine.open();
    return datasetOf(this as unknown as Source<BatchOf<S, O>>, options as DatasetOptions);
  }

  /** New arrays for batches of n items with `length` steps each, to be given as `into`. */
  batch<const O extends Options<S> & { readonly length: number }>(n: number, options: O & Only<O, SampleOptions>): BatchOf<S, O> {
    this.#engine.open();
    return this.#reader.batch(n, options as SampleOptions) as BatchOf<S, O>;
  }

  /**
   * Sets the priorities of items by key; a key whose item is gone is skipped. Of a key that comes twice the last one counts. O(n log size)
   * @returns how many were there
   */
  updatePriorities(keys: Numbers, priorities: Numbers): number {
    return this.#open().update(keys, priorities);
  }

  /** Deletes items by key; a key whose item is gone is skipped. O(n log size) @returns how many were there */
  delete(keys: Numbers): number {
    return this.#open().delete(keys);
  }

  /** Drops every item and sets all counters to 0; then those come in that waited. Keys are not used again. O(size log size) */
  clear(): void {
    this.#open().clear();
  }

  /** Whether a batch of n can be had now: the rate limiter lets it pass, and there are items enough where they must differ or are used up. */
  ready(n: number, options: { readonly replacement?: boolean; readonly among?: number } = {}): boolean {
    const items = options.replacement === false ? Math.min(this.size, options.among || this.size) : this.size * this.options.maxTimesSampled;
    return this.canSample(n) && items >= n;
  }

  /** Whether the rate limiter would let n samples pass now. */
  canSample(n = 1): boolean {
    return this.#open().canSample(integer("n", n, 1));
  }

  /** Whether the rate limiter would let n inserts pass now. */
  canInsert(n = 1): boolean {
    return this.#open().canInsert(integer("n", n, 1));
  }

  stats(): TableStats {
    const counters = Object.fromEntries(COUNTERS.map((name, i) => [name, this.#open().counter(i)]));
    return { name: this.name, maxSize: this.options.maxSize, ...counters } as unknown as TableStats;
  }

  /** What became of an item. O(1) */
  explain(key: number): Explanation {
    const item = this.#open().item(key);
    if (item === undefined) return { key, state: "gone" };
    const { waits, length, timesSampled, priority, probability } = item;
    return { key, state: waits ? "waiting" : "live", length, timesSampled, priority, probability };
  }

  /** The core's table, as long as the Replay is open. */
  #open(): CoreTable {
    this.#engine.open();
    return this.#table;
  }

  /** Refuses to wait for what cannot come. */
  #couldSample(n: number, replacement?: boolean): void {
    const { maxSize, maxTimesSampled, rateLimiter } = this.options;
    const { minSize, minDiff, maxDiff, samplesPerInsert } = rateLimiter;
    const most = replacement === false ? maxSize : maxSize * maxTimesSampled;
    const range = minSize > maxSize ? 0 : Math.min(most, Math.max(maxDiff, samplesPerInsert * minSize) - minDiff);
    if (n > range) throw mustBe(RangeError, "n", `<= ${range}, all that rate limiter and maxSize of ${this.name} ever allow`, n);
  }
}
