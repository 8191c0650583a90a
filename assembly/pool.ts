/**
 * The pool: rows of one spec, each counted and linked to its successor. The ring buffer, generalised: no dead rows, no wrap-around, nothing moves.
 * A row is named by where it is, granule × 1024 + place in the block: no directory stands between a name and its bytes. 0 means none.
 *
 * POOL, 80 bytes, then LEAF × leaves:
 *    0 │ rows u32       │ rowsAt u32    │  rows a block, at most 1,024 · where in a block their bytes begin
 *    8 │ rowBytes u32   │ blockBytes u32 │
 *   16 │ freeFirst u32  │ freeLast u32  │  queue of freed rows through `next`, reused oldest first
 *   24 │ free u32       │ fresh u32     │  its length · the next row never used, 0 = none is left
 *   32 │ high u32       │ capacity u32  │  rows ever used · rows that there is room for
 *   40 │ episodes u32   │ leaves u32    │  the last episode number given
 *   48 │ apart u32      │ shares u32    │  how many leaves are not in the row · are SHARED
 *   56 │ directory u32  │ slots u32     │  address of u32 × slots: the blocks, in the order in which they came
 *   64 │ blocks u32     │ index u32     │  while an image is made: address of u32 × granules, the place of a block in the directory
 *   72 │ indexBytes u32 │ … u32         │
 *
 * A block, at most 64 KiB or one row:
 *   │ HEAD × rows │ bytes × rows │ values of the first WIDE leaf × rows │ …
 * HEAD, 12 bytes: │ refs u32 │ next u32 │ episode u32 │
 *   refs: items, windows and rows (of another pool) that hold this row
 *   next: the row that follows, 0 = none; bit 31: the episode ends here
 */
import { arena_alloc, arena_free } from "./arena";
import { align16, GRANULE, GRANULE_BITS, PAGE_BYTES } from "./layout";
import { LEAF_BYTES, Leaf, NARROW, SHARED, WIDE } from "./leaf";

/** The row in a link. */
export const LINK_ROW: u32 = 0x3fffffff;
/** The bit of a link that ends the episode. */
export const LINK_END: u32 = 0x80000000;
/** A row's name: granule, then place. */
export const PLACE_BITS: u32 = 10;
export const PLACE: u32 = (1 << PLACE_BITS) - 1;
export const HEAD_BYTES: u32 = 12;
const LEAVES_AT: usize = 80;
/** A directory begins with one granule. */
const FIRST_SLOTS: u32 = GRANULE >> 2;

@unmanaged
export class Pool {
  rows: u32;
  rowsAt: u32;
  rowBytes: u32;
  blockBytes: u32;
  freeFirst: u32;
  freeLast: u32;
  free: u32;
  fresh: u32;
  high: u32;
  capacity: u32;
  episodes: u32;
  leaves: u32;
  apart: u32;
  shares: u32;
  directory: u32;
  slots: u32;
  blocks: u32;
  index: u32;
  indexBytes: u32;
  unused: u32;

  @inline
  leaf(i: u32): Leaf {
    return changetype<Leaf>(changetype<usize>(this) + LEAVES_AT + <usize>(i * LEAF_BYTES));
  }

  @inline
  block(row: u32): usize {
    return <usize>((row >> PLACE_BITS) << GRANULE_BITS);
  }

  /** Address of the row's HEAD: its count of holders. */
  @inline
  head(row: u32): usize {
    return this.block(row) + <usize>((row & PLACE) * HEAD_BYTES);
  }

  /** Address of the row's bytes. */
  @inline
  bytes(row: u32): usize {
    return this.block(row) + <usize>this.rowsAt + <usize>((row & PLACE) * this.rowBytes);
  }

  /** Address of the row's value of a leaf; SHARED: of its frames' rows. */
  @inline
  value(row: u32, leaf: Leaf): usize {
    return this.block(row) + <usize>leaf.at + <usize>((row & PLACE) * leaf.step);
  }

  /** The row that follows, 0 = none. */
  @inline
  next(row: u32): u32 {
    return load<u32>(this.head(row), 4) & LINK_ROW;
  }

  /** Whether the episode ends with this row. */
  @inline
  ends(row: u32): bool {
    return (load<u32>(this.head(row), 4) & LINK_END) != 0;
  }

  @inline
  episode(row: u32): u32 {
    return load<u32>(this.head(row), 8);
  }

  @inline
  retain(row: u32): void {
    const head = this.head(row);
    store<u32>(head, load<u32>(head) + 1);
  }

