/** Reads the contents of one segment: its sections in order, its head, its groups, its seal, and the place of its first fault. */

import { ReplayError } from "../../base/error.ts";
import { COMMIT, DROP, isOwn, SEAL, SEGMENT } from "../../base/kinds.ts";
import type { Directory, StorageFile } from "../../files/directory.ts";
import { ioError, withIoErrors } from "../../files/io-errors.ts";
import type { SectionMemory } from "../../memory/section-memory.ts";
import { addToSum, MAGIC, NUMBER_BYTES, numberAt, SECTION_BYTES, SectionParser } from "../format/section.ts";
import { openSegment } from "./segment-file.ts";
import { fileOf, headOf, type SegmentHead } from "./segment-head.ts";

const CHUNK_BYTES = 1 << 20;

/** The position at which reading starts after damage, instead of at the file's head. */
export interface SegmentStart {
  /** The offset of a section. */
  readonly at: number;
  /** The number of the group that begins at that offset; undefined if only the group's end has the number. */
  readonly group: number | undefined;
  readonly head: SegmentHead | undefined;
}

/**
 * Reads a segment's sections, and checks each section before `next` returns. The properties cover the sections read so far. Needs memory for a piece of the
 * file, or for the longest section.
 */
export class SegmentReader {
  readonly segment: number;
  /** The parser, which contains the section that `next` found. */
  readonly sections: SectionParser;
  /** The number of bytes to read: the size of the file, or the caller's limit if that is smaller. */
  readonly size: number;
  /** The number of pieces read, so that a caller of many files can yield between them. */
  chunks = 0;
  head: SegmentHead | undefined;
  /** The number of the next group. NaN until the end of the first group is read, if only that end has the number. */
  group = 0;
  /** The number of the first group read. NaN if the number is not known until the end of that group is read. */
  firstGroup = Number.NaN;
  /** The end of the last complete group or of the head, and the sum of all sections up to that end. */
  wholeBytes = 0;
  sum = 0;
  /** Whether a seal records that the next segment is on the disk. */
  isSealed = false;
  /** Whether the file does not begin like a segment, or its head belongs to another segment. Another program may have written the file. */
  isForeign = false;
  /** The segments that complete groups release. */
  readonly drops: number[] = [];
  /** The reason why the next section cannot be read; undefined at the end of the file. */
  fault: string | undefined;
  readonly #directory: Directory;
  readonly #name: string;
  readonly #file: StorageFile;
  readonly #chunkBytes: number;
  #isBegun: boolean;
  #read = 0;
  /** The sum of all sections so far. */
  #sum = 0;
  /** The segments that the open group releases. */
  #groupDrops: number[] = [];
  /** Whether sections follow the last complete group. */
  #hasOpenGroup = false;

  /** @param limit the number of valid bytes of the file @param chunkBytes the number of bytes per read */
  constructor(directory: Directory, segment: number, memory: SectionMemory, limit = Number.MAX_SAFE_INTEGER, chunkBytes = CHUNK_BYTES, start?: SegmentStart) {
    this.segment = segment;
    this.#chunkBytes = chunkBytes;
    this.#directory = directory;
    this.#name = fileOf(segment);
    this.sections = new SectionParser(memory);
    const { file, size } = openSegment(directory, segment);
    this.#file = file;
    this.size = Math.min(size, limit);
    this.#isBegun = start !== undefined;
    if (start === undefined) return;
    this.head = start.head;
    this.group = start.group ?? Number.NaN;
    this.firstGroup = this.group;
    this.sections.end = start.at;
    this.#read = start.at;
    this.wholeBytes = start.at;
  }

