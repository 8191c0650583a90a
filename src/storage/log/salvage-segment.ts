/** Reads a damaged segment, and finds the stretches of complete groups before, between and after the damaged parts. */
import { ReplayError } from "../../base/error.ts";
import { COMMIT, SEGMENT } from "../../base/kinds.ts";
import { MAX_SECTION_BYTES } from "../../base/limits.ts";
import type { Directory } from "../../files/directory.ts";
import { withIoErrors } from "../../files/io-errors.ts";
import type { SectionMemory } from "../../memory/section-memory.ts";
import { MAGIC, SECTION_BYTES } from "../format/section.ts";
import { END_BYTES, nextGroupEnd, withFile } from "./group-ends.ts";
import { SegmentReader, type SegmentStart } from "./read-segment.ts";
import { fileOf, headOf, type SegmentHead } from "./segment-head.ts";

/** Receives the sections of groups. An implementation must ignore the sections of a group that has no end. */
export interface GroupVisitor {
  section(kind: number, id: number, payload: Uint8Array): void;
  /** Runs when the group of the last sections is complete. */
  endGroup(): void;
}

/** Consecutive complete groups. */
export interface Stretch<V> {
  /** The position at which the stretch begins; undefined for the beginning of the segment. */
  readonly start: SegmentStart | undefined;
  /** The offset of the end of the stretch in the file. */
  readonly to: number;
  /** The number of the stretch's first group, and the number of the group after the stretch. */
  readonly firstGroup: number;
  readonly endGroup: number;
  readonly visitor: V;
}

/** Consecutive bytes that do not belong to a complete group. */
export interface Gap {
  readonly from: number;
  readonly to: number;
  /** The offset of the first fault, and a description of the fault. */
  readonly at: number;
  readonly fault: string;
  /** Whether the gap consists of a single section, with the size that its head declares, and the end of the section's group. */
  readonly isSingle: boolean;
  /** Whether no group follows the gap in the segment. */
  readonly isTail: boolean;
}

export interface SalvagedSegment<V> {
  readonly id: number;
  readonly size: number;
  readonly head: SegmentHead | undefined;
  /** The readable stretches and the gaps, in the order of the file. */
  readonly parts: readonly (Stretch<V> | Gap)[];
  readonly isSealed: boolean;
  /** The sum of all sections, if there is no gap. */
  readonly sum: number | undefined;
}

/**
 * Reads a segment. After damage, it restarts after the next end of a group with a valid checksum.
 * @param lowest the smallest possible number of the segment's first group @param create returns the visitor of a stretch
 * @throws ReplayError UNSUPPORTED if another version wrote the file · IO if the file cannot be read
 */
export function salvageSegment<V extends GroupVisitor>(
  directory: Directory,
  id: number,
  memory: SectionMemory,
  lowest: number,
  create: () => V,
): SalvagedSegment<V> {
  const parts: (Stretch<V> | Gap)[] = [];
  let head: SegmentHead | undefined;
  let start: SegmentStart | undefined;
  for (;;) {
    const visitor = create();
    const reader = new SegmentReader(directory, id, memory, undefined, undefined, start);
    const from = start?.at ?? 0;
    const unsupported = visit(reader, visitor);
    const { size, wholeBytes, isSealed, sum, firstGroup, group } = reader;
    head ??= reader.head;
    if (group > firstGroup) parts.push({ start: start && { ...start, head }, to: wholeBytes, firstGroup, endGroup: group, visitor });
    const fault = unsupported?.message ?? reader.fault ?? (reader.isOpen ? `group ${group} has no end` : undefined);
    if (fault === undefined || isSealed) return { id, size, head, parts, isSealed, sum: parts.length <= 1 && from === 0 ? sum : undefined };
    const at = reader.faultAt ?? wholeBytes;
    const behindEnd = reader.isOpen && reader.fault !== undefined ? behindDamagedEnd(directory, id, memory, at, group) : undefined;
    if (behindEnd !== undefined) {
      // Only the end of the group is damaged, and all of its sections were passed to the visitor.
      visitor.endGroup();
      if (group > firstGroup) parts.pop();
      parts.push({ start: start && { ...start, head }, to: at, firstGroup, endGroup: group + 1, visitor });
      parts.push({ from: at, to: behindEnd.at, at, fault, isSingle: false, isTail: false });
      start = behindEnd;
      continue;
    }
    const isBegun = reader.head !== undefined || start !== undefined;
    const next =
      (isBegun ? undefined : startOfFirst(directory, id, memory)) ?? nextStart(directory, id, memory, at, isBegun && !Number.isNaN(group) ? group : lowest);
    if (unsupported !== undefined && next?.head === undefined) throw unsupported;
    const to = next?.at ?? size;
    parts.push({ from: wholeBytes, to, at, fault, isSingle: isSingle(directory, id, wholeBytes, to), isTail: next === undefined });
    if (next === undefined) return { id, size, head, parts, isSealed, sum: undefined };
    head ??= next.head;
    start = next;
  }
}

