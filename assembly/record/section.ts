/**
 * A section, as snapshots and journals have it:
 *   0 │ kind u32  │ id u32  │
 *   8 │ bytes u32 │ crc u32 │  then the payload; crc over kind, id, bytes and the payload
 */
import { crc32c } from "./crc32c";

/** O(bytes): what the checksum of the section at an address must be. */
export function section_sum(at: usize): u32 {
  return crc32c(crc32c(0, at, 12), at + 16, load<u32>(at, 8));
}

/** Writes the head of a section whose payload is there. */
export function section_seal(at: usize, kind: u32, id: u32, bytes: u32): void {
  store<u32>(at, kind);
  store<u32>(at, id, 4);
  store<u32>(at, bytes, 8);
  store<u32>(at, section_sum(at), 12);
}
