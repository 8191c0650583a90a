/** What one segment holds: its sections in order, its head, its groups, whether it is sealed, and where it stops to make sense. */

import { ReplayError } from "../../base/error.ts";
import { COMMIT, DROP, isOwn, SEAL, SEGMENT } from "../../base/kinds.ts";
import { attempt, ioError } from "../../files/attempt.ts";
import type { Directory, StorageFile } from "../../files/directory.ts";
import type { SectionMemory } from "../../memory/section-memory.ts";
import { MAGIC, NUMBER_BYTES, numberAt, SECTION_BYTES, SectionParser, summed } from "../format/section.ts";
import { fileOf, headOf, type SegmentHead } from "./segment-head.ts";

const PIECE = 1 << 20;

/**
 * Goes through a segment's sections, each checked before it is shown; what it says of groups, it says of those that have passed. Needs memory for a piece of the file,
 * or for its longest section.
 */
export class Walk {
  readonly segment: number;
  /** What it has found: the section of `next`. */
  readonly sections: SectionParser;
  /** Bytes of the file that count. */
  readonly size: number;
  /** Pieces that were read: who reads many files may stop to breathe after each. */
  pieces = 0;
  head: SegmentHead | undefined;
  /** Number of the next group. */
  group = 0;
  /** End of the last whole group, or of the head; and the sum of all sections up to there. */
  whole = 0;
  sum = 0;
  /** Whether it says that the next segment is on the disk. */
  sealed = false;
  /** Whether it is no beginning of a segment, however that was cut: somebody else's file. */
  foreign = false;
  /** Segments that whole groups give back. */
  readonly dropped: number[] = [];
  /** Why there is no next section; undefined at the end of the file. */
  fault: string | undefined;
  readonly #directory: Directory;
  readonly #name: string;
  readonly #file: StorageFile;
  readonly #piece: number;
  #read = 0;
  /** Of all sections so far. */
  #sum = 0;
  /** Those that the open group gives back. */
  #dropping: number[] = [];
  /** Whether there are sections behind the last whole group. */
  #open = false;

  /** @param limit bytes of the file that count @param piece bytes that are read at once */
  constructor(directory: Directory, segment: number, memory: SectionMemory, limit = Number.MAX_SAFE_INTEGER, piece = PIECE) {
    this.segment = segment;
    this.#piece = piece;
    this.#directory = directory;
    this.#name = fileOf(segment);
    this.sections = new SectionParser(memory);
    this.#file = attempt("opening", directory, this.#name, () => directory.open(this.#name, false));
    this.size = Math.min(this.#file.size, limit);
  }

  /** The next section of the owner: whether there is one. */
  next(): boolean {
    if (this.head === undefined && !this.#begin()) return false;
    while (this.fault === undefined) {
      if (!this.#section()) return false;
      if (this.sealed) return this.#fails("bytes behind the seal");
      const { kind, id } = this.sections;
      if (!isOwn(kind)) {
        this.#open = true;
        return true;
      }
      if (kind === COMMIT) this.#commit();
      else if (kind === SEAL) this.#seal();
      else if (kind === DROP) {
        this.#dropping.push(id);
        this.#open = true;
      } else this.#fails(`a section of kind ${kind}`);
    }
    return false;
  }

  /** Goes to the end, or to the fault. */
  toEnd(): this {
    while (this.next());
    return this;
  }

  /** Whether sections stand behind the last whole group. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Where what follows makes no sense; undefined where all of it does. A group that did not end is a fault too. */
  get faultAt(): number | undefined {
    if (this.fault !== undefined) return this.sections.from;
    return this.#open ? this.whole : undefined;
  }

  close(): void {
    this.#file.close();
  }

  #begin(): boolean {
    if (!this.#magic() || !this.#section()) return this.#fails(this.fault ?? "it has no head");
    const { kind, payload, end } = this.sections;
    this.head = kind === SEGMENT ? headOf(payload, this.segment) : undefined;
    this.foreign = this.head === undefined;
    if (this.head === undefined) return this.#fails("its head is that of another segment");
    this.group = this.head.group;
    this.#ends(end);
    return true;
  }

  #commit(): void {
    const { end, from, view } = this.sections;
    if (end - from !== SECTION_BYTES + NUMBER_BYTES || numberAt(view, 0) !== this.group) {
      this.#fails(`not the end of group ${this.group}`);
      return;
    }
    this.group++;
    this.#ends(end);
    this.dropped.push(...this.#dropping);
    this.#dropping = [];
    this.#open = false;
  }

  #seal(): void {
    const { end, from, view } = this.sections;
    if (this.#open || end - from !== SECTION_BYTES + NUMBER_BYTES || numberAt(view, 0) !== this.group) {
      this.#fails(`a seal before group ${this.group}`);
      return;
    }
    this.sealed = true;
  }

  #ends(at: number): void {
    this.whole = at;
    this.sum = this.#sum;
  }

  #fails(fault: string): false {
    this.fault = fault;
    return false;
  }

  /** Reads the magic: whether it is there. @throws ReplayError UNSUPPORTED where another version's is */
  #magic(): boolean {
    const magic = this.#first(Math.min(MAGIC.length, this.size));
    if (magic === MAGIC) return true;
    if (/^REPRISE[2-9]$/.test(magic)) {
      throw new ReplayError("UNSUPPORTED", `${this.#directory.name}/${this.#name} begins with ${magic}, but this version of Reprise reads ${MAGIC}`);
    }
    // A system that failed may have left zeros.
    this.foreign = !MAGIC.startsWith(magic.replaceAll("\0", ""));
    const begins = `it begins with ${JSON.stringify(magic)}, not with ${MAGIC}`;
    return this.#fails(this.size === 0 ? "it is empty" : this.foreign || magic.length === MAGIC.length ? begins : "it is cut");
  }

  /** So many bytes at the beginning, at most a magic, as text. */
  #first(bytes: number): string {
    if (bytes === MAGIC.length) {
      this.#fill(bytes);
      return this.sections.begin() as string;
    }
    const shown = new Uint8Array(bytes);
    attempt("reading", this.#directory, this.#name, () => this.#file.read(shown, 0));
    return String.fromCharCode(...shown);
  }

  /** The next section of the file: whether there is one that is whole. */
  #section(): boolean {
    const { sections } = this;
    const left = this.size - sections.end;
    while (!sections.next(left)) {
      if (sections.fault !== undefined) return this.#fails(sections.fault);
      if (left < SECTION_BYTES) return left === 0 ? false : this.#fails("a section's head is cut");
      this.#fill(sections.need);
    }
    this.#sum = summed(this.#sum, sections.crc);
    return true;
  }

  /** Has so many bytes from the last section's end on in memory. */
  #fill(need: number): void {
    const { sections } = this;
    const missing = need - sections.waiting;
    if (missing <= 0) return;
    this.pieces++;
    // With what waits no more than a piece: more would not stay in the cache.
    const into = sections.room(Math.min(Math.max(missing, this.#piece - sections.waiting), this.size - this.#read));
    for (let came = 0; came < missing; ) {
      const got = attempt("reading", this.#directory, this.#name, () => this.#file.read(into.subarray(came), this.#read));
      if (!(got > 0)) throw ioError(`reading ${this.#directory.name}/${this.#name} failed: it ended at ${this.#read} of ${this.size} bytes`, undefined);
      came += got;
      this.#read += got;
      sections.came(got);
    }
  }
}
