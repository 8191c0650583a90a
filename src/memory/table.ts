/** Implements a table of the core: its limits, inserts and deletions, and the priorities and counts of its items. */

import { type Exports, WITH_MIN } from "../base/abi.ts";
import { mustBe } from "../base/error.ts";
import { checkedKeys, checkedNumbers, checkKeys, isKey, listLength, type Numbers, priorityError } from "../schema/copy-numbers.ts";
import { LIMITER_OPTIONS, type RateLimiter } from "../schema/rate-limiter.ts";
import { SELECTOR_KINDS, SELECTORS, type Selector } from "../schema/selector.ts";
import { columnsOf } from "./column-layouts.ts";
import type { Core } from "./core.ts";
import type { Engine } from "./engine.ts";

export interface CoreTableOptions {
  readonly maxSize: number;
  readonly maxPending: number;
  readonly sampler: Selector;
  readonly remover: Selector;
  readonly rateLimiter: RateLimiter;
  /** The maximum total number of steps of the items. Number.MAX_SAFE_INTEGER if there is no limit, here and below. */
  readonly maxSteps: number;
  readonly maxTimesSampled: number;
}

/** Returns maxTimesSampled within the range of the core; 0 if there is no limit. */
function usesOf({ maxTimesSampled }: CoreTableOptions): number {
  return maxTimesSampled > 0xffffffff ? 0 : maxTimesSampled;
}

/** The state of an item in a table, or of a pending item. */
export interface ItemState {
  readonly isWaiting: boolean;
  readonly length: number;
  readonly priority: number;
  readonly timesSampled: number;
  readonly probability: number;
}

/** Returns the core's numbers for a table's sampler and remover. */
export function kindsOf(x: Exports, sampler: Selector, remover: Selector): { sampler: number; remover: number } {
  const [samplerKind, removerKind] = [sampler, remover].map(({ kind, withMin }) => SELECTORS.indexOf(kind) + 1 + (withMin ? WITH_MIN : 0)) as [number, number];
  return { sampler: samplerKind, remover: x.table_remover(samplerKind, removerKind, Number(sampler.exponent === remover.exponent)) };
}

/** Returns the number of bytes of a table. */
export function tableBytes({ x }: Core, { maxSize, maxPending, sampler, remover }: CoreTableOptions): number {
  const kinds = kindsOf(x, sampler, remover);
  return x.table_bytes(maxSize, maxPending, kinds.sampler, kinds.remover);
}

export class CoreTable {
  /** The address of TABLE in linear memory. It changes when the table grows. */
  handle: number;
  protected readonly engine: Engine;
  /** Whether neither the sampler nor the remover uses priorities, and whether a warning about that was logged. */
  readonly ignoresPriorities: boolean;
  hasWarnedIgnored = false;
  /** The limit `maxTimesSampled`; 0 if there is no limit. */
  readonly #uses: number;

  /** @param number the table's index among the `tables` of a Replay, which determines the table's random state and keys. @throws ReplayError OUT_OF_MEMORY */
  constructor(engine: Engine, options: CoreTableOptions, seed: number | bigint | string, number: number, tables = 1) {
    this.engine = engine;
    this.#uses = usesOf(options);
    this.ignoresPriorities = !SELECTOR_KINDS[options.sampler.kind].usesPriority && !SELECTOR_KINDS[options.remover.kind].usesPriority;
    this.handle = this.make(options);
    engine.columnLayouts.tables.add(this);
    const bits = BigInt.asUintN(64, BigInt(seed));
    engine.core.x.table_seed(this.handle, Number(bits & 0xffffffffn), Number(bits >> 32n), number);
    if (tables > 1) engine.core.x.table_number(this.handle, number, tables);
  }

  /** Allocates a table's memory, without items. @throws ReplayError OUT_OF_MEMORY */
  protected make(options: CoreTableOptions): number {
    const { core, pool } = this.engine;
    const { maxSize, maxPending, sampler, remover } = options;
    const kinds = kindsOf(core.x, sampler, remover);
    const handle = core.alloc(tableBytes(core, options));
    core.x.table_init(handle, pool, maxSize, maxPending, kinds.sampler, kinds.remover);
    core.x.table_exponents(handle, sampler.exponent ?? 1, remover.exponent ?? 1);
    this.limits(handle, options);
    return handle;
  }

  protected limits(handle: number, options: CoreTableOptions): void {
    const { maxSteps, rateLimiter } = options;
    const { core } = this.engine;
    const at = core.scratch(8 * LIMITER_OPTIONS.length);
    for (const [i, option] of LIMITER_OPTIONS.entries()) core.f64[at / 8 + i] = rateLimiter[option];
    const stepLimit = maxSteps === Number.MAX_SAFE_INTEGER ? Number.POSITIVE_INFINITY : maxSteps;
    core.x.table_limits(handle, stepLimit, usesOf(options), at);
  }
  get size(): number {
    return this.counter(0);
  }

  /** The total number of steps of all items. */
  get steps(): number {
    return this.counter(1);
  }

  /** The key of the last inserted item; 0 if no item was ever inserted. */
  get newest(): number {
    return this.engine.core.x.table_newest(this.handle);
  }

  /** Begins an epoch. Returns the number that separates later inserts from the epoch's items; 0 if no keys are left for this number. O(slots) */
  beginEpoch(): number {
    return this.engine.core.x.table_epoch_begin(this.handle) >>> 0;
  }

  /** Resumes an earlier epoch. Returns whether this was possible. @param flags SHUFFLED, or 0 */
  resumeEpoch(since: number, slots: number, position: number, flags: number): boolean {
    return this.engine.core.x.table_epoch_resume(this.handle, since, slots, position, flags) !== 0;
  }

