/**
 * Checks the global heaps of HDF5, which store texts and bytes of variable length. The library would loop endlessly on a damaged heap, so such a heap must not
 * be passed to it.
 */
import { dataView } from "../../../base/bytes.ts";

const SIGNATURE = [0x47, 0x43, 0x4f, 0x4c]; // GCOL
const HEAD = 16;

/** The maximum number of bytes of a read that can contain a heap. Larger reads contain rows. */
const MAX = 65536;

/** Returns the offsets of the heaps that begin in a read, or no offsets if the read is too large to contain heaps. */
export function heapsIn(bytes: Uint8Array): number[] {
  const addresses: number[] = [];
  if (bytes.length > MAX) return addresses;
  for (let at = bytes.indexOf(SIGNATURE[0] as number); at >= 0; at = bytes.indexOf(SIGNATURE[0] as number, at + 1))
    if (SIGNATURE.every((byte, i) => bytes[at + i] === byte)) addresses.push(at);
  return addresses;
}

/**
 * Returns whether the library can walk over the objects of a heap without looping endlessly or leaving the heap. Returns true for an invalid head, which the
 * library itself detects.
 * @param at the offset of the heap
 * @param size the size of the file
 */
export function isWalkable(at: number, size: number, read: (at: number, length: number) => Uint8Array): boolean {
  if (at + HEAD > size) return true;
  const head = dataView(read(at, HEAD));
  const length = Number(head.getBigUint64(8, true));
  if (head.getUint8(4) !== 1 || length > size - at) return true;
  const heap = dataView(read(at, length));
  for (let p = HEAD; p + HEAD <= length; ) {
    const bytes = Number(heap.getBigUint64(p + 8, true));
    // The free space at the end of a heap has the number 0. Its size includes its head.
    const step = heap.getUint16(p, true) === 0 ? bytes : HEAD + 8 * Math.ceil(bytes / 8);
    if (step < HEAD || p + step > length) return false;
    p += step;
  }
  return true;
}