  @inline
  release(row: u32): void {
    const head = this.head(row);
    const refs = load<u32>(head) - 1;
    store<u32>(head, refs);
    if (refs == 0) this.drop(row, head);
  }

  /** A row that nothing holds any more: its frames go with it, and it queues for reuse. */
  @inline
  drop(row: u32, head: usize): void {
    if (this.shares != 0) releaseShared(this, row);
    this.queue(row, head);
  }

  /** Queues a row that nothing holds for reuse. */
  @inline
  queue(row: u32, head: usize): void {
    store<u32>(head, 0, 4);
    if (this.freeFirst != 0) store<u32>(this.head(this.freeLast), row, 4);
    else this.freeFirst = row;
    this.freeLast = row;
    this.free += 1;
  }

  /** The row that `take` gives next; there must be room. */
  @inline
  upcoming(): u32 {
    return this.freeFirst != 0 ? this.freeFirst : this.fresh;
  }

  /** A row with count 1 and no link; there must be room. Its bytes are the caller's to write. */
  @inline
  take(): u32 {
    let row = this.freeFirst;
    if (row == 0) row = takeFresh(this);
    else {
      this.freeFirst = load<u32>(this.head(row), 4);
      this.free -= 1;
    }
    // refs 1, next 0
    store<u64>(this.head(row), 1);
    return row;
  }
}
if (offsetof<Pool>() != LEAVES_AT) ERROR("POOL: the leaves follow at byte 80");

export function pool_bytes(leaves: u32): u32 {
  return <u32>LEAVES_AT + leaves * LEAF_BYTES;
}

/** An empty pool; every leaf is described by `pool_leaf`, then `pool_open` lays the blocks out. */
export function pool_init(pool: usize, rowBytes: u32, leaves: u32): void {
  memory.fill(pool, 0, pool_bytes(leaves));
  const p = changetype<Pool>(pool);
  p.rowBytes = rowBytes;
  p.leaves = leaves;
}

/** Leaf i of the spec: `offset` in the row (NARROW, SHARED), `staged` in the staging record; of a stack, `bytes` is one frame. */
export function pool_leaf(pool: usize, i: u32, kind: u32, dtype: u32, bytes: u32, offset: u32): void {
  const leaf = changetype<Pool>(pool).leaf(i);
  leaf.kind = kind;
  leaf.dtype = dtype;
  leaf.bytes = bytes;
  leaf.frames = 1;
  leaf.at = offset;
}

/** Where leaf i stands in a staging record; of a SHARED leaf also the pool of its frames and how many make one value. */
export function pool_leaf_source(pool: usize, i: u32, staged: u32, frames: u32, shared: u32): void {
  const leaf = changetype<Pool>(pool).leaf(i);
  leaf.staged = staged;
  leaf.frames = frames;
  leaf.pool = shared;
}

/** Lays the blocks out, once all leaves are described. */
export function pool_open(pool: usize): void {
  const p = changetype<Pool>(pool);
  let each = HEAD_BYTES + p.rowBytes;
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind == WIDE) each += leaf.bytes;
    if (leaf.kind != NARROW) p.apart += 1;
    if (leaf.kind == SHARED) p.shares += 1;
  }
  // A little less than 64 KiB leaves room to align the bytes.
  p.rows = min(max((PAGE_BYTES - 16) / each, 1), PLACE + 1);
  p.rowsAt = align16(p.rows * HEAD_BYTES);
  let at = p.rowsAt + p.rows * p.rowBytes;
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind == WIDE) {
      leaf.at = at;
      leaf.step = leaf.bytes;
      at += p.rows * leaf.bytes;
    } else {
      leaf.at += p.rowsAt;
      leaf.step = p.rowBytes;
    }
  }
  p.blockBytes = at;
}

/** Rows that are held by something. */
export function pool_live(pool: usize): u32 {
  const p = changetype<Pool>(pool);
  return p.high - p.free;
}

/** Makes sure that `count` rows can be taken, in this pool and in those that it shares; false (OUT_OF_MEMORY) leaves what there is. */
export function reserveRows(p: Pool, count: u32): bool {
  while (p.free + p.capacity - p.high < count) {
    if (!growPool(p)) return false;
  }
  if (p.shares == 0) return true;
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind == SHARED && !reserveRows(changetype<Pool>(<usize>leaf.pool), framesOf(p, leaf.pool) * count)) return false;
  }
  return true;
}

