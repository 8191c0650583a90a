/** How the columns of a batch are filled: worked out once, so that the next draw into the same arrays allocates nothing. */
import { mustBe } from "../error.ts";
import { type AnyArray, type ArrayClass, DTYPES } from "../spec/dtype.ts";
import { goesStraight, type PlacedLeaf, up } from "../spec/layout.ts";
import type { BoundedText } from "../spec/leaf.ts";
import { readTexts } from "../spec/text.ts";
import { ownView } from "../typed.ts";
import { Draw } from "./draw.ts";
import type { Engine } from "./engine.ts";

/** A view of ours on an array of the caller's, whose memory may be gone by the next draw. */
interface Lent {
  /** What messages call it. */
  readonly path: string;
  readonly view: AnyArray;
  readonly length: number;
}

/** An array of a batch's texts, which its owner may freeze. */
interface Texts {
  readonly path: string;
  readonly target: string[];
}

/** One array that is filled from linear memory. */
interface Copy {
  readonly target: AnyArray;
  readonly array: ArrayClass;
  /** Elements an item. */
  readonly each: number;
  /** Where it comes from: an offset in scratch, or -1 - c for the draw's column c. */
  readonly from: number;
  view: AnyArray;
}

interface Output {
  readonly leaf: PlacedLeaf;
  readonly steps: readonly number[];
  /** Whether they are those of the output before. */
  readonly again: boolean;
  /** In scratch: its values, or where they are, if they go straight. */
  readonly from: number;
  /** The target as bytes, where wide values go straight. */
  readonly straight: Uint8Array | undefined;
  /** The target of text. */
  readonly texts: string[] | undefined;
}

export class Gatherer {
  /** What it is filled from, since the last `prepare`. */
  readonly draw: Draw;
  readonly n: number;
  readonly #engine: Engine;
  readonly #outputs: Output[] = [];
  readonly #copies: Copy[] = [];
  readonly #lent: Lent[] = [];
  readonly #texts: Texts[] = [];
  /** Rows that the longest column may have. */
  #rows: number;
  /** Bytes of scratch for what is copied; the draw is behind it. */
  #bytes = 0;
  #base = 0;
  #generation = -1;
  /** Where items have columns of their own steps: the lists of each output, item by item. */
  protected lists: readonly Int32Array[] | undefined;

  /** @param rows so many an item at least */
  constructor(engine: Engine, n: number, rows: number) {
    this.#engine = engine;
    this.draw = new Draw(engine);
    this.n = n;
    this.#rows = n * rows;
  }

  /** One more column: a leaf's values at some steps of each item. @param path of its array @param longest as many steps as there may ever be of them */
  protected gather(path: string, leaf: PlacedLeaf, steps: readonly number[], data: AnyArray | string[], longest = steps.length): void {
    const { n } = this;
    const before = this.#outputs.at(-1)?.steps;
    // Columns of the same steps are selected once.
    const again = before !== undefined && steps.length === before.length && steps.every((step, k) => step === before[k]);
    const from = this.#bytes;
    const isStraight = goesStraight(leaf);
    const texts = Array.isArray(data) ? data : undefined;
    if (texts !== undefined) this.#texts.push({ path, target: texts });
    const straight = isStraight && !Array.isArray(data) ? this.lend(path, data, Uint8Array, n * steps.length * leaf.bytes) : undefined;
    const { dtype } = leaf.leaf;
    if (dtype !== "string" && !isStraight && !Array.isArray(data)) this.#copy(path, data, DTYPES[dtype].array, steps.length * leaf.size, from);
    this.#rows = Math.max(this.#rows, n * longest);
    // The list of steps is there first, then the values.
    this.#bytes += up(longest * n * Math.max(isStraight ? 8 : leaf.bytes, 4), 16);
    this.#outputs.push({ leaf, steps, again, from, straight, texts });
  }

  /** One more column: one of the draw's, by its number. */
  protected take(path: string, column: number, target: AnyArray, array: ArrayClass): void {
    this.#copy(path, target, array, 1, -1 - column);
  }

