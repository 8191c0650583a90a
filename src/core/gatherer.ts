/**
 * How the columns of a batch are filled: worked out once, so that the next draw into the same arrays allocates nothing. New arrays are views on one piece of memory, the
 * batch's *slab*, which is copied from scratch in one go.
 *
 * scratch │ OUTPUT … │ lists of steps │ temporary │ values of the leaves │ DRAW │ the draw's columns …
 * slab                                            │ values of the leaves │ ···· │ the draw's columns, as far as the batch has some │ wide leaves, the mask
 */
import type { Texts } from "../batch.ts";
import { mustBe } from "../error.ts";
import { type AnyArray, type ArrayClass, DTYPES } from "../spec/dtype.ts";
import { goesStraight, type PlacedLeaf, STRAIGHT_BYTES, up } from "../spec/layout.ts";
import type { BoundedText } from "../spec/leaf.ts";
import { readTexts } from "../spec/text.ts";
import { kindOf, ownView, typedLength } from "../typed.ts";
import { DRAW_BYTES, OUTPUT_BYTES, OUTPUT_EACH, OUTPUT_STEPS, RUN_BYTES } from "./abi.ts";
import { Draw } from "./draw.ts";
import type { Engine } from "./engine.ts";
import { newSlab } from "./slab.ts";

/** One array of a batch. */
interface Place {
  /** What messages call it. */
  readonly path: string;
  /** Undefined for text, which is in a plain array. */
  readonly kind: ArrayClass | undefined;
  /** Elements an item. */
  readonly each: number;
  /** In the slab: among the values, a column of the draw by its number, or behind both. */
  readonly where: "values" | "draw" | "behind";
  readonly at: number;
}

interface Output {
  readonly leaf: PlacedLeaf;
  readonly steps: readonly number[];
  /** Where its list of steps is, in numbers from the first list on. */
  readonly list: number;
  /** The number of its lists, where items differ. */
  readonly index: number;
  /** The number of its array. */
  readonly array: number;
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

export class Gatherer {
  /** What it is filled from, since the last `prepare`. */
  readonly draw: Draw;
  readonly n: number;
  readonly #engine: Engine;
  readonly #places: Place[] = [];
  /** Of those among the values, which the core gathers; of those that are copied from where they are; of text. Their OUTPUTs stand in this order. */
  readonly #outputs: Output[] = [];
  readonly #straight: Output[] = [];
  readonly #written: Output[] = [];
  /** Rows that the longest column may have. */
  #rows: number;
  /** Numbers of all lists of steps. */
  #steps = 0;
  /** Bytes of the runs that are copied from where they are. */
  #runs = 0;
  /** Whether some of these may be too short to be copied so. */
  #mayStop = false;
  /** Bytes of what is in scratch for the moment: the lists of items that differ, and what comes from the core output by output. */
  #temporary = 0;
  /** Bytes of the values in scratch. */
  #values = 0;
  /** How many of the draw's columns are copied. */
  #columns = 0;
  /** Bytes behind what is copied from scratch. */
  #behind = 0;
  #base = 0;
  #generation = -1;
  /** What the core reads: the outputs, and the lists of steps. */
  #plan = new Uint32Array(0);
  /** Where items have columns of their own steps: the lists of each output, item by item. */
  protected lists: readonly Int32Array[] | undefined;

  /** The memory of new arrays; without it arrays were given. */
  #slab: Uint8Array<ArrayBuffer> | undefined;
  /** Views on scratch: all that the slab is copied from, or in pieces where the draw is another one's. */
  #stretch: readonly Piece[] = [];
  #copies: Copy[] = [];
  /** Arrays of text, and the bytes of wide leaves in given arrays, by the numbers of the arrays. */
  #texts: (string[] | undefined)[] = [];
  #wide: (Uint8Array | undefined)[] = [];

  /** @param rows so many an item at least */
  constructor(engine: Engine, n: number, rows: number) {
    this.#engine = engine;
    this.draw = new Draw(engine);
    this.n = n;
    this.#rows = n * rows;
  }

