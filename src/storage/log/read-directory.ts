/** Reads a directory: its segments, how far they are valid, and what is damaged. */
import { corrupt, ReplayError } from "../../base/error.ts";
import { SEAL } from "../../base/kinds.ts";
import type { FullLogger } from "../../base/warnings.ts";
import type { Directory } from "../../files/directory.ts";
import { withIoErrors } from "../../files/io-errors.ts";
import type { SectionMemory } from "../../memory/section-memory.ts";
import { NUMBER_BYTES } from "../format/section.ts";
import { END_BYTES, laterGroup, withFile } from "./group-ends.ts";
import { SegmentReader } from "./read-segment.ts";
import { fileOf, inRanges, type SegmentHead, segmentOf } from "./segment-head.ts";

export interface RecoverOptions {
  /** Keep what stands before damage, and give up the rest. */
  readonly salvage: boolean;
  /** Told what was found and mended. */
  readonly logger: FullLogger;
}

export interface ScanResult {
  readonly head: SegmentHead;
  /** Oldest first; the last one may be written to. `bytes` that count, and the sum of its sections. */
  readonly segments: readonly { readonly id: number; readonly bytes: number; readonly sum: number }[];
  /** Number of the next group. */
  readonly group: number;
  /** Whether damage was cut off: what is there is older than what was on the disk. */
  readonly salvaged: boolean;
  /** Number of a new segment: higher than that of any file, since a file may come back after a crash that was removed. */
  readonly next: number;
  /** Files to remove, newest first: they hold nothing that counts. */
  readonly remove: readonly string[];
  /** Segments that counted where damage was cut off, and were given back since. */
  readonly lost: readonly number[];
}

/** @returns undefined where there is nothing @throws ReplayError CORRUPT · UNSUPPORTED for another version's files */
export function recover(directory: Directory, memory: SectionMemory, options: RecoverOptions): ScanResult | undefined {
  const names = withIoErrors("listing", directory, "", () => directory.list());
  const segments = names.map(segmentOf).filter((segment) => segment > 0);
  segments.sort((a, b) => a - b);
  return new DirectoryScan(directory, memory, options, segments).result();
}