/** One more block. */
export function growPool(p: Pool): bool {
  if (p.blocks == p.slots && !growDirectory(p)) return false;
  const block = arena_alloc(p.blockBytes);
  if (block == 0) return false;
  store<u32>(<usize>p.directory + ((<usize>p.blocks) << 2), block);
  p.blocks += 1;
  p.capacity += p.rows;
  if (p.fresh == 0) p.fresh = rowOf(p, p.high + 1);
  return true;
}

/** The row with this number: rows are numbered 1, 2, … as they were first used, in every image of the pool alike. */
export function rowOf(p: Pool, number: u32): u32 {
  if (number == 0 || number > p.capacity) return 0;
  const block = load<u32>(<usize>p.directory + ((<usize>((number - 1) / p.rows)) << 2));
  return ((block >> GRANULE_BITS) << PLACE_BITS) | ((number - 1) % p.rows);
}

/** Takes rows as long as they follow each other, up to `most`; how many. There must be room. */
export function takeRun(p: Pool, most: u32): u32 {
  const first = p.take();
  let count: u32 = 1;
  while (count < most && p.upcoming() == first + count) {
    p.take();
    count += 1;
  }
  return count;
}

function takeFresh(p: Pool): u32 {
  const row = p.fresh;
  p.high += 1;
  p.fresh = (row & PLACE) + 1 == p.rows ? rowOf(p, p.high + 1) : row + 1;
  return row;
}

function growDirectory(p: Pool): bool {
  const slots = p.slots == 0 ? FIRST_SLOTS : p.slots << 1;
  const directory = arena_alloc(slots << 2);
  if (directory == 0) return false;
  memory.copy(directory, p.directory, (<usize>p.blocks) << 2);
  arena_free(p.directory, p.slots << 2);
  p.directory = directory;
  p.slots = slots;
  return true;
}

/** Frames of one step that come from a shared pool. */
function framesOf(p: Pool, shared: u32): u32 {
  let frames: u32 = 0;
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind == SHARED && leaf.pool == shared) frames += leaf.frames;
  }
  return frames;
}

function releaseShared(p: Pool, row: u32): void {
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind != SHARED) continue;
    for (let k: u32 = 0; k < leaf.frames; k++) {
      const frame = load<u32>(p.value(row, leaf) + ((<usize>k) << 2));
      if (frame != 0) releaseFrame(changetype<Pool>(<usize>leaf.pool), frame);
    }
  }
}

/** `release` in a pool that itself shares nothing. */
function releaseFrame(p: Pool, row: u32): void {
  const head = p.head(row);
  const refs = load<u32>(head) - 1;
  store<u32>(head, refs);
  if (refs == 0) p.queue(row, head);
}

/** What a run of rows is: single, no episode ends before its last row; plain, each row is its predecessor + 1 as well. Places in ITEM's word. */
export const PLAIN: u32 = 1 << 24;
export const SINGLE: u32 = 1 << 25;

/** A run of rows: linked, one after the other. */
@unmanaged
export class Run {
  /** Holds each row of a run once more; tells what it is. */
  @inline
  static retain(p: Pool, first: u32, length: u32): u32 {
    let kind = PLAIN | SINGLE;
    let row = first;
    for (let left = length; ; ) {
      const head = p.head(row);
      store<u32>(head, load<u32>(head) + 1);
      left -= 1;
      if (left == 0) break;
      const link = load<u32>(head, 4);
      if (link != row + 1) kind &= (link & LINK_END) != 0 ? 0 : SINGLE;
      row = link & LINK_ROW;
      assert(row != 0, "a run is linked to its end");
    }
    return kind;
  }

  @inline
  static release(p: Pool, first: u32, length: u32): void {
    let row = first;
    for (let left = length; ; ) {
      const head = p.head(row);
      const refs = load<u32>(head) - 1;
      // Before the row is queued, which overwrites its link.
      const after = load<u32>(head, 4) & LINK_ROW;
      store<u32>(head, refs);
      if (refs == 0) p.drop(row, head);
      left -= 1;
      if (left == 0) break;
      row = after;
    }
  }

  /** What one hold (`by` 1) or release (`by` -1) of `items` runs of a length does, the first from `first` on and each a row further; all rows follow each other. */
  static cover(p: Pool, first: u32, items: u32, length: u32, by: i32): void {
    const rows = items + length - 1;
    const most = min(items, length);
    let head = p.head(first);
    for (let j: u32 = 0; j < rows; j++) {
      const refs = load<u32>(head) + min(min(j + 1, rows - j), most) * by;
      store<u32>(head, refs);
      if (refs == 0) p.drop(first + j, head);
      head += HEAD_BYTES;
    }
  }
}
