/** How one batch object is filled: worked out once for it, so that the next sample into it allocates nothing. */
import { arrayOf, type Batch, type Column, INFO, N_STEP } from "../batch.ts";
import { mustBe } from "../error.ts";
import { type Selection, stepIndices } from "../spec/columns.ts";
import { type AnyArray, type ArrayClass, DTYPES } from "../spec/dtype.ts";
import { goesStraight, type PlacedLeaf, up } from "../spec/layout.ts";
import type { BoundedText } from "../spec/leaf.ts";
import { pack, valueAt } from "../spec/nest.ts";
import { readTexts } from "../spec/text.ts";
import { LENGTH, WEIGHT } from "./abi.ts";
import { Draw } from "./draw.ts";
import type { Engine } from "./engine.ts";

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

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** What a batch may hold beside steps, lengths and info; as bits. */
export const WEIGHTS = 1;
export const RETURNS = 2;
export const MASK = 4;

export class Filler {
  readonly batch: Writable<Batch<unknown>>;
  /** What it is filled from, since the last `prepare`. */
  readonly draw: Draw;
  readonly n: number;
  readonly width: number;
  readonly selections: readonly Selection[];
  /** WEIGHTS, RETURNS, MASK where the batch has them. */
  readonly holds: number;
  readonly #engine: Engine;
  readonly #outputs: Output[] = [];
  readonly #copies: Copy[] = [];
  /** Rows that the longest column may have. */
  #rows: number;
  /** Bytes of scratch for what is copied; the draw is behind it. */
  #bytes = 0;
  #base = 0;
  #generation = -1;

  /**
   * @param whole whether the batch is nested as the spec
   * @param asked what it must hold, as bits
   * @param into the batch; without it a new one is made
   * @throws ReplayError SPEC_MISMATCH where the batch has no array for something, or too small a one
   */
  constructor(engine: Engine, n: number, width: number, selections: readonly Selection[], whole: boolean, asked: number, into?: Batch<unknown>) {
    this.#engine = engine;
    this.draw = new Draw(engine);
    this.n = n;
    this.width = width;
    this.selections = selections;
    this.holds = asked | (into?.mask ? MASK : 0);
    const take = (path: string, given: unknown, array: ArrayClass, each: number, from?: number): AnyArray => {
      const target = into === undefined ? new array(n * each) : given;
      if (!(target instanceof array && target.length >= n * each))
        throw mustBe("SPEC_MISMATCH", `into.${path}`, `a ${array.name} of at least ${n * each} elements`, target);
      if (from !== undefined) this.#copies.push({ target, array, each, from, view: target });
      return target;
    };
    let rows = width;
    let steps: readonly number[] = [];
    const columns = selections.map((selection) => {
      const { keys, leaf, squeezed, start } = selection;
      const own = stepIndices(selection, width);
      const count = own.length;
      // Columns of the same steps are selected once.
      const again = count === steps.length && own.every((step, k) => step === steps[k]);
      steps = own;
      const from = this.#bytes;
      const { dtype } = leaf.leaf;
      const isStraight = goesStraight(leaf);
      const path = `steps.${keys.join(".")}.data`;
      const given: unknown = (valueAt(into?.steps, keys) as Column | undefined)?.data;
      const each = count * leaf.size;
      const data =
        dtype === "string" ? takeTexts(path, into === undefined, given, n * each) : take(path, given, DTYPES[dtype].array, each, isStraight ? undefined : from);
      const straight = isStraight && !Array.isArray(data) ? new Uint8Array(data.buffer, data.byteOffset, n * count * leaf.bytes) : undefined;
      // One of the last steps may have more than the window, and more in a shorter one.
      const longest = Math.max(count, -start);
      rows = Math.max(rows, longest);
      // The list of steps is there first, then the values.
      this.#bytes += up(longest * Math.max(n * (isStraight ? 8 : leaf.bytes), 4), 16);
      this.#outputs.push({ leaf, steps, again, from, straight, texts: Array.isArray(data) ? data : undefined });
      return { data, shape: [n, ...(squeezed ? [] : [count]), ...leaf.shape] };
    });
    this.#rows = n * rows;
    const part = (name: "info" | "nStep", names: { readonly [name: string]: number }) => {
      const given = into?.[name] as { readonly [name: string]: unknown } | undefined;
      return Object.fromEntries(Object.entries(names).map(([key, column]) => [key, take(`${name}.${key}`, given?.[key], arrayOf(column), 1, -1 - column)]));
    };
    const made = {
      count: 0,
      steps: whole ? pack(engine.spec, columns) : Object.fromEntries(columns.map((column, i) => [selections[i]?.keys[0], column])),
      lengths: take("lengths", into?.lengths, Uint32Array, 1, -1 - LENGTH),
      info: part("info", this.holds & WEIGHTS ? { ...INFO, weights: WEIGHT } : INFO),
      nStep: this.holds & RETURNS ? part("nStep", N_STEP) : undefined,
      mask: this.holds & MASK ? take("mask", into?.mask, Uint8Array, width) : undefined,
      blocked: undefined,
    };
    this.batch = into ?? (made as unknown as Batch<unknown>);
  }

  /** Room for one item in a window of `width`, whatever its column layout: another filler goes on `after` it. */
  static ofAny(engine: Engine, width: number): Filler {
    const filler = new Filler(engine, 1, width, [], false, 0);
    const { bytes, rows } = engine.columnLayouts.room(width);
    filler.#bytes = bytes;
    filler.#rows = rows;
    return filler;
  }

  /** Makes a draw in scratch memory. What could find no room does so here, before the table changes. */
  prepare(): Draw {
    const { core } = this.#engine;
    this.#base = this.draw.prepare(this.#bytes, this.n, this.#rows);
    if (this.#generation !== core.generation) this.#look();
    this.#generation = core.generation;
    return this.draw;
  }

  /** Takes over the draw of a filler for more items. */
  after(other: Filler): this {
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
    // By index: before V8 has optimized it, `of` leaves an object a turn.
    for (let i = 0; i < outputs.length; i++) {
      const { leaf, steps, again, from, straight, texts } = outputs[i] as Output;
      const at = this.#base + from;
      if (!again) {
        core.i32.set(steps, at / 4);
        x.gather_select(draw, pool, at, steps.length);
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
    const { mask, lengths } = this.batch;
    if (mask !== undefined) for (let i = 0, to = 0; i < count; i++) for (let t = 0; t < this.width; t++) mask[to++] = Number(t < (lengths[i] as number));
    this.batch.count = count;
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
}

/** The array of a batch's texts: a new one, or the one that was given, however long it is. */
function takeTexts(path: string, isNew: boolean, given: unknown, n: number): string[] {
  if (isNew) return new Array<string>(n).fill("");
  if (!Array.isArray(given)) throw mustBe("SPEC_MISMATCH", `into.${path}`, "an array", given);
  return given;
}
