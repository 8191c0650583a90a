/** Detects HDF5 files that begin with a user block. */
import type { SourceFile } from "../sources/source.ts";

const HDF5_MAGIC = [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a];
/** The minimum size in bytes of the user block before the HDF5 data. The size is always a power of two. MATLAB uses 512 bytes. */
const MIN_USER_BLOCK = 512;
const MAX_USER_BLOCK = 2 ** 20;

/** Returns whether HDF5 data begins after a user block of at most 1 MiB. */
export async function hasUserBlock(file: SourceFile): Promise<boolean> {
  for (let at = MIN_USER_BLOCK; at + HDF5_MAGIC.length <= file.size && at <= MAX_USER_BLOCK; at *= 2) {
    const bytes = await file.read(at, HDF5_MAGIC.length);
    if (HDF5_MAGIC.every((byte, i) => bytes[i] === byte)) return true;
  }
  return false;
}
