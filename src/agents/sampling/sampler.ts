/** Draws items of a table one after the other, as the rate limiter lets them. Reverb's `Sampler`. */
import { type Batch, type DrawnBatch, itemOf, slabOf } from "../../batch.ts";
import { Column, isColumn } from "../../column.ts";
import type { Draws } from "../../draws/draws.ts";
import { integer, mustBe } from "../../error.ts";
import { MAX_TIMEOUT_MS } from "../../limits.ts";
import { blank, type RowLeaf } from "../../spec/leaf.ts";
import { drawsOf, type Table } from "../../table.ts";
import type { WaitOptions } from "../../wait.ts";
import type { DrawnColumn, DrawnItem } from "./sample.ts";

/** How a table is drawn from. -1 is what it is where an option is left out. */
export interface SamplerOptions {
  /** Items at most. Default: no limit. */
  readonly maxSamples?: number;
  /** So long it waits for the rate limiter, and then is at its end. Default: for ever. */
  readonly rateLimiterTimeoutMs?: number;
  /** Items that a server may have on their way to a stream. In this process nothing is drawn ahead: checked, and without effect, like those below. */
  readonly maxInFlightSamplesPerWorker?: number;
  /** Streams from a server. */
  readonly numWorkersPerIterator?: number;
  /** Items of one stream, before another one takes its place. */
  readonly maxSamplesPerStream?: number;
}

export interface Sampler {
  /**
   * The next item, at once or as a promise; undefined after `maxSamples`.
   * @throws ReplayError TIMEOUT where the rate limiter lets none pass within `rateLimiterTimeoutMs` · NOT_FOUND, CLOSED, or the signal's reason
   */
  next(options?: Pick<WaitOptions, "signal">): DrawnItem | undefined | Promise<DrawnItem | undefined>;
  /** Ends the streams. What was not asked for in this process is still in the table. */
  close(): void;
}

/** The options of a sampler, checked. @throws TypeError, RangeError */
export function checkSampler(options: SamplerOptions): SamplerOptions {
  const count = (name: keyof SamplerOptions, open: boolean) => {
    const value = options[name];
    if (value === undefined || (open && value === -1)) return;
    if (!Number.isInteger(value) || value < 1) throw mustBe(kindFor(value), name, `an integer >= 1${open ? ", or -1" : ""}`, value);
  };
  count("maxInFlightSamplesPerWorker", false);
  count("numWorkersPerIterator", true);
  count("maxSamplesPerStream", true);
  count("maxSamples", true);
  integer("rateLimiterTimeoutMs", options.rateLimiterTimeoutMs ?? -1, -1, MAX_TIMEOUT_MS);
  return options;
}

function kindFor(value: unknown): typeof TypeError | typeof RangeError {
  return Number.isInteger(value) ? RangeError : TypeError;
}

/** An item is shown whole, also where it spans episodes. */
const WHOLE = { cross: true };

/** Of a table in this process. */
export class TableSampler implements Sampler {
  readonly #draws: Draws<Batch>;
  readonly #timeoutMs: number | undefined;
  #left: number;

  constructor(table: Table, options: SamplerOptions) {
    const { maxSamples = -1, rateLimiterTimeoutMs = -1 } = checkSampler(options);
    this.#draws = drawsOf(table);
    this.#left = maxSamples < 0 ? Number.POSITIVE_INFINITY : maxSamples;
    this.#timeoutMs = rateLimiterTimeoutMs < 0 ? undefined : rateLimiterTimeoutMs;
  }

  next({ signal }: Pick<WaitOptions, "signal"> = {}): DrawnItem | undefined | Promise<DrawnItem | undefined> {
    if (this.#left === 0) return undefined;
    const drawn = this.#draws.some(1, WHOLE, { signal, timeoutMs: this.#timeoutMs } as WaitOptions);
    return drawn instanceof Promise ? drawn.then((batch) => this.#given(batch)) : this.#given(drawn);
  }

  /** The same without waiting: undefined also where the rate limiter lets none pass now. @throws ReplayError RATE_LIMITED where it never will before others have drawn */
  now(): DrawnItem | undefined {
    if (this.#left === 0) return undefined;
    const batch = this.#draws.atOnce(1, WHOLE);
    return batch === undefined ? undefined : this.#given(batch);
  }

  close(): void {
    this.#left = 0;
  }

  #given(batch: Batch): DrawnItem {
    this.#left--;
    return itemIn(batch);
  }
}

/** The only item of a batch. */
function itemIn(batch: Batch): DrawnItem {
  const { keys, probabilities, priorities, timesSampled, tableSizes } = batch.info;
  const info = {
    key: keys[0] as number,
    probability: probabilities[0] as number,
    tableSize: tableSizes[0] as number,
    priority: priorities[0] as number,
    timesSampled: timesSampled[0] as number,
  };
  const { selections } = slabOf(batch as DrawnBatch).form;
  const columns = itemOf(batch, 0).columns.map((value, i): DrawnColumn => {
    const { leaf, squeezed } = selections[i] as (typeof selections)[number];
    return { dtype: leaf.leaf.dtype, column: isColumn(value) ? (value as Column) : scalar(leaf.leaf, value), isSqueezed: squeezed };
  });
  return { info, columns };
}

/** A lone value with its dtype. */
function scalar(leaf: RowLeaf, value: unknown): Column {
  const data = blank(leaf, 1) as unknown[];
  data[0] = value;
  return new Column(data as unknown as Column["data"], []);
}
