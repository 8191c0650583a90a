/**
 * Holds the one Replay of an instance, and the regions through which the instance exchanges bytes with a host.
 *
 * ROOT, 396 bytes:
 *    0 │ handle u32      │ open u32        │  the handle of the newest Replay, never 0 · 1: the Replay exists
 *    8 │ REGION × 4 (8 each)               │  input: bytes from the host · batch: the result of a draw · work: scratch memory of a call · description: columns and counters
 *   40 │ dirty u32       │ closes u32      │  memory up to this granule may contain other bytes than zeros, even if the arena has not allocated this memory · 1: the snapshot's writers end their episodes
 *   48 │ seed u64                          │
 *   56 │ maxBytes u32    │ changes u32     │  changes increases with each call that changes something, which ends a snapshot that is being read
 *   64 │ PLACED (12)                       │  rows/layout.ts
 *   76 │ pool u32                          │  the steps' POOL
 *   80 │ checked u32     │ shown u32       │  1: some leaves are flags, text or half floats · number + 1 of the view whose batch is in the batch region, 0: none
 *   88 │ draw u32        │ evictFrom u32   │  the DRAW of that batch · number + 1 of the table that evicts when steps take more than storedMax, 0: none
 *   96 │ storedMax f64                     │  bytes that steps may take, 0: any (tables/stored-bytes.ts)
 *  104 │ stepBytes u32                     │  bytes of a packed step: more than the staged bytes if there are half floats, which are f32 here
 *  108 │ ROLE × 5 (16 each)                │  path u32, bytes u32, isSet u32, … : transition-roles.ts
 *  188 │ LIST × 13 (16 each)               │  fields, dims, lists, shares, tables, writers, rules, views, nexts, columns, bytes, pools, sources
 *
 * REGION, 8 bytes: │ at u32 │ bytes u32 │
 */
import { arena_alloc, arena_free, arena_init } from "../memory/arena";
import { E_OUT_OF_MEMORY } from "../memory/error";
import { GRANULE_BITS, header, MAGIC, MAX_BYTES } from "../memory/layout";
import { Placed } from "../rows/layout";
import { Pool } from "../rows/pool";
import { GROWING_ARRAY_BYTES, GrowingArray } from "./growing-array";
import { CLOSED, INVALID, OUT_OF_TURN, Refusal } from "./refusal";

const REGIONS_AT: usize = 8;
const PLACED_AT: usize = 64;
export const ROLES_AT: usize = 108;
const LISTS_AT: usize = 188;
const LISTS: usize = 13;
const ROOT_BYTES: usize = LISTS_AT + LISTS * GROWING_ARRAY_BYTES;
const ROOT_AT: usize = memory.data(396, 16);
if (ROOT_BYTES != 396) ERROR("ROOT is 396 bytes");

export const INPUT: u32 = 0;
export const BATCH: u32 = 1;
export const WORK: u32 = 2;
export const DESCRIPTION: u32 = 3;

@unmanaged
class Region {
  at: u32;
  bytes: u32;
}
if (offsetof<Region>() != 8) ERROR("REGION is 8 bytes");

@unmanaged
export class Root {
  handle: u32;
  open: u32;
  input: u32;
  inputBytes: u32;
  batch: u32;
  batchBytes: u32;
  work: u32;
  workBytes: u32;
  description: u32;
  descriptionBytes: u32;
  dirty: u32;
  closes: u32;
  seed: u64;
  maxBytes: u32;
  changes: u32;
  stagedBytes: f64;
  rowBytes: u32;
  pool: u32;
  checked: u32;
  shown: u32;
  draw: u32;
  evictFrom: u32;
  storedMax: f64;
  stepBytes: u32;

  @inline
  static the(): Root {
    return changetype<Root>(ROOT_AT);
  }

  placed(): usize {
    return ROOT_AT + PLACED_AT;
  }

  rows(): Pool {
    return changetype<Pool>(<usize>this.pool);
  }

  private list(i: usize): GrowingArray {
    return changetype<GrowingArray>(ROOT_AT + LISTS_AT + i * GROWING_ARRAY_BYTES);
  }

  /** The leaves, as FIELDs, in the order of all hosts. */
  fields(): GrowingArray {
    return this.list(0);
  }

  /** The shapes of all leaves, as u32. */
  dims(): GrowingArray {
    return this.list(1);
  }

  /** The paths whose parts are numbered, as WORDs. */
  lists(): GrowingArray {
    return this.list(2);
  }

  /** The names under which leaves share values, as SHAREs. */
  shares(): GrowingArray {
    return this.list(3);
  }

  /** The options of tables, as TABLE_OPTIONS. */
  tables(): GrowingArray {
    return this.list(4);
  }

  /** The options of writers, as WRITER_OPTIONS. */
  writers(): GrowingArray {
    return this.list(5);
  }

  /** The rules of writers, as ITEM_RULEs. */
  rules(): GrowingArray {
    return this.list(6);
  }

  /** The views, as VIEWs. */
  views(): GrowingArray {
    return this.list(7);
  }

  /** The leaves that views also show at the bootstrap, as WORDs. */
  nexts(): GrowingArray {
    return this.list(8);
  }

  /** The columns of all views, as VIEW_COLUMNs. */
  columns(): GrowingArray {
    return this.list(9);
  }

