/**
 * Implements a table that grows up to its limit, and then evicts its oldest items. Without a limit, it grows until memory runs out. Its contents can be read
 * slot by slot.
 */

import { ABOUT_FIRST, ABOUT_KEY, ABOUT_LENGTH, ABOUT_PRIORITY } from "../base/abi.ts";
import { ReplayError } from "../base/error.ts";
import { MAX_ITEMS } from "../base/limits.ts";
import { checkKeys } from "../schema/copy-numbers.ts";
import { minSize } from "../schema/rate-limiter.ts";
import { fifo, type Selector } from "../schema/selector.ts";
import type { Engine } from "./engine.ts";
import type { ErrorPriorities } from "./priorities.ts";
import type { CoreStream } from "./stream.ts";
import { CoreTable, type CoreTableOptions, tableBytes } from "./table.ts";

export interface GrowingTableOptions {
  readonly sampler: Selector;
  /** The maximum number of items; Infinity if only memory limits them. */
  readonly maxSize: number;
  /** The maximum total steps of the items; Infinity if there is no limit. */
  readonly maxSteps: number;
  readonly seed: number | bigint;
  /** The initial capacity, in items. Default: FIRST_CAPACITY. */
  readonly capacity?: number;
}

/**
 * The slots of a table's items (oldest first) and the free slots after them, and the number of slots ever used. Tables with equal items, random states and
 * arrangements make the same draws.
 */
export interface Arrangement {
  readonly slots: Uint32Array;
  readonly high: number;
}

const FIRST_CAPACITY = 1024;
const CHUNK = 1024;
const RANDOM_BYTES = 32;

export class GrowingTable extends CoreTable {
  #options: GrowingTableOptions;
  #capacity: number;
  #isClosed = false;

  /** @throws ReplayError OUT_OF_MEMORY */
  constructor(engine: Engine, options: GrowingTableOptions) {
    const capacity = Math.max(1, Math.min(options.capacity ?? FIRST_CAPACITY, limitOf(options)));
    super(engine, coreOptions(options, capacity), options.seed, 0);
    this.#options = options;
    this.#capacity = capacity;
    this.#open(this.handle, capacity);
  }

