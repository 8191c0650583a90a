/** How one batch object is filled: worked out once for it, so that the next sample into it allocates nothing. */
import { LENGTH } from "./abi.ts";
import { arrayOf, type Batch, type Column, INFO, N_STEP } from "./batch.ts";
import { countOf, type Selection } from "./columns.ts";
import { type AnyArray, type ArrayClass, DTYPES } from "./dtype.ts";
import type { Engine } from "./engine.ts";
import { mustBe } from "./error.ts";
import { up, WIDE } from "./layout.ts";

/** A wide value is copied straight from its row to the caller's array, from this size on. */
const STRAIGHT_BYTES = 4096;

/** One array that is filled from linear memory. */
interface Copy {
  readonly target: AnyArray;
  /** Elements an item. */
  readonly each: number;
  /** Where it comes from: an offset in scratch, or -1 - c for the draw's column c. */
  readonly from: number;
  view: AnyArray;
}

interface Output {
  readonly selection: Selection;
  readonly count: number;
  /** In scratch: its values, or where they are, if they go straight. */
  readonly from: number;
  /** The target as bytes, where wide values go straight. */
  readonly straight: Uint8Array | undefined;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

export class Filler {
  readonly batch: Writable<Batch<unknown>>;
  readonly n: number;
  readonly width: number;
  readonly selections: readonly Selection[];
  readonly #engine: Engine;
  readonly #outputs: readonly Output[];
  readonly #copies: Copy[] = [];
  readonly #maskAt: number;
  /** Rows that the longest column may have: one of the last steps may have more than the window. */
  readonly #rows: number;
  /** Bytes of scratch for what is copied; the draw is behind it. */
  #bytes = 0;
  #base = 0;
  #generation = -1;

  /** @throws ReplayError SPEC_MISMATCH where the batch has no array for something, or too small a one */
  constructor(engine: Engine, batch: Batch<unknown>, n: number, width: number, selections: readonly Selection[]) {
    this.#engine = engine;
    this.batch = batch;
    this.n = n;
    this.width = width;
    this.selections = selections;
    this.#rows = n * Math.max(width, ...selections.map(({ squeezed, start }) => (squeezed ? 1 : -start)));
    const copy = (path: string, target: unknown, array: ArrayClass, each: number, from = this.#bytes): AnyArray => {
      if (!(target instanceof array && target.length >= n * each))
        throw mustBe("SPEC_MISMATCH", `into.${path}`, `a ${array.name} of at least ${n * each}`, target);
      this.#copies.push({ target, each, from, view: target });
      return target;
    };
    this.#outputs = selections.map((selection) => {
      const { keys, leaf } = selection;
      const count = countOf(selection, width);
      const from = this.#bytes;
      const { buffer, byteOffset } = copy(`steps.${keys.join(".")}.data`, reach(batch.steps, keys)?.data, DTYPES[leaf.leaf.dtype].array, count * leaf.size);
      const straight = leaf.kind === WIDE && leaf.bytes >= STRAIGHT_BYTES ? new Uint8Array(buffer, byteOffset, n * count * leaf.bytes) : undefined;
      if (straight !== undefined) this.#copies.pop();
      this.#bytes += up(n * count * (straight === undefined ? leaf.bytes : 8), 16);
      return { selection, count, from, straight };
    });
    this.#maskAt = this.#bytes;
    if (batch.mask !== undefined) {
      copy("mask", batch.mask, Uint8Array, width);
      this.#bytes += up(n * width, 16);
    }
    copy("lengths", batch.lengths, Uint32Array, 1, -1 - LENGTH);
    for (const [part, columns] of Object.entries({ info: INFO, nStep: N_STEP })) {
      const arrays = (batch as unknown as { [part: string]: { [name: string]: unknown } | undefined })[part];
      for (const [name, column] of Object.entries(columns)) {
        if (arrays?.[name] !== undefined) copy(`${part}.${name}`, arrays[name], arrayOf(column), 1, -1 - column);
      }
    }
  }

  /** Makes a draw in scratch memory. Whatever could fail does so here, before the table changes. */
  prepare(): number {
    const { core } = this.#engine;
    const { x } = core;
    const drawBytes = x.draw_bytes(this.n);
    const base = core.scratch(this.#bytes + drawBytes + 12 * this.#rows);
    const draw = base + this.#bytes;
    x.draw_init(draw, this.n);
    x.draw_rows(draw, draw + drawBytes, this.#rows);
    this.#base = base;
    if (this.#generation !== core.generation) this.#look(draw);
    return draw;
  }

  /** Takes over the draw of a filler for more items. */
  after(other: Filler, draw: number): this {
    this.#base = other.#base;
    this.#look(draw);
    return this;
  }

  #look(draw: number): void {
    const { core } = this.#engine;
    for (const copy of this.#copies) {
      const at = copy.from < 0 ? core.x.draw_column(draw, -1 - copy.from) >>> 0 : this.#base + copy.from;
      copy.view = new (copy.target.constructor as Float32ArrayConstructor)(core.u8.buffer, at, this.n * copy.each);
    }
    this.#generation = core.generation;
  }

  /** Gathers what was drawn and copies it out. O(bytes) */
  fill(draw: number, count: number): void {
    const { core, pool } = this.#engine;
    const { x } = core;
    let last: Output | undefined;
    for (const output of this.#outputs) {
      const { start, step, leaf } = output.selection;
      // Columns of the same steps are selected once.
      if (last?.count !== output.count || last.selection.start !== start || last.selection.step !== step)
        x.gather_select(draw, pool, start, output.count, step);
      last = output;
      const at = this.#base + output.from;
      if (output.straight === undefined) x.gather_leaf(draw, pool, leaf.index, at);
      else this.#copyStraight(at, x.gather_runs(draw, pool, leaf.index, at), leaf.bytes, output.straight);
    }
    if (this.batch.mask !== undefined) {
      x.gather_select(draw, pool, 0, this.width, 1);
      x.gather_mask(draw, this.#base + this.#maskAt);
    }
    for (const { target, view, each } of this.#copies) {
      // The same class on both sides: a plain copy of memory.
      (target as Float64Array).set((count === this.n ? view : view.subarray(0, count * each)) as Float64Array);
    }
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

/** The column at a path of a batch's steps. */
export function reach(steps: unknown, keys: readonly string[]): Column | undefined {
  return keys.reduce((at, key) => (at as { [name: string]: unknown } | undefined)?.[key], steps) as Column | undefined;
}
