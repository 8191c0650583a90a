/**
 * Implements the pool: rows of one spec, each with a reference count and a link to its successor. Unlike a ring buffer, a pool can reuse each row as soon as
 * nothing holds it, does not wrap around, and never moves rows.
 *
 * POOL, 96 bytes, then LEAF × leaves:
 *    0 │ rows u32       │ rowsAt u32    │  rows per block, at most 1,024 · the offset of their bytes in a block
 *    8 │ rowBytes u32   │ blockBytes u32 │
 *   16 │ fresh u32      │ high u32      │  the next unused row, 0 = none is left · rows ever used
 *   24 │ capacity u32   │ episodes u32  │  rows with room · the last assigned episode number
 *   32 │ leaves u32     │ traits u32    │  their number · the parts of rows besides their bytes: APART, SHARES, TRACKED, PACKS, ENTRIES
 *   40 │ limit u32      │ slots u32     │  STORED_BYTES (tables/stored-bytes.ts), 0 = none
 *   48 │ directory u32  │ blocks u32    │  address of u32 × slots: the blocks, in the order of their creation
 *   56 │ changesAt u32  │ changed u32   │  if changes are tracked: the offset of the CHANGEs in a block · the row that changed last, 0 = none
 *   64 │ reciprocal u64                 │  2^38 / rows, rounded up: a product instead of a division, exact below 2^25
 *   72 │ FREE_ROWS (24)                 │  rows to use again, oldest first
 *
 * A block, at most 64 KiB or one row:
 *   │ HEAD × rows │ jump u32 │ its number in the directory u32 │ bytes × rows │ values of the first WIDE leaf × rows │ …   if changes are tracked: │ CHANGE × rows │
 *   jump: a place + 1 whose link leads to a row that is not adjacent; 0: only the last place may have such a link; SEVERAL: several places may have such links
 */
import { arena_alloc, arena_free } from "../memory/arena";
import { E_OUT_OF_MEMORY } from "../memory/error";
import { align16, GRANULE, GRANULE_BITS } from "../memory/layout";
import { rowsOfBlock } from "./block-size";
import { BYTES, CHANGE_BYTES, Change, chain, keeping, LINK, tracking } from "./changes";
import { FreeRows } from "./free-rows";
import { ENTRY, LEAF_BYTES, Leaf, NARROW, PACKED, SHARED, WIDE } from "./leaf";
import { Packs } from "./packs";
import { HEAD_BYTES, Head, HOLDS, LINK_ENDS, LINK_FINAL, LINK_ROW, PLACE, PLACE_BITS } from "./row";

const FREE_AT: usize = 72;
const LEAVES_AT: usize = 96;
const RECIPROCAL_BITS: u32 = 38;
/** The number of freed rows that remain in the queue as long as unused rows are available. */
const SPARE: u32 = 16;
/**
 * The traits of a pool. APART: some leaves are outside the row. SHARES: some leaves are frames in other pools. TRACKED: changes are tracked for a journal.
 * PACKS: the rows are packed frames. ENTRIES: the rows are entries of packed frames. They are bits of one word, so that a single test excludes all of them.
 */
const APART: u32 = 1;
const SHARES: u32 = 2;
const TRACKED: u32 = 4;
const PACKS: u32 = 8;
const ENTRIES: u32 = 16;
const SEVERAL: u32 = u32.MAX_VALUE;
/** The distances, in bytes, of a block's jump and of its number from the bytes of its rows, which follow them. */
const JUMP: usize = 8;
const NUMBER: usize = 4;
/** The initial number of entries of a directory: as many as fit into one granule. */
const FIRST_SLOTS: u32 = GRANULE >> 2;

@unmanaged
export class Pool {
  rows: u32;
  rowsAt: u32;
  rowBytes: u32;
  blockBytes: u32;
  fresh: u32;
  high: u32;
  capacity: u32;
  episodes: u32;
  leaves: u32;
  traits: u32;
  limit: u32;
  slots: u32;
  directory: u32;
  blocks: u32;
  changesAt: u32;
  changed: u32;
  reciprocal: u64;

  @inline
  free(): FreeRows {
    return changetype<FreeRows>(changetype<usize>(this) + FREE_AT);
  }

  /** Whether there are leaves outside the row. */
  @inline
  hasSeparateLeaves(): bool {
    return (this.traits & APART) != 0;
  }

  /** Whether some leaves are in frames of other pools. */
  @inline
  shares(): bool {
    return (this.traits & SHARES) != 0;
  }

  /** Whether its rows are packed frames. */
  @inline
  packs(): bool {
    return (this.traits & PACKS) != 0;
  }

  /** Returns the packs of packed frames, for their pool and for the pool of their entries. */
  @inline
  packed(): Packs {
    return changetype<Packs>(<usize>this.leaf(0).pool);
  }

