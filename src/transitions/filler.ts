/** How one batch of transitions is filled, or one after the other that are alike. */
import { brief, type Home, type Texts } from "../batch.ts";
import { Column, copied, isColumn } from "../column.ts";
import { DISCOUNT, KEY, RETURN, STEPS, TERMINATED, TRUNCATED, WEIGHT } from "../core/abi.ts";
import type { Engine } from "../core/engine.ts";
import { mustBeWritable } from "../core/filler.ts";
import { Gatherer } from "../core/gatherer.ts";
import type { Rows } from "../core/joined.ts";
import { printsAs } from "../prints.ts";
import type { AnyArray, ArrayClass } from "../spec/dtype.ts";
import { packer, valueAt, zip } from "../spec/nest.ts";
import type { TransitionForm } from "./form.ts";

/** A batch of any view. */
export interface AnyTransitions {
  count: number;
  release(): void;
  readonly keys: Float64Array;
  readonly [name: string]: unknown;
}

interface Slab {
  readonly filler: TransitionFiller;
  readonly slab: ArrayBuffer;
  readonly texts: Texts;
}

/** What a batch that Reprise made is made of. */
let slabOf: (batch: object) => Slab | undefined;
let lendOut: (batch: DrawnTransitions, home: Home<TransitionFiller>) => void;
let partOf: (batch: DrawnTransitions, name: string) => unknown;

/** A batch in memory of its own, its slab. Its parts are views on that, made when they are asked for. */
class DrawnTransitions {
  count = 0;
  /** A field, so that `structuredClone`, which does not see the parts, refuses the batch. */
  readonly detached: () => object = detached;
  readonly #of: Slab;
  readonly #parts: { [name: string]: unknown } = {};
  #home: Home<TransitionFiller> | undefined;

