/**
 * Stores the bytes of packed frames as entries in packs, which form a queue whose oldest packs are emptied. Entries are also rows of a pool that stores none of
 * their bytes: HEAD.next is the base if the entry is a patch, and HEAD.episode is the address of the entry's bytes. Its frame and the patches on it hold an
 * entry, so the entry outlives the frame if needed.
 *
 * PACKS, 80 bytes:
 *    0 │ frame u32    │ row u32     │  bytes of a frame · of a row of its image
 *    8 │ element u32  │ entries u32 │  bytes of an element, or of a pixel · the pool of the entries
 *   16 │ oldest u32   │ youngest u32│  packs, linked by `next`, 0 = none
 *   24 │ spare u32    │ spares u32  │  empty packs, linked by `next` · their number
 *   32 │ packBytes u32│ most u32    │  bytes of a pack · entries of the largest size per pack
 *   40 │ work u32     │ cache u32   │  addresses of WORK (packed/work.ts) and of a CACHE, 0 = none
 *   48 │ slots u32    │ shown u32   │  frames of the cache · frames that the open writers show in a step
 *   56 │ live u64                   │  bytes of held entries, with their heads
 *   64 │ taken u64                  │  bytes of the packs in the queue
 *   72 │ moved u64                  │  bytes that were moved so far to empty packs
 *
 * PACK, 16 bytes, then entries that begin within its first 64 KiB:
 *   │ next u32 │ live u32 │ used u32 │ … u32 │   live: bytes of its held entries · used: the offset of the next entry
 *
 * CACHE: │ frame u32 × slots │ bytes of a frame, aligned, × slots │   the newest frames as they were appended, by the last bits of their names; derived
 *
 * ENTRY, 8 bytes, then its bytes:
 *   │ owner u32 │ size 24 bits, depth 4, granule 4 │
 *   owner: the entry's row, 0 if the entry is no longer held · size: the number of its bytes; a frame's size means an unpacked frame · granule: the granule of its pack in which it begins
 *   depth: patches from its key to it; for an unpacked frame, the number of unpacked frames in a row
 */
import { arena_alloc, arena_free } from "../memory/arena";
import { align16, GRANULE, GRANULE_BITS } from "../memory/layout";
import { Head, LINK_ROW, PLACE } from "./row";

export const ENTRY_HEAD: u32 = 8;
const PACK_HEAD: u32 = 16;
const PACKS_BYTES: u32 = 80;
/** The maximum size of a pack in bytes, unless a single frame is larger. The last entry begins below this offset. */
const PACK_BYTES: u32 = 65536;
/** The maximum number of bytes that the unpacking functions read past the end of an entry. */
const SLACK: u32 = 32;
/** The bits of the fields in the second word of an ENTRY: the mask of the size, the position and mask of the depth, and the position of the granule. */
export const SIZE: u32 = 0xffffff;
export const DEPTH_BITS: u32 = 24;
export const DEPTH: u32 = 15;
const GRANULE_AT: u32 = 28;
/** The maximum number of empty packs that are kept for reuse, in addition to reserved packs. */
const SPARES: u32 = 2;
/** The maximum size of a cache, in bytes, unless MIN_SLOTS frames take more. */
const CACHE_BYTES: u32 = 8 << 20;
/** The minimum number of frames in a cache. */
const MIN_SLOTS: u32 = 8;
/**
 * A constant in the limit on dead bytes, which belong to entries that are no longer held. The oldest pack is emptied when the dead bytes exceed a third of the
 * bytes of all packs, plus a third of the bytes of this number of packs.
 */
const DEAD_PACKS: u64 = 4;

@unmanaged
export class Entry {
  owner: u32;
  word: u32;

  @inline
  static of(row: u32): Entry {
    return changetype<Entry>(<usize>Head.of(row).episode);
  }

  @inline
  get size(): u32 {
    return this.word & SIZE;
  }

  /** The stored depth: for an entry that is not a patch, the number of consecutive frames that were not packed. */
  @inline
  get depth(): u32 {
    return (this.word >> DEPTH_BITS) & DEPTH;
  }

  @inline
  bytes(): usize {
    return changetype<usize>(this) + ENTRY_HEAD;
  }

  /** Returns the pack that contains the entry. */
  @inline
  pack(): Pack {
    return changetype<Pack>((changetype<usize>(this) & ~(<usize>GRANULE - 1)) - ((<usize>(this.word >> GRANULE_AT)) << GRANULE_BITS));
  }
}
if (offsetof<Entry>() != ENTRY_HEAD) ERROR("ENTRY is 8 bytes");

@unmanaged
export class Pack {
  next: u32;
  live: u32;
  used: u32;
  unused: u32;
}
if (offsetof<Pack>() != PACK_HEAD) ERROR("PACK is 16 bytes");

