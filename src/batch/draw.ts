/** A draw: which items, streams or rows a call picked, and what there is to tell of them. It lives in scratch memory, until the next call that takes some. */

import { BLOCKED, DISTINCT, E_UNLIKE, HAVE, KEY, NEED, OF_ITEMS, OF_ROWS, OF_STREAMS, ROWS, SHUFFLED, SLOT, START } from "../base/abi.ts";
import { ReplayError } from "../base/error.ts";
import type { Engine } from "../memory/engine.ts";
import type { CoreStream } from "../memory/stream.ts";
import type { StreamSet } from "../memory/streams.ts";
import type { Blocked } from "./batch.ts";
import type { EpochPlace } from "./epoch-state.ts";
import type { NStep } from "./layout.ts";

export class Draw {
  /** DRAW in linear memory. */
  handle = 0;
  /** For `weigh`: handed on as an argument, a fraction would be allocated. */
  readonly beta: Float64Array = new Float64Array(1);
  readonly #engine: Engine;
  /** Bytes of a draw of the number of entries that was last asked for. */
  #bytes = 0;
  #n = -1;
  /** What `prepare` made room for last, and where. */
  #before = -1;
  #rows = 0;
  #base = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Makes room in scratch for n entries of `rows` rows together, behind so many bytes for other things. Where those are. */
  prepare(bytes: number, n: number, rows: number): number {
    const { core } = this.#engine;
    const { x } = core;
    // What nobody else has taken since is still there.
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

  /** Where a column is; or the rows, in the place behind the last. */
  address(which: number): number {
    return this.#engine.core.x.draw_column(this.handle, which) >>> 0;
  }

  /** The first n numbers of a u32 column, to be read or written. */
  column(which: number, n: number): Uint32Array {
    const at = this.address(which) / 4;
    return this.#engine.core.u32.subarray(at, at + n);
  }

  /** Slots of the first n items, or numbers of streams. */
  slots(n: number): Uint32Array {
    return this.column(SLOT, n);
  }

  /** Where their runs begin. */
  starts(n: number): Uint32Array {
    return this.column(START, n);
  }

  /** Names of the first n rows, entry by entry. */
  rows(n: number): Uint32Array {
    return this.column(ROWS, n);
  }

  /** What came of it: BLOCKED, HAVE, NEED, DRAW_LONGEST, DRAW_LAYOUT. */
  result(which: number): number {
    return this.#engine.core.x.draw_result(this.handle, which);
  }

  /** Why it has fewer items than were asked for. */
  blocked(): Blocked {
    return { by: BLOCKED_BY[this.result(BLOCKED)] as Blocked["by"], have: this.result(HAVE), need: this.result(NEED) };
  }

  /** n different items of a table, or as many as can be drawn; how many. */
  different(table: number, n: number): number {
    const { x } = this.#engine.core;
    const count = x.table_sample(table, this.handle, n, DISTINCT, 0);
    x.table_close_draw(table);
    return count;
  }

  /** Up to n items of a table; how many, or a code. Opens the draw: `table_close_draw` closes it. */
  sample(table: number, n: number, flags: number, among: number): number {
    return this.#engine.core.x.table_sample(table, this.handle, n, flags, among);
  }

  /** The items of keys that are still there, in their order, without counting or asking anything; how many, or a code. */
  get(table: number, keys: Float64Array, flags: number): number {
    const { f64, x } = this.#engine.core;
    f64.set(keys, this.address(KEY) / 8);
    return x.table_get(table, this.handle, keys.length, flags);
  }

  /** Looks at what `sample` would give, and changes nothing: how many, or a code; of DRAW_LONGEST, DRAW_SHORTEST and DRAW_LAYOUT. */
  peek(table: number, n: number, flags: number, among: number): number {
    return this.#engine.core.x.table_peek(table, this.handle, n, flags, among);
  }

  /** The next items of an epoch, up to n; how many, or a code. Unless it LOOKS, `close` closes it. */
  epoch(table: number, n: number, flags: number, place: EpochPlace): number {
    const { seed, epoch, since, slots, position, shuffle } = place;
    return this.#engine.core.x.table_epoch(table, this.handle, n, flags + (shuffle ? SHUFFLED : 0), seed, epoch, since, slots, position);
  }

  /** Closes what `sample` opened. */
  close(table: number): void {
    this.#engine.core.x.table_close_draw(table);
  }

  /** n different items of a prioritized table, the first `alike` of them all alike; how many there were. */
  mixed(table: number, n: number, alike: number, ratio: number): number {
    return this.#engine.core.x.draw_mixed(this.handle, table, n, alike, ratio);
  }

  /** n different steps of a stream, by chance of a table. */
  single(table: number, stream: CoreStream, n: number): void {
    this.#engine.core.x.draw_single(this.handle, table, stream.handle, n);
  }

  /** n windows of `width` steps of a set's streams, rows and all. */
  windows(set: StreamSet, n: number, width: number, weigh: number): void {
    this.#engine.core.x.streams_draw(set.handle, this.handle, n, width, weigh);
  }

  /** Chooses where in items longer than `width` steps a run of so many begins, all starts alike. */
  chooseStarts(table: number, width: number): void {
    this.#engine.core.x.draw_starts(this.handle, table, width);
  }

  /** Names its items, and where their runs begin: `runs` with FROM_START reads them. */
  nameItems(table: number, slots: ArrayLike<number>, starts: ArrayLike<number>): void {
    this.slots(slots.length).set(slots);
    this.starts(slots.length).set(starts);
    this.#engine.core.x.draw_given(this.handle, table, slots.length, 0);
  }

  /** Names windows of a set's streams, and reads their rows. */
  nameWindows(set: StreamSet, streams: ArrayLike<number>, starts: ArrayLike<number>, width: number): void {
    const n = streams.length;
    this.slots(n).set(streams);
    this.starts(n).set(starts);
    this.#engine.core.x.draw_rows(this.handle, OF_STREAMS, set.handle, n, width, 0);
  }

  /** Names single rows, of a stream whose steps are all alike, or of none. */
  nameRows(rows: ArrayLike<number>, of?: CoreStream): void {
    this.rows(rows.length).set(rows);
    this.#engine.core.x.draw_rows(this.handle, OF_ROWS, of?.handle ?? 0, rows.length, 1, 0);
  }

  /** The rows of n items, `width` each. @param from as draw_rows has it (assembly/draw/row-matrix.ts): 0 their start, 1 their end, 2 anywhere; FROM_START, CROSS */
  runs(table: number, n: number, width: number, from: number): void {
    this.#engine.core.x.draw_rows(this.handle, OF_ITEMS, table, n, width, from);
  }

  /** Of n items only some steps of their windows of `width`: from the start, or negative ones from the end. Columns then name places of `steps`. */
  pick(table: number, n: number, width: number, from: number, steps: readonly number[]): void {
    const { core } = this.#engine;
    core.i32.set(steps, (core.x.draw_picks(this.handle) >>> 0) / 4);
    core.x.draw_picked_rows(this.handle, table, n, width, from, steps.length);
  }

  /** Importance weights, divided by the largest of the draw, or of the table, or by nothing. */
  weigh(table: number, normalize: number): void {
    this.#engine.core.x.draw_weights(this.handle, table, this.beta[0] as number, normalize);
  }

  /** (probability / divisor)^-beta. */
  weighBy(divisor: number, options: { readonly beta: number }, bounded: number): void {
    this.#engine.core.x.draw_weights_by(this.handle, divisor, options.beta, bounded);
  }

  /** n-step returns over the rows; how many miss what the last step of an episode says. @param table where they begin with items of one */
  nStep(how: NStep, table = 0): number {
    const { core, pool } = this.#engine;
    // gamma is read here: handed on as an argument, a fraction would be allocated.
    return core.x.draw_n_step(this.handle, pool, table, how.reward, how.discount, how.terminated, how.n, how.gamma, how.flags);
  }

  /**
   * What learners of sequences need to know of each step of n items (assembly/draw/sequence.ts), in arrays that follow each other; how many rewards no return counts.
   * @param items as many as there is room for @param out where the arrays begin @param work room for the computation
   * @param rewards where they were gathered to, as f32; 0: they are read from their rows
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

  /** After `nStep`: the return of each component of a reward of several, entry by entry. @param out where in scratch */
  vectorReturns(how: NStep, isWide: boolean, out: number): void {
    const { core, pool } = this.#engine;
    core.x.draw_vector_returns(this.handle, pool, how.reward, how.components, how.discount, how.terminated, how.gamma, isWide ? 0 : 1, out);
  }

  /** Makes a column of f64 one of f32, in its place. */
  narrow(column: number): void {
    this.#engine.core.x.draw_narrow(this.handle, column);
  }
}

/** By what a batch is blocked, by DRAW's number for it. */
export const BLOCKED_BY = ["", "minSize", "samplesPerInsert", "items", "columns"] as const;

export function differentColumns(): ReplayError {
  return new ReplayError(
    "SPEC_MISMATCH",
    "items of this draw have different columns, and nothing was drawn: pass the option columns, or sample fewer items at a time",
  );
}

const NO_STRATA = "stratified needs a uniform or prioritized sampler, replacement and no maxTimesSampled";
const NO_OLDEST =
  "among needs a fifo or recency sampler, a prioritized sampler with a fifo or lifo remover, or a uniform sampler (after deletions, raise among)";
const NO_NEWEST =
  "among: { newest } needs a lifo, fifo or recency sampler, or a prioritized or uniform sampler with a fifo or lifo remover (recency({ exponent: 0 }) draws as uniform does, with any remover)";

/** Why the core refused a draw. */
export function refusedDraw({ core }: Engine, code: number): ReplayError {
  if (code === E_UNLIKE) return differentColumns();
  return new ReplayError("UNSUPPORTED", core.errorArgument === 3 ? NO_STRATA : core.errorArgument === 4 ? NO_OLDEST : NO_NEWEST);
}
