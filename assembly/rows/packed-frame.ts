/**
 * Implements packed frames, in a pool of frames whose rows have no bytes. HEAD.episode of a row is its entry: a key, which has no base, a patch on the entry of
 * an earlier frame, or the unpacked frame. A frame is at most 7 patches away from its key. The kind of an entry depends only on the frame and its base, so a
 * restored Replay packs frames in the same way.
 */
import { arena_alloc } from "../memory/arena";
import { E_OUT_OF_MEMORY } from "../memory/error";
import { decodeBlock, encodeBlock } from "../packed/lz4";
import { applyPatch, encodePatch } from "../packed/patch";
import { initWork, Work, workBytes } from "../packed/work";
import { SHARED } from "./leaf";
import { Entry, initPacks, Packs } from "./packs";
import { entriesOf, Pool } from "./pool";
import { Head, LINK_ROW } from "./row";

/** The maximum number of entries in a chain from a frame's entry to its key, including both. */
export const CHAIN: u32 = 8;
/**
 * After RAW_TRIES consecutive incompressible frames, frames are stored unpacked without trying to pack them, until the number of consecutive unpacked frames
 * reaches RAW_SKIPS. Then the next frame is tried. If it is incompressible too, the number continues from RAW_TRIES.
 */
const RAW_TRIES: u32 = 4;
const RAW_SKIPS: u32 = 15;

/**
 * Initializes packs in zeroed memory of `packs_bytes()`, for frames of `frame` bytes, whose pool of entries is `entries`. `row`, `element`: bytes of a row of
 * the image and of an element, or a pixel; these sizes affect only how well frames pack. Returns 0, or OUT_OF_MEMORY
 */
export function packs_init(packs: usize, frame: u32, row: u32, element: u32, entries: u32): i32 {
  const work = arena_alloc(workBytes(frame));
  if (work == 0) return E_OUT_OF_MEMORY;
  initWork(work);
  initPacks(packs, frame, row, element, entries);
  changetype<Packs>(packs).work = work;
  return 0;
}

/** Returns a number about packed frames: 0 bytes held, including heads · 1 bytes allocated for them · 2 entries held · 3 bytes moved so far. */
export function packs_number(packs: usize, which: u32): f64 {
  const p = changetype<Packs>(packs);
  if (which == 0) return <f64>p.live;
  if (which == 1) return <f64>p.taken + <f64>p.spares * <f64>p.packBytes;
  return which == 2 ? <f64>entriesOf(p).live() : <f64>p.moved;
}

/**
 * Adds `by` open lanes (a negative number if lanes were closed) to the counts of the pools of packed frames. Their caches have room for the newest frames of
 * all open lanes, because the next frames are compared with these frames.
 */
export function countLanes(p: Pool, by: i32): void {
  for (let i: u32 = 0; p.shares() && i < p.leaves; i++) {
    const leaf = p.leaf(i);
    const frames = changetype<Pool>(<usize>leaf.pool);
    if (leaf.kind == SHARED && frames.packs()) frames.packed().shown += by * <i32>leaf.frames;
  }
}

/** Returns the address of a frame's bytes, valid until the next frame is requested or packed. At most O(frame) */
export function rawFrame(frames: Pool, row: u32): usize {
  const packs = frames.packed();
  const at = packs.cached(row);
  const tag = packs.tag(row);
  if (load<u32>(tag) != row) {
    store<u32>(tag, row);
    unpackFrame(packs, row, at, 0, 0);
  }
  return at;
}

/** Stores the bytes at `bytes` for a new row of frames. `base`: a frame on which the new frame may be a patch, 0 for none. There must be room. O(frame) */
export function packFrame(frames: Pool, row: u32, bytes: usize, base: u32): void {
  const packs = frames.packed();
  const frame = packs.frame;
  const work = <usize>packs.work;
  const entries = entriesOf(packs);
  const before = base == 0 ? 0 : Head.of(base).episode;
  // The frame is stored unpacked, unless packing saves an eighth.
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
    // A key takes less time to read than a patch, and does not keep a base in memory. So a key is tried, unless the patch is at most half as large as the chain's key.
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
  memory.copy(packs.cached(row), bytes, frame);
  store<u32>(packs.tag(row), row);
  packs.clean();
}

/** Returns the number of bytes of the key of an entry's chain. */
function keyBytes(entry: u32): u32 {
  for (let base = Head.of(entry).next & LINK_ROW; base != 0; base = Head.of(entry).next & LINK_ROW) entry = base;
  return Entry.of(entry).size;
}

/**
 * Writes the unpacked bytes of a frame to `to`. `near`: the bytes of the frame `nearRow`, 0 for none. If that frame is in the chain, only the patches after it
 * are applied. O(frame)
 */
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
  else decodeBlock(work, key.bytes(), key.size, to, frame);
  while (patches != 0) {
    patches -= 4;
    applyPatch(work, <usize>load<u32>(chain + patches), frame, to);
  }
}

/** Returns the address of a frame's bytes if they are stored unpacked, 0 if they are packed. */
export function plainFrame(packs: Packs, row: u32): usize {
  const entry = Entry.of(Head.of(row).episode);
  return entry.size == packs.frame ? entry.bytes() : 0;
}