/** Returns the number of bytes of an entry with its head: entries begin at multiples of 4. */
export function entryBytes(size: u32): u32 {
  return (ENTRY_HEAD + size + 3) & ~3;
}

@unmanaged
export class Packs {
  frame: u32;
  row: u32;
  element: u32;
  entries: u32;
  oldest: u32;
  youngest: u32;
  spare: u32;
  spares: u32;
  packBytes: u32;
  most: u32;
  work: u32;
  cache: u32;
  slots: u32;
  shown: u32;
  live: u64;
  taken: u64;
  moved: u64;

  /** Whether a row's entry is the unpacked frame. */
  @inline
  isRaw(row: u32): bool {
    return Entry.of(row).size == this.frame;
  }

  /** Returns the number of patches from the key to a row. */
  @inline
  depthOf(row: u32): u32 {
    return this.isRaw(row) ? 0 : Entry.of(row).depth;
  }

  /** Allocates a cache that is large enough for the open writers, or keeps a smaller one if there is no memory. Returns false if there is no cache. */
  openCache(): bool {
    const most = min(max(CACHE_BYTES / align16(this.frame), MIN_SLOTS), PLACE + 1);
    let slots = MIN_SLOTS;
    // The cache has room for the frames of each lane's last step, and as many new ones.
    while (slots < 2 * this.shown && slots * 2 <= most) slots <<= 1;
    if (slots <= this.slots) return true;
    const each = 4 + align16(this.frame);
    const cache = arena_alloc(slots * each);
    if (cache == 0) return this.cache != 0;
    arena_free(this.cache, this.slots * each);
    this.cache = cache;
    this.slots = slots;
    return true;
  }

  /** Returns the address at which the cache stores a frame's bytes, whether or not the frame is cached. */
  cached(frame: u32): usize {
    return <usize>this.cache + <usize>(this.slots << 2) + <usize>((frame & (this.slots - 1)) * align16(this.frame));
  }

  /** Returns the address at which the cache stores the name of the frame to which the cached bytes belong. */
  tag(frame: u32): usize {
    return <usize>this.cache + ((<usize>(frame & (this.slots - 1))) << 2);
  }

  /** Removes a frame from the cache. */
  forget(frame: u32): void {
    if (this.cache != 0 && load<u32>(this.tag(frame)) == frame) store<u32>(this.tag(frame), 0);
  }

  /** Makes sure that `count` entries of any size fit; false (OUT_OF_MEMORY) changes nothing. */
  reserve(count: u32): bool {
    const need = (count + this.most - 1) / this.most;
    while (this.spares < need) {
      const pack = arena_alloc(this.packBytes);
      if (pack == 0) return false;
      this.keep(changetype<Pack>(<usize>pack));
    }
    // Packs that were reserved for a long block of steps are released when shorter blocks follow.
    while (this.spares > need + SPARES) this.giveBack();
    return true;
  }

  /** Adds an entry for a row of the pool of entries, and returns the address at which the caller writes its bytes. There must be room. */
  place(row: u32, size: u32, depth: u32): usize {
    const bytes = entryBytes(size);
    if (!this.fits(bytes)) this.open();
    const pack = changetype<Pack>(<usize>this.youngest);
    const at = changetype<usize>(pack) + <usize>pack.used;
    const entry = changetype<Entry>(at);
    entry.owner = row;
    entry.word = size | (depth << DEPTH_BITS) | ((pack.used >> GRANULE_BITS) << GRANULE_AT);
    Head.of(row).episode = <u32>at;
    pack.used += bytes;
    pack.live += bytes;
    this.live += bytes;
    return entry.bytes();
  }

  /** Drops the entry of a row of the pool of entries, and releases empty packs at the old end of the queue. */
  drop(row: u32): void {
    const entry = Entry.of(row);
    const bytes = entryBytes(entry.size);
    const pack = entry.pack();
    entry.owner = 0;
    pack.live -= bytes;
    this.live -= bytes;
    if (pack.live == 0 && changetype<usize>(pack) == <usize>this.oldest) this.leaveEmpty();
  }

  /** If too many bytes are dead (see DEAD_PACKS), moves the entries of the oldest pack to the young end of the queue. O(bytes of a pack) */
  clean(): void {
    if (this.oldest == this.youngest || this.taken * 2 <= this.live * 3 + DEAD_PACKS * <u64>this.packBytes) return;
    const pack = changetype<Pack>(<usize>this.oldest);
    const end = changetype<usize>(pack) + <usize>pack.used;
    for (let at = changetype<usize>(pack) + PACK_HEAD; at < end && pack.live != 0; ) {
      const entry = changetype<Entry>(at);
      const bytes = entryBytes(entry.size);
      const row = entry.owner;
      if (row != 0) {
        // If there is no memory for a pack, the rest of this pack is emptied after a later frame.
        if (!this.fits(bytes) && this.spare == 0 && !this.reserve(1)) return;
        pack.live -= bytes;
        this.live -= bytes;
        const size = entry.size;
        const to = this.place(row, size, entry.depth);
        memory.copy(to, entry.bytes(), size);
        entry.owner = 0;
        this.moved += bytes;
      }
      at += bytes;
    }
    this.leaveEmpty();
  }

