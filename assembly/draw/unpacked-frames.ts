/**
 * Unpacks the packed frames of a batch. Each frame is unpacked once, into a WINDOW, from which the host copies it as often as needed. Half floats become f32
 * there.
 *
 * WINDOW: │ next u32 │ … u32 × 3 │ frames, aligned … │   next: the entry with which the next call continues, because it may not fit; 0 if all entries are done
 */
import { align16 } from "../memory/layout";
import { Prefetch } from "../memory/prefetch";
import { Work } from "../packed/work";
import { SHARED } from "../rows/leaf";
import { CHAIN, plainFrame, unpackFrame } from "../rows/packed-frame";
import { Packs } from "../rows/packs";
import { Pool } from "../rows/pool";
import { Head, LINK_ROW } from "../rows/row";
import { Draw } from "./draw";
import { chooseRows, nameOf, OUTPUT_BYTES, Output } from "./output";

/** The number of bytes before the frames of a WINDOW. */
export const WINDOW_HEAD: usize = 16;

/** Forgets the places of unpacked frames. Returns the maximum number of bytes of the window that an entry takes. */
export function openWindow(p: Pool, outputs: usize, end: usize): u32 {
  let bytes: u32 = 0;
  for (; outputs < end; outputs += OUTPUT_BYTES) {
    const o = changetype<Output>(outputs);
    const leaf = p.leaf(o.leaf);
    const frames = changetype<Pool>(<usize>leaf.pool);
    if (leaf.half() != 0) bytes += o.count * leaf.frames * align16(leaf.bytes << 1);
    if (leaf.kind != SHARED || !frames.packs()) continue;
    Work.clearPlaces(<usize>frames.packed().work);
    bytes += o.count * leaf.frames * align16(leaf.bytes);
  }
  return bytes;
}

/**
 * Touches the packed data of `many` entries of the draw, from `first` on. Unpacking a frame reads one address after the other, so touching many frames first
 * overlaps their cache misses. Touches only the first step of each output. Follows the chain of bases only from the first frame of the first packed output,
 * because later frames are usually based on frames that are touched before them. `list`: scratch, u32 × 2 × many
 */
export function prefetchPacked(d: Draw, p: Pool, outputs: usize, n: u32, first: u32, many: u32, list: usize): void {
  const rows = list + ((<usize>many) << 2);
  let sum: u32 = 0;
  let walked: bool = false;
  for (let k: u32 = 0; k < n; k++) {
    const o = changetype<Output>(outputs + <usize>k * OUTPUT_BYTES);
    const leaf = p.leaf(o.leaf);
    if (leaf.kind != SHARED || !changetype<Pool>(<usize>leaf.pool).packs() || o.count == 0) continue;
    for (let i: u32 = 0; i < many; i++) {
      chooseRows(d, first + i, o.steps + (((first + i) * o.each) << 2), 1);
      const row = load<u32>(d.selected);
      store<u32>(rows + ((<usize>i) << 2), row);
      if (row != 0) sum ^= load<u32>(p.value(row, leaf));
    }
    for (let f: u32 = 0; f < leaf.frames; f++) {
      for (let i: u32 = 0; i < many; i++) {
        const name = nameOf(p, leaf, load<u32>(rows + ((<usize>i) << 2)), f);
        store<u32>(list + ((<usize>i) << 2), name == 0 ? 0 : Head.of(name).episode);
      }
      sum ^= touchEntries(list, many, f == 0 && !walked ? CHAIN : 1);
      walked = true;
    }
  }
  Prefetch.keep(sum);
}

/** Reads the heads and the first bytes of entries and of the bases that follow them, up to `links` entries of each chain. */
function touchEntries(list: usize, many: u32, links: u32): u32 {
  const end = list + ((<usize>many) << 2);
  let sum: u32 = 0;
  let some: u32 = 1;
  for (; links > 0 && some != 0; links--) {
    some = 0;
    for (let at = list; at < end; at += 4) {
      const entry = load<u32>(at);
      if (entry == 0) continue;
      const head = Head.of(entry);
      const base = head.next & LINK_ROW;
      sum ^= load<u32>(<usize>head.episode);
      some |= base;
      store<u32>(at, base);
    }
  }
  return sum;
}

/**
 * Returns the address of a packed frame's bytes: 0 for zeros, the stored place of an unpacked frame, the place in the window if this call has unpacked the
 * frame before, or `to` after unpacking the frame now. `before`: the previous frame, 0 for none, whose bytes are at `near`. Most frames follow the previous
 * one.
 */
export function unpackOnce(packs: Packs, name: u32, to: usize, before: u32, near: usize): usize {
  if (name == 0) return 0;
  const plain = plainFrame(packs, name);
  if (plain != 0) return plain;
  const place = Work.place(<usize>packs.work, name);
  if (load<u32>(place) == name) return <usize>load<u32>(place, 4);
  unpackFrame(packs, name, to, before, near);
  store<u32>(place, name);
  store<u32>(place, <u32>to, 4);
  return to;
}
