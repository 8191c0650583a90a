/** Reads a directory: its segments, the valid part of each, and any damage. */
import { corrupt, ReplayError } from "../../base/error.ts";
import { SEAL } from "../../base/kinds.ts";
import type { FullLogger } from "../../base/warnings.ts";
import type { Directory } from "../../files/directory.ts";
import { withIoErrors } from "../../files/io-errors.ts";
import type { SectionMemory } from "../../memory/section-memory.ts";
import { NUMBER_BYTES, type SectionParser } from "../format/section.ts";
import { END_BYTES, laterGroup, withFile } from "./group-ends.ts";
import { SegmentReader } from "./read-segment.ts";
import { fileOf, inRanges, type SegmentHead, segmentOf } from "./segment-head.ts";

export interface RecoverOptions {
  /** Whether to keep the data before damage. The rest is lost. */
  readonly salvage: boolean;
  /** Receives messages about damage and repairs. */
  readonly logger: FullLogger;
}

export interface ScanResult {
  readonly head: SegmentHead;
  /**
   * The segments, oldest first. The last segment may be continued. `bytes` is the number of valid bytes of a segment, and `sum` is the sum of its sections'
   * checksums.
   */
  readonly segments: readonly { readonly id: number; readonly bytes: number; readonly sum: number }[];
  /** The number of the next group. */
  readonly group: number;
  /** Whether damage was cut off, so that the contents are older than the data that was on the disk. */
  readonly salvaged: boolean;
  /** The number for a new segment. It is higher than the number of any file, since a removed file may reappear after a crash. */
  readonly next: number;
  /** The files to remove: released segments, empty or unfinished newest segments, and segments after damage. */
  readonly remove: readonly string[];
  /** The segments that still belonged to the log at the damaged position, and were released later. */
  readonly lost: readonly number[];
}

/**
 * A function that is called for each section that the owner of the log wrote to the newest segment, and to the previous segment if the newest one is discarded.
 * The parser contains the section, whose group may be incomplete.
 */
export type OnScan = (sections: SectionParser) => void;

/**
 * Finds the valid contents of a directory.
 * @returns undefined if there is no log
 * @throws ReplayError CORRUPT if the contents are damaged, and `salvage` is false or cannot help · UNSUPPORTED if another version wrote the files
 */
export function recover(directory: Directory, memory: SectionMemory, options: RecoverOptions, onScan?: OnScan): ScanResult | undefined {
  const names = withIoErrors("listing", directory, "", () => directory.list());
  const segments = names.map(segmentOf).filter((segment) => segment > 0);
  segments.sort((a, b) => a - b);
  return new DirectoryScan(directory, memory, options, segments).result(onScan);
}

/** Returns the beginning of a message about a place in a segment. */
export function damageAt(directory: Directory, segment: number, at: number): string {
  return `${directory.name}/${fileOf(segment)} is truncated or altered at byte ${at}`;
}

class DirectoryScan {
  readonly #directory: Directory;
  readonly #options: RecoverOptions;
  readonly #segments: number[];
  readonly #memory: SectionMemory;
  readonly #remove: string[] = [];
  readonly #next: number;
  #salvaged = false;

  constructor(directory: Directory, memory: SectionMemory, options: RecoverOptions, segments: number[]) {
    this.#directory = directory;
    this.#memory = memory;
    this.#options = options;
    this.#segments = segments;
    this.#next = (segments.at(-1) ?? 0) + 1;
  }

