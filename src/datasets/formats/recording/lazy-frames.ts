/** The frames of one camera of a long episode: where each is stored. They are read and decoded as they are asked for. */
import { crc32c } from "../../../base/crc32c.ts";
import { LazyColumn } from "../../model/lazy-column.ts";
import type { FrameLeaf } from "../../model/recording/row-layout.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";

/** Where the bytes of a frame are. */
export interface FramePlace {
  readonly file: string;
  readonly at: number;
  readonly bytes: number;
  /** CRC-32C of the bytes. */
  readonly sum: number;
}

/** Reads pieces of files without waiting. */
export type ReadNow = (file: string, at: number, length: number) => Uint8Array;

export interface FrameDecoding {
  readonly leaf: FrameLeaf;
  readonly readNow: ReadNow;
  /** @throws Error for a frame that is none */
  decode(bytes: Uint8Array, leaf: FrameLeaf): Uint8Array;
  /** Called before all frames are in memory. @throws RldsError UNSUPPORTED */
  check(): void;
}

export class LazyFrames {
  readonly #decoding: FrameDecoding;
  /** Names of files, few of which there are mostly; of each frame the place among them, where it begins, its bytes, and their sum. */
  readonly #files: string[] = [];
  readonly #places: Float64Array;
  readonly #checks: boolean;
  #length = 0;

  /** @param capacity frames that there are at most @param checks whether each is read as it comes as well, so that a damaged one shows before its episode is handed on */
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
      if (crc32c(bytes) !== sum)
        throw corruptFile({ file, offset: at, step: i }, `a frame of ${leaf.path} is another one than it was when its episode was read`);
      pixels.set(decode(bytes, leaf), (i - from) * leaf.size);
    }
    return pixels;
  }
}
