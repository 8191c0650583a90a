/** HDF5's global heaps, where texts and bytes of any length are. The library goes around in one that is damaged without an end: it must not see such a one. */
import { dataView } from "../../../base/bytes.ts";

const SIGNATURE = [0x47, 0x43, 0x4f, 0x4c]; // GCOL
const HEAD = 16;

/** Reads larger than this are of rows, not of the library's own structures. */
const MAX = 65536;

/** Where, in bytes that were read, heaps begin. */
export function heapsIn(bytes: Uint8Array): number[] {
  const addresses: number[] = [];
  if (bytes.length > MAX) return addresses;
  for (let at = bytes.indexOf(SIGNATURE[0] as number); at >= 0; at = bytes.indexOf(SIGNATURE[0] as number, at + 1))
    if (SIGNATURE.every((byte, i) => bytes[at + i] === byte)) addresses.push(at);
  return addresses;
}

/** Whether the objects of a heap come to its size, one behind the other. One whose head is none is left to the library, which sees that. */
export function isWalkable(at: number, size: number, read: (at: number, length: number) => Uint8Array): boolean {
  if (at + HEAD > size) return true;
  const head = dataView(read(at, HEAD));
  const length = Number(head.getBigUint64(8, true));
  if (head.getUint8(4) !== 1 || length > size - at) return true;
  const heap = dataView(read(at, length));
  for (let p = HEAD; p + HEAD <= length; ) {
    const bytes = Number(heap.getBigUint64(p + 8, true));
    // The free rest has the number 0, and counts its own head.
    const step = heap.getUint16(p, true) === 0 ? bytes : HEAD + 8 * Math.ceil(bytes / 8);
    if (step < HEAD || p + step > length) return false;
    p += step;
  }
  return true;
}
