/** Stores the place of each frame of one camera in a long episode. Frames are read and decoded on access. */
import { crc32c } from "../../../base/crc32c.ts";
import { LazyColumn } from "../../model/lazy-column.ts";
import type { FrameLeaf } from "../../model/recording/row-layout.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";

/** The file and offset of a frame's bytes. */
export interface FramePlace {
  readonly file: string;
  readonly at: number;
  readonly bytes: number;
  /** The CRC-32C of the bytes. */
  readonly sum: number;
}

/** A function that reads a piece of a file synchronously. */
export type ReadNow = (file: string, at: number, length: number) => Uint8Array;

export interface FrameDecoding {
  readonly leaf: FrameLeaf;
  readonly readNow: ReadNow;
  /** @throws Error if the bytes are not a valid frame */
  decode(bytes: Uint8Array, leaf: FrameLeaf): Uint8Array;
  /** Called before all frames are read into memory. @throws RldsError UNSUPPORTED if they take too much memory */
  check(): void;
}

export class LazyFrames {
  readonly #decoding: FrameDecoding;
  /** The names of the files, which are usually few. `#places` contains the index of the file, the offset, the length and the checksum of each frame. */
  readonly #files: string[] = [];
  readonly #places: Float64Array;
  readonly #checks: boolean;
  #length = 0;

  /**
   * @param capacity the maximum number of frames @param checks whether to also read each frame when it is added, to find damage before the episode is passed on
   */
  constructor(decoding: FrameDecoding, capacity: number, checks = false) {
    this.#checks = checks;
    this.#decoding = decoding;
    this.#places = new Float64Array(4 * capacity);
  }

  add({ file, at, bytes, sum }: FramePlace): void {
    if (this.#files.at(-1) !== file) this.#files.push(file);
    this.#places.set([this.#files.length - 1, at, bytes, sum], 4 * this.#length++);
    if (this.#checks) this.#read(this.#length - 1, this.#length);
  }

  finish(): ColumnData {
    const { leaf, check } = this.#decoding;
    return LazyColumn.of({ rows: this.#length, size: leaf.size, check, read: (from, to) => this.#read(from, to) });
  }

  #read(from: number, to: number): Uint8Array<ArrayBuffer> {
    const { leaf, readNow, decode } = this.#decoding;
    const pixels = new Uint8Array(leaf.size * (to - from));
    for (let i = from; i < to; i++) {
      const [number, at, length, sum] = this.#places.subarray(4 * i, 4 * i + 4) as unknown as [number, number, number, number];
      const file = this.#files[number] as string;
      const bytes = readNow(file, at, length);
      if (crc32c(bytes) !== sum) throw corruptFile({ file, offset: at, step: i }, `a frame of ${leaf.path} changed after its episode was read`);
      pixels.set(decode(bytes, leaf), (i - from) * leaf.size);
    }
    return pixels;
  }
}
