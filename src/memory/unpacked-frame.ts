/** Unpacks a frame from the records of its entries, for readers of files. The frame is in the memory of a core instance without an arena. */
import { alignUp } from "../schema/layout.ts";
import { SectionMemory } from "./section-memory.ts";

/** The number of bytes that the core may read after the end of an entry. */
const SLACK = 32;

export class UnpackedFrame {
  readonly #memory: SectionMemory;
  readonly #frameBytes: number;
  /** The addresses of the frame and of the entries. */
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

  /** A view of the frame, as of the last `apply`. */
  get bytes(): Uint8Array {
    return this.#memory.u8.subarray(this.#frameAt, this.#frameAt + this.#frameBytes);
  }

  /**
   * Builds the frame of an entry. A patch is applied to the current frame. @param fill writes the entry's bytes
   * @returns whether the bytes were a valid entry; an invalid patch changes nothing
   */
  apply(size: number, isPatch: boolean, fill: (into: Uint8Array) => void): boolean {
    const { base, u8, x } = this.#memory;
    fill(u8.subarray(this.#entryAt, this.#entryAt + size));
    return x.entry_apply(base, this.#entryAt, size, Number(isPatch), this.#frameAt, this.#frameBytes) !== 0;
  }
}
