/** Collects the elements of an array from consecutive pieces of bytes, without a second copy of the array. */

import { type Dtype, zeros } from "../../../schema/dtype.ts";
import type { RldsError } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { ElementType } from "./npy-types.ts";

export class Elements {
  readonly #type: ElementType;
  readonly #count: number;
  readonly #corrupt: (what: string) => RldsError;
  /** All elements, which are zeros or empty texts until their bytes arrive. */
  readonly #column: ColumnData;
  readonly #walk: ColumnWalk | undefined;
  #done = 0;
  /** The beginning of an element that continues in the next piece. */
  #partial: Uint8Array<ArrayBuffer> | undefined;
  #partialBytes = 0;

  /** @param fortran the shape, if the data is in Fortran order (first index fastest); undefined for C order */
  constructor(type: ElementType, count: number, fortran: readonly number[] | undefined, corrupt: (what: string) => RldsError) {
    this.#type = type;
    this.#count = count;
    this.#corrupt = corrupt;
    const isText = type.dtype === "string" || type.dtype === "bytes";
    this.#column = isText ? blankTexts(count) : (zeros(type.dtype as Dtype, count) as ColumnData);
    this.#walk = fortran && new ColumnWalk(fortran);
  }

  add(chunk: Uint8Array): void {
    const width = this.#type.bytes;
    let at = 0;
    if (this.#partial !== undefined) {
      at = Math.min(width - this.#partialBytes, chunk.length);
      this.#partial.set(chunk.subarray(0, at), this.#partialBytes);
      this.#partialBytes += at;
      if (this.#partialBytes < width) return;
      this.#put(this.#partial);
      this.#partial = undefined;
    }
    const end = at + Math.floor((chunk.length - at) / width) * width;
    if (end > at) this.#put(chunk.slice(at, end) as Uint8Array<ArrayBuffer>);
    if (end === chunk.length) return;
    this.#partial = new Uint8Array(width);
    this.#partial.set(chunk.subarray(end));
    this.#partialBytes = chunk.length - end;
  }

  /** Returns all elements. @throws RldsError CORRUPT if elements are missing */
  finish(): ColumnData {
    if (this.#done !== this.#count) throw this.#corrupt(`ends after ${this.#done} of ${this.#count} elements`);
    return this.#column;
  }

  #put(bytes: Uint8Array<ArrayBuffer>): void {
    const { unit, big } = this.#type;
    if (big) for (let i = 0; unit > 1 && i < bytes.length; i += unit) bytes.subarray(i, i + unit).reverse();
    const values = this.#type.decode(bytes, this.#corrupt);
    const to = this.#column as unknown[];
    if (this.#walk !== undefined) for (let i = 0; i < values.length; i++) to[this.#walk.next()] = values[i];
    else if (Array.isArray(values)) for (let i = 0; i < values.length; i++) to[this.#done + i] = values[i];
    else (this.#column as Float32Array).set(values as Float32Array, this.#done);
    this.#done += values.length;
  }
}

/** Returns a list of empty texts. The list is filled from the beginning, because arrays with holes are slow. */
function blankTexts(count: number): string[] {
  const texts: string[] = [];
  for (let i = 0; i < count; i++) texts.push("");
  return texts;
}

/** Computes the indices in C order of consecutive elements in Fortran order. */
class ColumnWalk {
  readonly #shape: readonly number[];
  readonly #strides: readonly number[];
  readonly #index: number[];
  #at = 0;

  constructor(shape: readonly number[]) {
    this.#shape = shape;
    this.#index = shape.map(() => 0);
    let stride = 1;
    this.#strides = shape
      .map((_, i) => {
        const length = shape[shape.length - 1 - i] as number;
        stride *= length;
        return stride / length;
      })
      .reverse();
  }

  next(): number {
    const offset = this.#at;
    for (let d = 0; d < this.#shape.length; d++) {
      const [length, stride] = [this.#shape[d] as number, this.#strides[d] as number];
      const index = (this.#index[d] as number) + 1;
      this.#at += stride;
      this.#index[d] = index;
      if (index < length) break;
      this.#at -= index * stride;
      this.#index[d] = 0;
    }
    return offset;
  }
}
