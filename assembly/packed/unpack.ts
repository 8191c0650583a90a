/** Frames unpacked from the bytes of their entries, in an instance without an arena: for readers of files that have no pool. */
import { decodeBlock } from "./lz4";
import { applyPatch, isPatch } from "./patch";
import { initWork, workBytes } from "./work";

/** Bytes of WORK, which `entry_init` fills. */
export function entry_work_bytes(frame: u32): u32 {
  return workBytes(frame);
}

export function entry_init(work: usize): void {
  initWork(work);
}

/**
 * Makes the frame at `to` of an entry of `size` bytes, and, of a patch, of the frame that is there, which it is on. Any bytes may be given; up to 32 behind them are read.
 * Whether they are such an entry: else a patch has changed nothing. O(frame)
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