  result(onScan: OnScan | undefined): ScanResult | undefined {
    const newest = this.#newestSegment(onScan);
    if (newest?.head === undefined) return undefined;
    const { run } = newest.head;
    const sums = sumsOf(newest.head);
    const expected = this.#expectedSegments(newest);
    for (const segment of this.#segments) if (segment < newest.segment && !expected.includes(segment)) this.#discard(segment, "it was released");
    const lastUsable = this.#options.salvage ? this.#lastUsable(expected, newest, sums) : newest;
    const older = expected.filter((segment) => segment < lastUsable.segment);
    if (lastUsable === newest) this.#checkMissing(expected);
    return {
      head: { ...(lastUsable.head ?? newest.head), run },
      segments: [
        ...older.map((id) => ({ id, bytes: withFile(this.#directory, id, (_, size) => size), sum: sums.get(id) as number })),
        { id: lastUsable.segment, bytes: lastUsable.wholeBytes, sum: lastUsable.sum },
      ],
      group: lastUsable.group,
      salvaged: this.#salvaged,
      next: this.#next,
      remove: this.#remove,
      lost: lastUsable === newest ? [] : this.#expectedSegments(lastUsable).filter((segment) => segment !== lastUsable.segment && !older.includes(segment)),
    };
  }

  /** Returns the newest segment, or the previous segment if the newest segment never contained a group. */
  #newestSegment(onScan: OnScan | undefined): SegmentReader | undefined {
    for (let following: SegmentReader | undefined; ; ) {
      const segment = this.#segments.at(-1);
      if (segment === undefined) return undefined;
      const reader = this.#readSegment(segment, onScan);
      if (this.#isUnfinished(reader)) {
        this.#segments.pop();
        this.#discard(segment, "the log that begins there is incomplete, and the log before it is complete");
        continue;
      }
      const fault = reader.fault ?? openGroup(reader);
      if (reader.isSealed) this.#onDamage(segment + 1, 0, following?.fault ?? "the file is missing");
      else if (fault !== undefined) this.#checkTail(reader, fault);
      if (reader.head !== undefined && !this.#isAhead(reader)) return reader;
      following = reader;
      this.#segments.pop();
      this.#discard(segment, "it is empty");
      if (this.#segments.length === 0 && segment !== 1) throw new ReplayError("CORRUPT", `${this.#directory.name}/${fileOf(segment - 1)} is missing`);
    }
  }

  /** Decides whether the end of the newest segment is a torn tail or damage. @throws ReplayError CORRUPT if it is damaged and must not be salvaged */
  #checkTail(reader: SegmentReader, fault: string): void {
    const { segment, size, wholeBytes, isForeign: foreign } = reader;
    const at = reader.faultAt ?? wholeBytes;
    const isAlone = reader.head === undefined && this.#segments.length === 1;
    const isDamage = reader.fault !== undefined && laterGroup(this.#directory, segment, this.#memory, at, reader.head === undefined ? -1 : reader.group);
    // A single segment has no predecessor to check it against, and may belong to another program.
    if (isAlone && (foreign || isDamage)) throw corrupt(damageAt(this.#directory, segment, at), `${fault}. The file is unchanged`);
    if (foreign || isDamage) this.#onDamage(segment, at, fault);
    else {
      const what = `${size - wholeBytes} bytes after byte ${wholeBytes} were not completely written, and are cut off (${fault})`;
      this.#options.logger.warn(`${this.#directory.name}/${fileOf(segment)}: ${what}`);
    }
  }

  /** @throws ReplayError CORRUPT, unless the options allow cutting off damage */
  #onDamage(segment: number, at: number, what: string): void {
    const error = corrupt(damageAt(this.#directory, segment, at), what);
    if (!this.#options.salvage) throw error;
    this.#salvaged = true;
    this.#options.logger.warn(`${error.message}. Everything after this byte is lost`);
  }

  /** Returns whether a segment contains no group, and the previous segment lost its tail. If so, no part of the segment was certainly on the disk. */
  #isAhead({ group, head }: SegmentReader): boolean {
    const [segment = 0] = this.#segments.slice(-2, -1);
    if (head === undefined || head.group !== group || head.kept.at(-1)?.[1] !== segment) return false;
    const previous = this.#readSegment(segment);
    return previous.head?.run === head.run && !previous.isSealed && previous.sum !== sumsOf(head).get(segment);
  }

  /** Returns whether a segment begins a log that replaces the segments before it (successor.ts), but its first group was never complete. */
  #isUnfinished({ segment, head, group, wholeBytes }: SegmentReader): boolean {
    if (head === undefined || head.kept.length > 0 || head.group !== group || this.#segments.length < 2) return false;
    // If a later group exists, a group that was complete is now damaged.
    return !laterGroup(this.#directory, segment, this.#memory, wholeBytes, group - 1);
  }

  /** Returns the segments that should exist, oldest first. */
  #expectedSegments({ head, segment, drops }: SegmentReader): number[] {
    const droppedIds = new Set(drops);
    return [...inRanges(head?.kept ?? []), segment].filter((number) => !droppedIds.has(number));
  }

  #checkMissing(expected: readonly number[]): void {
    const missing = expected.find((segment) => !this.#segments.includes(segment));
    if (missing !== undefined) throw new ReplayError("CORRUPT", `${this.#directory.name}/${fileOf(missing)} is missing`);
  }

  /** Returns the last usable segment, up to its damage. This is the newest segment, the older segment with the first damage, or the segment before that. */
  #lastUsable(expected: readonly number[], newest: SegmentReader, sums: ReadonlyMap<number, number>): SegmentReader {
    const run = newest.head?.run;
    let previous: SegmentReader | undefined;
    for (const segment of expected) {
      if (segment === newest.segment) return newest;
      const reader = this.#segments.includes(segment) ? this.#readSegment(segment) : undefined;
      const fault = reader === undefined ? "the file is missing" : faultOf(reader, run, sums.get(segment));
      if (reader !== undefined && fault === undefined) {
        previous = reader;
        continue;
      }
      const last = reader?.head?.run === run && follows(previous, reader as SegmentReader) ? reader : previous;
      const at = reader?.faultAt ?? 0;
      if (last === undefined) {
        const error = corrupt(damageAt(this.#directory, segment, at), fault as string);
        throw new ReplayError("CORRUPT", `${error.message}. Nothing before it can be salvaged`);
      }
      this.#onDamage(segment, at, fault as string);
      for (const following of expected.filter((number) => number > last.segment && this.#segments.includes(number)).reverse())
        this.#discard(following, "it comes after the damage");
      return last;
    }
    return newest;
  }

  #discard(segment: number, reason: string): void {
    this.#options.logger.info(`${this.#directory.name}/${fileOf(segment)} is removed: ${reason}`);
    this.#remove.push(fileOf(segment));
  }

  #readSegment(segment: number, onScan?: OnScan): SegmentReader {
    const reader = new SegmentReader(this.#directory, segment, this.#memory);
    try {
      while (reader.next()) onScan?.(reader.sections);
      return reader;
    } finally {
      reader.close();
    }
  }
}

/**
 * Returns the fault of a segment before the newest segment, if any. The segment must have the sum that the newest segment's head records, and must not end with
 * an open group.
 */
export function faultOf(reader: SegmentReader, run: string | undefined, sum: number | undefined): string | undefined {
  if (reader.head !== undefined && reader.head.run !== run) return "it belongs to another run";
  const open = openGroup(reader);
  if (reader.head !== undefined && reader.sum === sum && open === undefined) return undefined;
  return reader.fault ?? open ?? "its contents have changed";
}

function openGroup(reader: SegmentReader): string | undefined {
  return reader.isOpen ? `group ${reader.group} has no end` : undefined;
}

/** Returns whether a segment may follow another segment. Groups may be missing only if segments between the two were released. */
function follows(previous: SegmentReader | undefined, reader: SegmentReader): boolean {
  const group = reader.head?.group ?? 0;
  return previous === undefined || group === previous.group || (reader.segment !== previous.segment + 1 && group > previous.group);
}

/** Returns the sums of the segments that were kept when a segment began. */
export function sumsOf({ kept, sums }: SegmentHead): Map<number, number> {
  return new Map([...inRanges(kept)].map((segment, i) => [segment, sums[i] as number]));
}

/** Returns whether a segment ends with a SEAL, so that the whole segment was on the disk. */
export function isSealed(directory: Directory, segment: number, memory: SectionMemory): boolean {
  return withFile(directory, segment, (file, size) => {
    const from = size - END_BYTES;
    if (from < 0) return false;
    memory.reserve(END_BYTES);
    const { u8, view, base } = memory;
    const count = withIoErrors("reading", directory, fileOf(segment), () => file.read(u8.subarray(base, base + END_BYTES), from));
    const isSeal = count === END_BYTES && view.getUint32(base, true) === SEAL && view.getUint32(base + 8, true) === NUMBER_BYTES;
    return isSeal && view.getUint32(base + 12, true) === memory.sum(base);
  });
}