  /** Whether its rows are the entries of packed frames. */
  @inline
  hasEntries(): bool {
    return (this.traits & ENTRIES) != 0;
  }

  @inline
  leaf(i: u32): Leaf {
    return changetype<Leaf>(changetype<usize>(this) + LEAVES_AT + <usize>(i * LEAF_BYTES));
  }

  /** Returns the address of the row's bytes. */
  @inline
  bytes(row: u32): usize {
    return Head.block(row) + <usize>this.rowsAt + <usize>((row & PLACE) * this.rowBytes);
  }

  /** Returns the address of the row's value of a leaf, or, if the leaf is SHARED, of the names of its frames. */
  @inline
  value(row: u32, leaf: Leaf): usize {
    return Head.block(row) + <usize>leaf.at + <usize>((row & PLACE) * leaf.step);
  }

  /** Returns the row that follows, 0 = none. */
  @inline
  next(row: u32): u32 {
    return Head.of(row).next & LINK_ROW;
  }

  /** Whether the episode ends with this row. */
  @inline
  ends(row: u32): bool {
    return (Head.of(row).next & LINK_ENDS) != 0;
  }

  /** Whether the row is its episode's final step, which has no action. */
  @inline
  isFinal(row: u32): bool {
    return (Head.of(row).next & LINK_FINAL) != 0;
  }

  /** Notes that the link of a row leads to a row that is not adjacent. */
  noteJump(row: u32): void {
    const at = Head.block(row) + <usize>this.rowsAt;
    const place = (row & PLACE) + 1;
    if (place == this.rows) return;
    const jump = load<u32>(at - JUMP);
    if (jump != place) store<u32>(at - JUMP, jump == 0 ? place : SEVERAL);
  }

  /** Returns the number of a row's block in the directory. */
  @inline
  blockNumber(row: u32): u32 {
    return load<u32>(Head.block(row) + <usize>this.rowsAt - NUMBER);
  }

  /** Returns the row whose number exceeds the number of `row` by n < 2^24. That row must exist. */
  @inline
  rowBehind(row: u32, n: u32): u32 {
    const place = (row & PLACE) + n;
    if (place < this.rows) return row + n;
    return Pool.numbered(<usize>this.directory, this.rows, this.reciprocal, this.blocks - 1, this.blockNumber(row), place);
  }

  /**
   * Returns the row at `place`, which is counted from the first row of the block with number `number` and may lie in a later block, up to the block with number
   * `last`. Beyond that block, the result has no meaning. `rows`: the rows per block. The method is static, so that a loop reads a Pool's fields only once.
   */
  @inline
  static numbered(directory: usize, rows: u32, reciprocal: u64, last: u32, number: u32, place: u32): u32 {
    const blocks = <u32>((<u64>place * reciprocal) >> RECIPROCAL_BITS);
    const block = load<u32>(directory + ((<usize>min(number + blocks, last)) << 2));
    return ((block >> GRANULE_BITS) << PLACE_BITS) | (place - blocks * rows);
  }

  /** Whether `last` is in the last place of its block, and the number of `row` is one higher. */
  isNext(last: u32, row: u32): bool {
    return (last & PLACE) + 1 == this.rows && this.blockNumber(last) + 1 < this.blocks && row == this.rowBehind(last, 1);
  }

  /** Returns how many of the rows directly after a row in its block are certainly reached from it through links to adjacent rows. */
  @inline
  neighbours(row: u32): u32 {
    const place = row & PLACE;
    const jump = load<u32>(Head.block(row) + <usize>this.rowsAt - JUMP);
    if (jump == SEVERAL) return 0;
    return (jump > place ? jump : this.rows) - 1 - place;
  }

  @inline
  episode(row: u32): u32 {
    return Head.of(row).episode;
  }

  @inline
  retain(row: u32): void {
    Head.of(row).refs += 1;
  }

  @inline
  changeOf(row: u32): Change {
    return changetype<Change>(Head.block(row) + <usize>this.changesAt + <usize>((row & PLACE) * CHANGE_BYTES));
  }

  /** Notes for a journal that a row, or several consecutive rows, changed, if changes are tracked. The loop prevents inlining, which would cost time. */
  noteChange(row: u32, how: u32, count: u32 = 1): void {
    for (const end = row + count; row < end; row++) chain(changetype<usize>(this) + offsetof<Pool>("changed"), this.changeOf(row), row, how);
  }

  /** Releases a row once. */
  release(row: u32): void {
    this.releaseTimes(row, Head.of(row), 1);
  }

