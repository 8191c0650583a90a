/** Draws the items of a table in this process, one after the other, as the rate limiter allows. */

import type { WaitOptions } from "../../base/wait.ts";
import { type Batch, itemOf } from "../../batch/batch.ts";
import type { Draws } from "../../batch/waiting.ts";
import { Column, isColumn } from "../../schema/column.ts";
import { blank, type RowLeaf } from "../../schema/leaf.ts";
import { drawsOf, type Table } from "../../tables/table.ts";
import type { DrawnColumn, DrawnItem } from "./sample.ts";
import type { ItemSource } from "./sampler.ts";
import { checkSampler, type SamplerOptions } from "./sampler-options.ts";

export class TableSource implements ItemSource {
  readonly #draws: Draws<Batch>;
  readonly #timeoutMs: number | undefined;
  #left: number;

  constructor(table: Table, options: SamplerOptions) {
    const { maxSamples = -1, rateLimiterTimeoutMs = -1 } = checkSampler(options);
    this.#draws = drawsOf(table);
    this.#left = maxSamples < 0 ? Number.POSITIVE_INFINITY : maxSamples;
    this.#timeoutMs = rateLimiterTimeoutMs < 0 ? undefined : rateLimiterTimeoutMs;
  }

  get isOver(): boolean {
    return this.#left === 0;
  }

  next({ signal }: Pick<WaitOptions, "signal">): DrawnItem | undefined | Promise<DrawnItem | undefined> {
    if (this.#left === 0) return undefined;
    const batch = this.#draws.some(1, { signal, timeoutMs: this.#timeoutMs } as WaitOptions);
    return batch instanceof Promise ? batch.then((batch) => this.#itemOf(batch)) : this.#itemOf(batch);
  }

  /**
   * Returns the next item without waiting, or undefined if the rate limiter allows no draw now.
   * @throws ReplayError RATE_LIMITED if the rate limiter permits neither a draw nor an insert
   */
  now(): DrawnItem | undefined {
    if (this.#left === 0) return undefined;
    const batch = this.#draws.atOnce(1);
    return batch === undefined ? undefined : this.#itemOf(batch);
  }

  close(): void {
    this.#left = 0;
  }

  #itemOf(batch: Batch): DrawnItem {
    this.#left--;
    return itemIn(batch);
  }
}

/** Returns the only item of a batch. */
function itemIn(batch: Batch): DrawnItem {
  const { keys, probabilities, priorities, timesSampled, tableSizes } = batch.info;
  const info = {
    key: keys[0] as number,
    probability: probabilities[0] as number,
    tableSize: tableSizes[0] as number,
    priority: priorities[0] as number,
    timesSampled: timesSampled[0] as number,
  };
  const { selections, columns: values } = itemOf(batch, 0);
  const columns = values.map((value, i): DrawnColumn => {
    const { leaf, squeezed } = selections[i] as (typeof selections)[number];
    return { dtype: leaf.leaf.dtype, column: isColumn(value) ? (value as Column) : scalar(leaf.leaf, value), isSqueezed: squeezed };
  });
  return { info, columns };
}

/** Returns a single value as a column with its dtype. */
function scalar(leaf: RowLeaf, value: unknown): Column {
  const data = blank(leaf, 1) as unknown[];
  data[0] = value;
  return new Column(data as unknown as Column["data"], []);
}