  static {
    slabOf = (batch) => (#of in batch ? batch.#of : undefined);
    lendOut = (batch, home) => {
      batch.#home = home;
    };
    partOf = (batch, name) => {
      batch.#parts[name] ??= batch.#of.filler.partOf(name, batch.#of);
      return batch.#parts[name];
    };
    printsAs<DrawnTransitions>(this, "TransitionBatch", (batch) => {
      const { keys, ...parts } = partsOf(batch);
      const briefly = zip([parts], isColumn, ([column]) => brief(column as Column)) as object;
      return { count: batch.count, ...briefly, keys: brief({ data: keys, shape: [(keys as AnyArray).length] }) };
    });
  }

  constructor(of: Slab) {
    this.#of = of;
  }

  release(): void {
    const home = this.#home;
    this.#home = undefined;
    home?.back(this.#of.filler);
  }

  [Symbol.dispose](): void {
    this.release();
  }

  toArray(): object[] {
    const { keys, ...parts } = partsOf(this);
    const rowOf = (i: number) => (columns: readonly unknown[]) => {
      const value = (columns[0] as Column).at(i);
      return isColumn(value) ? value.toArray() : value;
    };
    return Array.from({ length: this.count }, (_, i) => ({ ...(zip([parts], isColumn, rowOf(i)) as object), keys: (keys as AnyArray)[i] }));
  }
}

/** Of what form a batch is that Reprise made. */
export function fillerOf(batch: unknown): TransitionFiller | undefined {
  return typeof batch === "object" && batch !== null ? slabOf(batch)?.filler : undefined;
}

/** The parts of a batch under their names, as own fields. */
function partsOf(batch: object): { [name: string]: unknown } {
  const names = slabOf(batch)?.filler.names ?? [];
  return Object.fromEntries(names.map((name) => [name, partOf(batch as DrawnTransitions, name)]));
}

function detached(this: DrawnTransitions): object {
  return { count: this.count, ...copied(partsOf(this)) };
}

/** A class of batches with parts of these names. */
function batchClass(names: readonly string[]): typeof DrawnTransitions {
  const { TransitionBatch } = { TransitionBatch: class extends DrawnTransitions {} };
  for (const name of names) {
    const get = function (this: DrawnTransitions) {
      return partOf(this, name);
    };
    Object.defineProperty(TransitionBatch.prototype, name, { enumerable: true, get });
  }
  return TransitionBatch;
}

/** The classes of a view's batches: without weights, and with them. */
const classes = new WeakMap<TransitionForm, [plain?: typeof DrawnTransitions, weighted?: typeof DrawnTransitions]>();

function classOf(form: TransitionForm, names: readonly string[], weighted: boolean): typeof DrawnTransitions {
  const known = classes.get(form) ?? [];
  classes.set(form, known);
  known[Number(weighted)] ??= batchClass(names);
  return known[Number(weighted)] as typeof DrawnTransitions;
}

/** The columns of a part, and how they are nested. */
interface Columns {
  readonly nest: (values: readonly unknown[]) => unknown;
  readonly columns: readonly { readonly array: number; readonly shape: readonly number[] }[];
}

export class TransitionFiller extends Gatherer {
  /** Rows of the longest transition that it has room for. */
  readonly width: number;
  /** Whether it has importance weights. */
  readonly weighted: boolean;
  /** The parts of a batch, in their order. */
  readonly names: readonly string[];
  readonly #form: TransitionForm;
  readonly #float: ArrayClass;
  readonly #class: typeof DrawnTransitions;
  /** The numbers of the arrays: of each part's leaves, or of one number a transition. */
  readonly #parts = new Map<string, Columns>();
  readonly #numbers = new Map<string, number>();
  /** Whether arrays were given, which may be longer. */
  #isGiven = false;
  #batch: AnyTransitions | undefined;

  /**
   * @param float the class of returns, discounts and weights
   * @param into the batch; without it a new one is made
   * @throws ReplayError SPEC_MISMATCH where the batch has no array for something, or too small a one
   */
  constructor(engine: Engine, n: number, width: number, form: TransitionForm, float: ArrayClass, weighted: boolean, into?: object) {
    super(engine, n, width);
    if (into !== undefined) mustBeWritable(into, "count");
    this.width = width;
    this.weighted = weighted;
    this.#form = form;
    this.#float = float;
    for (const { name, spec, leaves, at } of form.parts) {
      const columns = leaves.map(({ keys, leaf }) => ({ array: this.gather(`into.${[name, ...keys, "data"].join(".")}`, leaf, at), shape: leaf.shape }));
      this.#parts.set(name, { nest: packer(spec), columns });
    }
    const number = (name: string, column: number, kind: ArrayClass, path = `${name}.data`) => this.#numbers.set(name, this.take(`into.${path}`, column, kind));
    number("returns", RETURN, float);
    number("discounts", DISCOUNT, float);
    number("steps", STEPS, Uint32Array);
    number("terminated", TERMINATED, Uint8Array);
    number("truncated", TRUNCATED, Uint8Array);
    if (weighted) number("weights", WEIGHT, float);
    number("keys", KEY, Float64Array, "keys");
    this.names = [...this.#parts.keys(), ...this.#numbers.keys()];
    this.#class = classOf(form, this.names, weighted);
    if (into === undefined) this.renewed();
    else this.#refills(into);
  }

  /** The batch that is filled. */
  get batch(): AnyTransitions {
    return this.#batch as AnyTransitions;
  }

  /** Goes on with a new batch. @throws ReplayError OUT_OF_MEMORY */
  renewed(): this {
    this.#batch = new this.#class({ filler: this, ...this.renew() }) as object as AnyTransitions;
    return this;
  }

  /** Says where it goes when its batch is released. */
  lentBy(home: Home<TransitionFiller>): this {
    lendOut(this.batch as object as DrawnTransitions, home);
    return this;
  }

  /** Gives the batch away, and keeps nothing of it. */
  given(): AnyTransitions {
    const { batch } = this;
    this.#batch = undefined;
    this.leave();
    return batch;
  }

  /** A part of a batch of this kind. */
  partOf(name: string, { slab, texts }: Slab): unknown {
    const number = this.#numbers.get(name);
    const { n } = this;
    if (name === "keys") return this.viewOf(number as number, slab, texts);
    if (number !== undefined) return new Column(this.viewOf(number, slab, texts) as Column["data"], [n]);
    const { nest, columns } = this.#parts.get(name) as Columns;
    return nest(columns.map(({ array, shape }) => new Column(this.viewOf(array, slab, texts) as Column["data"], [n, ...shape])));
  }

  /** Every array of the batch, with its elements an item. */
  rows(): Rows[] {
    const dataAt = (...keys: readonly string[]) => valueAt(this.batch, keys) as AnyArray;
    const parts = this.#form.parts.flatMap(({ name, leaves }) => leaves.map(({ keys, leaf }) => ({ data: dataAt(name, ...keys, "data"), each: leaf.size })));
    return [...parts, ...[...this.#numbers.keys()].map((name) => ({ data: name === "keys" ? dataAt(name) : dataAt(name, "data"), each: 1 }))];
  }

  override check(): void {
    super.check();
    if (!Object.isExtensible(this.batch)) mustBeWritable(this.batch, "count");
  }

  /** Gathers what was drawn and copies it out. O(bytes) */
  override fill(count: number): void {
    super.fill(count);
    this.ends(count);
  }

  /** Notes how many there are. */
  ends(count: number): void {
    this.batch.count = count;
    // No keys of an earlier draw: whoever updates by all of them would reach its items.
    if (count < this.n || this.#isGiven) this.batch.keys.fill(0, count);
  }

  #refills(into: object): void {
    const made = slabOf(into);
    this.#batch = into as AnyTransitions;
    if (made !== undefined && this.#isAlike(made.filler)) this.adopt(made.slab, made.texts);
    else this.lend(this.#arraysOf(into));
    this.#isGiven = true;
  }

  #arraysOf(into: object): unknown[] {
    const arrays: unknown[] = [];
    for (const { name, leaves } of this.#form.parts) {
      const { columns } = this.#parts.get(name) as Columns;
      for (const [i, { keys }] of leaves.entries()) arrays[(columns[i] as { readonly array: number }).array] = valueAt(into, [name, ...keys, "data"]);
    }
    for (const [name, number] of this.#numbers) arrays[number] = valueAt(into, name === "keys" ? [name] : [name, "data"]);
    return arrays;
  }

  /** Whether its arrays are where those of another filler's batches are. */
  #isAlike(other: TransitionFiller): boolean {
    return other.n === this.n && other.weighted === this.weighted && other.#form === this.#form && other.#float === this.#float;
  }
}
