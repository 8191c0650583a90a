/** Makes a tiny pool, and streams, tables and writers on it. A step is its number (i32), a reward (f32) and a discount (f64): 16 bytes. */
import { Draw, draw_bytes, draw_init } from "../../../assembly/draw/draw";
import { NARROW } from "../../../assembly/rows/leaf";
import { Pool, pool_bytes, pool_init, pool_leaf, pool_open } from "../../../assembly/rows/pool";
import { Stream, stream_bytes, stream_init } from "../../../assembly/rows/stream";
import { kindHas, LINKED, TOGETHER } from "../../../assembly/selectors/kinds";
import { LimiterOptions } from "../../../assembly/tables/rate-limiter";
import { Table, table_bytes, table_exponents, table_init, table_limits, table_seed } from "../../../assembly/tables/table";
import { writer_bytes, writer_init } from "../../../assembly/writer/writer";
import { zeroed } from "./memory";

export const NUMBER: u32 = 0;
export const REWARD: u32 = 1;
export const DISCOUNT: u32 = 2;
const I32: u32 = 5;
const F32: u32 = 9;
const F64: u32 = 10;

const staged: usize = memory.data(16, 16);
const limits: usize = memory.data(32, 16);

/** @param rowBytes exceeds the size of a step to get blocks of few rows */
export function newPool(rowBytes: u32 = 16): Pool {
  const at = zeroed(pool_bytes(3));
  pool_init(at, rowBytes, 3);
  pool_leaf(at, DISCOUNT, NARROW, F64, 8, 0, 0, 1, 0);
  pool_leaf(at, NUMBER, NARROW, I32, 4, 8, 8, 1, 0);
  pool_leaf(at, REWARD, NARROW, F32, 4, 12, 12, 1, 0);
  pool_open(at);
  return changetype<Pool>(at);
}

export function newStream(pool: Pool, keep: u32): Stream {
  const s = changetype<Stream>(zeroed(stream_bytes(keep)));
  stream_init(changetype<usize>(s), <u32>changetype<usize>(pool), keep, keep);
  return s;
}

/** Writes a step to the location that `Stream.append` and `writer_append` read. Returns its address. */
export function stage(number: i32, reward: f64 = 0, discount: f64 = 1): usize {
  store<f64>(staged, discount);
  store<i32>(staged, number, 8);
  store<f32>(staged, <f32>reward, 12);
  return staged;
}

export function append(s: Stream, number: i32, reward: f64 = 0, discount: f64 = 1): u32 {
  const row = s.append(stage(number, reward, discount));
  assert(row != 0, "there is room");
  return row;
}

export function numberOf(pool: Pool, row: u32): i32 {
  return load<i32>(pool.value(row, pool.leaf(NUMBER)));
}

export function newTable(pool: Pool, maxSize: u32, maxPending: u32, sampler: u32, remover: u32): Table {
  // As in src/memory/table.ts, a sampler and a remover with the same order are one selector.
  if (kindHas(sampler, LINKED) && kindHas(remover, LINKED)) remover |= TOGETHER;
  const at = zeroed(<u32>table_bytes(maxSize, maxPending, sampler, remover));
  table_init(at, <u32>changetype<usize>(pool), maxSize, maxPending, sampler, remover);
  table_exponents(at, 1, 1);
  setLimits(at, 0, -f64.MAX_VALUE, f64.MAX_VALUE);
  table_seed(at, 1, 2, 3);
  return changetype<Table>(at);
}

/** Sets the limits of a table. The rate limiter expects one draw per insert, within the given bounds. */
export function setLimits(table: usize, maxTimesSampled: u32, minDiff: f64, maxDiff: f64): void {
  const limiter = changetype<LimiterOptions>(limits);
  limiter.samplesPerInsert = 1;
  limiter.minSize = 1;
  limiter.minDiff = minDiff;
  limiter.maxDiff = maxDiff;
  table_limits(table, Infinity, maxTimesSampled, limits);
}

/** Returns a writer with one stream per lane. The spec sets its rules. */
export function newWriter(pool: Pool, lanes: u32, keep: u32, rules: u32, across: bool = false): usize {
  const writer = zeroed(<u32>writer_bytes(lanes, rules, keep));
  writer_init(writer, <u32>changetype<usize>(pool), lanes, rules, keep, across ? 1 : 0, 0, 0);
  return writer;
}

/** Returns a draw for n items of up to `width` rows. */
export function newDraw(n: u32, width: u32): Draw {
  const draw = zeroed(draw_bytes(n) + 12 * n * width);
  draw_init(draw, n, n * width);
  return changetype<Draw>(draw);
}
