/**
 * Packed frames: a pool of frames whose rows have no bytes. HEAD.episode of a row is its entry: a key that stands alone, a patch on the entry of an earlier frame, or the
 * frame as it is. From a frame to its key there are 7 patches at most. What an entry becomes depends on the frame and its base alone, so that a restored Replay packs alike.
 *
 * CACHE: │ frame u32 × slots │ bytes of a frame, aligned, × slots │   the newest frames as they were appended, by the last bits of their names; derived
 */
import { arena_alloc, arena_free } from "../memory/arena";
import { E_OUT_OF_MEMORY } from "../memory/error";
import { align16 } from "../memory/layout";
import { SHARED } from "../rows/leaf";
import { Pool, reserveRows } from "../rows/pool";
import { Head, LINK_ROW, PLACE } from "../rows/row";
import { decodeBlock, encodeBlock } from "./lz4";
import { Entry, initPacks, Packs } from "./packs";
import { applyPatch, encodePatch } from "./patch";
import { initWork, Work, workBytes } from "./work";

/** Entries of a chain, the key among them. */
export const CHAIN: u32 = 8;
/** Where so many frames in a row did not become smaller, only every so many is tried. */
const RAW_TRIES: u32 = 4;
const RAW_SKIPS: u32 = 15;
/** Bytes of a cache at most, and the least of its slots. */
const CACHE_BYTES: u32 = 8 << 20;
const MIN_SLOTS: u32 = 8;

/**
 * In zeroed memory of `packs_bytes()`: packs for frames of so many bytes, whose pool of entries is `entries`. `row`, `element`: bytes of a row of the image and of an element,
 * or a pixel; they decide what packs well, not whether. 0, or OUT_OF_MEMORY
 */
export function packs_init(packs: usize, frame: u32, row: u32, element: u32, entries: u32): i32 {
  const work = arena_alloc(workBytes(frame));
  if (work == 0) return E_OUT_OF_MEMORY;
  initWork(work);
  initPacks(packs, frame, row, element, entries);
  changetype<Packs>(packs).work = work;
  return 0;
}

/** Of packed frames: 0 bytes of what is held, heads and all · 1 bytes taken for it · 2 entries that are held · 3 bytes that were moved so far. */
export function packs_number(packs: usize, which: u32): f64 {
  const p = changetype<Packs>(packs);
  if (which == 0) return <f64>p.live;
  if (which == 1) return <f64>p.taken + <f64>p.spares * <f64>p.packBytes;
  return which == 2 ? <f64>p.pool().live() : <f64>p.moved;
}

export function packsOf(frames: Pool): Packs {
  return changetype<Packs>(<usize>frames.leaf(0).pool);
}

/** Makes sure that `count` frames can be packed; false: OUT_OF_MEMORY. */
export function reservePacked(frames: Pool, count: u32): bool {
  const packs = packsOf(frames);
  return openCache(packs) && packs.reserve(count) && reserveRows(packs.pool(), count);
}

/** Notes lanes of writers that open, or close (`by` negative): so many more frames are compared with what comes next. */
export function countLanes(p: Pool, by: i32): void {
  for (let i: u32 = 0; p.shares() && i < p.leaves; i++) {
    const leaf = p.leaf(i);
    const frames = changetype<Pool>(<usize>leaf.pool);
    if (leaf.kind == SHARED && frames.packs()) packsOf(frames).shown += by * <i32>leaf.frames;
  }
}

/** Bytes of a slot's frame. */
function slotBytes(frame: u32): u32 {
  return align16(frame);
}

/** Takes memory for a cache that fits the open writers; a smaller one stays where there is none. */
function openCache(packs: Packs): bool {
  const most = min(max(CACHE_BYTES / slotBytes(packs.frame), MIN_SLOTS), PLACE + 1);
  let slots = MIN_SLOTS;
  // The frames of each lane's last step, and as many that come.
  while (slots < 2 * packs.shown && slots * 2 <= most) slots <<= 1;
  if (slots <= packs.slots) return true;
  const each = 4 + slotBytes(packs.frame);
  const cache = arena_alloc(slots * each);
  if (cache == 0) return packs.cache != 0;
  arena_free(packs.cache, packs.slots * each);
  packs.cache = cache;
  packs.slots = slots;
  return true;
}

/** Where the cache has a frame's bytes, or will have them. */
function slotOf(packs: Packs, row: u32): usize {
  return <usize>packs.cache + <usize>(packs.slots << 2) + <usize>((row & (packs.slots - 1)) * slotBytes(packs.frame));
}

function tagOf(packs: Packs, row: u32): usize {
  return <usize>packs.cache + ((<usize>(row & (packs.slots - 1))) << 2);
}

