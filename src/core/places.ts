/**
 * The arrays of a batch, and where they are: in one piece of memory, the batch's *slab*, or in arrays of the caller. What of them stands in scratch is copied from there.
 *
 * slab │ values of the leaves │ DRAW │ the draw's columns, as far as the batch has some │ wide leaves, the mask
 */
import type { Texts } from "../batch.ts";
import { mustBe } from "../error.ts";
import type { AnyArray, ArrayClass } from "../spec/dtype.ts";
import { up } from "../spec/layout.ts";
import { kindOf, ownView, typedLength } from "../typed.ts";
import { DRAW_BYTES } from "./abi.ts";
import { newSlab } from "./slab.ts";

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

/** A view of ours on an array of the caller's, and on what is copied there. */
interface Copy {
  readonly place: Place;
  readonly target: AnyArray;
  from: AnyArray;
}

/** A view on scratch, and where it goes in the slab. */
interface Piece {
  readonly from: Uint8Array;
  readonly to: number;
}

export abstract class Places {
  /** Items at most. */
  readonly n: number;
  readonly #places: Place[] = [];
  /** Bytes of the values. */
  protected values = 0;
  /** How many of the draw's columns are copied. */
  #columns = 0;
  /** Bytes behind what is copied from scratch. */
  #behind = 0;
  #hasTexts = false;

  /** The memory of new arrays; without it arrays were given. */
  #slab: Uint8Array<ArrayBuffer> | undefined;
  /** Views on scratch: all that the slab is copied from, or in pieces where the draw is another one's. */
  #stretch: readonly Piece[] = [];
  readonly #copies: Copy[] = [];
  /** Arrays of text, and the bytes of what is not in scratch in given arrays, by the numbers of the arrays. */
  #texts: (string[] | undefined)[] = [];
  readonly #given: (Uint8Array | undefined)[] = [];

  constructor(n: number) {
    this.n = n;
  }

  /** Where in scratch an array is copied from. */
  protected abstract sourceOf(place: Place): number;

  protected place(array: number): Place {
    return this.#places[array] as Place;
  }

  /** One more array of values; its number. @param bytes room for it */
  protected value(path: string, kind: ArrayClass, each: number, bytes: number): number {
    const at = this.values;
    this.values += bytes;
    return this.#places.push({ path, kind, each, where: "values", at }) - 1;
  }

  protected text(path: string, each: number): number {
    this.#hasTexts = true;
    return this.#places.push({ path, kind: undefined, each, where: "behind", at: 0 }) - 1;
  }

  /** A column of the draw's, by its number. */
  protected take(path: string, column: number, kind: ArrayClass): number {
    this.#columns = Math.max(this.#columns, column + 1);
    return this.#places.push({ path, kind, each: 1, where: "draw", at: column }) - 1;
  }

  /** One that is not copied from scratch. */
  protected beside(path: string, kind: ArrayClass, each: number, bytes: number): number {
    const at = this.#behind;
    this.#behind += up(bytes, 16);
    return this.#places.push({ path, kind, each, where: "behind", at }) - 1;
  }