  /** The highest slot ever used. */
  get high(): number {
    return this.engine.core.x.table_high(this.handle) >>> 0;
  }

  /** Returns a counter by its index in COUNTERS, or by LAYOUT, LONGEST, SHORTEST or MAX_PRIORITY. */
  counter(index: number): number {
    return this.engine.core.x.table_counter(this.handle, index);
  }

  /** Returns whether the actual lengths of a draw's items should be looked up before room is made for n items of `longest` steps. */
  isLoose(n: number, longest: number, stepBytes: number): boolean {
    return this.engine.core.x.table_loose(this.handle, n, longest, stepBytes) !== 0;
  }

  /** Returns whether the rate limiter would permit n samples, or n inserts. */
  canSample(n: number): boolean {
    return this.engine.core.x.table_can_sample(this.handle, n) !== 0;
  }

  canInsert(n: number): boolean {
    return this.engine.core.x.table_can_insert(this.handle, n) !== 0;
  }

  /**
   * Returns how many of n draws are possible now, regardless of which items they return. @param flags DISTINCT, and NEWEST if `among` counts from the newest
   * item
   */
  guaranteedDraws(n: number, flags: number, among: number): number {
    const { core } = this.engine;
    return core.x.table_sure(this.handle, n, flags, among, this.#uses === 0 ? 0 : core.scratch(4 * Math.min(n, this.#uses) + 4));
  }

  /**
   * Sets priorities by key, for the elements `from` … `to`. Returns how many of the items existed.
   * @throws RangeError if a priority is invalid; nothing changes in that case
   */
  update(keys: Numbers, priorities: Numbers, from = 0, to?: number): number {
    const keyValues = checkedKeys("keys", keys);
    const length = listLength(keyValues);
    const found = this.#update(keyValues, checkedNumbers("priorities", priorities, to === undefined ? length : undefined), from, to ?? length);
    this.engine.changed();
    return found;
  }

  /** Checks the priorities `from` … `to`. @throws RangeError if a priority is invalid */
  checkPriorities(priorities: Numbers, from: number, to: number): void {
    this.#update(undefined, priorities, from, to);
  }

  /** Sets or only checks priorities. Returns how many of the items existed. @param keys the keys of the items; undefined to only check the priorities */
  #update(keys: Numbers | undefined, priorities: Numbers, from: number, to: number): number {
    const { core } = this.engine;
    const n = to - from;
    const at = core.scratch(24 * n);
    const first = at >>> 3;
    const isWhole = keys !== undefined && from === 0 && listLength(keys) === n;
    if (isWhole) {
      core.f64.set(keys, first);
      core.f64.set(priorities, first + n);
    } else {
      // The elements are copied in a loop, because creating subarrays of the lists would allocate memory.
      for (let i = 0; i < n; i++) {
        core.f64[first + i] = keys === undefined ? 0 : (keys[from + i] as number);
        core.f64[first + n + i] = priorities[from + i] as number;
      }
    }
    checkKeys(core.f64, first, n);
    const found = core.x.table_update(this.handle, at, at + 8 * n, n, at + 16 * n, at + 20 * n);
    if (found < 0) throw priorityError(`priorities[${from + core.errorArgument}]`, core.errorValue);
    return found;
  }

  /**
   * Counts a draw of n items that was made ahead, by their keys.
   * @param times the draw counts in the batch, which are set to the current counts of the items that still exist
   */
  count(keys: Float64Array, n: number, times?: Uint32Array): void {
    const { core } = this.engine;
    const at = core.scratch(12 * n);
    const timesAt = (at + 8 * n) >>> 2;
    core.f64.set(keys.subarray(0, n), at >>> 3);
    if (times !== undefined) core.u32.set(times.subarray(0, n), timesAt);
    core.x.table_count_draw(this.handle, at, n, at + 8 * n);
    times?.set(core.u32.subarray(timesAt, timesAt + n));
    this.engine.changed();
  }

  /** Deletes items by key. Returns how many existed. */
  delete(keys: Numbers): number {
    const { core } = this.engine;
    const keyValues = checkedKeys("keys", keys);
    const n = listLength(keyValues);
    const at = core.scratch(8 * n);
    core.f64.set(keyValues, at >>> 3);
    checkKeys(core.f64, at >>> 3, n);
    const found = core.x.table_delete(this.handle, at, n);
    this.engine.changed();
    return found;
  }

  clear(): void {
    this.engine.core.x.table_clear(this.handle);
    this.engine.changed();
  }

  /** Returns, for the item in each slot, the number of its column layout; 0 for whole steps. */
  layoutsOf(slots: Uint32Array): number[] {
    const { core } = this.engine;
    const at = (core.x.table_layouts(this.handle) >>> 0) / 4;
    return Array.from(slots, (slot) => (at === 0 ? 0 : columnsOf(core.u32[at + slot] as number)));
  }

  /** Returns the state of an item by its key; undefined if the item was removed. */
  item(key: number): ItemState | undefined {
    const { core } = this.engine;
    if (typeof key !== "number") throw mustBe(TypeError, "key", "a number", key);
    if (!isKey(key)) throw mustBe(RangeError, "key", "a whole number from 0 to 2^53 - 1, such as a key of a batch", key);
    const at = core.scratch(48);
    if (core.x.table_item(this.handle, key, at) === 0) return undefined;
    const [, length = 0, timesSampled = 0, isWaiting, priority = 0, probability = 0] = core.f64.subarray(at / 8);
    return { isWaiting: isWaiting === 1, length, timesSampled, priority, probability };
  }
}
