/**
 * A limit on what the rows of a Replay take, with their frames: sizes of packed ones depend on what is in them, so that no number of items says it.
 *
 * STORED_BYTES, 24 bytes, then u32 × pools:
 *    0 │ max f64                 │
 *    8 │ step f64                │  bytes that a step takes at most, with new frames that do not pack
 *   16 │ table u32 │ pools u32   │  the table that evicts · how many pools: of steps, then of frames
 *
 * What counts is canonical, so that a restored Replay evicts alike: rows that something holds, entries of frames with their heads. Not what memory is taken for them.
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

  /** O(pools) */
  now(): f64 {
    let bytes: f64 = 0;
    const end = changetype<usize>(this) + STORED_HEAD + ((<usize>this.pools) << 2);
    for (let at = changetype<usize>(this) + STORED_HEAD; at < end; at += 4) bytes += bytesOf(changetype<Pool>(<usize>load<u32>(at)));
    return bytes;
  }
}
if (offsetof<StoredBytes>() != STORED_HEAD) ERROR("STORED_BYTES: the pools follow at byte 24");

/** Bytes that the rows of a pool take, with the entries of packed frames. */
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

/** Bytes of a STORED_BYTES for so many pools. */
export function stored_bytes_bytes(pools: u32): u32 {
  return <u32>STORED_HEAD + (pools << 2);
}

/** Limits what the pools take, whose addresses (u32 × n) stand at `pools`, that of the steps first; 0 as `table`: nothing evicts. A step takes `step` bytes at most. */
export function stored_bytes_init(limit: usize, max: f64, step: f64, table: u32, pools: usize, n: u32): void {
  const s = changetype<StoredBytes>(limit);
  s.max = max;
  s.step = step;
  s.table = table;
  s.pools = n;
  memory.copy(limit + STORED_HEAD, pools, (<usize>n) << 2);
  changetype<Pool>(<usize>load<u32>(pools)).limit = <u32>limit;
}

/** Bytes that the limited pools take. */
export function stored_bytes_now(limit: usize): f64 {
  return changetype<StoredBytes>(limit).now();
}

/** Before a step: 0, or E_STORED where there is no room for it, and nothing that could leave. */
export function canStore(p: Pool): i32 {
  return p.limit == 0 ? 0 : admitStored(changetype<StoredBytes>(<usize>p.limit));
}

/** After a step, and its items: the table lets go of items until what is stored is within the limit, or it has none. */
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
  // What leaves during a draw gives nothing back before it is closed.
  if (t.drawing != 0) return;
  while (t.count != 0 && s.now() > s.max) removeItem(t, t.remover().pick(t.random(), t.count));
  admitPending(t);
}
