/**
 * Implements a limit on the bytes of a Replay's rows, with their frames. The sizes of packed frames depend on their content, so a number of items cannot
 * express such a limit.
 *
 * STORED_BYTES, 24 bytes, then u32 × pools:
 *    0 │ max f64                 │
 *    8 │ step f64                │  the most bytes of a step, with new frames that cannot be packed
 *   16 │ table u32 │ pools u32   │  the table that evicts · the number of pools: of steps, then of frames
 *
 * Only canonical bytes count, so that a restored Replay evicts the same items: held rows, and entries of frames with their heads. Allocated memory does not
 * count.
 */
import { E_STORED, fail } from "../memory/error";
import { WIDE } from "../rows/leaf";
import { entriesOf, Pool } from "../rows/pool";
import { HEAD_BYTES } from "../rows/row";
import { admitPending, removeItem, Table } from "./table";

const STORED_HEAD: usize = 24;

@unmanaged
class StoredBytes {
  max: f64;
  step: f64;
  table: u32;
  pools: u32;

  /** Returns the number of bytes that count towards the limit. O(pools) */
  now(): f64 {
    let bytes: f64 = 0;
    const end = changetype<usize>(this) + STORED_HEAD + ((<usize>this.pools) << 2);
    for (let at = changetype<usize>(this) + STORED_HEAD; at < end; at += 4) bytes += bytesOf(changetype<Pool>(<usize>load<u32>(at)));
    return bytes;
  }
}
if (offsetof<StoredBytes>() != STORED_HEAD) ERROR("STORED_BYTES: the pools follow at byte 24");

/** Returns the number of bytes of a pool's rows, with the entries of packed frames. */
function bytesOf(p: Pool): f64 {
  const rows = <f64>p.live() * <f64>rowBytes(p);
  if (!p.packs()) return rows;
  const packs = p.packed();
  return rows + <f64>entriesOf(packs).live() * <f64>HEAD_BYTES + <f64>packs.live;
}

function rowBytes(p: Pool): u32 {
  let bytes = HEAD_BYTES + p.rowBytes;
  for (let i: u32 = 0; i < p.leaves; i++) if (p.leaf(i).kind == WIDE) bytes += p.leaf(i).bytes;
  return bytes;
}

/** Returns the number of bytes of a STORED_BYTES for `pools` pools. */
export function stored_bytes_bytes(pools: u32): u32 {
  return <u32>STORED_HEAD + (pools << 2);
}

/**
 * Limits the bytes of n pools. `pools` points to their addresses (u32 × n), the step pool first. If `table` is 0, nothing is evicted. A step takes at most
 * `step` bytes.
 */
export function stored_bytes_init(limit: usize, max: f64, step: f64, table: u32, pools: usize, n: u32): void {
  const s = changetype<StoredBytes>(limit);
  s.max = max;
  s.step = step;
  s.table = table;
  s.pools = n;
  memory.copy(limit + STORED_HEAD, pools, (<usize>n) << 2);
  changetype<Pool>(<usize>load<u32>(pools)).limit = <u32>limit;
}

/** Returns the number of bytes that the limited pools take. */
export function stored_bytes_now(limit: usize): f64 {
  return changetype<StoredBytes>(limit).now();
}

/** Runs before a step. Returns 0, or E_STORED if there is no room for the step and no item to evict. */
export function canStore(p: Pool): i32 {
  return p.limit == 0 ? 0 : admitStored(changetype<StoredBytes>(<usize>p.limit));
}

/**
 * Runs after a step and its items. If a table evicts and no draw is open, evicts its items until the stored bytes are within the limit or the table is empty,
 * and then lets waiting items in.
 */
export function keepStored(p: Pool): void {
  if (p.limit != 0) evictStored(changetype<StoredBytes>(<usize>p.limit));
}

function admitStored(s: StoredBytes): i32 {
  if (s.table != 0 && changetype<Table>(<usize>s.table).count != 0) return 0;
  return s.now() + s.step <= s.max ? 0 : fail(E_STORED, 0, s.max);
}

function evictStored(s: StoredBytes): void {
  if (s.table == 0) return;
  const t = changetype<Table>(<usize>s.table);
  // Items that are removed during a draw release nothing until the draw is closed.
  if (t.drawing != 0) return;
  while (t.count != 0 && s.now() > s.max) removeItem(t, t.remover().pick(t.random(), t.count));
  admitPending(t);
}
