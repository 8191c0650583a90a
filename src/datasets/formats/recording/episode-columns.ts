/** The steps of one recorded episode as they come, into columns. */
import { dataView } from "../../../base/bytes.ts";
import { type AnyArray, DTYPES, type NumberArray, zeros } from "../../../schema/dtype.ts";
import { isHalf, widenHalves } from "../../../schema/half.ts";
import type { RowLayout } from "../../model/recording/row-layout.ts";
import type { ColumnData } from "../../model/step-columns.ts";

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
  readonly #texts: string[][];

  /** @param capacity steps that there are at most */
  constructor(layout: RowLayout, capacity: number) {
    this.#layout = layout;
    this.#row = new Uint8Array(layout.numberBytes);
    this.#views = layout.numbers.map(({ leaf: { dtype }, offset, size }) => {
      const kind = isHalf(dtype) ? Uint16Array : DTYPES[dtype].array;
      return new kind(this.#row.buffer, offset, size);
    });
    this.#numbers = layout.numbers.map(({ leaf, size }) => zeros(leaf.dtype, size * capacity));
    this.#frames = layout.frames.map(({ size }) => new Uint8Array(size * capacity));
    this.#texts = layout.texts.map(() => []);
  }

  /** Bytes of one step in memory, but for texts. */
  static stepBytes({ numbers, numberBytes, frames }: RowLayout): number {
    const halves = numbers.reduce((sum, { leaf, bytes }) => sum + (isHalf(leaf.dtype) ? bytes : 0), 0);
    return frames.reduce((sum, { size }) => sum + size, Math.max(numberBytes + halves, 1));
  }

  /** @param frames pixels of each camera @throws Error for a row that is none */
  add(row: Uint8Array, frames: readonly Uint8Array[]): void {
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
    frames.forEach((pixels, camera) => {
      this.#frames[camera]?.set(pixels, this.length * pixels.length);
    });
    this.length++;
  }

  /** The columns, by the paths of their leaves, joined by dots, which no name has. */
  finish(): Map<string, ColumnData> {
    const { numbers, texts, frames } = this.#layout;
    return new Map<string, ColumnData>([
      ...numbers.map(({ keys, size }, i) => [keys.join("."), (this.#numbers[i] as NumberArray).subarray(0, size * this.length)] as const),
      ...frames.map(({ keys, size }, i) => [keys.join("."), (this.#frames[i] as Uint8Array).subarray(0, size * this.length)] as const),
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
