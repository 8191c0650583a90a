/** The steps of one recorded episode as they come, into columns. */
import { dataView } from "../../../base/bytes.ts";
import { type AnyArray, DTYPES, type NumberArray, zeros } from "../../../schema/dtype.ts";
import { isHalf, widenHalves } from "../../../schema/half.ts";
import type { RowLayout } from "../../model/recording/row-layout.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { FramePlace, LazyFrames } from "./lazy-frames.ts";

/** What is kept of a frame that is lazy. */
const PLACE_BYTES = 32;
/** Of a text: its bytes. */
const HEAD = 4;

export class EpisodeColumns {
  length = 0;
  readonly #layout: RowLayout;
  /** The numbers of a row, where typed arrays can look at them. */
  readonly #row: Uint8Array<ArrayBuffer>;
  readonly #views: readonly AnyArray[];
  readonly #numbers: readonly AnyArray[];
  readonly #frames: readonly Uint8Array[];
  readonly #lazyFrames: readonly LazyFrames[] | undefined;
  readonly #texts: string[][];

  /** @param capacity steps that there are at most @param lazyFrames of each camera, where frames stay where they are */
  constructor(layout: RowLayout, capacity: number, lazyFrames?: readonly LazyFrames[]) {
    this.#layout = layout;
    this.#row = new Uint8Array(layout.numberBytes);
    this.#views = layout.numbers.map(({ leaf: { dtype }, offset, size }) => {
      const kind = isHalf(dtype) ? Uint16Array : DTYPES[dtype].array;
      return new kind(this.#row.buffer, offset, size);
    });
    this.#numbers = layout.numbers.map(({ leaf, size }) => zeros(leaf.dtype, size * capacity));
    this.#lazyFrames = lazyFrames;
    this.#frames = lazyFrames === undefined ? layout.frames.map(({ size }) => new Uint8Array(size * capacity)) : [];
    this.#texts = layout.texts.map(() => []);
  }

  /** Whether frames stay where they are. */
  get isLazy(): boolean {
    return this.#lazyFrames !== undefined;
  }

  /** Bytes of one step in memory, but for texts, and for frames that are lazy. */
  static stepBytes({ numbers, numberBytes, frames }: RowLayout, isLazy = false): number {
    const halves = numbers.reduce((sum, { leaf, bytes }) => sum + (isHalf(leaf.dtype) ? bytes : 0), 0);
    return frames.reduce((sum, { size }) => sum + (isLazy ? PLACE_BYTES : size), Math.max(numberBytes + halves, 1));
  }

  /** @param frames pixels of each camera, or where they are @throws Error for a row that is none */
  add(row: Uint8Array, frames: readonly Uint8Array[] | readonly FramePlace[]): void {
    const { numbers, texts, numberBytes } = this.#layout;
    if (row.length < numberBytes) throw new Error(`a step has ${row.length} bytes instead of at least ${numberBytes}`);
    this.#row.set(row.subarray(0, numberBytes));
    numbers.forEach(({ leaf, path, size }, i) => {
      const view = this.#views[i] as NumberArray;
      if (leaf.dtype === "bool") for (let k = 0; k < size; k++) if ((view[k] as number) > 1) throw new Error(`${path} is ${view[k]}, which is no bool`);
      (this.#numbers[i] as NumberArray).set(isHalf(leaf.dtype) ? widenHalves(leaf.dtype, view) : view, this.length * size);
    });
    let at = numberBytes;
    const view = dataView(row);
    const stepTexts = texts.map(({ size, path }) =>
      Array.from({ length: size }, () => {
        const bytes = at + HEAD <= row.length ? view.getUint32(at, true) : row.length;
        if (at + HEAD + bytes > row.length) throw new Error(`${path} is cut`);
        at += HEAD + bytes;
        return textOf(row.subarray(at - bytes, at), path);
      }),
    );
    if (at !== row.length) throw new Error(`a step has ${row.length - at} bytes too many`);
    stepTexts.forEach((leafTexts, i) => {
      this.#texts[i]?.push(...leafTexts);
    });
    frames.forEach((frame, camera) => {
      if (frame instanceof Uint8Array) this.#frames[camera]?.set(frame, this.length * frame.length);
      else this.#lazyFrames?.[camera]?.add(frame);
    });
    this.length++;
  }

  /** The columns, by the paths of their leaves, joined by dots, which no name has. */
  finish(): Map<string, ColumnData> {
    const { numbers, texts, frames } = this.#layout;
    return new Map<string, ColumnData>([
      ...numbers.map(({ keys, size }, i) => [keys.join("."), (this.#numbers[i] as NumberArray).subarray(0, size * this.length)] as const),
      ...frames.map(({ keys, size }, i): [string, ColumnData] => [
        keys.join("."),
        this.#lazyFrames?.[i]?.finish() ?? (this.#frames[i] as Uint8Array).subarray(0, size * this.length),
      ]),
      ...texts.map(({ keys }, i) => [keys.join("."), this.#texts[i] as string[]] as const),
    ]);
  }
}

function textOf(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error(`${path} is no UTF-8`);
  }
}
