/** What a journal takes of a Replay's memory: apart from its code, which is loaded when asked for. */
import { SECTION_MAX } from "./state.ts";

/** Segments that a journal can tell apart: more than the files may ever be. */
export function placesFor(maxBytes: number, segmentBytes: number): number {
  let places = 1024;
  while (places < 65_536 && places < (4 * maxBytes) / segmentBytes) places *= 2;
  return places;
}

/** What a journal takes of a Replay's memory, where the longest record has so many bytes. */
export function journalBytes(record: number, places: number): number {
  return bufferBytes(record) + 4 * places;
}

/** Room for a section and for what follows it. */
export function bufferBytes(record: number): number {
  return 16 + Math.max(SECTION_MAX, record) + SECTION_MAX;
}