/** The bytes of a frame, until the next one is asked for or packed. O(frame) at most */
export function rawFrame(frames: Pool, row: u32): usize {
  const packs = packsOf(frames);
  const at = slotOf(packs, row);
  const tag = tagOf(packs, row);
  if (load<u32>(tag) != row) {
    store<u32>(tag, row);
    unpackFrame(packs, row, at, 0, 0);
  }
  return at;
}

/** Gives a new row of frames the bytes from `bytes` on. `base`: a frame that it may be a patch on, 0 for none. There must be room. O(frame) */
export function packFrame(frames: Pool, row: u32, bytes: usize, base: u32): void {
  const packs = packsOf(frames);
  const frame = packs.frame;
  const work = <usize>packs.work;
  const entries = packs.pool();
  const before = base == 0 ? 0 : Head.of(base).episode;
  // As it is, unless it becomes an eighth smaller.
  const most = frame - (frame >> 3);
  let size = frame;
  let from = bytes;
  let on: u32 = 0;
  const raws: u32 = before == 0 || !packs.isRaw(before) ? 0 : Entry.of(before).depth;
  if (raws < RAW_TRIES || raws == RAW_SKIPS) {
    if (before != 0 && packs.depthOf(before) + 1 < CHAIN) {
      const at = Work.tried(work, frame, 0);
      const patch = encodePatch(work, bytes, rawFrame(frames, base), frame, at, most);
      if (patch <= most) {
        size = patch;
        from = at;
        on = before;
      }
    }
    // A key costs its readers less, and holds nothing: it is tried where a patch is not much smaller than the chain's key.
    if (on == 0 || size * 2 > keyBytes(before)) {
      const at = Work.tried(work, frame, 1);
      const limit = min(most, size);
      const key = encodeBlock(work, bytes, frame, packs.row, packs.element, at, limit);
      if (key <= limit) {
        size = key;
        from = at;
        on = 0;
      }
    }
  }
  const depth: u32 = size == frame ? (raws == RAW_SKIPS ? RAW_TRIES : raws + 1) : on == 0 ? 0 : packs.depthOf(on) + 1;
  const entry = entries.takeMany(1);
  const head = Head.of(entry);
  head.refs = 1;
  head.next = on;
  memory.copy(packs.place(entry, size, depth), from, size);
  if (on != 0) entries.retain(on);
  Head.of(row).episode = entry;
  memory.copy(slotOf(packs, row), bytes, frame);
  store<u32>(tagOf(packs, row), row);
  packs.clean();
}

/** Bytes of the key of an entry's chain. */
function keyBytes(entry: u32): u32 {
  for (let base = Head.of(entry).next & LINK_ROW; base != 0; base = Head.of(entry).next & LINK_ROW) entry = base;
  return Entry.of(entry).size;
}

/** A frame that nothing holds any more lets its entry go. */
export function releaseFrame(frames: Pool, row: u32): void {
  const packs = packsOf(frames);
  if (packs.cache != 0 && load<u32>(tagOf(packs, row)) == row) store<u32>(tagOf(packs, row), 0);
  packs.pool().release(Head.of(row).episode);
}

/** An entry that nothing holds any more lets its bytes and its base go. */
export function releaseEntry(entries: Pool, row: u32): void {
  packsOf(entries).drop(row);
  const base = Head.of(row).next & LINK_ROW;
  if (base != 0) entries.release(base);
}

/** Writes the bytes of a frame. `near`: those of the frame `nearRow`, 0 for none, from which the way may be shorter. O(frame) */
export function unpackFrame(packs: Packs, row: u32, to: usize, nearRow: u32, near: usize): void {
  const frame = packs.frame;
  const work = <usize>packs.work;
  const chain = Work.chain(work);
  const known = nearRow == 0 ? 0 : Head.of(nearRow).episode;
  let patches: usize = 0;
  let entry = Head.of(row).episode;
  while (entry != known) {
    const base = Head.of(entry).next & LINK_ROW;
    if (base == 0) break;
    store<u32>(chain + patches, <u32>Entry.of(entry).bytes());
    patches += 4;
    entry = base;
  }
  const key = Entry.of(entry);
  if (entry == known) memory.copy(to, near, frame);
  else if (key.size == frame) memory.copy(to, key.bytes(), frame);
  else decodeBlock(key.bytes(), key.size, to, frame);
  while (patches != 0) {
    patches -= 4;
    applyPatch(work, <usize>load<u32>(chain + patches), frame, to);
  }
}

/** The address of a frame's bytes where they stand as they are, 0 where they are packed. */
export function plainFrame(packs: Packs, row: u32): usize {
  const entry = Entry.of(Head.of(row).episode);
  return entry.size == packs.frame ? entry.bytes() : 0;
}
