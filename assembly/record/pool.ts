/** A pool's rows as records. */
import { E_CORRUPT, E_OUT_OF_MEMORY, fail } from "../memory/error";
import { SHARED, WIDE } from "../rows/leaf";
import { growPool, numberOf, Pool, rowOf } from "../rows/pool";
import { Head, LINK_END, LINK_ROW } from "../rows/row";
import { exchange, transfer } from "./names";

export function pool_index(_pool: usize): i32 {
  return 0;
}

export function pool_unindex(_pool: usize): void {}

/** Rows ever used, and the last episode number (u32 each). */
export function pool_numbers(pool: usize, out: usize): void {
  const p = changetype<Pool>(pool);
  store<u32>(out, p.high);
  store<u32>(out, p.episodes, 4);
}

/** Gives an empty pool `high` rows that nothing holds yet; 0, or OUT_OF_MEMORY. */
export function pool_restore(pool: usize, high: u32, episodes: u32): i32 {
  const p = changetype<Pool>(pool);
  while (p.capacity < high) {
    if (!growPool(p)) return E_OUT_OF_MEMORY;
  }
  p.high = high;
  p.fresh = rowOf(p, high + 1);
  p.episodes = episodes;
  return 0;
}

/** The next row number from `number` on that is held (1) or not (0); rows ever used + 1 where there is none. */
export function pool_seek(pool: usize, number: u32, held: u32): u32 {
  const p = changetype<Pool>(pool);
  while (number <= p.high && u32(Head.of(rowOf(p, number)).refs != 0) != held) number++;
  return number;
}

/** Bytes of a row's record: link, episode, bytes, wide values. */
export function pool_record(pool: usize): u32 {
  const p = changetype<Pool>(pool);
  let bytes = 8 + p.rowBytes;
  for (let i: u32 = 0; i < p.leaves; i++) bytes += p.leaf(i).kind == WIDE ? p.leaf(i).bytes : 0;
  return bytes;
}

/** The records of `count` rows from `number` on, to or from `at`; 0, or CORRUPT. */
export function pool_records(pool: usize, number: u32, count: u32, at: usize, saving: u32): i32 {
  const p = changetype<Pool>(pool);
  if (number == 0 || <u64>number + count - 1 > p.high) return fail(E_CORRUPT, 1, number);
  for (; count > 0; count--, number++) {
    const row = rowOf(p, number);
    const head = changetype<usize>(Head.of(row));
    const link = load<u32>(saving != 0 ? head + 4 : at);
    const next = exchange(p, link & LINK_ROW, saving);
    if (next > LINK_ROW) return fail(E_CORRUPT, 1, number);
    store<u32>(saving != 0 ? at : head + 4, next | (link & LINK_END));
    transfer(head + 8, at + 4, 4, saving);
    transfer(p.bytes(row), at + 8, p.rowBytes, saving);
    if (p.shares != 0 && !exchangeFrames(p, row, at + 8, saving)) return fail(E_CORRUPT, 1, number);
    at += 8 + p.rowBytes;
    for (let i: u32 = 0; i < p.leaves; i++) {
      const leaf = p.leaf(i);
      if (leaf.kind != WIDE) continue;
      transfer(p.value(row, leaf), at, leaf.bytes, saving);
      at += leaf.bytes;
    }
  }
  return 0;
}

/** Runs of the queue of freed rows, from the run of row `cursor` on (0: the first), up to `most`: writes how many, the next cursor (0 = done), then (number, count) each. */
export function pool_free_runs(pool: usize, cursor: u32, most: u32, out: usize): void {
  const p = changetype<Pool>(pool);
  const free = p.free();
  let run = cursor == 0 ? free.first : cursor;
  let runs: u32 = 0;
  for (; run != 0 && runs < most; runs++) {
    store<u32>(out + 8 + ((<usize>runs) << 3), numberOf(p, run));
    store<u32>(out + 8 + ((<usize>runs) << 3), free.endOf(run) + 1 - run, 4);
    run = free.after(run);
  }
  store<u32>(out, runs);
  store<u32>(out, run, 4);
}

/** Queues a run of rows as freed; 0, or CORRUPT. */
export function pool_free_run(pool: usize, number: u32, count: u32): i32 {
  const p = changetype<Pool>(pool);
  if (number == 0 || <u64>number + count - 1 > p.high) return fail(E_CORRUPT, 1, number);
  for (; count > 0; count--, number++) p.free().push(rowOf(p, number));
  return 0;
}

/** Translates the frames that a row names, in its record or in itself, whichever was just written. */
function exchangeFrames(p: Pool, row: u32, record: usize, saving: u32): bool {
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind != SHARED) continue;
    const frames = changetype<Pool>(<usize>leaf.pool);
    const names = saving != 0 ? record + <usize>(leaf.at - p.rowsAt) : p.value(row, leaf);
    for (let f: u32 = 0; f < leaf.frames; f++) {
      const name = exchange(frames, load<u32>(names + ((<usize>f) << 2)), saving);
      if (name > LINK_ROW) return false;
      store<u32>(names + ((<usize>f) << 2), name);
      if (saving == 0 && name != 0) frames.retain(name);
    }
  }
  return true;
}
