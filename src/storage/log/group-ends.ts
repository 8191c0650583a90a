/**
 * Finds the COMMIT and SEAL sections, which end groups, by their form. If such a section follows a fault, the data before it is damaged and not merely cut off,
 * and reading can restart there.
 */
import { COMMIT, SEAL } from "../../base/kinds.ts";
import type { Directory, StorageFile } from "../../files/directory.ts";
import { withIoErrors } from "../../files/io-errors.ts";
import type { SectionMemory } from "../../memory/section-memory.ts";
import { NUMBER_BYTES, numberAt, SECTION_BYTES } from "../format/section.ts";
import { openSegment } from "./segment-file.ts";
import { fileOf } from "./segment-head.ts";

const CHUNK_BYTES = 1 << 20;
/** The number of bytes in a COMMIT or SEAL section. */
export const END_BYTES = SECTION_BYTES + NUMBER_BYTES;

/** A complete COMMIT or SEAL. */
export interface GroupEnd {
  readonly kind: number;
  /** The offset of the COMMIT or SEAL in the file. */
  readonly at: number;
  /** The number of the group. For a SEAL, the number of the next group. */
  readonly group: number;
}

/** Returns whether a complete COMMIT or SEAL of a later group follows an offset. If so, the data at the offset is damaged, not cut off. */
export function laterGroup(directory: Directory, segment: number, memory: SectionMemory, from: number, group: number): boolean {
  return nextGroupEnd(directory, segment, memory, from, (end) => end.group > group) !== undefined;
}

/** Returns the first complete COMMIT or SEAL, from an offset on, that `accept` accepts; undefined if no such section exists. */
export function nextGroupEnd(
  directory: Directory,
  segment: number,
  memory: SectionMemory,
  from: number,
  accept: (end: GroupEnd) => boolean,
): GroupEnd | undefined {
  return withFile(directory, segment, (file, size) => {
    memory.reserve(Math.min(CHUNK_BYTES, Math.max(size - from, 0)) + END_BYTES);
    let length = 0;
    for (let at = from; ; ) {
      const into = memory.u8.subarray(memory.base + length, Math.min(memory.base + length + CHUNK_BYTES, memory.u8.length));
      const count = withIoErrors("reading", directory, fileOf(segment), () => file.read(into, at));
      if (!(count > 0)) return undefined;
      at += count;
      length += count;
      const ends = [COMMIT, SEAL].map((kind) => endIn(memory, length, kind, at - length, accept)).filter((end) => end !== undefined);
      if (ends.length > 0) return ends.reduce((first, end) => (end.at < first.at ? end : first));
      // A group's end may begin at the end of the piece, and continue in the next piece.
      const rest = Math.min(length, END_BYTES - 1);
      memory.u8.copyWithin(memory.base, memory.base + length - rest, memory.base + length);
      length = rest;
    }
  });
}

/** @param offset the offset of the piece in the file */
function endIn(memory: SectionMemory, length: number, kind: number, offset: number, accept: (end: GroupEnd) => boolean): GroupEnd | undefined {
  const { u8, view, base } = memory;
  const last = base + length - END_BYTES;
  for (let at = u8.indexOf(kind, base); at >= 0 && at <= last; at = u8.indexOf(kind, at + 1)) {
    if (view.getUint32(at, true) !== kind || view.getUint32(at + 8, true) !== NUMBER_BYTES) continue;
    const end = { kind, at: offset + at - base, group: numberAt(view, at + SECTION_BYTES) };
    if (memory.sum(at) === view.getUint32(at + 12, true) && accept(end)) return end;
  }
  return undefined;
}

export function withFile<T>(directory: Directory, segment: number, read: (file: StorageFile, size: number) => T): T {
  const { file, size } = openSegment(directory, segment);
  try {
    return read(file, size);
  } finally {
    file.close();
  }
}
