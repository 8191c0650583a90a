/** Connects a `ReverbReplayBuffer` to its table. A table in this process can draw whole batches. Any other table is reached through its client's calls. */

import { countText, described, finite, mustBe, ReplayError } from "../../base/error.ts";
import type { WaitOptions } from "../../base/wait.ts";
import { loggerOf, toConsole } from "../../base/warnings.ts";
import { type Batch, type BatchInfo, isWhole, itemOf, type StepsOf } from "../../batch/batch.ts";
import { type Draws, unusedPrefetch } from "../../batch/waiting.ts";
import { type Column, type ColumnLike, dataBeside, isColumn } from "../../schema/column.ts";
import { checkedNumbers, type Numbers } from "../../schema/copy-numbers.ts";
import { arrayDtype, dtypeOf } from "../../schema/dtype.ts";
import { type BoundedText, leafText } from "../../schema/leaf.ts";
import { waitsForDraws } from "../../schema/rate-limiter.ts";
import { type FoundLeaf, leavesOf, type Spec } from "../../schema/spec.ts";
import { unknownTable } from "../../tables/rules.ts";
import { drawsOf, type Table } from "../../tables/table.ts";
import { isPromise } from "../awaitable.ts";
import type { DrawnItem, ItemKey, SampleInfo } from "../sampling/sample.ts";
import type { Sampler, SamplerOptions } from "../sampling/sampler-options.ts";
import type { TableInfo } from "../sampling/table-info.ts";
import { isReadAs } from "../signature.ts";
import type { SampleClient } from "../writers/client.ts";
import { keyList } from "../writers/key-changes.ts";
import type { Awaitable } from "../writers/step-client.ts";

/** The columns of an item, [steps, …], in the order of the data spec's leaves. */
export interface TableItem {
  readonly columns: readonly unknown[];
  readonly info: SampleInfo;
}

/** Items that were drawn together. */
export interface Items {
  readonly count: number;
  /** Whether the items were drawn ahead and do not count yet. */
  readonly isAhead?: boolean;
  /** All items as one batch, [count, steps, …], if they were drawn as a batch. */
  readonly batch?: Batch<StepsOf<never>> | undefined;
  /** Returns one of the items. @throws ReplayError SPEC_MISMATCH if the item's columns are not those of the data spec */
  item(i: number): TableItem;
}

/** The draws of one iteration. */
export interface ItemDraws {
  /** Returns how many of the `prefetch` elements may be drawn ahead, and warns if the number is 0. */
  limitAhead(prefetch: number, info: TableInfo): number;
  /** Draws n items in one go. Returns undefined if this is not possible now. @param isAhead whether the items count only when `count` is called */
  drawNow(n: number, isAhead?: boolean): Items | undefined;
  /** Draws as many items as the rate limiter allows, from 1 to n. Returns undefined after `maxSamples`. */
  drawSome(n: number, signal: AbortSignal | undefined): Awaitable<Items | undefined>;
  /** Returns every item of the table once, in the sampler's order. */
  all(): Items;
  /** Counts items that were drawn ahead as sampled. @param times how often each item had been drawn by then; updated for items that still exist */
  count?(keys: Float64Array, times: Uint32Array): void;
  close(): void;
}

/** The options of the draws. Tables in this process prefetch nothing and have no streams. */
export interface DrawsOptions extends Omit<SamplerOptions, "rateLimiterTimeoutMs"> {
  /** The time to wait for an item, in milliseconds; undefined for no limit. */
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
}

export interface BufferTable {
  /** The table's definition, if it is known without a request. */
  readonly definition: TableInfo | undefined;
  /** Returns the table's definition and counts. @param signal aborts the wait for a server */
  info(signal?: AbortSignal): Awaitable<TableInfo>;
  size(): Awaitable<number>;
  clear(): Awaitable<void>;
  updatePriorities(keys: ArrayLike<ItemKey> | ColumnLike<"f64" | "u64">, priorities: ArrayLike<number> | ColumnLike): Awaitable<number | undefined>;
  draws(options: DrawsOptions): ItemDraws;
}

/** Applies `of` to a table's info, now or when the info arrives. */
export function mapInfo<T>(info: Awaitable<TableInfo>, of: (info: TableInfo) => T): Awaitable<T> {
  return isPromise(info) ? info.then(of) : of(info);
}

/** Returns the table from which a buffer draws. @throws ReplayError NOT_FOUND, SPEC_MISMATCH for a table in this process */
export function bufferTable(client: SampleClient, name: string, dataSpec: Spec): BufferTable {
  const leaves = leavesOf(dataSpec);
  const table = client.table?.(name);
  if (table === undefined) return new CalledTable(client, name, leaves);
  if (canonical(dataSpec) !== canonical(table.spec)) throw mustBe("SPEC_MISMATCH", "dataSpec", "the client's spec", dataSpec);
  return new LocalTable(client, table, leaves);
}

