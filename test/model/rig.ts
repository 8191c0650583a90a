/** Wraps one table on a core, with as little code as possible between a test and the exports. Steps contain only their number. */
import { CROSS, KEY, OF_ITEMS, OUTPUT_BYTES, PRIORITY, PROBABILITY, TABLE_SIZE, TIMES_SAMPLED } from "../../src/base/abi.ts";
import { kindsOf } from "../../src/memory/table.ts";
import { LIMITER_OPTIONS, NO_LIMIT, type RateLimiter } from "../../src/schema/rate-limiter.ts";
import type { Selector } from "../../src/schema/selector.ts";
import { type CoreExports, coreOf, type Target } from "../support/core.ts";

export interface RigOptions {
  readonly sampler: Selector;
  readonly remover: Selector;
  readonly maxSize: number;
  readonly maxPending: number;
  /** 0 means no limit. */
  readonly maxTimesSampled: number;
  readonly maxSteps: number;
  readonly limiter: RateLimiter;
  /** The number of steps in the window. */
  readonly keep: number;
  readonly across: boolean;
  readonly seed: number;
  /** The number of items in the largest draw. */
  readonly max: number;
  readonly target?: Target;
}

export interface ItemView {
  readonly length: number;
  readonly timesSampled: number;
  readonly pending: boolean;
  readonly priority: number;
  readonly probability: number;
}

/** Returns options of a table limited only by its size. */
export function plain(sampler: Selector, remover: Selector, maxSize: number): RigOptions {
  return {
    sampler,
    remover,
    maxSize,
    maxPending: 0,
    maxTimesSampled: 0,
    maxSteps: Number.POSITIVE_INFINITY,
    limiter: NO_LIMIT,
    keep: 4,
    across: false,
    seed: 1,
    max: 1024,
  };
}

export class Rig {
  readonly x: CoreExports;
  readonly pool: number;
  readonly stream: number;
  readonly writer: number;
  readonly table: number;
  readonly draw: number;
  u32!: Uint32Array;
  f64!: Float64Array;
  readonly #staged: number;
  /** Memory for keys, priorities, slots, nodes and steps of the largest draw. */
  readonly #scratch: number;
  readonly #max: number;
  readonly #across: boolean;
  /** The number of items in the open draw. */
  #count = 0;
  /** Indices of the draw's columns in `f64` and `u32`. */
  readonly keys: number;
  readonly probabilities: number;
  readonly priorities: number;
  readonly times: number;
  readonly sizes: number;

  constructor(options: RigOptions) {
    const x = coreOf(options.target ?? "release");
    this.x = x;
    const { maxSize, maxPending, sampler, remover, limiter, keep, max } = options;
    this.pool = x.arena_alloc(x.pool_bytes(1));
    x.pool_init(this.pool, 8, 1);
    x.pool_leaf(this.pool, 0, 0, 6, 4, 0, 0, 1, 0);
    x.pool_open(this.pool);
    this.writer = x.arena_alloc(x.writer_bytes(1, 0, keep));
    x.writer_init(this.writer, this.pool, 1, 0, keep, options.across ? 1 : 0, 0, 0);
    this.stream = x.writer_stream(this.writer, 0);
    this.#across = options.across;
    const kinds = kindsOf(x, sampler, remover);
    this.table = x.arena_alloc(x.table_bytes(maxSize, maxPending, kinds.sampler, kinds.remover));
    x.table_init(this.table, this.pool, maxSize, maxPending, kinds.sampler, kinds.remover);
    x.table_exponents(this.table, sampler.exponent ?? 1, remover.exponent ?? 1);
    const numbers = x.arena_alloc(8 * LIMITER_OPTIONS.length);
    new Float64Array(x.memory.buffer, numbers).set(LIMITER_OPTIONS.map((option) => limiter[option]));
    x.table_limits(this.table, options.maxSteps, options.maxTimesSampled, numbers);
    x.arena_free(numbers, 8 * LIMITER_OPTIONS.length);
    x.table_seed(this.table, options.seed, 0, 0);
    this.draw = x.arena_alloc(x.draw_bytes(max) + 12 * max * keep);
    x.draw_init(this.draw, max, max * keep);
    this.#max = max;
    this.#staged = x.arena_alloc(16);
    this.#scratch = x.arena_alloc(24 * max + 4 * (max + 1) * keep + OUTPUT_BYTES);
    this.keys = x.draw_column(this.draw, KEY) >>> 3;
    this.probabilities = x.draw_column(this.draw, PROBABILITY) >>> 3;
    this.priorities = x.draw_column(this.draw, PRIORITY) >>> 3;
    this.times = x.draw_column(this.draw, TIMES_SAMPLED) >>> 2;
    this.sizes = x.draw_column(this.draw, TABLE_SIZE) >>> 2;
    this.refresh();
  }

