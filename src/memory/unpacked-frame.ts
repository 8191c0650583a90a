/** A frame, unpacked from the records of its entries: for readers of files. In an instance of the core without an arena. */
import { alignUp } from "../schema/layout.ts";
import { SectionMemory } from "./section-memory.ts";

/** What the core may read behind an entry. */
const SLACK = 32;

export class UnpackedFrame {
  readonly #memory: SectionMemory;
  readonly #frameBytes: number;
  /** Where the frame is, and where entries are put. */
  readonly #frameAt: number;
  readonly #entryAt: number;

  constructor(frameBytes: number) {
    this.#frameBytes = frameBytes;
    this.#memory = new SectionMemory();
    const { base, x } = this.#memory;
    this.#frameAt = base + alignUp(x.entry_work_bytes(frameBytes), 16);
    this.#entryAt = this.#frameAt + alignUp(frameBytes, 16) + SLACK;
    this.#memory.reserve(this.#entryAt + frameBytes + SLACK - base);
    x.entry_init(base);
  }

  /** A view on the frame, as it is after `apply`. */
  get bytes(): Uint8Array {
    return this.#memory.u8.subarray(this.#frameAt, this.#frameAt + this.#frameBytes);
  }

  /**
   * Makes the frame of an entry; of a patch together with the frame that is there. @param fill writes the entry's bytes
   * @returns whether they were one; a patch that is none changes nothing
   */
  apply(size: number, isPatch: boolean, fill: (into: Uint8Array) => void): boolean {
    const { base, u8, x } = this.#memory;
    fill(u8.subarray(this.#entryAt, this.#entryAt + size));
    return x.entry_apply(base, this.#entryAt, size, Number(isPatch), this.#frameAt, this.#frameBytes) !== 0;
  }
}
