/** The sections of one file, in order, each checked before it is shown. Needs memory for a piece of the file, or for its longest section. */

import { MOST_BYTES, type SectionMemory } from "../../core/section-memory.ts";
import { ReplayError } from "../../index.ts";
import { attempt, ioError } from "../directory/attempt.ts";
import type { Directory, StorageFile } from "../directory/directory.ts";
import { MAGIC, SECTION_BYTES } from "../format/sections.ts";

const PIECE = 1 << 20;

export class SegmentReader {
  /** Of the section that `next` found. */
  kind = 0;
  id = 0;
  /** Where it begins in the file, and where it ends: the next one's place, or that of the fault. */
  from = 0;
  end = 0;
  /** Why `next` found none; undefined at the end of the file. */
  fault: string | undefined;
  /** Pieces that were read: a reader of many files may stop to breathe after each. */
  pieces = 0;
  readonly size: number;
  readonly #directory: Directory;
  readonly #name: string;
  readonly #file: StorageFile;
  readonly #memory: SectionMemory;
  /** Bytes of the file from here on … */
  #start = 0;
  /** … so many of them … */
  #have = 0;
  /** … are in memory; the section of `next` is behind so many. */
  #at = 0;
  #bytes = 0;

  /** @param limit bytes of the file that count */
  constructor(directory: Directory, name: string, memory: SectionMemory, limit = Number.MAX_SAFE_INTEGER) {
    this.#directory = directory;
    this.#name = name;
    this.#memory = memory;
    this.#file = attempt("opening", directory, name, () => directory.open(name, false));
    this.size = Math.min(this.#file.size, limit);
  }

  /** Reads the magic: whether it is there. @throws ReplayError UNSUPPORTED where another version's is */
  begin(): boolean {
    if (this.size < MAGIC.length) return this.#fails(this.size === 0 ? "it is empty" : "it is cut");
    this.#fill(MAGIC.length);
    const { u8, base } = this.#memory;
    const magic = String.fromCharCode(...u8.subarray(base, base + MAGIC.length));
    if (magic !== MAGIC) {
      if (/^REPRISE[2-9]$/.test(magic)) {
        throw new ReplayError("UNSUPPORTED", `${this.#directory.name}/${this.#name} begins with ${magic}: another version wrote it, this one reads ${MAGIC}`);
      }
      return this.#fails(`it begins with ${JSON.stringify(magic)}, not with ${MAGIC}`);
    }
    this.end = MAGIC.length;
    return true;
  }

  /** The next section: whether there is one that is whole. */
  next(): boolean {
    this.from = this.end;
    const left = this.size - this.from;
    if (left < SECTION_BYTES) return left === 0 ? false : this.#fails("a section's head is cut");
    this.#fill(SECTION_BYTES);
    const bytes = this.#memory.view.getUint32(this.#memory.base + this.#at + 8, true);
    if (bytes > left - SECTION_BYTES || bytes > MOST_BYTES) return this.#fails(`a section of ${bytes} bytes where ${left - SECTION_BYTES} are left`);
    this.#fill(SECTION_BYTES + bytes);
    const { view, base } = this.#memory;
    const at = base + this.#at;
    if (this.#memory.sum(at) !== view.getUint32(at + 12, true)) return this.#fails("the checksum of a section does not match");
    this.kind = view.getUint32(at, true);
    this.id = view.getUint32(at + 4, true);
    this.#bytes = bytes;
    this.end = this.from + SECTION_BYTES + bytes;
    return true;
  }

  /** The payload of the section, until the next call. */
  get payload(): Uint8Array {
    const at = this.#memory.base + this.#at + SECTION_BYTES;
    return this.#memory.u8.subarray(at, at + this.#bytes);
  }

  /** The payload's first eight bytes, and its length: cheaper than the payload. */
  get view(): DataView {
    const at = this.#memory.base + this.#at + SECTION_BYTES;
    return new DataView(this.#memory.u8.buffer, at, this.#bytes);
  }

  close(): void {
    this.#file.close();
  }

  #fails(fault: string): false {
    this.fault = fault;
    return false;
  }

  /** Has so many bytes from `end` on in memory. */
  #fill(need: number): void {
    this.#at = this.end - this.#start;
    if (this.#at + need <= this.#have) return;
    const memory = this.#memory;
    const rest = Math.max(this.#have - this.#at, 0);
    memory.u8.copyWithin(memory.base, memory.base + this.#at, memory.base + this.#at + rest);
    this.#start = this.end;
    this.#at = 0;
    this.#have = rest;
    this.pieces++;
    const most = Math.min(Math.max(need, PIECE), this.size - this.#start);
    memory.reserve(most);
    while (this.#have < need) {
      const into = memory.u8.subarray(memory.base + this.#have, memory.base + most);
      const got = attempt("reading", this.#directory, this.#name, () => this.#file.read(into, this.#start + this.#have));
      if (!(got > 0))
        throw ioError(`reading ${this.#directory.name}/${this.#name} failed: it ended at ${this.#start + this.#have} of ${this.size} bytes`, undefined);
      this.#have += got;
    }
  }
}