  /** A view of ours on an array of a batch, which must be there at each draw. */
  protected lend<T extends AnyArray>(
    path: string,
    array: AnyArray,
    kind: new (buffer: ArrayBuffer, byteOffset: number, length: number) => T,
    length: number,
  ): T {
    const view = ownView(array, kind, length);
    this.#lent.push({ path, view, length });
    return view;
  }

  /** Whether the arrays are still there, to be written. @throws ReplayError SPEC_MISMATCH */
  check(): void {
    const lent = this.#lent;
    for (let i = 0; i < lent.length; i++) {
      const { view, length } = lent[i] as Lent;
      if (view.length !== length) throw this.#gone(lent[i] as Lent);
    }
    const texts = this.#texts;
    for (let i = 0; i < texts.length; i++) {
      const { path, target } = texts[i] as Texts;
      if (Object.isFrozen(target)) throw mustBe("SPEC_MISMATCH", path, "an array that is not frozen", target);
    }
  }

  /** Makes a draw in scratch memory. What could find no room does so here, before the table changes. @throws ReplayError OUT_OF_MEMORY, SPEC_MISMATCH */
  prepare(): Draw {
    const { core } = this.#engine;
    this.check();
    this.#base = this.draw.prepare(this.#bytes, this.n, this.#rows);
    if (this.#generation !== core.generation) this.#look();
    this.#generation = core.generation;
    return this.draw;
  }

  /** Takes over the draw of a filler for more items. */
  after(other: Gatherer): this {
    this.#base = other.#base;
    this.draw.handle = other.draw.handle;
    this.#look();
    return this;
  }

  #look(): void {
    const { core } = this.#engine;
    for (const copy of this.#copies) {
      const at = copy.from < 0 ? this.draw.address(-1 - copy.from) : this.#base + copy.from;
      copy.view = new copy.array(core.u8.buffer, at, this.n * copy.each);
    }
  }

  /** Gathers what was drawn and copies it out. O(bytes) */
  fill(count: number): void {
    const { core, pool } = this.#engine;
    const { x } = core;
    const draw = this.draw.handle;
    const outputs = this.#outputs;
    const copies = this.#copies;
    const { lists } = this;
    // By index: before V8 has optimized it, `of` leaves an object a turn.
    for (let i = 0; i < outputs.length; i++) {
      const { leaf, steps, again, from, straight, texts } = outputs[i] as Output;
      const at = this.#base + from;
      if (lists !== undefined) {
        core.i32.set(lists[i] as Int32Array, at / 4);
        x.gather_select(draw, pool, at, steps.length, steps.length);
      } else if (!again) {
        core.i32.set(steps, at / 4);
        x.gather_select(draw, pool, at, steps.length, 0);
      }
      if (straight === undefined) x.gather_leaf(draw, pool, leaf.index, at);
      else this.#copyStraight(at, x.gather_runs(draw, pool, leaf.index, at), leaf.bytes, straight);
      if (texts !== undefined) readTexts(core.u8, at, (leaf.leaf as BoundedText).maxBytes, texts, count * steps.length * leaf.size);
    }
    for (let i = 0; i < copies.length; i++) {
      const { target, view, each } = copies[i] as Copy;
      // The same class on both sides: a plain copy of memory.
      (target as Float64Array).set((count === this.n ? view : view.subarray(0, count * each)) as Float64Array);
    }
  }

  /** Copies runs of wide values, each (address, how many), without a stop on the way. */
  #copyStraight(at: number, runs: number, bytes: number, target: Uint8Array): void {
    const { u8, u32 } = this.#engine.core;
    let to = 0;
    for (let i = at >>> 2; i < (at >>> 2) + 2 * runs; i += 2) {
      const address = u32[i] as number;
      const length = (u32[i + 1] as number) * bytes;
      if (address === 0) target.fill(0, to, to + length);
      else target.set(u8.subarray(address, address + length), to);
      to += length;
    }
  }

  #copy(path: string, array: AnyArray, kind: ArrayClass, each: number, from: number): void {
    const target = this.lend(path, array, kind, this.n * each);
    this.#copies.push({ target, array: kind, each, from, view: target });
  }

  #gone({ path, length }: Lent): Error {
    return mustBe("SPEC_MISMATCH", path, `an array of at least ${length} elements`, "one whose memory was transferred, or has shrunk");
  }
}