  /** Ensures that n more items of `episodes` episodes can be made. @throws ReplayError OUT_OF_MEMORY; nothing changes in that case */
  reserve(n: number, episodes = n): void {
    const { size } = this;
    const max = limitOf(this.#options);
    // Items above the limit are evicted after the next insert.
    const need = size > max ? size + 1 : Math.min(size + n, max);
    if (this.#capacity < need) this.#grow(need);
    if (this.#options.maxSize === Number.POSITIVE_INFINITY && size + n > this.#capacity)
      throw new ReplayError("OUT_OF_MEMORY", `a buffer can have at most ${MAX_ITEMS} items. Set a capacity`);
    const { core } = this.engine;
    core.checkedResult(core.x.table_reserve(this.handle, episodes));
  }

  /**
   * Inserts an item of a stream's last steps; there must be room. Evicts the oldest items if a limit is exceeded. O(length + log n), or O(log n) if the
   * previous item had the same length
   */
  insert(stream: CoreStream, length: number, priority: number): void {
    const { core } = this.engine;
    core.checkedResult(core.x.table_insert(this.handle, stream.handle, length, 0, priority));
    this.engine.changed();
  }

  /** Sets the limits on items and steps, which apply from the next insert on. The current contents may exceed them. */
  limit(maxSize: number, maxSteps: number): void {
    this.#options = { ...this.#options, maxSize, maxSteps };
    this.engine.core.x.table_max_size(this.handle, Math.max(1, Math.min(maxSize, this.#capacity)));
    this.limits(this.handle, coreOptions(this.#options, this.#capacity));
  }

  arrangement(): Arrangement {
    const { core } = this.engine;
    const high = core.x.table_high(this.handle);
    const items = this.slots();
    const at = core.scratch(4 * high + 4);
    const free = core.x.table_free_slots(this.handle, at);
    const slots = new Uint32Array(items.length + free);
    slots.set(items);
    slots.set(core.u32.subarray(at / 4, at / 4 + free), items.length);
    return { slots, high };
  }

  /** On an empty table, sets the slots that items take first. Returns whether that was possible. */
  arrange({ slots, high }: Arrangement): boolean {
    this.reserve(high);
    const { core } = this.engine;
    const at = core.scratch(4 * slots.length + 4);
    core.u32.set(slots, at / 4);
    return core.x.table_arrange(this.handle, high, at, slots.length) !== 0;
  }

  /** Returns the slots in order of age, oldest first. */
  slots(): Uint32Array {
    const { core } = this.engine;
    const slots = new Uint32Array(this.size);
    const at = core.scratch(4 * CHUNK);
    for (let done = 0; done < slots.length; ) {
      const count = core.x.table_slots(this.handle, done === 0 ? 0 : (slots[done - 1] as number), CHUNK, at);
      slots.set(core.u32.subarray(at / 4, at / 4 + count), done);
      done += count;
    }
    return slots;
  }

  /** Yields the slots in order of age, without slots whose items are evicted in the meantime. */
  *liveSlots(): Generator<number, void> {
    const keys = Float64Array.from(this.slots(), (slot) => this.keyOf(slot));
    for (const key of keys) {
      const slot = this.#isClosed ? 0 : this.engine.core.x.table_find(this.handle, key);
      if (slot !== 0) yield slot;
    }
  }

  /** Returns the number of steps of the item in a slot. */
  lengthOf(slot: number): number {
    return this.engine.core.x.table_about(this.handle, slot, ABOUT_LENGTH);
  }

  keyOf(slot: number): number {
    return this.engine.core.x.table_about(this.handle, slot, ABOUT_KEY);
  }

  priorityOf(slot: number): number {
    return this.engine.core.x.table_about(this.handle, slot, ABOUT_PRIORITY);
  }

  /** Returns the row numbers of the item in a slot: all rows, or n rows from index `from` on. O(from + n) */
  rowsOf(slot: number, from = 0, n: number = this.lengthOf(slot) - from): Uint32Array {
    const { core, pool } = this.engine;
    const at = core.scratch(4 * n);
    core.x.pool_run(pool, core.x.table_about(this.handle, slot, ABOUT_FIRST), from, n, at);
    return core.u32.slice(at / 4, at / 4 + n);
  }

  /** The sum of the weights of all items. Weights are the priorities if the exponent of the sampler is 1. */
  get total(): number {
    return this.engine.core.x.table_total(this.handle);
  }

  /** Whether an item has a weight above 0. This getter returns a boolean, because V8 would allocate memory for a fraction such as the sum. */
  get hasWeight(): boolean {
    return this.engine.core.x.table_weighs(this.handle) !== 0;
  }

  /**
   * Returns the smallest priority of a table whose sampler has the exponent 1; Infinity without items. @param allowZeros whether priorities may be 0, which
   * takes O(n)
   */
  min(allowZeros: boolean): number {
    return this.engine.core.x.table_min(this.handle, allowZeros ? 1 : 0);
  }

  /** A copy of the table's random state: 32 bytes. */
  get randomState(): Uint8Array {
    const at = this.engine.core.x.table_random(this.handle) >>> 0;
    return this.engine.core.u8.slice(at, at + RANDOM_BYTES);
  }

  set randomState(bytes: Uint8Array) {
    this.engine.core.u8.set(bytes, this.engine.core.x.table_random(this.handle) >>> 0);
  }

  /** Draws n random numbers with the table's random state. Returns how many are below a ratio. */
  chances(n: number, ratio: number): number {
    return this.engine.core.x.table_chances(this.handle, n, ratio);
  }

  /** Calls a function that draws and reads the result. If the function throws, restores the random state. */
  drawAtomically<T>(draw: () => T): T {
    const state = this.randomState;
    try {
      return draw();
    } catch (error) {
      this.randomState = state;
      throw error;
    }
  }

  /**
   * Sets new priorities of n items by key, computed from errors. Skips removed items, and returns how many items still existed. O(n log size)
   * @throws RangeError if a key or an error is invalid; nothing changes in that case
   */
  updateErrors(errorPriorities: ErrorPriorities, keys: ArrayLike<number>, errors: ArrayLike<number>, n: number): number {
    const { core } = this.engine;
    const at = core.scratch(24 * n + 8);
    const to = at + 8 * n;
    const { f64 } = core;
    for (let i = 0; i < n; i++) {
      f64[(at >>> 3) + i] = keys[i] as number;
      f64[(to >>> 3) + i] = errors[i] as number;
    }
    checkKeys(f64, at >>> 3, n);
    errorPriorities.weigh(core, to, n);
    // Removed items must not raise the maximum. Items are looked up only if a priority is above the maximum.
    if (errorPriorities.check(core, to, n)) {
      const max = at / 8 + 3 * n;
      core.x.priority_max(this.handle, at, to, n, 8 * max);
      if ((f64[max] as number) > errorPriorities.max) errorPriorities.max = f64[max] as number;
    }
    const found = core.x.table_update(this.handle, at, to, n, at + 16 * n, at + 20 * n);
    this.engine.changed();
    return found;
  }

  /** Releases the table's items, and frees its memory. */
  close(): void {
    const { x } = this.engine.core;
    this.#isClosed = true;
    this.engine.columnLayouts.tables.delete(this);
    x.table_clear(this.handle);
    x.table_close(this.handle);
    this.#free(this.handle, this.#capacity);
  }

  /** Sets up the newly allocated memory of a table with this capacity. */
  #open(handle: number, capacity: number): void {
    const { x } = this.engine.core;
    const max = limitOf(this.#options);
    x.table_open(handle, Math.max(max, capacity));
    if (max < capacity) x.table_max_size(handle, Math.max(1, max));
  }

  /** Doubles the capacity, or grows it to `need` if that is larger. If memory is short, grows it only to `need`, or by an eighth if that is larger. */
  #grow(need: number): void {
    const max = Math.max(limitOf(this.#options), need);
    const old = this.handle;
    const oldCapacity = this.#capacity;
    try {
      this.#make(Math.min(Math.max(2 * oldCapacity, need), max));
    } catch {
      this.#make(Math.min(Math.max(need, Math.ceil(1.125 * oldCapacity)), max));
    }
    const { core } = this.engine;
    const code = core.x.table_move(old, this.handle);
    if (code !== 0) {
      this.#free(this.handle, this.#capacity);
      this.handle = old;
      this.#capacity = oldCapacity;
      throw core.errorFor(code);
    }
    this.#free(old, oldCapacity);
  }

  #make(capacity: number): void {
    this.handle = this.make(coreOptions(this.#options, capacity));
    this.#capacity = capacity;
    this.#open(this.handle, capacity);
  }

  #free(handle: number, capacity: number): void {
    const { core } = this.engine;
    core.x.arena_free(handle, tableBytes(core, coreOptions(this.#options, capacity)));
  }
}

function limitOf({ maxSize }: GrowingTableOptions): number {
  return Math.min(maxSize, MAX_ITEMS);
}

function coreOptions({ sampler, maxSize, maxSteps }: GrowingTableOptions, capacity: number): CoreTableOptions {
  return {
    maxSize: capacity,
    maxPending: 0,
    sampler,
    remover: fifo(),
    rateLimiter: minSize(1),
    // `maxSize` of a core table is at least 1, so a limit of 0 steps keeps it empty instead.
    maxSteps: maxSize === 0 ? 0 : maxSteps,
    maxTimesSampled: Number.MAX_SAFE_INTEGER,
  };
}