  /** The bytes of a snapshot, or of a text, while it is assembled. */
  bytes(): GrowingArray {
    return this.list(10);
  }

  /** The addresses of all pools, as u32. */
  pools(): GrowingArray {
    return this.list(11);
  }

  /** The sources of mixtures, as SOURCEs. */
  sources(): GrowingArray {
    return this.list(12);
  }

  /**
   * Returns a region with room for `bytes` bytes. The content is lost if the region moves. Returns 0 and leaves the region unchanged if there is no memory.
   */
  region(which: u32, bytes: u64): usize {
    const region = changetype<Region>(ROOT_AT + REGIONS_AT + <usize>(which << 3));
    if (bytes <= <u64>region.bytes && region.at != 0) return region.at;
    // Near the limit, memory may suffice for the request but not for doubling.
    const more = max(bytes, 2 * <u64>region.bytes);
    return move(region, more) || move(region, bytes) ? <usize>region.at : 0;
  }

  /** Whether bytes that a host refers to are inside the input buffer. */
  holds(at: usize, bytes: f64): bool {
    return <u64>at >= <u64>this.input && <f64>at + bytes <= <f64>this.input + <f64>this.inputBytes && this.input != 0;
  }
}
if (offsetof<Root>() != ROLES_AT) ERROR("ROOT: the roles follow at byte 108");
if (offsetof<Root>("stagedBytes") != PLACED_AT || offsetof<Root>("pool") != PLACED_AT + offsetof<Placed>()) ERROR("ROOT: PLACED at byte 64");

function move(region: Region, bytes: u64): bool {
  const at = bytes > <u64>MAX_BYTES ? 0 : arena_alloc(<u32>bytes);
  if (at == 0) return false;
  // Releasing the old region earlier would not make room, because it is smaller than the new one and the arena does not join runs.
  arena_free(region.at, region.bytes);
  region.at = at;
  region.bytes = <u32>bytes;
  return true;
}

/** Returns the Replay of a handle; null, with a refusal, if it does not exist. */
export function opened(handle: u32): Root | null {
  const root = Root.the();
  if (root.open != 0 && handle == root.handle) return root;
  const refusal = Refusal.of(CLOSED).put("handle must belong to the open Replay of this instance");
  if (root.open != 0) refusal.put(" (").number(root.handle).put(")");
  refusal.put(", got ").number(handle);
  if (root.open == 0) refusal.put(root.handle == 0 ? ". Create a Replay first" : ". The Replay was freed. Create a new one");
  return null;
}

/** Returns the root of an instance that can hold a Replay; null, with a refusal, if the instance already has a Replay. */
export function vacant(): Root | null {
  const root = Root.the();
  if (root.open == 0) return root;
  Refusal.of(OUT_OF_TURN).put("this instance already has a Replay (handle ").number(root.handle).put("). Free it first, or use another instance");
  return null;
}

/** Makes room for bytes that the host passes, and returns their address; returns 0 if there is no memory. Earlier content is lost if the buffer moves. */
export function replay_input(bytes: u32): u32 {
  const root = Root.the();
  if (header().magic != MAGIC) arena_init(MAX_BYTES >> GRANULE_BITS, 0);
  // Without a Replay the input is the only allocation, so it grows in place.
  const had = root.inputBytes;
  const grows = root.open == 0 && bytes > had;
  if (grows) reset(0);
  const at = root.region(INPUT, max(bytes, 1));
  if (at != 0) return <u32>at;
  if (grows) reset(had);
  Refusal.of(E_OUT_OF_MEMORY).put("there is no room for ").number(bytes).put(" bytes of input. Free the Replay, or pass less at a time");
  return 0;
}

/** Releases all memory. `inputBytes`: keeps an input of that size in place, if the input was the only allocation. */
export function reset(inputBytes: u32): void {
  const root = Root.the();
  const handle = root.handle;
  const dirty = max(root.dirty, header().top);
  memory.fill(ROOT_AT, 0, ROOT_BYTES);
  root.handle = handle;
  root.dirty = dirty;
  arena_init(MAX_BYTES >> GRANULE_BITS, 0);
  if (inputBytes != 0) {
    root.input = arena_alloc(inputBytes);
    root.inputBytes = inputBytes;
  }
}

/** Makes sure that later allocations are zeroed like new memory, whatever the memory contained before. */
export function clean(): void {
  const root = Root.the();
  const top = header().top;
  if (root.dirty > top) memory.fill(top << GRANULE_BITS, 0, <usize>((root.dirty - top) << GRANULE_BITS));
  root.dirty = 0;
}

/** Releases the memory of the Replay and of the input buffer. */
export function replay_free(handle: u32): i32 {
  if (opened(handle) === null) return CLOSED;
  reset(0);
  return 0;
}

/** Refuses bytes outside the input buffer. */
export function outside(what: string, at: usize, bytes: f64): i32 {
  const root = Root.the();
  return Refusal.of(INVALID)
    .put(what)
    .put(" must be ")
    .number(bytes)
    .put(" bytes inside the input buffer (")
    .number(root.inputBytes)
    .put(" bytes from address ")
    .number(root.input)
    .put("), got address ")
    .number(<f64>at).code;
}
