/** The steps of one recorded episode as they come, into columns. */
import { dataView } from "../../../base/bytes.ts";
import { type AnyArray, DTYPES, type Dtype, type Numbered, zeros } from "../../../schema/dtype.ts";
import type { RowForm } from "../../model/recording/row-form.ts";
import type { ColumnData } from "../../model/step-columns.ts";

/** Of a text: its bytes. */
const HEAD = 4;

export class EpisodeColumns {
  length = 0;
  readonly #form: RowForm;
  /** The numbers of a row, where typed arrays can look at them. */
  readonly #row: Uint8Array<ArrayBuffer>;
  readonly #views: readonly AnyArray[];
  readonly #numbers: readonly AnyArray[];
  readonly #frames: readonly Uint8Array[];
  readonly #texts: string[][];

  /** @param room steps that there are at most */
  constructor(form: RowForm, room: number) {
    this.#form = form;
    this.#row = new Uint8Array(form.numberBytes);
    this.#views = form.numbers.map(({ leaf, offset, size }) => new DTYPES[leaf.dtype as Dtype].array(this.#row.buffer, offset, size));
    this.#numbers = form.numbers.map(({ leaf, size }) => zeros(leaf.dtype, size * room));
    this.#frames = form.frames.map(({ size }) => new Uint8Array(size * room));
    this.#texts = form.texts.map(() => []);
  }

  /** Bytes of one step in memory, but for texts. */
  static stepBytes({ numberBytes, frames }: RowForm): number {
    return frames.reduce((sum, { size }) => sum + size, Math.max(numberBytes, 1));
  }

  /** @param frames pixels of each camera @throws Error for a row that is none */
  add(row: Uint8Array, frames: readonly Uint8Array[]): void {
    const { numbers, texts, numberBytes } = this.#form;
    if (row.length < numberBytes) throw new Error(`a step has ${row.length} bytes instead of at least ${numberBytes}`);
    this.#row.set(row.subarray(0, numberBytes));
    numbers.forEach(({ leaf, path, size }, i) => {
      const view = this.#views[i] as Numbered;
      if (leaf.dtype === "bool") for (let k = 0; k < size; k++) if ((view[k] as number) > 1) throw new Error(`${path} is ${view[k]}, which is no bool`);
      (this.#numbers[i] as Numbered).set(view, this.length * size);
    });
    let at = numberBytes;
    const view = dataView(row);
    const taken = texts.map(({ size, path }) =>
      Array.from({ length: size }, () => {
        const bytes = at + HEAD <= row.length ? view.getUint32(at, true) : row.length;
        if (at + HEAD + bytes > row.length) throw new Error(`${path} is cut`);
        at += HEAD + bytes;
        return textOf(row.subarray(at - bytes, at), path);
      }),
    );
    if (at !== row.length) throw new Error(`a step has ${row.length - at} bytes too many`);
    taken.forEach((some, i) => {
      this.#texts[i]?.push(...some);
    });
    frames.forEach((pixels, camera) => {
      this.#frames[camera]?.set(pixels, this.length * pixels.length);
    });
    this.length++;
  }

  /** The columns, by the paths of their leaves, joined by dots, which no name has. */
  taken(): Map<string, ColumnData> {
    const { numbers, texts, frames } = this.#form;
    return new Map<string, ColumnData>([
      ...numbers.map(({ keys, size }, i) => [keys.join("."), (this.#numbers[i] as Numbered).subarray(0, size * this.length)] as const),
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