  /** Makes new memory for a batch, and the arrays of its texts. @throws ReplayError OUT_OF_MEMORY */
  protected renew(): { readonly slab: ArrayBuffer; readonly texts: Texts } {
    const slab = newSlab(this.#end + this.#behind);
    const texts = this.#hasTexts ? this.#places.map((place) => this.#newText(place)) : NO_TEXTS;
    this.adopt(slab, texts);
    return { slab, texts };
  }

  /** Fills the memory of a batch from now on. */
  protected adopt(slab: ArrayBuffer, texts: Texts): void {
    this.#slab = new Uint8Array(slab);
    this.#texts = texts as (string[] | undefined)[];
  }

  /** Makes all arrays on the slab empty. */
  detach(): void {
    const slab = this.#slab;
    if (slab !== undefined) structuredClone(slab.buffer, { transfer: [slab.buffer] });
    this.leave();
  }

  /** Lets go of the batch's memory. */
  protected leave(): void {
    this.#slab = undefined;
    this.#texts = NO_TEXTS as [];
  }

  /** Fills arrays of the caller's from now on. @throws ReplayError SPEC_MISMATCH where one is too small, or of another kind */
  protected lend(arrays: readonly unknown[]): void {
    const { n } = this;
    for (const [i, place] of this.#places.entries()) {
      const { path, kind, each, where } = place;
      const array = arrays[i];
      if (kind === undefined) {
        if (!Array.isArray(array)) throw mustBe("SPEC_MISMATCH", path, "an array", array);
        this.#texts[i] = array;
        continue;
      }
      if (kindOf(array) !== kind.name || typedLength(array as AnyArray) < n * each)
        throw mustBe("SPEC_MISMATCH", path, `a ${kind.name} of at least ${n * each} elements`, array);
      if (where === "behind") this.#given[i] = ownView(array as AnyArray, Uint8Array, n * each * kind.BYTES_PER_ELEMENT);
      else this.#copies.push({ place, target: ownView(array as AnyArray, kind, n * each), from: NOTHING });
    }
  }

  /** An array of a batch, by its number: a view on its slab, or its texts. */
  viewOf(array: number, slab: ArrayBuffer, texts: Texts): AnyArray | string[] {
    const place = this.place(array);
    if (place.kind === undefined) return texts[array] as string[];
    // Where the memory was transferred, there is nothing to see.
    return slab.byteLength === 0 ? new place.kind(0) : new place.kind(slab, this.#at(place), this.n * place.each);
  }

  /** The bytes that an array behind the values is in. */
  protected bytesOf(array: number): Uint8Array {
    return this.#slab ?? (this.#given[array] as Uint8Array);
  }

  /** Where it begins there. */
  protected startOf(array: number): number {
    return this.#slab === undefined ? 0 : this.#at(this.place(array));
  }

  protected textOf(array: number): string[] {
    return this.#texts[array] as string[];
  }

  /** Whether the arrays are still there, to be written. @throws ReplayError SPEC_MISMATCH */
  check(): void {
    if (this.#slab?.length === 0) throw mustBe("SPEC_MISMATCH", "into", "a batch whose memory is still there", "one whose memory was transferred");
    for (let i = 0; i < this.#copies.length; i++) {
      const { place, target } = this.#copies[i] as Copy;
      if (target.length !== this.n * place.each) throw this.#gone(place);
    }
    for (let i = 0; i < this.#given.length; i++) {
      const place = this.place(i);
      const view = this.#given[i];
      if (view !== undefined && view.length === 0 && this.n * place.each > 0) throw this.#gone(place);
    }
    for (let i = 0; i < this.#texts.length; i++) {
      const target = this.#texts[i];
      if (target !== undefined && Object.isFrozen(target)) throw mustBe("SPEC_MISMATCH", this.place(i).path, "an array that is not frozen", target);
    }
  }

  /** Makes the views on scratch anew. @param isOwn whether the draw was made for this batch: its columns stand as in the slab */
  protected look(u8: Uint8Array, from: number, isOwn: boolean): void {
    for (const copy of this.#copies) copy.from = new (copy.place.kind as ArrayClass)(u8.buffer, this.sourceOf(copy.place), this.n * copy.place.each);
    const drawn = isOwn ? [] : this.#places.filter(({ where }) => where === "draw");
    this.#stretch = [
      { from: u8.subarray(from, from + (isOwn ? this.#end : this.values)), to: 0 },
      ...drawn.map((place) => {
        const at = this.sourceOf(place);
        return { from: u8.subarray(at, at + this.n * (place.kind as ArrayClass).BYTES_PER_ELEMENT), to: this.#at(place) };
      }),
    ];
  }

  /** Copies what is in scratch, of so many items. */
  protected copyOut(u8: Uint8Array, count: number): void {
    const slab = this.#slab;
    const copies = this.#copies;
    // By index: before V8 has optimized it, `of` leaves an object a turn.
    if (slab !== undefined && count < this.n) this.#copySome(slab, u8, count);
    else if (slab !== undefined) for (let i = 0; i < this.#stretch.length; i++) slab.set((this.#stretch[i] as Piece).from, (this.#stretch[i] as Piece).to);
    for (let i = 0; i < copies.length; i++) {
      const { target, from, place } = copies[i] as Copy;
      // The same class on both sides: a plain copy of memory.
      (target as Float64Array).set((count === this.n ? from : from.subarray(0, count * place.each)) as Float64Array);
    }
  }

  /** The same for the first items only: what is behind them stays. */
  #copySome(slab: Uint8Array, u8: Uint8Array, count: number): void {
    for (const place of this.#places) {
      if (place.kind === undefined || place.where === "behind") continue;
      const from = this.sourceOf(place);
      slab.set(u8.subarray(from, from + count * place.each * place.kind.BYTES_PER_ELEMENT), this.#at(place));
    }
  }

  /** Bytes of the slab that are copied from scratch. */
  get #end(): number {
    // From one of the draw's columns to the next.
    const stride = up(8 * this.n, 16);
    return this.#columns === 0 ? this.values : this.values + DRAW_BYTES + this.#columns * stride;
  }

  /** Where an array begins in the slab. */
  #at({ where, at }: Place): number {
    if (where === "values") return at;
    return where === "draw" ? this.values + DRAW_BYTES + at * up(8 * this.n, 16) : this.#end + at;
  }

  #newText({ kind, each }: Place): string[] | undefined {
    return kind === undefined ? new Array<string>(this.n * each).fill("") : undefined;
  }

  #gone({ path, each }: Place): Error {
    return mustBe("SPEC_MISMATCH", path, `an array of at least ${this.n * each} elements`, "one whose memory was transferred, or has shrunk");
  }
}

const NO_TEXTS: Texts = [];
const NOTHING = new Uint8Array(0);
