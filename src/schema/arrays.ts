/**
 * Which arrays the batches of a kind have, and where each is in the one piece of memory that such a batch is in, its *slab*. Nothing here is of a Replay: a batch that
 * is kept keeps none.
 *
 * slab │ values of the leaves │ DRAW │ the draw's columns, as far as the batch has some │ wide leaves, the mask
 */

import { DRAW_BYTES } from "../base/abi.ts";
import type { AnyArray, ArrayClass } from "./dtype.ts";
import { up } from "./layout.ts";

/** The plain arrays of a batch's texts, by the numbers of its arrays. */
export type Texts = readonly (string[] | undefined)[];

/** One array of a batch. */
export interface Place {
  /** What messages call it. */
  readonly path: string;
  /** Undefined for text, which is in a plain array. */
  readonly kind: ArrayClass | undefined;
  /** Elements an item. */
  readonly each: number;
  /** In the slab: among the values, a column of the draw by its number, or behind both, where nothing comes from scratch. */
  readonly where: "values" | "draw" | "behind";
  readonly at: number;
}

export class Arrays {
  /** Items at most. */
  readonly n: number;
  readonly places: Place[] = [];
  /** Bytes of the values. */
  values = 0;
  /** How many of the draw's columns are copied. */
  #columns = 0;
  /** Bytes behind what is copied from scratch. */
  #behind = 0;

  constructor(n: number) {
    this.n = n;
  }

  place(array: number): Place {
    return this.places[array] as Place;
  }

  /** One more array of values; its number. @param bytes room for it */
  value(path: string, kind: ArrayClass, each: number, bytes: number): number {
    const at = this.values;
    this.values += bytes;
    return this.places.push({ path, kind, each, where: "values", at }) - 1;
  }

  text(path: string, each: number): number {
    return this.places.push({ path, kind: undefined, each, where: "behind", at: 0 }) - 1;
  }

  /** A column of the draw's, by its number. */
  take(path: string, column: number, kind: ArrayClass): number {
    this.#columns = Math.max(this.#columns, column + 1);
    return this.places.push({ path, kind, each: 1, where: "draw", at: column }) - 1;
  }

  /** One that is not copied from scratch. */
  beside(path: string, kind: ArrayClass, each: number, bytes: number): number {
    const at = this.#behind;
    this.#behind += up(bytes, 16);
    return this.places.push({ path, kind, each, where: "behind", at }) - 1;
  }

  /** Bytes of a slab that are copied from scratch. */
  get copied(): number {
    return this.#columns === 0 ? this.values : this.#columnAt(this.#columns);
  }

  /** Bytes of a slab. */
  get bytes(): number {
    return this.copied + this.#behind;
  }

  /** Where an array begins in the slab. */
  at({ where, at }: Place): number {
    if (where === "values") return at;
    return where === "draw" ? this.#columnAt(at) : this.copied + at;
  }

  /** Arrays for texts. */
  newTexts(): Texts {
    const isText = (place: Place) => place.kind === undefined;
    return this.places.some(isText) ? this.places.map((place) => (isText(place) ? new Array<string>(this.n * place.each).fill("") : undefined)) : NO_TEXTS;
  }

  /** An array of a batch, by its number: a view on its slab, or its texts. */
  view(array: number, slab: ArrayBuffer, texts: Texts): AnyArray | string[] {
    const place = this.place(array);
    if (place.kind === undefined) return texts[array] as string[];
    // Where the memory was transferred, there is nothing to see.
    return slab.byteLength === 0 ? new place.kind(0) : new place.kind(slab, this.at(place), this.n * place.each);
  }

  #columnAt(column: number): number {
    return this.values + DRAW_BYTES + column * up(8 * this.n, 16);
  }
}

export const NO_TEXTS: Texts = [];
