/** Reads all sections of a directory's log, in order. */
import { corrupt } from "../../base/error.ts";
import type { FullLogger } from "../../base/warnings.ts";
import type { Directory } from "../../files/directory.ts";
import type { SectionMemory } from "../../memory/section-memory.ts";
import { damageAt, faultOf, isSealed, type ScanResult } from "./read-directory.ts";
import { SegmentReader } from "./read-segment.ts";
import { fileOf } from "./segment-head.ts";
import type { Mark } from "./segment-writer.ts";

/** The position of a section. */
export interface SectionPosition {
  /** The number of the section's group. */
  readonly group: number;
  /** The offset of the section in the segment. */
  readonly from: number;
}

/** A function that receives each section that the owner of the log wrote. The payload is valid until the function returns. */
export type Visit = (kind: number, id: number, payload: Uint8Array, segment: number, position: SectionPosition) => void;

/** A complete segment without a seal that precedes the newest segment. */
export interface UnsealedSegment {
  readonly id: number;
  readonly mark: Mark;
  /** The number of the group that follows the segment. */
  readonly group: number;
}

/**
 * Passes every section to the visitor, and yields after each piece of a file.
 * @param newest whether to skip sealed segments, except the last two, because the beginning of the newest segment may have been cut off
 * @returns the segments without a seal, oldest first
 * @throws ReplayError CORRUPT if a segment is not the segment to which the newest segment refers
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
  // All sections share one object, since journals have very many sections.
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
    if (fault !== undefined)
      logger.warn(`${directory.name}/${fileOf(id)}: the bytes after byte ${wholeBytes} do not belong to the log, and are cut off (${fault})`);
    if (id !== segments.at(-1)?.id && (!reader.isSealed || fault !== undefined)) unsealed.push({ id, mark: { bytes: wholeBytes, sum }, group: reader.group });
    done += bytes;
    yield { bytes: done, of };
  }
  return unsealed;
}
