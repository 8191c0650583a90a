/** Implements the definition of a table, in the form that Reverb servers list. Corresponds to `Table` of Reverb. */

import { integer, mustBe, onlyKeys } from "../../base/error.ts";
import { MAX_ITEMS } from "../../base/limits.ts";
import { hideFrames } from "../../base/stack-trace.ts";
import { checkRateLimiter, minSize, queueLimiter, type RateLimiter } from "../../schema/rate-limiter.ts";
import { fifo, lifo, type Selector, uniform } from "../../schema/selector.ts";
import type { TableOptions } from "../../tables/table.ts";
import type { Signature } from "../signature.ts";
import { infoOf, type TableInfo } from "./table-info.ts";

/** The options of a table, with its name and the signature of its items. */
export interface NamedTable extends TableOptions {
  readonly name: string;
  readonly signature?: Signature | undefined;
}

/**
 * The arguments of a table. All of them, except the name and the signature, are also options of tables in `new Replay`. `maxTimesSampled: 0` means no limit.
 */
export type TableArguments = NamedTable;

const OPTIONS = "name, maxSize, sampler, remover, rateLimiter, maxTimesSampled, maxSteps, maxPending, signature";

/** Functions that return the information about tables in use, by table definition. */
const live = new WeakMap<Table, () => TableInfo>();

/** Connects a definition to the table that a client created from it. */
export function setInfo(table: Table, info: () => TableInfo): void {
  live.set(table, info);
}

export class Table implements NamedTable {
  readonly name: string;
  readonly maxSize: number;
  readonly sampler: Selector;
  readonly remover: Selector;
  readonly rateLimiter: RateLimiter;
  declare readonly maxTimesSampled?: number;
  declare readonly maxSteps?: number;
  declare readonly maxPending?: number;
  declare readonly signature?: Signature;

  /**
   * Defines a table.
   * @throws TypeError if an argument has the wrong type
   * @throws RangeError if the name is empty or the size is below 1
   */
  constructor(options: TableArguments) {
    hideFrames(new.target);
    onlyKeys("table", options, OPTIONS);
    const { name, maxSize, sampler = uniform(), remover = fifo(), rateLimiter = minSize(1), maxTimesSampled = 0, ...rest } = options;
    if (typeof name !== "string") throw mustBe(TypeError, "name", "a string", name);
    if (name === "") throw mustBe(RangeError, "name", "a non-empty string", name);
    this.name = name;
    this.maxSize = integer("maxSize", maxSize, 1, MAX_ITEMS);
    for (const [role, value] of Object.entries({ sampler, remover }))
      if (typeof value?.kind !== "string") throw mustBe(TypeError, role, "a selector, such as uniform()", value);
    this.sampler = sampler;
    this.remover = remover;
    checkRateLimiter("rateLimiter", rateLimiter);
    this.rateLimiter = rateLimiter;
    // An omitted option gets no field, because clients pass the fields of a definition on as options.
    const limits = { ...rest, ...(integer("maxTimesSampled", maxTimesSampled, 0) > 0 && { maxTimesSampled }) };
    for (const [key, value] of Object.entries(limits)) if (value !== undefined) Object.assign(this, { [key]: value });
    Object.freeze(this);
  }

  /** Defines a queue, which returns each item once, oldest first. Writers wait while the queue is full. */
  static queue(name: string, maxSize: number, options: { readonly signature?: Signature } = {}): Table {
    return createOrderedTable(fifo(), name, maxSize, options);
  }

  /** Defines a stack, which returns each item once, newest first. Writers wait while the stack is full. */
  static stack(name: string, maxSize: number, options: { readonly signature?: Signature } = {}): Table {
    return createOrderedTable(lifo(), name, maxSize, options);
  }

  /**
   * Returns a copy of this definition with some options changed. The rate limiter keeps its bounds, even if `maxSize` changes.
   * @throws the errors of `new Table`
   */
  replace(options: Partial<TableArguments>): Table {
    return createTable({ ...this, ...onlyKeys("table", options, OPTIONS) });
  }

  /**
   * The definition and the counts of the table. The counts come from the table that the newest client created from this definition. They are zeros if there is
   * no such table.
   */
  get info(): TableInfo {
    const { name, maxTimesSampled = Number.MAX_SAFE_INTEGER, signature } = this;
    return live.get(this)?.() ?? infoOf(name, { ...this, maxTimesSampled }, signature);
  }
}

/** Defined outside the class, because the class must not name itself (see inspect.ts). */
function createTable(options: TableArguments): Table {
  return new Table(options);
}

function createOrderedTable(order: Selector, name: string, maxSize: number, options: { readonly signature?: Signature }): Table {
  const { signature } = onlyKeys("options", options, "signature");
  integer("maxSize", maxSize, 1, MAX_ITEMS);
  const queueOptions = { sampler: order, remover: order, maxTimesSampled: 1, rateLimiter: queueLimiter(maxSize) };
  return createTable({ name, maxSize, ...queueOptions, ...(signature !== undefined && { signature }) });
}
