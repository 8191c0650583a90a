/**
 * Holds scratch memory for packing and unpacking, and the tables of patches and matches. Each pool of packed frames has its own WORK.
 *
 * WORK, then two candidate entries, `tried` bytes each, which are also the lists for applying a patch, then a frame:
 *       0 │ SPREAD  8 × 256 │  for each byte of a group, the byte of the patch that it comes from; 0x80 if it does not change
 *    2048 │ PICK    8 × 256 │  the bytes of a group that a patch has, in sequence
 *    4096 │ HASH  u16 × 4096│  for LZ4: the last place of four bytes with this hash
 *   12288 │ PLACES 8 × 256  │  │ frame u32 │ address u32 │: frames that this call has unpacked, by their name
 *   14336 │ CHAIN u32 × 16  │  the entries from a frame to its key
 *   14400 │ PATTERN 16 × 17 │  for each distance of a match, the sources of its first 16 bytes: for distances below 16, the bytes form a pattern
 *   14672 │ REPEAT  u8 × 17 │  for each distance of a match, its least multiple from 16 on
 */
import { align16 } from "../memory/layout";

const SPREAD_AT: usize = 0;
const PICK_AT: usize = 2048;
const HASH_AT: usize = 4096;
const PLACES_AT: usize = 12288;
const CHAIN_AT: usize = 14336;
const PATTERN_AT: usize = 14400;
const REPEAT_AT: usize = 14672;
const TRIED_AT: usize = 14704;
const HASH_BYTES: usize = 8192;
const PLACES: u32 = 256;
/** The maximum number of bytes that the encoders write past an entry's limit. */
const SLACK: u32 = 256;
/** Marks a missing byte in SPREAD and PICK. */
const NONE: u64 = 0x8080808080808080;

/** Returns the number of bytes of WORK, including the candidate entries and the frame, for frames of `frame` bytes. */
export function workBytes(frame: u32): u32 {
  return <u32>TRIED_AT + 2 * tried(frame) + align16(frame) + 16;
}

/** Fills the tables SPREAD, PICK, PATTERN and REPEAT. The rest of WORK is scratch memory. */
export function initWork(work: usize): void {
  for (let mask: u32 = 0; mask < 256; mask++) {
    const spread = work + SPREAD_AT + ((<usize>mask) << 3);
    const pick = work + PICK_AT + ((<usize>mask) << 3);
    store<u64>(spread, NONE);
    store<u64>(pick, NONE);
    for (let k: u32 = 0, n: u32 = 0; k < 8; k++) {
      if (((mask >> k) & 1) == 0) continue;
      store<u8>(spread + k, <u8>n);
      store<u8>(pick + n, <u8>k);
      n += 1;
    }
  }
  for (let distance: u32 = 1; distance <= 16; distance++) {
    for (let k: u32 = 0; k < 16; k++) store<u8>(Work.pattern(work, distance) + k, <u8>(k % distance));
    store<u8>(work + REPEAT_AT + distance, <u8>(((15 + distance) / distance) * distance));
  }
}

function tried(frame: u32): u32 {
  return align16(frame) + SLACK;
}

@unmanaged
export class Work {
  @inline
  static spread(work: usize, mask: u32): usize {
    return work + SPREAD_AT + ((<usize>mask) << 3);
  }

  @inline
  static pick(work: usize, mask: u32): usize {
    return work + PICK_AT + ((<usize>mask) << 3);
  }

  @inline
  static hash(work: usize): usize {
    return work + HASH_AT;
  }

  static clearHash(work: usize): void {
    memory.fill(work + HASH_AT, 0, HASH_BYTES);
  }

  @inline
  static chain(work: usize): usize {
    return work + CHAIN_AT;
  }

  /** Returns the address of the pattern for a distance from 1 to 16. */
  @inline
  static pattern(work: usize, distance: u32): usize {
    return work + PATTERN_AT + ((<usize>distance) << 4);
  }

  /** Returns the least multiple of a distance from 1 to 16 that is at least 16. */
  @inline
  static repeat(work: usize, distance: u32): usize {
    return load<u8>(work + REPEAT_AT + distance);
  }

  /** Returns the address at which the k-th candidate entry is written, k = 0 or 1. */
  @inline
  static tried(work: usize, frame: u32, k: u32): usize {
    return work + TRIED_AT + <usize>(k * tried(frame));
  }

  /** Returns the address of the scratch memory for a frame. */
  @inline
  static frame(work: usize, frame: u32): usize {
    return work + TRIED_AT + <usize>(2 * tried(frame));
  }

  /** Clears PLACES, because the unpacked frames to which it refers are about to be overwritten. */
  static clearPlaces(work: usize): void {
    memory.fill(work + PLACES_AT, 0, (<usize>PLACES) << 3);
  }

  /** Returns the entry of PLACES for a frame. The entry may belong to another frame. */
  @inline
  static place(work: usize, frame: u32): usize {
    return work + PLACES_AT + ((<usize>(frame & (PLACES - 1))) << 3);
  }
}