class LocalTable implements BufferTable {
  readonly #client: SampleClient;
  readonly #table: Table;
  readonly #draws: Draws<Batch>;
  readonly #leaves: readonly FoundLeaf[];

  constructor(client: SampleClient, table: Table, leaves: readonly FoundLeaf[]) {
    this.#client = client;
    this.#table = table;
    this.#draws = drawsOf(table);
    this.#leaves = leaves;
  }

  get definition(): TableInfo {
    return this.info();
  }

  info(): TableInfo {
    return (this.#client.serverInfo() as { readonly [table: string]: TableInfo })[this.#table.name] as TableInfo;
  }

  size(): number {
    return this.#table.size;
  }

  clear(): void {
    this.#table.clear();
  }

  updatePriorities(keys: ArrayLike<ItemKey> | ColumnLike<"f64" | "u64">, priorities: ArrayLike<number> | ColumnLike): number {
    return this.#table.updatePriorities(keys as ArrayLike<number>, priorities);
  }

  draws({ timeoutMs }: DrawsOptions): ItemDraws {
    const table = this.#table;
    const draws = this.#draws;
    const items = (batch: Batch, isAhead = false): Items => ({
      count: batch.count,
      isAhead,
      batch: isWhole(batch) ? (batch as Batch<StepsOf<never>>) : undefined,
      item: (i) => this.#item(batch, i),
    });
    return {
      limitAhead: (prefetch) => draws.most(prefetch),
      drawNow: (n, isAhead = false) => {
        const batch = isAhead ? draws.ahead(n) : draws.atOnce(n);
        return batch && items(batch, isAhead);
      },
      drawSome: (n, signal) => {
        const batch = draws.some(n, { signal, timeoutMs } as WaitOptions);
        return batch instanceof Promise ? batch.then((drawnBatch) => items(drawnBatch)) : items(batch);
      },
      all: () => {
        if (table.size === 0) return NO_ITEMS;
        const isAhead = draws.mayBeAhead;
        return items(draws.sampler.sample(table.size, { replacement: false }, isAhead), isAhead);
      },
      count: (keys, times) => {
        draws.table.engine.begin();
        draws.table.core.count(keys, keys.length, times);
      },
      close: () => {},
    };
  }

  #item(batch: Batch, i: number): TableItem {
    const { isWhole, names, columns } = itemOf(batch, i);
    return { columns: isWhole ? columns : this.#sortColumns(names, columns), info: infoAt(batch.info, i) };
  }

  /** Sorts columns by the leaves of the data spec. If the names of the columns do not match the leaves, the order is kept. */
  #sortColumns(names: readonly string[], columns: readonly unknown[]): readonly unknown[] {
    const indices = this.#leaves.map(({ path }) => names.indexOf(path || "value"));
    const ordered = indices.includes(-1) || columns.length !== indices.length ? columns : indices.map((index) => columns[index]);
    const dtypes = ordered.map((column) => (isColumn(column) ? (dtypeOf(column.data) ?? "string") : undefined));
    mustHaveColumns(this.#table.name, this.#leaves, ordered, names, (dtype, k) => arrayDtype(dtype) === dtypes[k]);
    return ordered;
  }
}

function infoAt({ keys, probabilities, tableSizes, priorities, timesSampled }: BatchInfo, i: number): SampleInfo {
  return {
    key: keys[i] as number,
    probability: probabilities[i] as number,
    tableSize: tableSizes[i] as number,
    priority: priorities[i] as number,
    timesSampled: timesSampled[i] as number,
  };
}

const NO_ITEMS: Items = {
  count: 0,
  item: () => {
    throw new RangeError("there are no items");
  },
};

class CalledTable implements BufferTable {
  readonly definition = undefined;
  readonly #client: SampleClient;
  readonly #name: string;
  readonly #leaves: readonly FoundLeaf[];
  /** Whether a warning was logged that nothing is prefetched from this table. */
  #isWarned = false;

  constructor(client: SampleClient, name: string, leaves: readonly FoundLeaf[]) {
    this.#client = client;
    this.#name = name;
    this.#leaves = leaves;
  }

