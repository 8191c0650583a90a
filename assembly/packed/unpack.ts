/** Unpacks frames from the bytes of their entries in an instance without an arena, for readers of files without a pool. */
import { decodeBlock } from "./lz4";
import { applyPatch, isPatch } from "./patch";
import { initWork, workBytes } from "./work";

/** Returns the number of bytes of the WORK for frames of `frame` bytes, which `entry_init` initializes. */
export function entry_work_bytes(frame: u32): u32 {
  return workBytes(frame);
}

export function entry_init(work: usize): void {
  initWork(work);
}

/**
 * Makes a frame at `to` from an entry of `size` bytes. If the entry is a patch, its base must be at `to`. Any input is safe; up to 32 bytes past the entry are
 * read. Returns whether the entry is valid; an invalid patch changes nothing. O(frame)
 */
export function entry_apply(work: usize, from: usize, size: u32, patch: bool, to: usize, frame: u32): bool {
  if (patch) {
    if (!isPatch(from, size, frame)) return false;
    applyPatch(work, from, frame, to);
    return true;
  }
  if (size != frame) return decodeBlock(work, from, size, to, frame);
  memory.copy(to, from, frame);
  return true;
}
