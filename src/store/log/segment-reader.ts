/** The sections of one file, in order, each checked before it is shown. Needs memory for a piece of the file, or for its longest section. */

import type { SectionMemory } from "../../core/section-memory.ts";
import { ReplayError } from "../../error.ts";
import { attempt, ioError } from "../directory/attempt.ts";
import type { Directory, StorageFile } from "../directory/directory.ts";
import { MAGIC, SECTION_BYTES, SectionParser } from "../format/section.ts";

const PIECE = 1 << 20;

export class SegmentReader {
  /** What it has found: the section of `next`. */
  readonly sections: SectionParser;
  /** Why `next` found none; undefined at the end of the file. */
  fault: string | undefined;
  /** Pieces that were read: a reader of many files may stop to breathe after each. */
  pieces = 0;
  readonly size: number;
  readonly #directory: Directory;
  readonly #name: string;
  readonly #file: StorageFile;
  #read = 0;

  /** @param limit bytes of the file that count */
  constructor(directory: Directory, name: string, memory: SectionMemory, limit = Number.MAX_SAFE_INTEGER) {
    this.#directory = directory;
    this.#name = name;
    this.sections = new SectionParser(memory);
    this.#file = attempt("opening", directory, name, () => directory.open(name, false));
    this.size = Math.min(this.#file.size, limit);
  }

  /** Reads the magic: whether it is there. @throws ReplayError UNSUPPORTED where another version's is */
  begin(): boolean {
    if (this.size < MAGIC.length) return this.#fails(this.size === 0 ? "it is empty" : "it is cut");
    this.#fill(MAGIC.length);
    const magic = this.sections.begin() as string;
    if (/^REPRISE[2-9]$/.test(magic)) {
      throw new ReplayError("UNSUPPORTED", `${this.#directory.name}/${this.#name} begins with ${magic}, but this version of Reprise reads ${MAGIC}`);
    }
    return magic === MAGIC || this.#fails(`it begins with ${JSON.stringify(magic)}, not with ${MAGIC}`);
  }

  /** The next section: whether there is one that is whole. */
  next(): boolean {
    const { sections } = this;
    const left = this.size - sections.end;
    while (!sections.next(left)) {
      if (sections.fault !== undefined) return this.#fails(sections.fault);
      if (left < SECTION_BYTES) return left === 0 ? false : this.#fails("a section's head is cut");
      this.#fill(sections.need);
    }
    return true;
  }

  close(): void {
    this.#file.close();
  }

  #fails(fault: string): false {
    this.fault = fault;
    return false;
  }

  /** Has so many bytes from the last section's end on in memory. */
  #fill(need: number): void {
    const { sections } = this;
    const missing = need - sections.waiting;
    if (missing <= 0) return;
    this.pieces++;
    // With what waits no more than a piece: more would not stay in the cache.
    const into = sections.room(Math.min(Math.max(missing, PIECE - sections.waiting), this.size - this.#read));
    for (let came = 0; came < missing; ) {
      const got = attempt("reading", this.#directory, this.#name, () => this.#file.read(into.subarray(came), this.#read));
      if (!(got > 0)) throw ioError(`reading ${this.#directory.name}/${this.#name} failed: it ended at ${this.#read} of ${this.size} bytes`, undefined);
      came += got;
      this.#read += got;
      sections.came(got);
    }
  }
}