  /** Moves to the next section that the owner of the log wrote. Returns whether such a section exists. */
  next(): boolean {
    if (!this.#isBegun && !this.#begin()) return false;
    while (this.fault === undefined) {
      if (!this.#readSection()) return false;
      if (this.isSealed) return this.#setFault("bytes follow the seal");
      const { kind, id } = this.sections;
      if (!isOwn(kind)) {
        this.#hasOpenGroup = true;
        return true;
      }
      if (kind === COMMIT) this.#commit();
      else if (kind === SEAL) this.#seal();
      else if (kind === DROP) {
        this.#groupDrops.push(id);
        this.#hasOpenGroup = true;
      } else this.#setFault(`a section has the unknown kind ${kind}`);
    }
    return false;
  }

  /** Whether sections follow the last complete group. */
  get isOpen(): boolean {
    return this.#hasOpenGroup;
  }

  /** The offset of the first fault; undefined if there is no fault. An unfinished group is also a fault. */
  get faultAt(): number | undefined {
    if (this.fault !== undefined) return this.sections.from;
    return this.#hasOpenGroup ? this.wholeBytes : undefined;
  }

  close(): void {
    this.#file.close();
  }

  #begin(): boolean {
    if (!this.#readMagic() || !this.#readSection()) return this.#setFault(this.fault ?? "it has no header");
    const { kind, payload, end } = this.sections;
    this.head = kind === SEGMENT ? headOf(payload, this.segment) : undefined;
    this.isForeign = this.head === undefined;
    if (this.head === undefined) return this.#setFault("its head belongs to another segment");
    this.#isBegun = true;
    this.group = this.head.group;
    this.firstGroup = this.group;
    this.#markWhole(end);
    return true;
  }

  #commit(): void {
    const { end, from, view } = this.sections;
    if (Number.isNaN(this.group) && end - from === SECTION_BYTES + NUMBER_BYTES) {
      this.group = numberAt(view, 0);
      this.firstGroup = this.group;
    }
    if (end - from !== SECTION_BYTES + NUMBER_BYTES || numberAt(view, 0) !== this.group) {
      this.#setFault(`group ${this.group} has no valid end`);
      return;
    }
    this.group++;
    this.#markWhole(end);
    this.drops.push(...this.#groupDrops);
    this.#groupDrops = [];
    this.#hasOpenGroup = false;
  }

  #seal(): void {
    const { end, from, view } = this.sections;
    if (this.#hasOpenGroup || end - from !== SECTION_BYTES + NUMBER_BYTES || numberAt(view, 0) !== this.group) {
      this.#setFault(`the seal does not match group ${this.group}`);
      return;
    }
    this.isSealed = true;
  }

  #markWhole(at: number): void {
    this.wholeBytes = at;
    this.sum = this.#sum;
  }

  #setFault(fault: string): false {
    this.fault = fault;
    return false;
  }

  /** Reads the magic bytes. Returns whether they are valid. @throws ReplayError UNSUPPORTED if they belong to another version */
  #readMagic(): boolean {
    const magic = this.#readStart(Math.min(MAGIC.length, this.size));
    if (magic === MAGIC) return true;
    if (/^REPRISE[2-9]$/.test(magic)) {
      throw new ReplayError("UNSUPPORTED", `${this.#directory.name}/${this.#name} begins with ${magic}, but this version of Reprise reads ${MAGIC}`);
    }
    // A system crash may leave zeros.
    this.isForeign = !MAGIC.startsWith(magic.replaceAll("\0", ""));
    const description = `it begins with ${JSON.stringify(magic)}, not with ${MAGIC}`;
    return this.#setFault(this.size === 0 ? "it is empty" : this.isForeign || magic.length === MAGIC.length ? description : "it is incomplete");
  }

  /** Returns the first bytes of the file as text, up to the length of the magic bytes. */
  #readStart(bytes: number): string {
    if (bytes === MAGIC.length) {
      this.#fill(bytes);
      return this.sections.readMagic() as string;
    }
    const buffer = new Uint8Array(bytes);
    withIoErrors("reading", this.#directory, this.#name, () => this.#file.read(buffer, 0));
    return String.fromCharCode(...buffer);
  }

  /** Moves to the next section of the file. Returns whether a complete section exists. */
  #readSection(): boolean {
    const { sections } = this;
    const remaining = this.size - sections.end;
    while (!sections.next(remaining)) {
      if (sections.fault !== undefined) return this.#setFault(sections.fault);
      if (remaining < SECTION_BYTES) return remaining === 0 ? false : this.#setFault("the head of a section is incomplete");
      this.#fill(sections.need);
    }
    this.#sum = addToSum(this.#sum, sections.crc);
    return true;
  }

  /** Reads until `need` bytes from the last section's end on are in memory. */
  #fill(need: number): void {
    const { sections } = this;
    const missing = need - sections.available;
    if (missing <= 0) return;
    this.chunks++;
    // Unless a section needs more, at most one piece is in memory, since more would not stay in the CPU cache.
    const into = sections.reserve(Math.min(Math.max(missing, this.#chunkBytes - sections.available), this.size - this.#read));
    for (let count = 0; count < missing; ) {
      const n = withIoErrors("reading", this.#directory, this.#name, () => this.#file.read(into.subarray(count), this.#read));
      if (!(n > 0)) throw ioError(`reading ${this.#directory.name}/${this.#name} failed: it ended at ${this.#read} of ${this.size} bytes`, undefined);
      count += n;
      this.#read += n;
      sections.advance(n);
    }
  }
}
