/**
 * Makes a draw in scratch memory: the items, streams or rows that a call picked, and the numbers that belong to them. A draw is valid until the next call that
 * uses scratch.
 */

import { BLOCKED, DISTINCT, E_UNLIKE, HAVE, KEY, NEED, OF_ITEMS, OF_ROWS, OF_STREAMS, ROWS, SHUFFLED, SLOT, START } from "../base/abi.ts";
import { ReplayError } from "../base/error.ts";
import type { Engine } from "../memory/engine.ts";
import type { CoreStream } from "../memory/stream.ts";
import type { StreamSet } from "../memory/streams.ts";
import type { Blocked } from "./batch.ts";
import type { EpochPlace } from "./epoch-state.ts";
import type { NStep } from "./layout.ts";

export class Draw {
  /** The address of DRAW in linear memory. */
  handle = 0;
  /** The value for `weigh`. It is in an array, because V8 would allocate memory for a fraction passed as an argument. */
  readonly beta: Float64Array = new Float64Array(1);
  readonly #engine: Engine;
  /** The number of bytes of a draw with `#n` entries. */
  #bytes = 0;
  #n = -1;
  /** The arguments `bytes` and `rows` of the last `prepare` that reserved memory, and the address of that memory. */
  #before = -1;
  #rows = 0;
  #base = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Makes room in scratch for n entries with `rows` rows in total, after `bytes` bytes for other data. Returns the address of those bytes. */
  prepare(bytes: number, n: number, rows: number): number {
    const { core } = this.#engine;
    const { x } = core;
    // The memory that the last call reserved is still valid if no other code has used scratch since.
    if (core.owner !== this || n !== this.#n || bytes !== this.#before || rows > this.#rows) {
      if (n !== this.#n) this.#bytes = x.draw_bytes(n) >>> 0;
      this.#n = n;
      this.#base = core.scratch(bytes + this.#bytes + 12 * rows, this);
      this.#before = bytes;
      this.#rows = rows;
    }
    this.handle = this.#base + bytes;
    x.draw_init(this.handle, n, rows);
    return this.#base;
  }

  /** Returns the address of a column. The number after the last column returns the address of the rows. */
  address(which: number): number {
    return this.#engine.core.x.draw_column(this.handle, which) >>> 0;
  }

  /** Returns a view of the first n numbers of a u32 column. */
  column(which: number, n: number): Uint32Array {
    const at = this.address(which) / 4;
    return this.#engine.core.u32.subarray(at, at + n);
  }

  /** Returns the slots of the first n items, or the stream numbers of the first n windows. */
  slots(n: number): Uint32Array {
    return this.column(SLOT, n);
  }

  /** Returns the positions at which the runs of the first n entries begin. */
  starts(n: number): Uint32Array {
    return this.column(START, n);
  }

  /** Returns the numbers of the first n rows, entry by entry. */
  rows(n: number): Uint32Array {
    return this.column(ROWS, n);
  }

  /** Returns a result of the draw by its number: BLOCKED, HAVE, NEED, DRAW_LONGEST, DRAW_LAYOUT, DRAW_SHORTEST or DRAW_POSITION. */
  result(which: number): number {
    return this.#engine.core.x.draw_result(this.handle, which);
  }

  /** Returns the reason why the draw has fewer items than requested. */
  blocked(): Blocked {
    return { by: BLOCKED_BY[this.result(BLOCKED)] as Blocked["by"], have: this.result(HAVE), need: this.result(NEED) };
  }

  /** Draws n distinct items of a table, or as many as possible. Returns the number of items drawn. */
  different(table: number, n: number): number {
    const { x } = this.#engine.core;
    const count = x.table_sample(table, this.handle, n, DISTINCT, 0);
    x.table_close_draw(table);
    return count;
  }

  /** Draws up to n items of a table. Returns the number of items drawn, or an error code. The draw stays open until `table_close_draw`. */
  sample(table: number, n: number, flags: number, among: number): number {
    return this.#engine.core.x.table_sample(table, this.handle, n, flags, among);
  }

  /** Reads the items of keys that still exist, in the order of the keys, without counting a draw. Returns the number of items read, or an error code. */
  get(table: number, keys: Float64Array, flags: number): number {
    const { f64, x } = this.#engine.core;
    f64.set(keys, this.address(KEY) / 8);
    return x.table_get(table, this.handle, keys.length, flags);
  }

  /** Computes the result of `sample` without drawing: the number of items or an error code, and DRAW_LONGEST, DRAW_SHORTEST and DRAW_LAYOUT. */
  peek(table: number, n: number, flags: number, among: number): number {
    return this.#engine.core.x.table_peek(table, this.handle, n, flags, among);
  }

  /** Draws the next items of an epoch, up to n. Returns the number of items drawn, or an error code. Without LOOKS, the draw stays open until `close`. */
  epoch(table: number, n: number, flags: number, place: EpochPlace): number {
    const { seed, epoch, since, slots, position, shuffle } = place;
    return this.#engine.core.x.table_epoch(table, this.handle, n, flags + (shuffle ? SHUFFLED : 0), seed, epoch, since, slots, position);
  }

  /** Closes a draw that `sample` or `epoch` opened. */
  close(table: number): void {
    this.#engine.core.x.table_close_draw(table);
  }

  /**
   * Draws n distinct items of a prioritized table, the first `alike` of them uniformly. Returns the number of items drawn. @param ratio the fraction of uniform
   * draws, from which probabilities are computed
   */
  mixed(table: number, n: number, alike: number, ratio: number): number {
    return this.#engine.core.x.draw_mixed(this.handle, table, n, alike, ratio);
  }

  /** Draws n distinct steps of a stream with a table's random state. */
  single(table: number, stream: CoreStream, n: number): void {
    this.#engine.core.x.draw_single(this.handle, table, stream.handle, n);
  }

  /**
   * Draws n windows of `width` steps from the streams of a set, and reads the rows of the windows. @param weigh how streams are weighted: LEVEL, UNIFORM or
   * BY_STEPS
   */
  windows(set: StreamSet, n: number, width: number, weigh: number): void {
    this.#engine.core.x.streams_draw(set.handle, this.handle, n, width, weigh);
  }

  /** Chooses uniformly the step at which the run of each item longer than `width` begins. */
  chooseStarts(table: number, width: number): void {
    this.#engine.core.x.draw_starts(this.handle, table, width);
  }

  /** Chooses the given items and the starts of their runs, which `runs` with FROM_START reads. */
  nameItems(table: number, slots: ArrayLike<number>, starts: ArrayLike<number>): void {
    this.slots(slots.length).set(slots);
    this.starts(slots.length).set(starts);
    this.#engine.core.x.draw_given(this.handle, table, slots.length, 0);
  }

  /** Chooses the given windows in the streams of a set, and reads their rows. */
  nameWindows(set: StreamSet, streams: ArrayLike<number>, starts: ArrayLike<number>, width: number): void {
    const n = streams.length;
    this.slots(n).set(streams);
    this.starts(n).set(starts);
    this.#engine.core.x.draw_rows(this.handle, OF_STREAMS, set.handle, n, width, 0);
  }

  /** Chooses the given single rows. If they belong to a stream, they have equal probabilities. */
  nameRows(rows: ArrayLike<number>, of?: CoreStream): void {
    this.rows(rows.length).set(rows);
    this.#engine.core.x.draw_rows(this.handle, OF_ROWS, of?.handle ?? 0, rows.length, 1, 0);
  }

  /** Reads the rows of n items, `width` each. @param from as in draw_rows (assembly/draw/row-matrix.ts): 0 start, 1 end, 2 anywhere; FROM_START, CROSS */
  runs(table: number, n: number, width: number, from: number): void {
    this.#engine.core.x.draw_rows(this.handle, OF_ITEMS, table, n, width, from);
  }

  /**
   * Reads only some steps from the windows of n items. The windows have `width` steps. Steps count from the start, or from the end if they are negative.
   * Columns then refer to steps by position in `steps`.
   */
  pick(table: number, n: number, width: number, from: number, steps: readonly number[]): void {
    const { core } = this.#engine;
    const at = (core.x.draw_picks(this.handle) >>> 0) / 4;
    // For a few numbers, a loop is faster than the method set.
    for (let k = 0; k < steps.length; k++) core.i32[at + k] = steps[k] as number;
    core.x.draw_picked_rows(this.handle, table, n, width, from, steps.length);
  }

  /** Computes importance weights. Divides them by the largest weight in the draw, by the largest weight in the table, or not at all. */
  weigh(table: number, normalize: number): void {
    this.#engine.core.x.draw_weights(this.handle, table, this.beta[0] as number, normalize);
  }

  /** Computes weights as (probability / divisor)^-beta. Divisor 0 means the smallest probability in the draw. If `bounded` is 1, weights are at most 1. */
  weighBy(divisor: number, options: { readonly beta: number }, bounded: number): void {
    this.#engine.core.x.draw_weights_by(this.handle, divisor, options.beta, bounded);
  }

  /**
   * Computes n-step returns over the rows. Returns how many of them bootstrap from the last step of an episode without a final observation, although that step
   * has a reward or a terminal flag, which no return includes. @param table the handle of the table whose items the rows begin with; 0 if there is none
   */
  nStep(how: NStep, table = 0): number {
    const { core, pool } = this.#engine;
    // gamma is read here, because V8 would allocate memory for a fraction passed as an argument.
    return core.x.draw_n_step(this.handle, pool, table, how.reward, how.discount, how.terminated, how.n, how.gamma, how.flags);
  }

  /**
   * Computes the columns of sequences per step of n items (assembly/draw/sequence.ts), in consecutive arrays. Returns the number of rewards that no return
   * includes.
   * @param items the capacity in items @param out the address of the arrays @param work the address of scratch memory for the computation
   * @param rewards the address of gathered rewards as f32; 0 to read the rewards from their rows
   */
  sequences(how: NStep, table: number, items: number, out: number, work: number, rewards: number): number {
    const { x } = this.#engine.core;
    return x.draw_sequences(
      this.handle,
      table,
      how.reward,
      how.components,
      how.discount,
      how.terminated,
      how.n,
      how.gamma,
      how.flags,
      items,
      out,
      work,
      rewards,
    );
  }

  /** After `nStep`: computes the return of each component of a vector reward, entry by entry. @param out the address of the returns in scratch */
  vectorReturns(how: NStep, isWide: boolean, out: number): void {
    const { core, pool } = this.#engine;
    core.x.draw_vector_returns(this.handle, pool, how.reward, how.components, how.discount, how.terminated, how.gamma, isWide ? 0 : 1, out);
  }

  /** Converts a column from f64 to f32 in place. */
  narrow(column: number): void {
    this.#engine.core.x.draw_narrow(this.handle, column);
  }
}

/** The reasons for a short batch, by their number in DRAW. */
export const BLOCKED_BY = ["", "minSize", "samplesPerInsert", "items", "columns"] as const;

export function differentColumns(): ReplayError {
  return new ReplayError(
    "SPEC_MISMATCH",
    "the items of this draw have different columns, so nothing was drawn. Pass the option columns, or sample fewer items at a time",
  );
}

const NO_STRATA = "stratified requires a uniform or prioritized sampler, replacement and no maxTimesSampled";
const NO_OLDEST =
  "among requires a fifo or recency sampler, a prioritized sampler with a fifo or lifo remover, or a uniform sampler. If items were deleted from a table with a uniform sampler, pass a larger among";
const NO_NEWEST =
  "among: { newest } requires a lifo, fifo or recency sampler, or a prioritized or uniform sampler with a fifo or lifo remover. With other removers, replace uniform() with recency({ exponent: 0 })";

/** Returns the error for a draw that the core rejected. */
export function refusedDraw({ core }: Engine, code: number): ReplayError {
  if (code === E_UNLIKE) return differentColumns();
  return new ReplayError("UNSUPPORTED", core.errorArgument === 3 ? NO_STRATA : core.errorArgument === 4 ? NO_OLDEST : NO_NEWEST);
}