  /** One more array: a leaf's values at some steps of each item; its number. @param path of it @param longest as many steps as there may ever be of them */
  protected gather(path: string, leaf: PlacedLeaf, steps: readonly number[], longest = steps.length): number {
    const { n } = this;
    const { dtype } = leaf.leaf;
    const isStraight = goesStraight(leaf, steps);
    const isText = dtype === "string";
    const outputs = isStraight ? this.#straight : isText ? this.#written : this.#outputs;
    const before = outputs.at(-1);
    // Columns of the same steps are selected once.
    const again = before !== undefined && steps.length === before.steps.length && steps.every((step, k) => step === before.steps[k]);
    const list = again ? before.list : this.#steps;
    this.#steps += longest;
    const bytes = up(longest * n * leaf.bytes, 16);
    const kind = isText ? undefined : DTYPES[dtype].array;
    const array = this.#places.length;
    this.#places.push({ path, kind, each: steps.length * leaf.size, where: isStraight ? "behind" : "values", at: isStraight ? this.#behind : this.#values });
    if (isStraight) this.#behind += bytes;
    else if (!isText) this.#values += bytes;
    const lists = up(4 * longest * n, 16);
    // Text comes behind its lists, and so do wide values where few are neighbours.
    const mayStop = isStraight && leaf.frameBytes < STRAIGHT_BYTES;
    this.#mayStop ||= mayStop;
    this.#temporary = Math.max(this.#temporary, lists + (isText || mayStop ? bytes : 0));
    if (isStraight) this.#runs += RUN_BYTES * n * longest * (leaf.bytes / leaf.frameBytes);
    this.#rows = Math.max(this.#rows, n * longest);
    outputs.push({ leaf, steps, list, index: this.#all.length, array });
    return array;
  }

  /** One more array: a column of the draw's, by its number. */
  protected take(path: string, column: number, kind: ArrayClass): number {
    this.#columns = Math.max(this.#columns, column + 1);
    return this.#places.push({ path, kind, each: 1, where: "draw", at: column }) - 1;
  }

  /** One more array, which others fill. */
  protected beside(path: string, each: number): number {
    const at = this.#behind;
    this.#behind += up(each * this.n, 16);
    return this.#places.push({ path, kind: Uint8Array, each, where: "behind", at }) - 1;
  }

  /** Makes new memory for a batch, and the arrays of its texts. @throws ReplayError OUT_OF_MEMORY */
  protected renew(): { readonly slab: ArrayBuffer; readonly texts: Texts } {
    const slab = newSlab(this.#end + this.#behind);
    const texts = this.#written.length > 0 ? this.#places.map((place) => this.#newText(place)) : NO_TEXTS;
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
      if (where === "behind") this.#wide[i] = ownView(array as AnyArray, Uint8Array, n * each * kind.BYTES_PER_ELEMENT);
      else this.#copies.push({ place, target: ownView(array as AnyArray, kind, n * each), from: NOTHING });
    }
  }

  /** An array of a batch, by its number: a view on its slab, or its texts. */
  viewOf(array: number, slab: ArrayBuffer, texts: Texts): AnyArray | string[] {
    const place = this.#places[array] as Place;
    if (place.kind === undefined) return texts[array] as string[];
    // Where the memory was transferred, there is nothing to see.
    return slab.byteLength === 0 ? new place.kind(0) : new place.kind(slab, this.#at(place), this.n * place.each);
  }

  /** The bytes that an array behind the values is in. */
  protected bytesOf(array: number): Uint8Array {
    return this.#slab ?? (this.#wide[array] as Uint8Array);
  }

  /** Where it begins there. */
  protected startOf(array: number): number {
    return this.#slab === undefined ? 0 : this.#at(this.#places[array] as Place);
  }

  /** Whether the arrays are still there, to be written. @throws ReplayError SPEC_MISMATCH */
  check(): void {
    if (this.#slab?.length === 0) throw mustBe("SPEC_MISMATCH", "into", "a batch whose memory is still there", "one whose memory was transferred");
    for (let i = 0; i < this.#copies.length; i++) {
      const { place, target } = this.#copies[i] as Copy;
      if (target.length !== this.n * place.each) throw this.#gone(place);
    }
    for (let i = 0; i < this.#wide.length; i++) {
      const place = this.#places[i] as Place;
      const view = this.#wide[i];
      if (view !== undefined && view.length === 0 && this.n * place.each > 0) throw this.#gone(place);
    }
    for (let i = 0; i < this.#texts.length; i++) {
      const target = this.#texts[i];
      if (target !== undefined && Object.isFrozen(target))
        throw mustBe("SPEC_MISMATCH", (this.#places[i] as Place).path, "an array that is not frozen", target);
    }
  }

  /** Makes a draw in scratch memory. What could find no room does so here, before the table changes. @throws ReplayError OUT_OF_MEMORY, SPEC_MISMATCH */
  prepare(): Draw {
    const { core } = this.#engine;
    this.check();
    this.#base = this.draw.prepare(this.#head + this.#temporary + this.#values, this.n, this.#rows);
    if (this.#generation !== core.generation) this.#look(true);
    this.#generation = core.generation;
    return this.draw;
  }

  /** Takes over the draw of a filler for more items. */
  after(other: Gatherer): this {
    this.#base = other.#base;
    this.draw.handle = other.draw.handle;
    this.#look(false);
    // The next draw is its own again.
    this.#generation = -1;
    return this;
  }

  /** Gathers what was drawn and copies it out. O(bytes) */
  fill(count: number): void {
    const { core, pool } = this.#engine;
    const { x } = core;
    const draw = this.draw.handle;
    const outputs = this.#outputs;
    const straight = this.#straight;
    const written = this.#written;
    const copies = this.#copies;
    const { lists } = this;
    core.u32.set(this.#plan, this.#base >>> 2);
    // By index: before V8 has optimized it, `of` leaves an object a turn.
    if (lists === undefined) x.gather(draw, pool, this.#base, outputs.length);
    else for (let i = 0; i < outputs.length; i++) x.gather(draw, pool, this.#listed(i, outputs[i] as Output), 1);
    const together = lists === undefined && !this.#mayStop ? straight.length : 1;
    for (let i = 0; i < straight.length; i += together) {
      this.#listed(outputs.length + i, straight[i] as Output);
      this.#copyStraight(i, together, count);
    }
    for (let i = 0; i < written.length; i++) {
      const output = written[i] as Output;
      const { leaf, steps, array } = output;
      x.gather(draw, pool, this.#listed(outputs.length + straight.length + i, output), 1);
      const text = this.#texts[array] as string[];
      readTexts(core.u8, this.#besideLists(output), (leaf.leaf as BoundedText).maxBytes, text, count * steps.length * leaf.size);
    }
    if (this.#slab !== undefined) {
      if (count < this.n) this.#copySome(this.#slab, count);
      else for (let i = 0; i < this.#stretch.length; i++) this.#slab.set((this.#stretch[i] as Piece).from, (this.#stretch[i] as Piece).to);
    }
    for (let i = 0; i < copies.length; i++) {
      const { target, from, place } = copies[i] as Copy;
      // The same class on both sides: a plain copy of memory.
      (target as Float64Array).set((count === this.n ? from : from.subarray(0, count * place.each)) as Float64Array);
    }
  }

  get #all(): readonly Output[] {
    return [...this.#outputs, ...this.#straight, ...this.#written];
  }

  /** Bytes of the plan in scratch, and of the runs. */
  get #head(): number {
    return up(OUTPUT_BYTES * (this.#outputs.length + this.#straight.length + this.#written.length) + 4 * this.#steps, 16) + this.#runs;
  }

  /** Where in scratch runs come: in front of the lists of items that differ. */
  get #runsAt(): number {
    return this.#lists - this.#runs;
  }

  get #lists(): number {
    return this.#base + this.#head;
  }

  /** Where an output comes that does not stay: behind its lists. */
  #besideLists({ steps }: Output): number {
    return this.#lists + up(4 * steps.length * this.n, 16);
  }

  /** Where in scratch the values begin. */
  get #from(): number {
    return this.#lists + this.#temporary;
  }

  /** The address of an OUTPUT by its place in the plan; where items differ, with its own lists. */
  #listed(place: number, { index, steps }: Output): number {
    const address = this.#base + OUTPUT_BYTES * place;
    if (this.lists !== undefined) {
      const { i32 } = this.#engine.core;
      i32.set(this.lists[index] as Int32Array, this.#lists >>> 2);
      i32[(address >>> 2) + OUTPUT_STEPS] = this.#lists;
      i32[(address >>> 2) + OUTPUT_EACH] = steps.length;
    }
    return address;
  }

  /** Bytes of the slab that are copied from scratch. */
  get #end(): number {
    return this.#columns === 0 ? this.#values : this.#values + DRAW_BYTES + this.#columns * this.#stride;
  }

  /** From one of the draw's columns to the next. */
  get #stride(): number {
    return up(8 * this.n, 16);
  }

  /** Where an array begins in the slab. */
  #at({ where, at }: Place): number {
    return where === "values" ? at : where === "draw" ? this.#values + DRAW_BYTES + at * this.#stride : this.#end + at;
  }

  /** Where in scratch it is copied from. */
  #source({ where, at }: Place): number {
    return where === "draw" ? this.draw.address(at) : this.#from + at;
  }

  /** Makes the views on scratch anew. @param isOwn whether the draw was made for this batch: its columns stand as in the slab */
  #look(isOwn: boolean): void {
    const { u8 } = this.#engine.core;
    for (const copy of this.#copies) copy.from = new (copy.place.kind as ArrayClass)(u8.buffer, this.#source(copy.place), this.n * copy.place.each);
    const from = this.#from;
    this.#plan = this.#planned();
    const drawn = isOwn ? [] : this.#places.filter(({ where }) => where === "draw");
    this.#stretch = [
      { from: u8.subarray(from, from + (isOwn ? this.#end : this.#values)), to: 0 },
      ...drawn.map((place) => {
        const at = this.#source(place);
        return { from: u8.subarray(at, at + this.n * (place.kind as ArrayClass).BYTES_PER_ELEMENT), to: this.#at(place) };
      }),
    ];
  }

  /** OUTPUT for each, and the lists of steps. */
  #planned(): Uint32Array<ArrayBuffer> {
    const all = this.#all;
    const plan = new Uint32Array((this.#head - this.#runs) / 4);
    const lists = (OUTPUT_BYTES / 4) * all.length;
    for (const [i, output] of all.entries()) {
      const { leaf, steps, list, array } = output;
      const { kind, where, at } = this.#places[array] as Place;
      const to = kind === undefined || where === "behind" ? this.#besideLists(output) : this.#from + at;
      plan.set([leaf.index, this.#base + 4 * (lists + list), steps.length, 0, to], (OUTPUT_BYTES / 4) * i);
      plan.set(steps, lists + list);
    }
    return plan;
  }

  /** The same for the first items only: what is behind them stays. */
  #copySome(slab: Uint8Array, count: number): void {
    const { u8 } = this.#engine.core;
    for (const place of this.#places) {
      if (place.kind === undefined || place.where === "behind") continue;
      const from = this.#source(place);
      slab.set(u8.subarray(from, from + count * place.each * place.kind.BYTES_PER_ELEMENT), this.#at(place));
    }
  }

  /** Copies so many outputs, from the `first` on, from where they are, run by run. */
  #copyStraight(first: number, many: number, count: number): void {
    const { core, pool } = this.#engine;
    const { x } = core;
    const address = this.#base + OUTPUT_BYTES * (this.#outputs.length + first);
    const runs = x.gather_runs(this.draw.handle, pool, address, many, this.#runsAt);
    let bytes = 0;
    for (let i = first; i < first + many; i++) {
      const { leaf, steps } = this.#straight[i] as Output;
      bytes += count * steps.length * leaf.bytes;
    }
    if (runs * STRAIGHT_BYTES > bytes) {
      this.#copyStopping(first, many, count);
      return;
    }
    const { u8, u32 } = core;
    const end = (this.#runsAt + RUN_BYTES * runs) / 4;
    for (let i = this.#runsAt / 4; i < end; i += RUN_BYTES / 4) {
      const from = u32[i] as number;
      const length = u32[i + 1] as number;
      const { array } = this.#straight[first + (u32[i + 2] as number)] as Output;
      const to = this.startOf(array) + (u32[i + 3] as number);
      if (from === 0) this.bytesOf(array).fill(0, to, to + length);
      else this.bytesOf(array).set(u8.subarray(from, from + length), to);
    }
  }

  /** The same where few are neighbours: a copy of each by the host would cost more than the stop. */
  #copyStopping(first: number, many: number, count: number): void {
    const { core, pool } = this.#engine;
    for (let i = first; i < first + many; i++) {
      const output = this.#straight[i] as Output;
      const { leaf, steps, array } = output;
      core.x.gather(this.draw.handle, pool, this.#base + OUTPUT_BYTES * (this.#outputs.length + i), 1);
      const from = this.#besideLists(output);
      this.bytesOf(array).set(core.u8.subarray(from, from + count * steps.length * leaf.bytes), this.startOf(array));
    }
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