  /** Releases a row `times` times. If the row is no longer held, also releases its frames and queues the row for reuse, unless it waits for a journal. */
  @inline
  releaseTimes(row: u32, head: Head, times: u32): void {
    if (!ASC_NO_ASSERT) assert((head.refs & HOLDS) >= times, "a row is released at most as often as it is held");
    const refs = head.refs - times;
    head.refs = refs;
    if (refs != 0) return;
    if (this.traits > APART && this.waits(row)) return;
    this.free().push(row);
  }

  /**
   * Notes a freed row for a journal, and returns whether the row waits until the journal has saved it. If not, releases the parts of the row that are stored
   * elsewhere.
   */
  private waits(row: u32): bool {
    if ((this.traits & TRACKED) != 0) {
      this.noteChange(row, LINK);
      if (keeping()) return true;
    }
    this.releaseParts(row);
    return false;
  }

  /** Releases the parts of a row that are stored elsewhere. */
  private releaseParts(row: u32): void {
    if (this.shares()) releaseShared(this, row);
    else if (this.packs()) {
      this.packed().forget(row);
      entriesOf(this.packed()).release(Head.of(row).episode);
    } else if (this.hasEntries()) {
      this.packed().drop(row);
      const base = Head.of(row).next & LINK_ROW;
      if (base != 0) this.release(base);
    }
  }

  /** Queues a freed row for reuse, after the journal for which it waited has saved it. */
  queue(row: u32): void {
    this.releaseParts(row);
    this.free().push(row);
  }

  /** Takes a row with a reference count of 1 and no link; there must be room. The caller writes its bytes and notes the change. */
  @inline
  take(): u32 {
    const row = this.reuses(1) ? this.free().take() : takeFresh(this, 1);
    // refs 1, next 0
    store<u64>(changetype<usize>(Head.of(row)), 1);
    return row;
  }

  /** Takes up to `limit` consecutive rows, and returns the first. There must be room. The rows are not initialized; `live` shows how many were taken. */
  takeMany(limit: u32): u32 {
    if (tracking()) return this.takeNoted(limit);
    if (!this.reuses(limit)) return takeFresh(this, min(limit, this.rows - (this.fresh & PLACE)));
    const row = this.free().first;
    this.free().takeMany(limit);
    return row;
  }

  /** Like `takeMany`. Also notes the rows for a journal. */
  private takeNoted(limit: u32): u32 {
    const live = this.live();
    let row: u32;
    if (!this.reuses(limit)) {
      row = takeFresh(this, min(limit, this.rows - (this.fresh & PLACE)));
    } else {
      row = this.free().first;
      this.free().takeMany(limit);
    }
    this.noteChange(row, BYTES, this.live() - live);
    return row;
  }

  /** Returns the number of rows in use: the rows ever used, without the rows in the queue. */
  @inline
  live(): u32 {
    return this.high - this.free().count;
  }

  /** Returns the row with a number. `near`: a row, or 0, and `nearNumber`: its number. If both rows are in the same block, this saves a division. */
  @inline
  rowNear(near: u32, nearNumber: u32, number: u32): u32 {
    const distance = number - nearNumber;
    return near != 0 && (near & PLACE) + distance < this.rows ? near + distance : rowOf(this, number);
  }

  /** Whether to take freed rows instead of unused ones. While unused rows exist, SPARE freed rows stay in the queue, so that it does not keep running empty. */
  @inline
  private reuses(limit: u32): bool {
    return this.free().count >= limit + SPARE || this.fresh == 0;
  }
}
if (offsetof<Pool>() != FREE_AT || FREE_AT + offsetof<FreeRows>() != LEAVES_AT) ERROR("POOL: FREE_ROWS at byte 72, the leaves at byte 96");

export function pool_bytes(leaves: u32): u32 {
  return <u32>LEAVES_AT + leaves * LEAF_BYTES;
}

/** Initializes an empty pool. Describe every leaf with `pool_leaf`, then lay the blocks out with `pool_open`. */
export function pool_init(pool: usize, rowBytes: u32, leaves: u32): void {
  memory.fill(pool, 0, pool_bytes(leaves));
  const p = changetype<Pool>(pool);
  p.rowBytes = rowBytes;
  p.leaves = leaves;
}

/**
 * Describes leaf i of the spec: `offset` in the row (NARROW, SHARED), `staged` in the staging record; for a stack, `bytes` is one frame, and `frames` make a
 * value. `shared`: the pool of a SHARED leaf's frames, or the packs of a PACKED or ENTRY leaf.
 */
export function pool_leaf(pool: usize, i: u32, kind: u32, dtype: u32, bytes: u32, offset: u32, staged: u32, frames: u32, shared: u32): void {
  const leaf = changetype<Pool>(pool).leaf(i);
  leaf.kind = kind;
  leaf.dtype = dtype;
  leaf.bytes = bytes;
  leaf.at = offset;
  leaf.staged = staged;
  leaf.frames = frames;
  leaf.pool = shared;
}