  /** Whether the youngest pack has room for `bytes` bytes. */
  @inline
  private fits(bytes: u32): bool {
    if (this.youngest == 0) return false;
    const used = changetype<Pack>(<usize>this.youngest).used;
    return used < PACK_BYTES && used + bytes + SLACK <= this.packBytes;
  }

  /** Turns a spare pack into the youngest pack of the queue. */
  private open(): void {
    assert(this.spare != 0, "room is made before entries are placed");
    const pack = changetype<Pack>(<usize>this.spare);
    this.spare = pack.next;
    this.spares -= 1;
    pack.next = 0;
    pack.live = 0;
    pack.used = PACK_HEAD;
    if (this.youngest != 0) changetype<Pack>(<usize>this.youngest).next = <u32>changetype<usize>(pack);
    else this.oldest = <u32>changetype<usize>(pack);
    this.youngest = <u32>changetype<usize>(pack);
    this.taken += this.packBytes;
  }

  /** Removes packs without live entries from the old end of the queue. */
  private leaveEmpty(): void {
    while (this.oldest != this.youngest && changetype<Pack>(<usize>this.oldest).live == 0) {
      const pack = changetype<Pack>(<usize>this.oldest);
      this.oldest = pack.next;
      this.taken -= this.packBytes;
      this.keep(pack);
      if (this.spares > SPARES) this.giveBack();
    }
    const youngest = changetype<Pack>(<usize>this.youngest);
    if (youngest.live == 0) youngest.used = PACK_HEAD;
  }

  private keep(pack: Pack): void {
    pack.next = this.spare;
    this.spare = <u32>changetype<usize>(pack);
    this.spares += 1;
  }

  private giveBack(): void {
    const pack = this.spare;
    this.spare = changetype<Pack>(<usize>pack).next;
    this.spares -= 1;
    arena_free(pack, this.packBytes);
  }
}
if (offsetof<Packs>() != PACKS_BYTES) ERROR("PACKS is 80 bytes");

export function packs_bytes(): u32 {
  return PACKS_BYTES;
}

/** The largest frame size that fits an entry's head. */
export const MAX_FRAME: u32 = SIZE;

/**
 * Initializes packs in zeroed memory, for frames of `frame` bytes. `entries`: the empty pool of their entries. `row`: the bytes of a row of the image, 0 if
 * unknown. `element`: the bytes of an element or a pixel.
 */
export function initPacks(packs: usize, frame: u32, row: u32, element: u32, entries: u32): void {
  const p = changetype<Packs>(packs);
  p.frame = frame;
  p.element = element;
  p.row = row > 65535 || row == 0 ? element : row;
  p.entries = entries;
  const each = entryBytes(frame);
  const most = max((PACK_BYTES - PACK_HEAD - SLACK) / each, 1);
  // The pack holds as many of the largest entries as fit, or one entry fewer if that wastes less memory.
  p.most = packOf(most - 1, each) * most < packOf(most, each) * (most - 1) ? most - 1 : most;
  p.packBytes = packOf(p.most, each);
}

/** Returns the number of bytes of a pack with room for `entries` of the largest entries. */
function packOf(entries: u32, each: u32): u32 {
  return (PACK_HEAD + entries * each + SLACK + GRANULE - 1) & ~(GRANULE - 1);
}

/** Checks packs. Returns 0, or the number of the broken invariant. O(entries) */
export function checkPacks(packs: Packs): i32 {
  let live: u64 = 0;
  let taken: u64 = 0;
  for (let at = packs.oldest; at != 0; at = changetype<Pack>(<usize>at).next) {
    const pack = changetype<Pack>(<usize>at);
    let here: u32 = 0;
    const end = <usize>at + <usize>pack.used;
    for (let e = <usize>at + PACK_HEAD; e < end; ) {
      const entry = changetype<Entry>(e);
      if (changetype<usize>(entry.pack()) != <usize>at) return 1;
      if (entry.owner != 0) {
        const head = Head.of(entry.owner);
        const base = head.next & LINK_ROW;
        if (head.episode != <u32>e) return 7;
        if (base != 0 && (Entry.of(base).owner != base || packs.depthOf(base) + 1 != entry.depth)) return 2;
        here += entryBytes(entry.size);
      }
      e += entryBytes(entry.size);
    }
    if (here != pack.live) return 3;
    live += here;
    taken += packs.packBytes;
    if (pack.next == 0 && at != packs.youngest) return 4;
  }
  return live != packs.live ? 5 : taken != packs.taken ? 6 : 0;
}