  /** Called when memory may have grown. */
  refresh(): void {
    if (this.u32 !== undefined && this.u32.length !== 0) return;
    this.u32 = new Uint32Array(this.x.memory.buffer);
    this.f64 = new Float64Array(this.x.memory.buffer);
  }

  append(step: number, writer = this.writer): void {
    this.u32[this.#staged >> 2] = step;
    const code = this.x.writer_append(writer, this.#staged);
    if (code !== 0) throw new Error(`append gave ${code}`);
    this.refresh();
  }

  /** Ends the episode. */
  end(): void {
    this.x.stream_end(this.stream, this.#across ? 1 : 0);
  }

  /** Returns 1 if the item is inserted, 0 if it waits, or an error code. */
  create(length: number, priority: number, stream = this.stream): number {
    const code = this.x.table_insert(this.table, stream, length, 0, priority);
    this.refresh();
    return code;
  }

  newest(): number {
    return this.x.table_newest(this.table);
  }

  counter(which: number): number {
    return this.x.table_counter(this.table, which);
  }

  update(keys: readonly number[], priorities: readonly number[]): number {
    const at = this.#scratch;
    const n = keys.length;
    this.f64.set(keys, at >> 3);
    this.f64.set(priorities, (at >> 3) + n);
    return this.x.table_update(this.table, at, at + 8 * n, n, at + 16 * n, at + 20 * n);
  }

  delete(keys: readonly number[]): number {
    this.f64.set(keys, this.#scratch >> 3);
    return this.x.table_delete(this.table, this.#scratch, keys.length);
  }

  /** Draws and keeps the draw open for `steps`. `settle` closes it. */
  sample(n: number, flags = 0, among = 0): number {
    if (n > this.#max) throw new Error(`a draw of ${n} has no room`);
    this.#count = this.x.table_sample(this.table, this.draw, n, flags, among);
    return this.#count;
  }

  /** Counts a draw that was made ahead. @param before replaces the counts of items that are gone */
  count(keys: readonly number[], before: number): Uint32Array {
    const at = this.#scratch;
    const n = keys.length;
    this.f64.set(keys, at >> 3);
    this.u32.fill(before, (at >> 2) + 2 * n, (at >> 2) + 3 * n);
    this.x.table_count_draw(this.table, at, n, at + 8 * n);
    return this.u32.slice((at >> 2) + 2 * n, (at >> 2) + 3 * n);
  }

  settle(): void {
    this.x.table_close_draw(this.table);
  }

  /** Returns the numbers of the steps of every item in the open draw: `width` numbers per item, with 0 for missing steps. */
  steps(width: number): Uint32Array {
    const out = this.#scratch;
    this.x.draw_rows(this.draw, OF_ITEMS, this.table, this.#count, width, CROSS);
    const steps = out + OUTPUT_BYTES;
    const to = steps + 4 * width;
    this.u32.set([0, steps, width, 0, to], out >> 2);
    for (let t = 0; t < width; t++) this.u32[(steps >> 2) + t] = t;
    this.x.gather(this.draw, this.pool, out, 1);
    return this.u32.subarray(to >> 2);
  }

  has(key: number): boolean {
    return this.x.table_item(this.table, key, this.#scratch) !== 0;
  }

  /** Returns the core's description of an item in use. */
  item(key: number): ItemView | undefined {
    if (!this.has(key)) return undefined;
    const at = this.#scratch >> 3;
    const [length, timesSampled, waits, priority, probability] = this.f64.subarray(at + 1, at + 6) as unknown as [number, number, number, number, number];
    return { length, timesSampled, pending: waits === 1, priority, probability };
  }

  /** Returns the broken invariants: `table pool stream arena`, all 0 if none is broken. */
  broken(): string {
    const { x } = this;
    return `${x.table_check(this.table)} ${x.pool_check(this.pool)} ${x.stream_check(this.stream)} ${x.arena_check()}`;
  }
}

/** The result of `broken` for a healthy core. */
export const HEALTHY = "0 0 0 0";
