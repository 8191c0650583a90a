/** The arrays of one batch as they are filled: in its slab, or in arrays of the caller. What of them stands in scratch is copied from there. */
import { mustBe } from "../base/error.ts";
import { kindOf, ownView, typedLength } from "../base/typed.ts";
import { Arrays, NO_TEXTS, type Place, type Texts } from "../schema/arrays.ts";
import type { AnyArray, ArrayClass } from "../schema/dtype.ts";
import { newSlab } from "./slab.ts";

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
  readonly arrays: Arrays;
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
    this.arrays = new Arrays(n);
  }

  /** Where in scratch an array is copied from. */
  protected abstract sourceOf(place: Place): number;

  /** Makes new memory for a batch, and the arrays of its texts. @throws ReplayError OUT_OF_MEMORY */
  protected renew(): { readonly slab: ArrayBuffer; readonly texts: Texts } {
    const slab = newSlab(this.arrays.bytes);
    const texts = this.arrays.newTexts();
    this.#fill(slab, texts);
    return { slab: slab.buffer, texts };
  }

  /** Fills the memory of a batch from now on. @throws ReplayError SPEC_MISMATCH where it was transferred */
  protected adopt(slab: ArrayBuffer, texts: Texts): void {
    if (slab.byteLength === 0) throw transferred();
    this.#fill(new Uint8Array(slab), texts);
  }

  /** Whether a batch that came back can be filled again: its memory was not transferred, and nothing of it is frozen. */
  get canRefill(): boolean {
    return this.#slab !== undefined && this.#slab.length > 0 && !this.#texts.some((text) => text !== undefined && Object.isFrozen(text));
  }

  /** Makes all arrays on the slab empty. */
  detach(): void {
    const slab = this.#slab;
    if (slab !== undefined && slab.length > 0) structuredClone(slab.buffer, { transfer: [slab.buffer] });
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
    for (const [i, place] of this.arrays.places.entries()) {
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

  /** The bytes that an array behind the values is in. */
  protected bytesOf(array: number): Uint8Array {
    return this.#slab ?? (this.#given[array] as Uint8Array);
  }

  /** Where it begins there. */
  protected startOf(array: number): number {
    return this.#slab === undefined ? 0 : this.arrays.at(this.arrays.place(array));
  }

  protected textOf(array: number): string[] {
    return this.#texts[array] as string[];
  }

  /** Whether the arrays are still there, to be written. @throws ReplayError SPEC_MISMATCH */
  check(): void {
    if (this.#slab?.length === 0) throw transferred();
    for (let i = 0; i < this.#copies.length; i++) {
      const { place, target } = this.#copies[i] as Copy;
      if (target.length !== this.n * place.each) throw this.#gone(place);
    }
    for (let i = 0; i < this.#given.length; i++) {
      const place = this.arrays.place(i);
      const view = this.#given[i];
      if (view !== undefined && view.length === 0 && this.n * place.each > 0) throw this.#gone(place);
    }
    for (let i = 0; i < this.#texts.length; i++) {
      const target = this.#texts[i];
      if (target !== undefined && Object.isFrozen(target)) throw mustBe("SPEC_MISMATCH", this.arrays.place(i).path, "an array that is not frozen", target);
    }
  }

  /** Makes the views on scratch anew. @param isOwn whether the draw was made for this batch: its columns stand as in the slab */
  protected look(u8: Uint8Array, from: number, isOwn: boolean): void {
    for (const copy of this.#copies) copy.from = new (copy.place.kind as ArrayClass)(u8.buffer, this.sourceOf(copy.place), this.n * copy.place.each);
    const drawn = isOwn ? [] : this.arrays.places.filter(({ where }) => where === "draw");
    this.#stretch = [
      { from: u8.subarray(from, from + (isOwn ? this.arrays.copied : this.arrays.values)), to: 0 },
      ...drawn.map((place) => {
        const at = this.sourceOf(place);
        return { from: u8.subarray(at, at + this.n * (place.kind as ArrayClass).BYTES_PER_ELEMENT), to: this.arrays.at(place) };
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
    for (const place of this.arrays.places) {
      if (place.kind === undefined || place.where === "behind") continue;
      const from = this.sourceOf(place);
      slab.set(u8.subarray(from, from + count * place.each * place.kind.BYTES_PER_ELEMENT), this.arrays.at(place));
    }
  }

  #fill(slab: Uint8Array<ArrayBuffer>, texts: Texts): void {
    this.#slab = slab;
    this.#texts = texts as (string[] | undefined)[];
  }

  #gone({ path, each }: Place): Error {
    return mustBe("SPEC_MISMATCH", path, `an array of at least ${this.n * each} elements`, "one whose memory was transferred, or has shrunk");
  }
}

function transferred(): Error {
  return mustBe("SPEC_MISMATCH", "into", "a batch whose memory is still there", "one whose memory was transferred");
}

const NOTHING = new Uint8Array(0);
