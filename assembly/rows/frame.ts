/** Implements frames: rows of a pool, packed or unpacked, that the steps of another pool share. */
import { bytesEqual, copyBytes } from "../memory/bytes";
import { packFrame, rawFrame, unpackFrame } from "./packed-frame";
import { Pool } from "./pool";
import { Head } from "./row";

/** Whether a frame has these bytes. O(bytes) */
export function frameEquals(frames: Pool, row: u32, bytes: usize, n: u32): bool {
  return bytesEqual(frames.packs() ? rawFrame(frames, row) : frames.bytes(row), bytes, n);
}

/**
 * Stores a new frame with these bytes, held once, and returns its row; there must be room. `before`: the previous frame, 0 for none, on which the new frame may
 * be a patch if frames are packed. O(bytes)
 */
export function takeFrame(frames: Pool, bytes: usize, n: u32, before: u32): u32 {
  const row = frames.takeMany(1);
  const head = Head.of(row);
  head.refs = 1;
  head.next = 0;
  // In a freed row, `episode` belongs to the queue.
  head.episode = 0;
  if (frames.packs()) packFrame(frames, row, bytes, before);
  else memory.copy(frames.bytes(row), bytes, n);
  return row;
}

/** Copies the bytes of a frame, unpacked, to `to`. O(bytes) */
export function copyFrame(frames: Pool, row: u32, n: u32, to: usize): void {
  if (frames.packs()) unpackFrame(frames.packed(), row, to, 0, 0);
  else copyBytes(to, frames.bytes(row), n);
}
