/** Writes one array of an archive. Rows are added, and the header is written when the number of rows is known. */
import { arrayDtype, DTYPES, type Dtype, type NumberArray } from "../../../schema/dtype.ts";
import { isHalf, narrowHalves } from "../../../schema/half.ts";
import { isText } from "../../../schema/leaf.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import type { ColumnData } from "../../model/step-columns.ts";

const MAGIC = "\x93NUMPY\x01\x00";
/** The alignment of the elements in NumPy files, in bytes. */
const ALIGNMENT = 64;

/** Returns the name of a dtype in the header of an array. bf16 is stored as f32. */
function descrOf(dtype: Dtype): string {
  if (dtype === "bool") return "|b1";
  if (dtype === "f16") return "<f2";
  const kind = dtype === "bf16" || dtype[0] === "f" ? "f" : (dtype[0] as string);
  const { BYTES_PER_ELEMENT } = DTYPES[arrayDtype(dtype) as Dtype].array;
  return `${BYTES_PER_ELEMENT === 1 ? "|" : "<"}${kind}${BYTES_PER_ELEMENT}`;
}

export class ArrayWriter {
  readonly #leaf: StepLeaf;
  readonly #pieces: Uint8Array[] = [];
  #pieceBytes = 0;
  readonly #texts: string[] = [];
  /** The length of the longest text, in code points. */
  #width = 1;
  #rows = 0;
  /** Whether a text ends with NUL, which NumPy would strip. */
  losesEnds = false;

  constructor(leaf: StepLeaf) {
    this.#leaf = leaf;
  }

  /** The size of the elements in the file, in bytes, which counts towards `maxBytes`. */
  get bytes(): number {
    return this.#pieceBytes + 4 * this.#width * this.#texts.length;
  }

  /** Adds rows, which are copied. */
  add(data: ColumnData, rows: number): void {
    this.#rows += rows;
    const { dtype } = this.#leaf;
    if (isText(this.#leaf)) {
      for (const text of data as readonly string[]) {
        this.#texts.push(text);
        this.#width = Math.max(this.#width, codePoints(text));
        this.losesEnds ||= text.endsWith("\0");
      }
      return;
    }
    const array = dtype === "f16" && isHalf(dtype) ? narrowHalves(dtype, data as Float32Array) : (data as NumberArray).slice();
    this.#pieces.push(new Uint8Array(array.buffer as ArrayBuffer, array.byteOffset, array.byteLength));
    this.#pieceBytes += array.byteLength;
  }

  /** Returns the array as an .npy file. @param isSingle whether the array is one value without rows */
  finish(isSingle = false): Uint8Array[] {
    const { dtype, shape } = this.#leaf;
    const descr = isText(this.#leaf) ? `<U${this.#width}` : descrOf(dtype as Dtype);
    return [headOf(descr, isSingle ? [] : [this.#rows, ...shape]), ...this.#pieces, ...utf32(this.#texts, this.#width)];
  }
}

function headOf(descr: string, shape: readonly number[]): Uint8Array {
  const tuple = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${tuple}, }`;
  const length = Math.ceil((MAGIC.length + 2 + text.length + 1) / ALIGNMENT) * ALIGNMENT;
  const bytes = new Uint8Array(length).fill(0x20);
  for (let i = 0; i < MAGIC.length; i++) bytes[i] = MAGIC.charCodeAt(i);
  new DataView(bytes.buffer).setUint16(MAGIC.length, length - MAGIC.length - 2, true);
  for (let i = 0; i < text.length; i++) bytes[MAGIC.length + 2 + i] = text.charCodeAt(i);
  bytes[length - 1] = 0x0a;
  return bytes;
}

/** The number of texts that are encoded together. */
const PIECE_TEXTS = 4096;

/** Encodes texts as 32-bit code points, padded with zeros. */
function utf32(texts: readonly string[], width: number): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let from = 0; from < texts.length; from += PIECE_TEXTS) {
    const part = texts.slice(from, from + PIECE_TEXTS);
    const bytes = new Uint8Array(4 * width * part.length);
    const view = new DataView(bytes.buffer);
    part.forEach((text, row) => {
      let at = 4 * width * row;
      for (const character of text) {
        view.setUint32(at, character.codePointAt(0) as number, true);
        at += 4;
      }
    });
    pieces.push(bytes);
  }
  return pieces;
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