  info(signal?: AbortSignal): Awaitable<TableInfo> {
    const of = (tables: { readonly [name: string]: TableInfo }) => {
      if (!Object.hasOwn(tables, this.#name)) throw unknownTable(this.#name, Object.keys(tables));
      return tables[this.#name] as TableInfo;
    };
    const tables = this.#client.serverInfo(signal === undefined ? {} : { signal });
    return isPromise(tables) ? tables.then(of) : of(tables);
  }

  size(): Awaitable<number> {
    return mapInfo(this.info(), ({ currentSize }) => currentSize);
  }

  clear(): Awaitable<void> {
    return this.#client.reset(this.#name);
  }

  /** Returns undefined or a promise of undefined, because a server does not report how many items still existed. */
  updatePriorities(keys: ArrayLike<ItemKey> | ColumnLike<"f64" | "u64">, priorities: ArrayLike<number> | ColumnLike): Awaitable<undefined> {
    const itemKeys = keyList("keys", keys);
    const values = checkedNumbers("priorities", dataBeside<Numbers>("priorities", priorities, keys), itemKeys.length);
    // A window repeats the key of its item for each step.
    const updates = new Map<ItemKey, number>();
    for (const [i, key] of itemKeys.entries()) updates.set(key, finite(`priorities[${i}]`, values[i], 0));
    const done = this.#client.mutatePriorities(this.#name, { updates });
    return isPromise(done) ? done.then(() => undefined) : undefined;
  }

  draws({ timeoutMs, signal, ...options }: DrawsOptions): ItemDraws {
    const of = { ...options, rateLimiterTimeoutMs: timeoutMs === undefined ? -1 : Math.ceil(timeoutMs) };
    let sampler: Sampler | undefined;
    const close = (reason?: unknown) => {
      signal?.removeEventListener("abort", aborted);
      sampler?.close(reason);
      sampler = undefined;
    };
    // Closes the sampler even if no call waits for an item. Otherwise, the server would continue to draw.
    const aborted = () => close(signal?.reason);
    return {
      limitAhead: (prefetch, { maxTimesSampled, rateLimiterInfo }) => {
        if (maxTimesSampled === 0 && !waitsForDraws(rateLimiterInfo)) return prefetch;
        const { logger = toConsole } = this.#client;
        if (!this.#isWarned) loggerOf(logger).warn(`reprise: ${unusedPrefetch(this.#name)}`);
        this.#isWarned = true;
        return 0;
      },
      drawNow: () => {
        throw new ReplayError("UNSUPPORTED", `items of table ${this.#name} arrive asynchronously. Use for await`);
      },
      drawSome: async (_, wait) => {
        if (of.maxSamples === 0) return undefined;
        if (sampler === undefined) signal?.addEventListener("abort", aborted);
        sampler ??= this.#client.sampler(this.#name, of);
        try {
          const item = await sampler.next(wait === undefined ? {} : { signal: wait });
          if (item !== undefined) return { count: 1, item: () => this.#toTableItem(item) };
          close();
          return undefined;
        } catch (error) {
          // The pending request is no longer needed. The next call starts a new sampler.
          close();
          throw error;
        }
      },
      all: () => {
        throw new ReplayError(
          "UNSUPPORTED",
          `a pass reads each item of table ${this.#name} once, but its server returns items repeatedly. Use a table with maxTimesSampled = 1, or omit singleDeterministicPass`,
        );
      },
      close,
    };
  }

  /** Returns an item whose columns have no names. They correspond to the leaves of the data spec by position. */
  #toTableItem({ info, columns }: DrawnItem): TableItem {
    const ordered = columns.map(({ column, isSqueezed }) => (isSqueezed ? undefined : column));
    const shapes = columns.map(({ column: { shape } }) => shape);
    mustHaveColumns(this.#name, this.#leaves, ordered, described(`columns of shapes ${shapes.map((shape) => `[${shape.join(", ")}]`).join(" ")}`), (dtype, k) =>
      isReadAs((columns[k] as DrawnItem["columns"][number]).dtype, dtype),
    );
    return { columns: ordered, info };
  }
}

/**
 * Checks the columns of an item against the leaves of the data spec. @param actual the text for the columns in an error @param isOf returns whether a column
 * has a leaf's dtype @throws ReplayError SPEC_MISMATCH
 */
function mustHaveColumns(
  table: string,
  leaves: readonly FoundLeaf[],
  columns: readonly unknown[],
  actual: unknown,
  isOf: (dtype: string, k: number) => boolean,
): void {
  const subject = `an item of table ${table}`;
  if (columns.length !== leaves.length) throw mustBe("SPEC_MISMATCH", subject, `a list of ${countText(leaves.length, "column")}, as in dataSpec`, actual);
  leaves.forEach(({ path, leaf, shape }, k) => {
    const column = columns[k];
    if (isColumn(column) && isOf(leaf.dtype, k) && (column as Column).shape.slice(1).join() === shape.join()) return;
    throw mustBe("SPEC_MISMATCH", `${path || "the column"} of ${subject}`, `steps of ${leafText(leaf.dtype, shape)}, as in dataSpec`, column);
  });
}

/** Returns a spec as JSON with sorted keys, so equal specs have equal texts. */
function canonical(spec: Spec): string {
  return JSON.stringify(spec, (_, node) => {
    if (typeof node !== "object" || node === null || Array.isArray(node)) return node;
    const { dtype, shape, shared, stack, maxBytes, packed } = node as BoundedText;
    if (typeof dtype === "string") return [dtype, shape, shared, stack, maxBytes, packed !== undefined];
    return Object.fromEntries(Object.entries(node).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