/**
 * Passes all sections to the visitor, and reports each group that is complete. Returns the error for a file of another version, since its first bytes may only
 * be damaged.
 */
function visit(reader: SegmentReader, visitor: GroupVisitor): ReplayError | undefined {
  const { sections } = reader;
  try {
    let { wholeBytes } = reader;
    let isOpen = false;
    const end = () => {
      if (isOpen && reader.wholeBytes !== wholeBytes) visitor.endGroup();
      wholeBytes = reader.wholeBytes;
    };
    while (reader.next()) {
      end();
      visitor.section(sections.kind, sections.id, sections.payload);
      isOpen = true;
    }
    end();
    return undefined;
  } catch (error) {
    if (error instanceof ReplayError && error.code === "UNSUPPORTED" && reader.head === undefined) return error;
    throw error;
  } finally {
    reader.close();
  }
}

/**
 * Returns the start of the first group if the magic or the head is damaged. The group starts after a valid head. After a damaged head, it starts at the offset
 * that follows from the head's declared size, if a valid section begins there.
 */
function startOfFirst(directory: Directory, id: number, memory: SectionMemory): SegmentStart | undefined {
  const first = sectionAt(directory, id, memory, MAGIC.length);
  if (first === undefined) return undefined;
  if (first.isWhole) {
    const head = first.kind === SEGMENT ? headOf(first.payload, id) : undefined;
    return head && { at: first.end, group: head.group, head };
  }
  return sectionAt(directory, id, memory, first.end)?.isWhole === true ? { at: first.end, group: undefined, head: undefined } : undefined;
}

/** Returns the start of the group after a damaged COMMIT. The damaged bytes must have the size of a COMMIT, and the next end must belong to the next group. */
function behindDamagedEnd(directory: Directory, id: number, memory: SectionMemory, at: number, group: number): SegmentStart | undefined {
  const damaged = sectionAt(directory, id, memory, at);
  if (damaged?.end !== at + END_BYTES || sectionAt(directory, id, memory, damaged.end)?.isWhole !== true) return undefined;
  const end = nextGroupEnd(directory, id, memory, damaged.end, () => true);
  const isNext = end?.group === group + 1 && (end.kind === COMMIT || end.at === damaged.end);
  return isNext ? { at: damaged.end, group: group + 1, head: undefined } : undefined;
}

interface SectionInFile {
  readonly kind: number;
  readonly payload: Uint8Array;
  /** The offset of the section's end, from the size in its head. */
  readonly end: number;
  /** Whether the section's checksum is valid. */
  readonly isWhole: boolean;
}

/** Returns the section at an offset, valid or not; undefined if its declared size is too large. */
function sectionAt(directory: Directory, id: number, memory: SectionMemory, at: number): SectionInFile | undefined {
  return withFile(directory, id, (file, size) => {
    if (at + SECTION_BYTES > size) return undefined;
    memory.reserve(SECTION_BYTES);
    const read = (bytes: number) =>
      withIoErrors("reading", directory, fileOf(id), () => {
        const into = memory.u8.subarray(memory.base, memory.base + bytes);
        for (let done = 0; done < bytes; ) {
          const count = file.read(into.subarray(done), at + done);
          if (!(count > 0)) throw new Error("the file was truncated while it was being read");
          done += count;
        }
      });
    read(SECTION_BYTES);
    const bytes = memory.view.getUint32(memory.base + 8, true);
    const end = at + SECTION_BYTES + bytes;
    if (end > size || bytes > MAX_SECTION_BYTES) return undefined;
    memory.reserve(SECTION_BYTES + bytes);
    read(SECTION_BYTES + bytes);
    const { u8, view, base } = memory;
    const payload = u8.slice(base + SECTION_BYTES, base + SECTION_BYTES + bytes);
    return { kind: view.getUint32(base, true), payload, end, isWhole: memory.sum(base) === view.getUint32(base + 12, true) };
  });
}

/** Returns the position after the next end of a group. @param lowest the smallest possible number of the group */
function nextStart(directory: Directory, id: number, memory: SectionMemory, at: number, lowest: number): SegmentStart | undefined {
  const end = nextGroupEnd(directory, id, memory, at, ({ group }) => group >= lowest);
  if (end === undefined) return undefined;
  // Reading continues at the SEAL itself, because the SEAL records that nothing follows.
  return end.kind === COMMIT ? { at: end.at + END_BYTES, group: end.group + 1, head: undefined } : { at: end.at, group: end.group, head: undefined };
}

/** Returns whether the bytes between two offsets consist of a single section, with the size that its head declares, and the end of the section's group. */
function isSingle(directory: Directory, id: number, from: number, to: number): boolean {
  return withFile(directory, id, (file, size) => {
    const head = new Uint8Array(SECTION_BYTES);
    if (from + SECTION_BYTES > size || withIoErrors("reading", directory, fileOf(id), () => file.read(head, from)) !== SECTION_BYTES) return false;
    return from + SECTION_BYTES + new DataView(head.buffer).getUint32(8, true) + END_BYTES === to;
  });
}
