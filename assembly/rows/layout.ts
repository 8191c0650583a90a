/**
 * Where the leaves of a step stand: in its row, widest first; from 256 bytes on in a column of their block; if shared, in another pool. And where a staging record has them.
 *
 * PLACE, 24 bytes, one a leaf; the first three are given, the others found:
 *    0 │ bytes u32  │ frames u32 │ shared u32 │  of one value, all its frames · frames a value · not 0: in another pool
 *   12 │ kind u32   │ offset u32 │ staged u32 │  NARROW, WIDE, SHARED · in the row (WIDE: 0) · in the staging record
 *
 * PLACED, 16 bytes: │ rowBytes u32 │ usedBytes u32 │ stagedBytes f64 │
 *   usedBytes: those of the row that leaves have; the rest is zeros · stagedBytes: of a staging record, which may be more than a memory has
 */
import { align16 } from "../memory/layout";
import { NARROW, SHARED, WIDE } from "./leaf";

/** From this size on, a leaf is a column of its own. */
const WIDE_BYTES: u32 = 256;
/** What a row is aligned to where its widest leaf is; else to 8. */
const WIDEST: u32 = 16;

@unmanaged
export class Place {
  bytes: u32;
  frames: u32;
  shared: u32;
  kind: u32;
  offset: u32;
  staged: u32;

  /** Bytes in the row: the value, or the numbers of its frames. */
  @inline
  part(): u32 {
    return this.kind == SHARED ? this.frames << 2 : this.bytes;
  }

  /** The largest power of two up to 16 that divides these. */
  @inline
  alignment(): u32 {
    return min(this.part() & (0 - this.part()), WIDEST);
  }
}
export const PLACE_BYTES: u32 = 24;
if (offsetof<Place>() != PLACE_BYTES) ERROR("PLACE is 24 bytes");

@unmanaged
export class Placed {
  rowBytes: u32;
  usedBytes: u32;
  stagedBytes: f64;
}
if (offsetof<Placed>() != 16) ERROR("PLACED is 16 bytes");

/** O(leaves): places n leaves, whose PLACEs stand so many bytes apart. */
export function layout_place(places: usize, stride: u32, n: u32, placed: usize): void {
  const p = changetype<Placed>(placed);
  const end = places + <usize>n * <usize>stride;
  for (let at = places; at < end; at += stride) {
    const leaf = changetype<Place>(at);
    leaf.kind = leaf.shared != 0 ? SHARED : leaf.bytes >= WIDE_BYTES ? WIDE : NARROW;
    leaf.offset = 0;
  }
  let row: u32 = 0;
  let widest: u32 = 0;
  // Widest first, so that each leaf is aligned without gaps.
  for (let alignment = WIDEST; alignment != 0; alignment >>= 1) {
    for (let at = places; at < end; at += stride) {
      const leaf = changetype<Place>(at);
      if (leaf.kind == WIDE || leaf.alignment() != alignment) continue;
      widest = max(widest, alignment);
      leaf.offset = row;
      leaf.staged = row;
      row += leaf.part();
    }
  }
  p.usedBytes = row;
  p.rowBytes = widest == WIDEST ? align16(row) : (row + 7) & ~7;
  let staged = <u64>align16(p.rowBytes);
  for (let at = places; at < end; at += stride) {
    const leaf = changetype<Place>(at);
    if (leaf.kind == NARROW) continue;
    leaf.staged = <u32>staged;
    staged = (staged + <u64>leaf.bytes + 15) & ~15;
  }
  p.stagedBytes = <f64>staged;
}
