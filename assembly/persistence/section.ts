/**
 * Defines a section of snapshots and journals:
 *   0 │ kind u32  │ id u32  │
 *   8 │ bytes u32 │ crc u32 │  then the payload; crc over kind, id, bytes and the payload
 */
import { crc32c } from "./crc32c";

export const SECTION_BYTES: u32 = 16;

/** The kinds of sections, as in src/base/kinds.ts. */
export const HEAD: u32 = 32;
export const WRITERS: u32 = 33;
export const POOLS: u32 = 34;
export const ROWS: u32 = 35;
export const FREE: u32 = 37;
export const SLOTS: u32 = 38;
export const TABLE: u32 = 39;
export const STREAMS: u32 = 40;
export const END: u32 = 42;
export const LAYOUTS: u32 = 43;
export const ENTRIES: u32 = 44;
export const DRAWN: u32 = 45;

/** Returns the checksum that the section at an address must have. O(bytes) */
export function section_sum(at: usize): u32 {
  return crc32c(crc32c(0, at, 12), at + 16, load<u32>(at, 8));
}

/** Writes the head of a section whose payload is already written. */
export function section_seal(at: usize, kind: u32, id: u32, bytes: u32): void {
  store<u32>(at, kind);
  store<u32>(at, id, 4);
  store<u32>(at, bytes, 8);
  store<u32>(at, section_sum(at), 12);
}