/** Computes the layout of blocks, after all leaves are described. */
export function pool_open(pool: usize): void {
  const p = changetype<Pool>(pool);
  let each = HEAD_BYTES + p.rowBytes;
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind == WIDE) each += leaf.bytes;
    if (leaf.kind != NARROW) p.traits |= APART;
    if (leaf.kind == SHARED) p.traits |= SHARES;
    if (leaf.kind == PACKED) p.traits |= PACKS;
    if (leaf.kind == ENTRY) p.traits |= ENTRIES;
  }
  if (tracking()) p.traits |= TRACKED;
  p.rows = rowsOfBlock(each);
  p.reciprocal = (((<u64>1) << RECIPROCAL_BITS) + <u64>p.rows - 1) / <u64>p.rows;
  p.rowsAt = align16(p.rows * HEAD_BYTES + 8);
  // Columns of numbers are aligned, as far as the preceding columns allow.
  let at = (p.rowsAt + p.rows * p.rowBytes + 7) & ~7;
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
  if (tracking()) {
    p.changesAt = (at + 7) & ~7;
    p.blockBytes = p.changesAt + p.rows * CHANGE_BYTES;
  }
}

/** Returns the number of rows in use. */
export function pool_live(pool: usize): u32 {
  return changetype<Pool>(pool).live();
}

/** Makes sure that `rows` rows can be taken. Returns 0 or OUT_OF_MEMORY. */
export function pool_reserve(pool: usize, rows: u32): i32 {
  return reserveRows(changetype<Pool>(pool), rows) ? 0 : E_OUT_OF_MEMORY;
}

/** Makes sure that `count` rows can be taken, in this pool and in the pools of its shared frames; false (OUT_OF_MEMORY) changes nothing. */
export function reserveRows(p: Pool, count: u32): bool {
  while (p.free().count + p.capacity - p.high < count) {
    if (!growPool(p)) return false;
  }
  return p.packs() ? reserveEntries(p.packed(), count) : reserveFrames(p, count);
}

/** Makes room for the entries of `count` frames, however well they pack. Returns false if there is no memory. */
function reserveEntries(packs: Packs, count: u32): bool {
  return packs.openCache() && packs.reserve(count) && reserveRows(entriesOf(packs), count);
}

/** Returns the pool of the entries of packed frames. */
export function entriesOf(packs: Packs): Pool {
  return changetype<Pool>(<usize>packs.entries);
}

/** Makes room for the frames of `count` rows in the pools of shared frames. Returns false if there is no memory. */
export function reserveFrames(p: Pool, count: u32): bool {
  if (!p.shares()) return true;
  for (let i: u32 = 0; i < p.leaves; i++) {
    const leaf = p.leaf(i);
    if (leaf.kind == SHARED && !reserveRows(changetype<Pool>(<usize>leaf.pool), framesOf(p, leaf.pool) * count)) return false;
  }
  return true;
}

/** Adds a block. Returns false if there is no memory. */
export function growPool(p: Pool): bool {
  if (p.blocks == p.slots && !growDirectory(p)) return false;
  const block = arena_alloc(p.blockBytes);
  if (block == 0) return false;
  store<u32>(<usize>p.directory + ((<usize>p.blocks) << 2), block);
  store<u32>(<usize>block + <usize>p.rowsAt - NUMBER, p.blocks);
  p.blocks += 1;
  p.capacity += p.rows;
  if (p.fresh == 0) p.fresh = rowOf(p, p.high + 1);
  return true;
}

/** Returns the row with a number, or 0 if there is none. Rows are numbered 1, 2, … in the order of first use, and keep their numbers in a restored pool. */
export function rowOf(p: Pool, number: u32): u32 {
  // The number 0 wraps to more than any capacity.
  if (number - 1 >= p.capacity) return 0;
  const block = load<u32>(<usize>p.directory + ((<usize>((number - 1) / p.rows)) << 2));
  return ((block >> GRANULE_BITS) << PLACE_BITS) | ((number - 1) % p.rows);
}

/** Returns the number of a row; 0 for none. */
export function numberOf(p: Pool, row: u32): u32 {
  return row == 0 ? 0 : p.blockNumber(row) * p.rows + (row & PLACE) + 1;
}

/** Takes n unused rows of one block; returns the first row. */
function takeFresh(p: Pool, n: u32): u32 {
  const row = p.fresh;
  assert(row != 0, "room is made before rows are taken");
  p.high += n;
  p.fresh = (row & PLACE) + n == p.rows ? rowOf(p, p.high + 1) : row + n;
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

/** Returns how many frames of one step are in the pool `shared`. */
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
      if (frame != 0) changetype<Pool>(<usize>leaf.pool).release(frame);
    }
  }
}
