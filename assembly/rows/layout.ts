/**
 * Computes the places of a step's leaves: in the row, widest first; in a column of the block if they have 256 bytes or more; in another pool if they are
 * shared. Also computes their places in a staging record.
 *
 * PLACE, 24 bytes, one per leaf; the first three fields are inputs, the others are results:
 *    0 │ bytes u32  │ frames u32 │ shared u32 │  bytes of one value with all of its frames · frames per value · not 0: in another pool
 *   12 │ kind u32   │ offset u32 │ staged u32 │  NARROW, WIDE, SHARED · in the row (WIDE: 0) · in the staging record
 *
 * PLACED, 12 bytes: │ stagedBytes f64 │ rowBytes u32 │
 *   stagedBytes: bytes of a staging record, which may exceed any memory · rowBytes: bytes of the leaves in a row without gaps, so that a row can begin at any byte
 */
import { align16 } from "../memory/layout";
import { NARROW, SHARED, WIDE } from "./leaf";

/** The size in bytes from which a leaf has its own column in a block. */
const WIDE_BYTES: u32 = 256;
/** The maximum alignment of leaves relative to the beginning of their row, in bytes. */
const WIDEST: u32 = 16;

@unmanaged
export class Place {
  bytes: u32;
  frames: u32;
  shared: u32;
  kind: u32;
  offset: u32;
  staged: u32;

  /** Returns the number of bytes of the leaf in the row: those of its value, or of the names of its frames (u32 each). */
  @inline
  part(): u32 {
    return this.kind == SHARED ? this.frames << 2 : this.bytes;
  }

  /** Returns the largest power of two up to 16 that divides `part`. */
  @inline
  alignment(): u32 {
    return min(this.part() & (0 - this.part()), WIDEST);
  }
}
export const PLACE_BYTES: u32 = 24;
if (offsetof<Place>() != PLACE_BYTES) ERROR("PLACE is 24 bytes");

@unmanaged
export class Placed {
  stagedBytes: f64;
  rowBytes: u32;
}
if (offsetof<Placed>() != 12) ERROR("PLACED is 12 bytes");

/** Places n leaves, whose PLACEs are `stride` bytes apart. O(leaves) */
export function layout_place(places: usize, stride: u32, n: u32, placed: usize): void {
  const p = changetype<Placed>(placed);
  const end = places + <usize>n * <usize>stride;
  for (let at = places; at < end; at += stride) {
    const leaf = changetype<Place>(at);
    leaf.kind = leaf.shared != 0 ? SHARED : leaf.bytes >= WIDE_BYTES ? WIDE : NARROW;
    leaf.offset = 0;
  }
  let row: u32 = 0;
  // The widest leaves come first, so that each leaf is aligned without gaps.
  for (let alignment = WIDEST; alignment != 0; alignment >>= 1) {
    for (let at = places; at < end; at += stride) {
      const leaf = changetype<Place>(at);
      if (leaf.kind == WIDE || leaf.alignment() != alignment) continue;
      leaf.offset = row;
      leaf.staged = row;
      row += leaf.part();
    }
  }
  p.rowBytes = row;
  let staged = <u64>align16(p.rowBytes);
  for (let at = places; at < end; at += stride) {
    const leaf = changetype<Place>(at);
    if (leaf.kind == NARROW) continue;
    leaf.staged = <u32>staged;
    staged = (staged + <u64>leaf.bytes + 15) & ~15;
  }
  p.stagedBytes = <f64>staged;
}
