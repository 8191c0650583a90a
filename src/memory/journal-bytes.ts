/** Computes the memory that a journal takes from a Replay. This file is separate from the journal's code, which is loaded on demand. */
import { SECTION_MAX } from "./state.ts";

/** Returns the number of segments that a journal can distinguish, which exceeds the number of files that it can have. */
export function placesFor(maxBytes: number, segmentBytes: number): number {
  let places = 1024;
  while (places < 65_536 && places < (4 * maxBytes) / segmentBytes) places *= 2;
  return places;
}

/** Returns the number of bytes that a journal takes from a Replay's memory. @param record the number of bytes of the longest record */
export function journalBytes(record: number, places: number): number {
  return bufferBytes(record) + 4 * places;
}

/** Returns the number of bytes of a buffer for two adjacent sections, such as rows and their links. The first section has room for the longest record. */
export function bufferBytes(record: number): number {
  return 16 + Math.max(SECTION_MAX, record) + SECTION_MAX;
}
