/** Defines the options of a table, checks them, and fills in their defaults. */

import { finite, integer, mustBe, onlyKeys } from "../base/error.ts";
import { MAX_ITEMS } from "../base/limits.ts";
import { checkRateLimiter, minSize, type RateLimiter } from "./rate-limiter.ts";
import { fifo, MAX_RECENCY, SELECTOR_KINDS, SELECTORS, type Selector, uniform } from "./selector.ts";

export interface TableOptions {
  /** The maximum number of items, from 1 to 2^26 - 1. When an insert exceeds this number, the remover chooses the item to evict. */
  readonly maxSize: number;
  /** The selector of the items to draw. Default: uniform(). */
  readonly sampler?: Selector;
  /** The selector of the items to evict. Default: fifo(). */
  readonly remover?: Selector;
  /** The limiter that decides when inserts and draws must wait. Default: minSize(1). */
  readonly rateLimiter?: RateLimiter;
  /** The number of draws after which an item is evicted. Default: no limit. */
  readonly maxTimesSampled?: number;
  /** The maximum total number of steps of the items. Default: no limit. */
  readonly maxSteps?: number;
  /** The maximum number of items that wait for the rate limiter. An insert that exceeds this number throws RATE_LIMITED. Default: 1,023. */
  readonly maxPending?: number;
}

export type ResolvedTableOptions = Required<TableOptions>;

const DEFAULT_PENDING = 1023;
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

/** Returns the options of a table with their defaults. @throws TypeError, RangeError if an option or the name is invalid */
export function resolveTable(name: string, options: TableOptions): ResolvedTableOptions {
  if (name === "" || name === "__proto__") throw mustBe(RangeError, "the name of a table", "a non-empty string other than __proto__", name);
  const subject = `tables.${name}`;
  onlyKeys(subject, options, "maxSize, sampler, remover, rateLimiter, maxTimesSampled, maxSteps, maxPending");
  const { maxSize, sampler = uniform(), remover = fifo(), rateLimiter = minSize(1) } = options;
  const { maxTimesSampled = NO_LIMIT, maxSteps = NO_LIMIT, maxPending = DEFAULT_PENDING } = options;
  integer(`${subject}.maxSize`, maxSize, 1, MAX_ITEMS);
  integer(`${subject}.maxTimesSampled`, maxTimesSampled, 1);
  integer(`${subject}.maxSteps`, maxSteps, 1);
  integer(`${subject}.maxPending`, maxPending, 0, MAX_ITEMS);
  for (const [role, value] of Object.entries({ sampler, remover })) checkSelector(`${subject}.${role}`, value, role === "remover");
  checkRateLimiter(`${subject}.rateLimiter`, rateLimiter);
  return { maxSize, sampler: { ...sampler }, remover: { ...remover }, rateLimiter: { ...rateLimiter }, maxTimesSampled, maxSteps, maxPending };
}

/** Checks a sampler or a remover. @param value a selector, from a selector function or from a snapshot */
function checkSelector(subject: string, value: Selector, removes: boolean): void {
  const { kind, exponent = 1 } = (value ?? {}) as Selector;
  if (!SELECTORS.includes(kind) || !Number.isFinite(exponent)) throw mustBe(TypeError, subject, "a selector, such as uniform()", value);
  if (kind === "recency") finite(`${subject}.exponent`, exponent, 0, MAX_RECENCY);
  if (removes && SELECTOR_KINDS[kind].samplesOnly) throw mustBe(RangeError, subject, `a remover such as fifo(), because ${kind} is only a sampler`, value);
}
