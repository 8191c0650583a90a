/**
 * Parses sections, which are the parts of every snapshot and of every file that outlives a process:
 *
 *   "REPRISE1", then sections: │ kind u32 │ id u32 │ bytes u32 │ crc u32 │ bytes … │   little endian; crc over kind, id, bytes, and the bytes
 */
import { MAX_SECTION_BYTES } from "../../base/limits.ts";
import type { SectionMemory } from "../../memory/section-memory.ts";

export const MAGIC = "REPRISE1";
export const SECTION_BYTES = 16;
/** The number of bytes in a u64, which is the payload of a COMMIT or SEAL section. */
export const NUMBER_BYTES = 8;

/** Parses sections from incoming bytes. The checksum of each section is verified in place before its contents are used. */
export class SectionParser {
  /** The kind, id and checksum of the section that `next` found. */
  kind = 0;
  id = 0;
  crc = 0;
  /** The offsets of the section's beginning and end in the source. The end is the place of the next section or of the fault. */
  from = 0;
  end = 0;
  /** The reason why the next section cannot be read. */
  fault: string | undefined;
  /** The number of bytes that must be available from `end` on before `next` can continue. */
  need = MAGIC.length;
  readonly #memory: SectionMemory;
  /** The number of bytes of the source in memory, from `base` on. The first `#at` bytes are consumed. */
  #length = 0;
  #at = 0;
  /** The address of the payload of the section that `next` found, and the number of bytes in it. */
  #payload = 0;
  #bytes = 0;

  constructor(memory: SectionMemory) {
    this.#memory = memory;
  }

  /** The number of available bytes from `end` on. */
  get available(): number {
    return this.#length - this.#at;
  }

  /** Makes room for `bytes` more bytes, and returns that room. Invalidates earlier payloads. */
  reserve(bytes: number): Uint8Array {
    const memory = this.#memory;
    if (this.#at >= this.available) {
      memory.u8.copyWithin(memory.base, memory.base + this.#at, memory.base + this.#length);
      this.#length -= this.#at;
      this.#at = 0;
    }
    memory.reserve(this.#length + bytes);
    return memory.u8.subarray(memory.base + this.#length, memory.base + this.#length + bytes);
  }

  /** Records that `bytes` bytes were written into the reserved room. */
  advance(bytes: number): void {
    this.#length += bytes;
  }

  /** Reads and returns the first bytes of the source, which the caller compares with MAGIC; undefined if they are not available yet. */
  readMagic(): string | undefined {
    if (this.available < MAGIC.length) return undefined;
    const at = this.#memory.base + this.#at;
    const magic = String.fromCharCode(...this.#memory.u8.subarray(at, at + MAGIC.length));
    this.#consume(MAGIC.length);
    return magic;
  }

  /**
   * Moves to the next section. Returns false if the section is incomplete, or if it has a fault, which is then in `fault`.
   * @param remaining the number of bytes of the source from `end` on, if known
   */
  next(remaining: number = Number.POSITIVE_INFINITY): boolean {
    this.from = this.end;
    this.need = SECTION_BYTES;
    if (this.available < SECTION_BYTES) return false;
    const { view, base } = this.#memory;
    const at = base + this.#at;
    const bytes = view.getUint32(at + 8, true);
    const size = SECTION_BYTES + bytes;
    if (size > remaining || bytes > MAX_SECTION_BYTES)
      return this.#setFault(`a section declares ${bytes} bytes${size > remaining ? `, but only ${remaining - SECTION_BYTES} are left` : ""}`);
    this.need = size;
    if (this.available < size) return false;
    this.crc = view.getUint32(at + 12, true);
    if (this.#memory.sum(at) !== this.crc) return this.#setFault("the checksum of a section does not match");
    this.kind = view.getUint32(at, true);
    this.id = view.getUint32(at + 4, true);
    this.#payload = at + SECTION_BYTES;
    this.#bytes = bytes;
    this.#consume(size);
    return true;
  }

  /** The payload of the section that `next` found, valid until the next call to `next` or `reserve`. */
  get payload(): Uint8Array {
    return this.#memory.u8.subarray(this.#payload, this.#payload + this.#bytes);
  }

  /** The payload as a view for reading numbers, which costs less than an array of bytes. */
  get view(): DataView {
    return new DataView(this.#memory.u8.buffer, this.#payload, this.#bytes);
  }

  #consume(bytes: number): void {
    this.#at += bytes;
    this.end += bytes;
  }

  #setFault(fault: string): false {
    this.fault = fault;
    return false;
  }
}

/** Returns a sum that includes a section's checksum. Other sections, or another order of the sections, produce another sum. */
export function addToSum(sum: number, crc: number): number {
  return Math.imul(sum ^ crc, 0x9e3779b1) >>> 0;
}

export function numberAt(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}

export function numberBytes(number: number): Uint8Array {
  const bytes = new Uint8Array(NUMBER_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, number, true);
  view.setUint32(4, Math.floor(number / 2 ** 32), true);
  return bytes;
}
