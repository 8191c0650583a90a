/** All sections of what was found in a directory, in order. */
import { corrupt } from "../../base/error.ts";
import type { FullLogger } from "../../base/warnings.ts";
import type { Directory } from "../../files/directory.ts";
import type { SectionMemory } from "../../memory/section-memory.ts";
import { damageAt, faultOf, isSealed, type Recovered } from "./scan.ts";
import { fileOf } from "./segment-head.ts";
import type { Mark } from "./segment-writer.ts";
import { Walk } from "./walk.ts";

/** Where a section is. */
export interface Place {
  /** Number of its group. */
  readonly group: number;
  /** Its offset in the segment. */
  readonly from: number;
}

/** Called with each section of the owner's. The payload is there until it returns. */
export type Visit = (kind: number, id: number, payload: Uint8Array, segment: number, place: Place) => void;

/** A segment before the newest that has all it must have, but does not say that it has a next one. */
export interface Unsealed {
  readonly id: number;
  readonly written: Mark;
  /** Number of the group that follows. */
  readonly group: number;
}

/**
 * Shows every section; yields after each piece of a file.
 * @param newest whether segments that are sealed are passed over, but for the last two: what stands at the newest one's beginning may have been cut off
 * @returns the segments that are not sealed as they should be, oldest first
 * @throws ReplayError CORRUPT where a segment is not the one that the newest one knows
 */
export function* sectionsOf(
  directory: Directory,
  { head: { run }, segments }: Recovered,
  memory: SectionMemory,
  logger: FullLogger,
  visit: Visit,
  newest = false,
): Generator<{ bytes: number; of: number }, Unsealed[]> {
  const of = segments.reduce((sum, { bytes }) => sum + bytes, 0);
  const last = segments.slice(-2).map(({ id }) => id);
  const unsealed: Unsealed[] = [];
  // One for all: journals have very many sections.
  const place = { group: 0, from: 0 };
  let done = 0;
  for (const { id, bytes, sum } of segments) {
    if (newest && !last.includes(id) && isSealed(directory, id, memory)) {
      done += bytes;
      continue;
    }
    const walk = new Walk(directory, id, memory, bytes);
    const { sections } = walk;
    try {
      for (let pieces = 1; walk.next(); ) {
        place.group = walk.group;
        place.from = sections.from;
        visit(sections.kind, sections.id, sections.payload, id, place);
        if (walk.pieces === pieces) continue;
        pieces = walk.pieces;
        yield { bytes: done + sections.end, of };
      }
      const fault = faultOf(walk, run, sum);
      if (fault !== undefined) throw corrupt(damageAt(directory, id, walk.faultAt ?? sections.end), fault);
    } finally {
      walk.close();
    }
    const { whole, fault } = walk;
    if (fault !== undefined) logger.warn(`${directory.name}/${fileOf(id)}: what stands behind byte ${whole} is no part of it, and is cut off (${fault})`);
    if (id !== segments.at(-1)?.id && (!walk.sealed || fault !== undefined)) unsealed.push({ id, written: { bytes: whole, sum }, group: walk.group });
    done += bytes;
    yield { bytes: done, of };
  }
  return unsealed;
}
