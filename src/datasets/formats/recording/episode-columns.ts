/** Collects the steps of one recorded episode into columns. */
import { dataView } from "../../../base/bytes.ts";
import { type AnyArray, DTYPES, type NumberArray, zeros } from "../../../schema/dtype.ts";
import { isHalf, widenHalves } from "../../../schema/half.ts";
import type { RowLayout } from "../../model/recording/row-layout.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { FramePlace, LazyFrames } from "./lazy-frames.ts";

/** The memory that a lazy frame takes, in bytes. */
const PLACE_BYTES = 32;
/** The number of bytes that store the length of a text. */
const HEAD = 4;

/** A function that returns whether to read a leaf. Other leaves are neither checked nor kept. */
export type ReadsLeaf = (leaf: { readonly keys: readonly string[] }) => boolean;

export class EpisodeColumns {
  length = 0;
  readonly #layout: RowLayout;
  /** An aligned copy of a row's numbers, of which typed arrays are views. */
  readonly #row: Uint8Array<ArrayBuffer>;
  readonly #views: readonly AnyArray[];
  readonly #numbers: readonly AnyArray[];
  readonly #frames: readonly Uint8Array[];
  readonly #lazyFrames: readonly LazyFrames[] | undefined;
  readonly #texts: string[][];
  readonly #isRead: { readonly numbers: readonly boolean[]; readonly texts: readonly boolean[]; readonly frames: readonly boolean[] };

  /**
   * @param capacity the maximum number of steps @param reads returns whether to read a leaf @param lazyFrames the frames of each camera, if the frames remain
   * in storage
   */
  constructor(layout: RowLayout, capacity: number, reads: ReadsLeaf, lazyFrames?: readonly LazyFrames[]) {
    this.#layout = layout;
    this.#isRead = { numbers: layout.numbers.map(reads), texts: layout.texts.map(reads), frames: layout.frames.map(reads) };
    this.#row = new Uint8Array(layout.numberBytes);
    this.#views = layout.numbers.map(({ leaf: { dtype }, offset, size }) => {
      const kind = isHalf(dtype) ? Uint16Array : DTYPES[dtype].array;
      return new kind(this.#row.buffer, offset, size);
    });
    this.#numbers = layout.numbers.map((number) => zeros(number.leaf.dtype, reads(number) ? number.size * capacity : 0));
    this.#lazyFrames = lazyFrames;
    this.#frames = lazyFrames === undefined ? layout.frames.map((frame) => new Uint8Array(reads(frame) ? frame.size * capacity : 0)) : [];
    this.#texts = layout.texts.map(() => []);
  }

  /** Whether frames remain in storage. */
  get isLazy(): boolean {
    return this.#lazyFrames !== undefined;
  }

  /** Returns the size of one step in memory, without its texts. For a lazy frame, only the size of its place counts. */
  static stepBytes({ numbers, frames }: RowLayout, reads: ReadsLeaf, isLazy = false): number {
    const numberBytes = numbers.filter(reads).reduce((sum, { leaf, bytes }) => sum + (isHalf(leaf.dtype) ? 2 * bytes : bytes), 0);
    return frames.filter(reads).reduce((sum, { size }) => sum + (isLazy ? PLACE_BYTES : size), Math.max(numberBytes, 1));
  }

  /** Adds a step. @param frames the pixels of each camera that is read, or their places @throws Error if the row is not valid */
  add(row: Uint8Array, frames: readonly (Uint8Array | FramePlace | undefined)[]): void {
    const { numbers, texts, numberBytes } = this.#layout;
    if (row.length < numberBytes) throw new Error(`a step has ${row.length} bytes, but needs at least ${numberBytes}`);
    this.#row.set(row.subarray(0, numberBytes));
    numbers.forEach(({ leaf, path, size }, i) => {
      if (!this.#isRead.numbers[i]) return;
      const view = this.#views[i] as NumberArray;
      if (leaf.dtype === "bool") for (let k = 0; k < size; k++) if ((view[k] as number) > 1) throw new Error(`${path} must be 0 or 1, got ${view[k]}`);
      (this.#numbers[i] as NumberArray).set(isHalf(leaf.dtype) ? widenHalves(leaf.dtype, view) : view, this.length * size);
    });
    let at = numberBytes;
    const view = dataView(row);
    const stepTexts = texts.map(({ size, path }, i) =>
      Array.from({ length: size }, () => {
        const bytes = at + HEAD <= row.length ? view.getUint32(at, true) : row.length;
        if (at + HEAD + bytes > row.length) throw new Error(`${path} is truncated`);
        at += HEAD + bytes;
        return this.#isRead.texts[i] ? textOf(row.subarray(at - bytes, at), path) : "";
      }),
    );
    if (at !== row.length) throw new Error(`a step has ${row.length - at} bytes too many`);
    stepTexts.forEach((leafTexts, i) => {
      if (this.#isRead.texts[i]) this.#texts[i]?.push(...leafTexts);
    });
    frames.forEach((frame, camera) => {
      if (frame instanceof Uint8Array) this.#frames[camera]?.set(frame, this.length * frame.length);
      else if (frame !== undefined) this.#lazyFrames?.[camera]?.add(frame);
    });
    this.length++;
  }

  /** Returns the columns that are read, by the paths of their leaves, which are joined with dots. Names do not contain dots. */
  finish(): Map<string, ColumnData> {
    const { numbers, texts, frames } = this.#layout;
    const all: readonly (readonly [isRead: boolean | undefined, keys: readonly string[], column: () => ColumnData])[] = [
      ...numbers.map(({ keys, size }, i) => [this.#isRead.numbers[i], keys, () => (this.#numbers[i] as NumberArray).subarray(0, size * this.length)] as const),
      ...frames.map(
        ({ keys, size }, i) =>
          [this.#isRead.frames[i], keys, () => this.#lazyFrames?.[i]?.finish() ?? (this.#frames[i] as Uint8Array).subarray(0, size * this.length)] as const,
      ),
      ...texts.map(({ keys }, i) => [this.#isRead.texts[i], keys, () => this.#texts[i] as string[]] as const),
    ];
    return new Map(all.flatMap(([isRead, keys, column]) => (isRead ? [[keys.join("."), column()] as const] : [])));
  }
}

function textOf(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error(`${path} is not valid UTF-8`);
  }
}