/** A place in a segment, as messages begin. */
export function damageAt(directory: Directory, segment: number, at: number): string {
  return `${directory.name}/${fileOf(segment)} is cut or altered at byte ${at}`;
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

  result(): ScanResult | undefined {
    const newest = this.#newestSegment();
    if (newest?.head === undefined) return undefined;
    const { run } = newest.head;
    const sums = sumsOf(newest.head);
    const expected = this.#expectedSegments(newest);
    for (const segment of this.#segments) if (segment < newest.segment && !expected.includes(segment)) this.#discard(segment, "it was given back");
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

  /** The newest segment, or the one before where that never held anything. */
  #newestSegment(): SegmentReader | undefined {
    for (let following: SegmentReader | undefined; ; ) {
      const segment = this.#segments.at(-1);
      if (segment === undefined) return undefined;
      const reader = this.#readSegment(segment);
      if (this.#isUnfinished(reader)) {
        this.#segments.pop();
        this.#discard(segment, "the log that it begins is not whole, and the one before it is");
        continue;
      }
      const fault = reader.fault ?? openGroup(reader);
      if (reader.isSealed) this.#onDamage(segment + 1, 0, following?.fault ?? "it is missing");
      else if (fault !== undefined) this.#checkTail(reader, fault);
      if (reader.head !== undefined && !this.#isAhead(reader)) return reader;
      following = reader;
      this.#segments.pop();
      this.#discard(segment, "it holds nothing");
      if (this.#segments.length === 0 && segment !== 1) throw new ReplayError("CORRUPT", `${this.#directory.name}/${fileOf(segment - 1)} is missing`);
    }
  }

  /** Says what becomes of the end of the newest segment. @throws ReplayError CORRUPT where it is damage */
  #checkTail(reader: SegmentReader, fault: string): void {
    const { segment, size, wholeBytes, isForeign: foreign } = reader;
    const at = reader.faultAt ?? wholeBytes;
    const isAlone = reader.head === undefined && this.#segments.length === 1;
    const isDamage = reader.fault !== undefined && laterGroup(this.#directory, segment, this.#memory, at, reader.head === undefined ? -1 : reader.group);
    // What stands alone has nothing before it, and may be anybody's.
    if (isAlone && (foreign || isDamage)) throw corrupt(damageAt(this.#directory, segment, at), `${fault}; it is left as it is`);
    if (foreign || isDamage) this.#onDamage(segment, at, fault);
    else {
      const what = `${size - wholeBytes} bytes behind byte ${wholeBytes} are a torn tail, and are cut off (${fault})`;
      this.#options.logger.warn(`${this.#directory.name}/${fileOf(segment)}: ${what}`);
    }
  }

  /** @throws ReplayError CORRUPT, unless damage is to be cut off */
  #onDamage(segment: number, at: number, what: string): void {
    const error = corrupt(damageAt(this.#directory, segment, at), what);
    if (!this.#options.salvage) throw error;
    this.#salvaged = true;
    this.#options.logger.warn(`${error.message}; what follows is given up`);
  }

  /** Whether a segment holds no group, and the one before it has lost its tail: then nothing of it was on the disk for sure. */
  #isAhead({ group, head }: SegmentReader): boolean {
    const [segment = 0] = this.#segments.slice(-2, -1);
    if (head === undefined || head.group !== group || head.kept.at(-1)?.[1] !== segment) return false;
    const previous = this.#readSegment(segment);
    return previous.head?.run === head.run && !previous.isSealed && previous.sum !== sumsOf(head).get(segment);
  }

  /** Whether a segment begins a log in the place of the ones before it (successor.ts), and its first group was never whole. */
  #isUnfinished({ segment, head, group, wholeBytes }: SegmentReader): boolean {
    if (head === undefined || head.kept.length > 0 || head.group !== group || this.#segments.length < 2) return false;
    // A group that was whole once is damaged.
    return !laterGroup(this.#directory, segment, this.#memory, wholeBytes, group - 1);
  }

  /** The segments that should be there, oldest first. */
  #expectedSegments({ head, segment, drops }: SegmentReader): number[] {
    const droppedIds = new Set(drops);
    return [...inRanges(head?.kept ?? []), segment].filter((number) => !droppedIds.has(number));
  }

  #checkMissing(expected: readonly number[]): void {
    const missing = expected.find((segment) => !this.#segments.includes(segment));
    if (missing !== undefined) throw new ReplayError("CORRUPT", `${this.#directory.name}/${fileOf(missing)} is missing`);
  }

  /** The last segment that can be used, as far as it can: the newest, or an older one with the first damage, or the one before that. */
  #lastUsable(expected: readonly number[], newest: SegmentReader, sums: ReadonlyMap<number, number>): SegmentReader {
    const run = newest.head?.run;
    let previous: SegmentReader | undefined;
    for (const segment of expected) {
      if (segment === newest.segment) return newest;
      const reader = this.#segments.includes(segment) ? this.#readSegment(segment) : undefined;
      const fault = reader === undefined ? "it is missing" : faultOf(reader, run, sums.get(segment));
      if (reader !== undefined && fault === undefined) {
        previous = reader;
        continue;
      }
      const last = reader?.head?.run === run && follows(previous, reader as SegmentReader) ? reader : previous;
      const at = reader?.faultAt ?? 0;
      if (last === undefined) {
        const error = corrupt(damageAt(this.#directory, segment, at), fault as string);
        throw new ReplayError("CORRUPT", `${error.message}; there is nothing before it to salvage`);
      }
      this.#onDamage(segment, at, fault as string);
      for (const following of expected.filter((number) => number > last.segment && this.#segments.includes(number)).reverse())
        this.#discard(following, "it stands behind the damage");
      return last;
    }
    return newest;
  }

  #discard(segment: number, reason: string): void {
    this.#options.logger.info(`${this.#directory.name}/${fileOf(segment)} is removed: ${reason}`);
    this.#remove.push(fileOf(segment));
  }

  #readSegment(segment: number): SegmentReader {
    const reader = new SegmentReader(this.#directory, segment, this.#memory);
    try {
      return reader.readToEnd();
    } finally {
      reader.close();
    }
  }
}

/** What is wrong with a segment that is not the newest: all that the newest one knows of must be there, and no group behind it. */
export function faultOf(reader: SegmentReader, run: string | undefined, sum: number | undefined): string | undefined {
  if (reader.head !== undefined && reader.head.run !== run) return "it is of another run";
  const open = openGroup(reader);
  if (reader.head !== undefined && reader.sum === sum && open === undefined) return undefined;
  return reader.fault ?? open ?? "it is another one than stood here";
}

function openGroup(reader: SegmentReader): string | undefined {
  return reader.isOpen ? `group ${reader.group} has no end` : undefined;
}

/** Whether a segment may follow another one: groups are missing only where segments between were given back. */
function follows(previous: SegmentReader | undefined, reader: SegmentReader): boolean {
  const group = reader.head?.group ?? 0;
  return previous === undefined || group === previous.group || (reader.segment !== previous.segment + 1 && group > previous.group);
}

/** The sums of the segments that were kept when one began. */
export function sumsOf({ kept, sums }: SegmentHead): Map<number, number> {
  return new Map([...inRanges(kept)].map((segment, i) => [segment, sums[i] as number]));
}

/** Whether a segment ends with a SEAL: all of it was on the disk. */
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
