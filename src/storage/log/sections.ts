/** All sections of what was found in a directory, in order. */
import { corrupt } from "../../base/error.ts";
import type { FullLogger } from "../../base/warnings.ts";
import type { Directory } from "../../files/directory.ts";
import type { SectionMemory } from "../../memory/section-memory.ts";
import { damageAt, faultOf, isSealed, type ScanResult } from "./read-directory.ts";
import { SegmentReader } from "./read-segment.ts";
import { fileOf } from "./segment-head.ts";
import type { Mark } from "./segment-writer.ts";

/** Where a section is. */
export interface SectionPosition {
  /** Number of its group. */
  readonly group: number;
  /** Its offset in the segment. */
  readonly from: number;
}

/** Called with each section of the owner's. The payload is there until it returns. */
export type Visit = (kind: number, id: number, payload: Uint8Array, segment: number, position: SectionPosition) => void;

/** A segment before the newest that has all it must have, but does not say that it has a next one. */
export interface UnsealedSegment {
  readonly id: number;
  readonly mark: Mark;
  /** Number of the group that follows. */
  readonly group: number;
}

/**
 * Shows every section; yields after each piece of a file.
 * @param newest whether segments that are sealed are passed over, but for the last two: what stands at the newest one's beginning may have been cut off
 * @returns the segments that are not sealed as they should be, oldest first
 * @throws ReplayError CORRUPT where a segment is not the one that the newest one knows
 */
export function* readSections(
  directory: Directory,
  { head: { run }, segments }: ScanResult,
  memory: SectionMemory,
  logger: FullLogger,
  visit: Visit,
  newest = false,
): Generator<{ bytes: number; of: number }, UnsealedSegment[]> {
  const of = segments.reduce((sum, { bytes }) => sum + bytes, 0);
  const last = segments.slice(-2).map(({ id }) => id);
  const unsealed: UnsealedSegment[] = [];
  // One for all: journals have very many sections.
  const position = { group: 0, from: 0 };
  let done = 0;
  for (const { id, bytes, sum } of segments) {
    if (newest && !last.includes(id) && isSealed(directory, id, memory)) {
      done += bytes;
      continue;
    }
    const reader = new SegmentReader(directory, id, memory, bytes);
    const { sections } = reader;
    try {
      for (let chunks = 1; reader.next(); ) {
        position.group = reader.group;
        position.from = sections.from;
        visit(sections.kind, sections.id, sections.payload, id, position);
        if (reader.chunks === chunks) continue;
        chunks = reader.chunks;
        yield { bytes: done + sections.end, of };
      }
      const fault = faultOf(reader, run, sum);
      if (fault !== undefined) throw corrupt(damageAt(directory, id, reader.faultAt ?? sections.end), fault);
    } finally {
      reader.close();
    }
    const { wholeBytes, fault } = reader;
    if (fault !== undefined) logger.warn(`${directory.name}/${fileOf(id)}: what stands behind byte ${wholeBytes} is no part of it, and is cut off (${fault})`);
    if (id !== segments.at(-1)?.id && (!reader.isSealed || fault !== undefined)) unsealed.push({ id, mark: { bytes: wholeBytes, sum }, group: reader.group });
    done += bytes;
    yield { bytes: done, of };
  }
  return unsealed;
}
